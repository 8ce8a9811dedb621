// An operation without a kernel is evaluated, and the dump says so.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// run: dense<[3.0, 1.0, -0.5, 2.0]> : tensor<4xf32>
// = dense<[-5.000000e-01, 1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<4xf32>
// plan
// | plan: arena 64 bytes, denormals ieee
// | in0: tensor<4xf32>
// | arena[0..16]:f32[4] = reference sort(in0:f32[4])
// | return arena[0..16]:f32[4]
