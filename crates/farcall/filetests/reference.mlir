// The evaluator runs an operation without a kernel, and the plan's dump says so.
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
// run: dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
// = dense<[[2.000000e+00, 0.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x2xf32>
// | out0:f32[2,2] = reference cholesky(in0:f32[2,2])
// | return out0:f32[2,2]
