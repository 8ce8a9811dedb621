// An operation without a kernel is evaluated, and the dump says so.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// run: dense<[3.0, 1.0, 0.5, 2.0]> : tensor<4xf32>
// = dense<[6.931472e-01, 0.000000e+00, 5.723649e-01, 0.000000e+00]> : tensor<4xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<4xf32>
// | out0:f32[4] = reference chlo.lgamma(in0:f32[4])
// | return out0:f32[4]
