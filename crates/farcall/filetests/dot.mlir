func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %b: tensor<2x2x3xi32>) -> (tensor<2x2xf32>, tensor<3x3xf32>, tensor<2x2x2xi32>, tensor<2x2x2xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [1] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
  %2 = stablehlo.dot_general %b, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x2x3xi32>, tensor<2x2x3xi32>) -> tensor<2x2x2xi32>
  %3 = stablehlo.dot_general %b, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<2x2x3xi32>, tensor<2x2x3xi32>) -> tensor<2x2x2xi32>
  return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<3x3xf32>, tensor<2x2x2xi32>, tensor<2x2x2xi32>
}
// run: dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> ; dense<[[1.0, 0.5], [2.0, 0.25], [3.0, 0.125]]> : tensor<3x2xf32> ; dense<[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]> : tensor<2x2x3xi32>
// = dense<[[1.400000e+01, 1.375000e+00], [3.200000e+01, 4.000000e+00]]> : tensor<2x2xf32>
// = dense<[[3.000000e+00, 3.000000e+00, 3.500000e+00], [4.500000e+00, 5.250000e+00, 6.625000e+00], [6.000000e+00, 7.500000e+00, 9.750000e+00]]> : tensor<3x3xf32>
// = dense<[[[14, 32], [32, 77]], [[194, 266], [266, 365]]]> : tensor<2x2x2xi32>
// = dense<[[[14, 50], [50, 194]], [[77, 167], [167, 365]]]> : tensor<2x2x2xi32>
