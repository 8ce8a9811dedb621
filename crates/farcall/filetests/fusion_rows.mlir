// Rows that are so long that repeated values are not written out, with a remainder after the whole blocks:
// values that are computed only from repeated values, and used as full values.
func.func @main(%s: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.iota dim = 1 : tensor<3x100xf32>
  %j = stablehlo.iota dim = 0 : tensor<3x100xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x100xf32>
  %0 = stablehlo.multiply %i, %b : tensor<3x100xf32>
  %x = stablehlo.add %0, %j : tensor<3x100xf32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  %r = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xf32>) -> tensor<3x100xf32>
  %t = stablehlo.subtract %r, %x : tensor<3x100xf32>
  %1 = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = stablehlo.multiply %r, %r : tensor<3x100xf32>
  %3 = stablehlo.subtract %2, %r : tensor<3x100xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  %5 = stablehlo.multiply %3, %t : tensor<3x100xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<3x100xf32>, tensor<f32>) -> tensor<3xf32>
  return %1, %4, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// run: dense<0.5> : tensor<f32>
// = dense<2.475000e+03> : tensor<3xf32>
// = dense<[2.400750e+05, 2.499750e+05, 2.600750e+05]> : tensor<3xf32>
// = dense<[118837.125, 123737.625, 128737.125]> : tensor<3xf32>
