// Results with computed sizes, which are cut to these sizes after each run.
func.func @main(%x: tensor<4x3xi32>, %n: tensor<i32>) -> (tensor<?x3xi32, #stablehlo.bounds<4, ?>>, tensor<3xi32>, tensor<?xi32, #stablehlo.bounds<12>>) {
  %first = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x3xi32>, tensor<i32>) -> tensor<?x3xi32, #stablehlo.bounds<4, ?>>
  %double = stablehlo.add %first, %first : tensor<?x3xi32, #stablehlo.bounds<4, ?>>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum = stablehlo.reduce(%double init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?x3xi32, #stablehlo.bounds<4, ?>>, tensor<i32>) -> tensor<3xi32>
  %turned = stablehlo.transpose %first, dims = [1, 0] : (tensor<?x3xi32, #stablehlo.bounds<4, ?>>) -> tensor<3x?xi32, #stablehlo.bounds<?, 4>>
  %flat = stablehlo.reshape %turned : (tensor<3x?xi32, #stablehlo.bounds<?, 4>>) -> tensor<?xi32, #stablehlo.bounds<12>>
  return %double, %sum, %flat : tensor<?x3xi32, #stablehlo.bounds<4, ?>>, tensor<3xi32>, tensor<?xi32, #stablehlo.bounds<12>>
}

// run: dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]> : tensor<4x3xi32> ; dense<2> : tensor<i32>
// = dense<[[0, 2, 4], [6, 8, 10]]> : tensor<2x3xi32>
// = dense<[6, 10, 14]> : tensor<3xi32>
// = dense<[0, 3, 1, 4, 2, 5]> : tensor<6xi32>

// run: dense<[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]> : tensor<4x3xi32> ; dense<0> : tensor<i32>
// = dense<> : tensor<0x3xi32>
// = dense<0> : tensor<3xi32>
// = dense<> : tensor<0xi32>
