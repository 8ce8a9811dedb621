// The upper half of a product.
func.func @main(%a0: tensor<4xi8>, %b0: tensor<4xi8>, %a1: tensor<4xi16>, %b1: tensor<4xi16>, %a2: tensor<4xi32>, %b2: tensor<4xi32>, %a3: tensor<4xi64>, %b3: tensor<4xi64>, %a4: tensor<4xui8>, %b4: tensor<4xui8>, %a5: tensor<4xui16>, %b5: tensor<4xui16>, %a6: tensor<4xui32>, %b6: tensor<4xui32>, %a7: tensor<4xui64>, %b7: tensor<4xui64>, %a8: tensor<4xi4>, %b8: tensor<4xi4>, %a9: tensor<4xui4>, %b9: tensor<4xui4>) -> (tensor<4xi8>, tensor<4xi16>, tensor<4xi32>, tensor<4xi64>, tensor<4xui8>, tensor<4xui16>, tensor<4xui32>, tensor<4xui64>, tensor<4xi4>, tensor<4xui4>) {
  %0 = chlo.mulhi %a0, %b0 : tensor<4xi8>, tensor<4xi8> -> tensor<4xi8>
  %1 = chlo.mulhi %a1, %b1 : tensor<4xi16>, tensor<4xi16> -> tensor<4xi16>
  %2 = chlo.mulhi %a2, %b2 : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %3 = chlo.mulhi %a3, %b3 : tensor<4xi64>, tensor<4xi64> -> tensor<4xi64>
  %4 = chlo.mulhi %a4, %b4 : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
  %5 = chlo.mulhi %a5, %b5 : tensor<4xui16>, tensor<4xui16> -> tensor<4xui16>
  %6 = chlo.mulhi %a6, %b6 : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>
  %7 = chlo.mulhi %a7, %b7 : tensor<4xui64>, tensor<4xui64> -> tensor<4xui64>
  %8 = chlo.mulhi %a8, %b8 : tensor<4xi4>, tensor<4xi4> -> tensor<4xi4>
  %9 = chlo.mulhi %a9, %b9 : tensor<4xui4>, tensor<4xui4> -> tensor<4xui4>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<4xi8>, tensor<4xi16>, tensor<4xi32>, tensor<4xi64>, tensor<4xui8>, tensor<4xui16>, tensor<4xui32>, tensor<4xui64>, tensor<4xi4>, tensor<4xui4>
}

// run: dense<[-128, 127, 127, 42]> : tensor<4xi8> ; dense<[-128, 127, -128, -25]> : tensor<4xi8> ; dense<[-32768, 32767, 32767, 10922]> : tensor<4xi16> ; dense<[-32768, 32767, -32768, -6553]> : tensor<4xi16> ; dense<[-2147483648, 2147483647, 2147483647, 715827882]> : tensor<4xi32> ; dense<[-2147483648, 2147483647, -2147483648, -429496729]> : tensor<4xi32> ; dense<[-9223372036854775808, 9223372036854775807, 9223372036854775807, 3074457345618258602]> : tensor<4xi64> ; dense<[-9223372036854775808, 9223372036854775807, -9223372036854775808, -1844674407370955161]> : tensor<4xi64> ; dense<[0, 255, 255, 85]> : tensor<4xui8> ; dense<[0, 255, 0, 51]> : tensor<4xui8> ; dense<[0, 65535, 65535, 21845]> : tensor<4xui16> ; dense<[0, 65535, 0, 13107]> : tensor<4xui16> ; dense<[0, 4294967295, 4294967295, 1431655765]> : tensor<4xui32> ; dense<[0, 4294967295, 0, 858993459]> : tensor<4xui32> ; dense<[0, 18446744073709551615, 18446744073709551615, 6148914691236517205]> : tensor<4xui64> ; dense<[0, 18446744073709551615, 0, 3689348814741910323]> : tensor<4xui64> ; dense<[-8, 7, 7, 2]> : tensor<4xi4> ; dense<[-8, 7, -8, -1]> : tensor<4xi4> ; dense<[0, 15, 15, 5]> : tensor<4xui4> ; dense<[0, 15, 0, 3]> : tensor<4xui4>
// = dense<[64, 63, -64, -5]> : tensor<4xi8>
// = dense<[16384, 16383, -16384, -1093]> : tensor<4xi16>
// = dense<[1073741824, 1073741823, -1073741824, -71582789]> : tensor<4xi32>
// = dense<[4611686018427387904, 4611686018427387903, -4611686018427387904, -307445734561825861]> : tensor<4xi64>
// = dense<[0, 254, 0, 16]> : tensor<4xui8>
// = dense<[0, 65534, 0, 4368]> : tensor<4xui16>
// = dense<[0, 4294967294, 0, 286331152]> : tensor<4xui32>
// = dense<[0, 18446744073709551614, 0, 1229782938247303440]> : tensor<4xui64>
// = dense<[4, 3, -4, -1]> : tensor<4xi4>
// = dense<[0, 14, 0, 0]> : tensor<4xui4>
