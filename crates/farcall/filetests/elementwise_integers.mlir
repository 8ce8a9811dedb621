func.func @main(%x: tensor<6xi32>, %y: tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi8>, tensor<6xi32>) {
  %0 = stablehlo.divide %x, %y : tensor<6xi32>
  %1 = stablehlo.remainder %x, %y : tensor<6xi32>
  %2 = stablehlo.shift_left %x, %y : tensor<6xi32>
  %3 = stablehlo.shift_right_arithmetic %x, %y : tensor<6xi32>
  %4 = stablehlo.shift_right_logical %x, %y : tensor<6xi32>
  %5 = stablehlo.power %x, %y : tensor<6xi32>
  %6 = stablehlo.convert %x : (tensor<6xi32>) -> tensor<6xi8>
  %7 = stablehlo.abs %x : tensor<6xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi8>, tensor<6xi32>
}
// run: dense<[7, -7, -2147483648, 5, -1, 300]> : tensor<6xi32> ; dense<[2, 2, -1, 0, -3, 40]> : tensor<6xi32>
// = dense<[3, -3, -2147483648, -1, 0, 7]> : tensor<6xi32>
// = dense<[1, -1, 0, 5, -1, 20]> : tensor<6xi32>
// = dense<[28, -28, 0, 5, 0, 0]> : tensor<6xi32>
// = dense<[1, -2, -1, 5, -1, 0]> : tensor<6xi32>
// = dense<[1, 1073741822, 0, 5, 0, 0]> : tensor<6xi32>
// = dense<[49, 49, 0, 1, -1, 0]> : tensor<6xi32>
// = dense<[7, -7, 0, 5, -1, 44]> : tensor<6xi8>
// = dense<[7, 7, -2147483648, 5, 1, 300]> : tensor<6xi32>
