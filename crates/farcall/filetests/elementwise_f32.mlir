func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xi1>, tensor<5xf32>) {
  %0 = stablehlo.add %x, %y : tensor<5xf32>
  %1 = stablehlo.divide %x, %y : tensor<5xf32>
  %2 = stablehlo.maximum %x, %y : tensor<5xf32>
  %3 = stablehlo.remainder %x, %y : tensor<5xf32>
  %4 = stablehlo.exponential %x : tensor<5xf32>
  %5 = stablehlo.compare LT, %x, %y : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  %6 = stablehlo.select %5, %0, %4 : tensor<5xi1>, tensor<5xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xi1>, tensor<5xf32>
}
// run: dense<[1.0, -2.5, 0.0, -0.0, 0x7FC00000]> : tensor<5xf32> ; dense<[2.0, 1.0, -0.0, 0.0, 1.0]> : tensor<5xf32>
// = dense<[3.000000e+00, -1.500000e+00, 0.000000e+00, 0.000000e+00, 0x7FC00000]> : tensor<5xf32>
// = dense<[5.000000e-01, -2.500000e+00, 0xFFC00000, 0xFFC00000, 0x7FC00000]> : tensor<5xf32>
// = dense<[2.000000e+00, 1.000000e+00, 0.000000e+00, 0.000000e+00, 0x7FC00000]> : tensor<5xf32>
// = dense<[1.000000e+00, -5.000000e-01, 0xFFC00000, 0xFFC00000, 0x7FC00000]> : tensor<5xf32>
// = dense<[2.7182817, 8.208500e-02, 1.000000e+00, 1.000000e+00, 0x7FC00000]> : tensor<5xf32>
// = dense<[true, true, false, false, false]> : tensor<5xi1>
// = dense<[3.000000e+00, -1.500000e+00, 1.000000e+00, 1.000000e+00, 0x7FC00000]> : tensor<5xf32>
