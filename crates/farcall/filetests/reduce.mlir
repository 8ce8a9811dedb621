func.func @main(%x: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<f32>, tensor<3xi32>, tensor<i1>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = stablehlo.reduce(%x init: %m) applies stablehlo.maximum across dimensions = [0, 1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.reduce(%i init: %o) applies stablehlo.multiply across dimensions = [0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3xi32>
  %5 = stablehlo.compare GT, %i, %i : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  %6 = stablehlo.reduce(%5 init: %t) applies stablehlo.and across dimensions = [0, 1] : (tensor<2x3xi1>, tensor<i1>) -> tensor<i1>
  return %0, %1, %2, %3, %4, %6 : tensor<2x3xf32>, tensor<4xf32>, tensor<2x4xf32>, tensor<f32>, tensor<3xi32>, tensor<i1>
}
// run: dense<[[[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, -0.0, 8.0], [9.0, 10.0, 11.0, 12.0]], [[1.5, 2.5, 3.5, 4.5], [-5.0, -6.0, -7.0, -8.0], [0.25, 0.5, 0.75, 1.0]]]> : tensor<2x3x4xf32> ; dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
// = dense<[[1.000000e+01, 7.500000e+00, 4.200000e+01], [1.200000e+01, -2.600000e+01, 2.500000e+00]]> : tensor<2x3xf32>
// = dense<[7.250000e+00, 8.000000e+00, 1.125000e+01, 2.150000e+01]> : tensor<4xf32>
// = dense<[[9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01], [1.500000e+00, 2.500000e+00, 3.500000e+00, 4.500000e+00]]> : tensor<2x4xf32>
// = dense<1.200000e+01> : tensor<f32>
// = dense<[4, 10, 18]> : tensor<3xi32>
// = dense<false> : tensor<i1>
