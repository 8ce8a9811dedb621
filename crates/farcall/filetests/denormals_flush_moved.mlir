// Conversions between floats treat subnormal numbers as zero, whichever code converts. Operations without a
// kernel that move numbers keep subnormals, as does an operation whose result is the neighbor of zero.
func.func @main(%x: tensor<2xf32>, %b: tensor<2xbf16>) -> (tensor<2xbf16>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xbf16>
  %1 = stablehlo.convert %b : (tensor<2xbf16>) -> tensor<2xf32>
  %2 = stablehlo.convert %b : (tensor<2xbf16>) -> tensor<2xf64>
  %3 = stablehlo.real %x : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %4 = chlo.next_after %zero, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<2xbf16>, tensor<2xf32>, tensor<2xf64>, tensor<2xf32>, tensor<2xf32>
}
// denormals: flush
// run: dense<[-9.999946e-41, 2.5]> : tensor<2xf32> ; dense<[-9.183550e-41, 2.5]> : tensor<2xbf16>
// = dense<[-0.000000e+00, 2.500000e+00]> : tensor<2xbf16>
// = dense<[-0.000000e+00, 2.500000e+00]> : tensor<2xf32>
// = dense<[-0.000000e+00, 2.500000e+00]> : tensor<2xf64>
// = dense<[-9.999946e-41, 2.500000e+00]> : tensor<2xf32>
// = dense<[-1.401298e-45, 1.401298e-45]> : tensor<2xf32>
