// Subnormal numbers of `bf16` are zero, too, also in comparisons.
func.func @main(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>) {
  %0 = stablehlo.compare EQ, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %1 = stablehlo.compare NE, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %2 = stablehlo.compare GE, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %3 = stablehlo.compare GT, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %4 = stablehlo.compare LE, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %5 = stablehlo.compare LT, %x, %y : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xi1>
  %6 = stablehlo.maximum %x, %y : tensor<4xbf16>
  %7 = stablehlo.minimum %x, %y : tensor<4xbf16>
  %8 = stablehlo.sign %x : tensor<4xbf16>
  %9 = stablehlo.add %x, %y : tensor<4xbf16>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>, tensor<4xbf16>
}
// denormals: flush
// run: dense<[0x0001, 0x8001, 0x0001, 1.0]> : tensor<4xbf16> ; dense<[0.0, 0.0, 0x8002, 0x0001]> : tensor<4xbf16>
// = dense<[true, true, true, false]> : tensor<4xi1>
// = dense<[false, false, false, true]> : tensor<4xi1>
// = dense<true> : tensor<4xi1>
// = dense<[false, false, false, true]> : tensor<4xi1>
// = dense<[true, true, true, false]> : tensor<4xi1>
// = dense<false> : tensor<4xi1>
// = dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<4xbf16>
// = dense<[0.000000e+00, -0.000000e+00, -0.000000e+00, 0.000000e+00]> : tensor<4xbf16>
// = dense<[0.000000e+00, -0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<4xbf16>
// = dense<[0.000000e+00, 0.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<4xbf16>
