// Every arithmetic operation treats subnormal operands as zero, and returns zero for subnormal results.
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xf32>) {
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0 = stablehlo.multiply %x, %half : tensor<3xf32>
  %1 = stablehlo.ceil %x : tensor<3xf32>
  %2 = stablehlo.sign %x : tensor<3xf32>
  %3 = stablehlo.maximum %x, %zero : tensor<3xf32>
  %4 = stablehlo.compare GT, %x, %zero : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %5 = stablehlo.clamp %zero, %x, %half : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xi1>, tensor<3xf32>
}
// denormals: flush
// run: dense<[0x00000001, 0x00800000, 2.0]> : tensor<3xf32>
// = dense<[0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<3xf32>
// = dense<[0.000000e+00, 1.000000e+00, 2.000000e+00]> : tensor<3xf32>
// = dense<[0.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<3xf32>
// = dense<[0.000000e+00, 1.1754944E-38, 2.000000e+00]> : tensor<3xf32>
// = dense<[false, true, true]> : tensor<3xi1>
// = dense<[0.000000e+00, 1.1754944E-38, 5.000000e-01]> : tensor<3xf32>
