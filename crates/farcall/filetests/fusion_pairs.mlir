// Pairs of operations that one loop computes: only the second operation uses the first one's result, on
// either side; and shifts, some of which form a rotation.
func.func @main(%x: tensor<5xui32>, %y: tensor<5xui32>, %f: tensor<5xf32>) -> (tensor<5xui32>, tensor<5xui32>, tensor<5xui32>, tensor<5xf32>, tensor<5xf32>) {
  %c13 = stablehlo.constant dense<13> : tensor<5xui32>
  %c19 = stablehlo.constant dense<19> : tensor<5xui32>
  %c18 = stablehlo.constant dense<18> : tensor<5xui32>
  %s = stablehlo.add %x, %y : tensor<5xui32>
  %l = stablehlo.shift_left %y, %c13 : tensor<5xui32>
  %r = stablehlo.shift_right_logical %y, %c19 : tensor<5xui32>
  %o = stablehlo.or %r, %l : tensor<5xui32>
  %0 = stablehlo.xor %o, %s : tensor<5xui32>
  %l1 = stablehlo.shift_left %x, %c13 : tensor<5xui32>
  %r1 = stablehlo.shift_right_logical %x, %c18 : tensor<5xui32>
  %1 = stablehlo.xor %l1, %r1 : tensor<5xui32>
  %l2 = stablehlo.shift_left %s, %c13 : tensor<5xui32>
  %r2 = stablehlo.shift_right_logical %0, %c19 : tensor<5xui32>
  %2 = stablehlo.or %l2, %r2 : tensor<5xui32>
  %a = stablehlo.multiply %f, %f : tensor<5xf32>
  %3 = stablehlo.subtract %f, %a : tensor<5xf32>
  %b = stablehlo.subtract %3, %f : tensor<5xf32>
  %4 = stablehlo.subtract %b, %3 : tensor<5xf32>
  return %0, %1, %2, %3, %4 : tensor<5xui32>, tensor<5xui32>, tensor<5xui32>, tensor<5xf32>, tensor<5xf32>
}
// run: dense<[0, 1, 2147483648, 4294967295, 305419896]> : tensor<5xui32> ; dense<[1, 0, 524288, 4294967295, 2596069104]> : tensor<5xui32> ; dense<[0.5, -1.0, 3.0, 0.1, 1.0e20]> : tensor<5xf32>
// = dense<[8193, 1, 2148007937, 1, 925836863]> : tensor<5xui32>
// = dense<[0, 8192, 8192, 4294959103, 2328822925]> : tensor<5xui32>
// = dense<[8192, 8192, 4097, 4294950912, 648873701]> : tensor<5xui32>
// = dense<[2.500000e-01, -2.000000e+00, -6.000000e+00, 9.000000e-02, 0xFF800000]> : tensor<5xf32>
// = dense<[-5.000000e-01, 1.000000e+00, -3.000000e+00, -1.000000e-01, 0xFFC00000]> : tensor<5xf32>
