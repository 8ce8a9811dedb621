func.func @main(%x: tensor<2x3xi32>) -> (tensor<3x2xi32>, tensor<2x2x3xi32>, tensor<1x2xi32>, tensor<2x3xi32>, tensor<4x3xi32>, tensor<4x6xi32>, tensor<1x4xi32>, tensor<3x2xi32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x3xi32>) -> tensor<2x2x3xi32>
  %2 = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
  %3 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xi32>
  %4 = stablehlo.concatenate %x, %3, dim = 0 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
  %c = stablehlo.constant dense<9> : tensor<i32>
  %5 = stablehlo.pad %x, %c, low = [1, 0], high = [0, 1], interior = [1, 1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<4x6xi32>
  %6 = stablehlo.pad %x, %c, low = [-1, -1], high = [0, 2], interior = [0, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<1x4xi32>
  %7 = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3x2xi32>, tensor<2x2x3xi32>, tensor<1x2xi32>, tensor<2x3xi32>, tensor<4x3xi32>, tensor<4x6xi32>, tensor<1x4xi32>, tensor<3x2xi32>
}
// run: dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
// = dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
// = dense<[[[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6]]]> : tensor<2x2x3xi32>
// = dense<[[4, 6]]> : tensor<1x2xi32>
// = dense<[[6, 5, 4], [3, 2, 1]]> : tensor<2x3xi32>
// = dense<[[1, 2, 3], [4, 5, 6], [6, 5, 4], [3, 2, 1]]> : tensor<4x3xi32>
// = dense<[[9, 9, 9, 9, 9, 9], [1, 9, 2, 9, 3, 9], [9, 9, 9, 9, 9, 9], [4, 9, 5, 9, 6, 9]]> : tensor<4x6xi32>
// = dense<[[5, 6, 9, 9]]> : tensor<1x4xi32>
// = dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
