// Operands of different types are converted to the result's type, as in XLA. JAX lowers lax.dot(f32, i64) so.
func.func @main(%x: tensor<2x2xf32>, %y: tensor<2x2xi64>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
// run: dense<[[0.5, 2.0], [4.0, 5.0]]> : tensor<2x2xf32> ; dense<[[1, -2], [3, 4]]> : tensor<2x2xi64>
// = dense<[[6.500000e+00, 7.000000e+00], [1.900000e+01, 1.200000e+01]]> : tensor<2x2xf32>
