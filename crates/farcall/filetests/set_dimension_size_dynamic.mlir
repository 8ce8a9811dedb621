// A size that determines the shape of the result.
func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %less = stablehlo.subtract %rows, %one : tensor<i32>
  %first = stablehlo.set_dimension_size %x, %less, dim = 0 : (tensor<?x3xf32>, tensor<i32>) -> tensor<?x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%first init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?xf32>
  return %sum : tensor<?xf32>
}

// run: dense<[[0.000000000e+00, 1.000000000e+00, 2.000000000e+00], [3.000000000e+00, 4.000000000e+00, 5.000000000e+00], [6.000000000e+00, 7.000000000e+00, 8.000000000e+00]]> : tensor<3x3xf32>
// = dense<[3.000000000e+00, 1.200000000e+01]> : tensor<2xf32>
