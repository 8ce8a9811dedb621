// passes: movement_fusion
// Elements are repeated along two dimensions, and then concatenated with other elements.
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<4x6x4xf32>) -> tensor<4x6x8xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2, 3] : (tensor<2x3x4xf32>) -> tensor<2x2x3x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x2x3x4xf32>) -> tensor<4x3x4xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 3] : (tensor<4x3x4xf32>) -> tensor<4x3x2x4xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x3x2x4xf32>) -> tensor<4x6x4xf32>
  %4 = stablehlo.concatenate %3, %y, dim = 2 : (tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> tensor<4x6x8xf32>
  return %4 : tensor<4x6x8xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<4x6x4xf32>) -> tensor<4x6x8xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2x3x4xf32>, %arg3: tensor<4x6x4xf32>):
      %1 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2, 3] : (tensor<2x3x4xf32>) -> tensor<2x2x3x4xf32>
      %2 = stablehlo.reshape %1 : (tensor<2x2x3x4xf32>) -> tensor<4x3x4xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 3] : (tensor<4x3x4xf32>) -> tensor<4x3x2x4xf32>
      %4 = stablehlo.reshape %3 : (tensor<4x3x2x4xf32>) -> tensor<4x6x4xf32>
      %5 = stablehlo.concatenate %4, %arg3, dim = 2 : (tensor<4x6x4xf32>, tensor<4x6x4xf32>) -> tensor<4x6x8xf32>
      stablehlo.return %5 : tensor<4x6x8xf32>
    }) : (tensor<2x3x4xf32>, tensor<4x6x4xf32>) -> tensor<4x6x8xf32>
    return %0 : tensor<4x6x8xf32>
  }
}
// -----
// passes: movement_fusion
// A repetition of a repetition is fused even without a concatenation.
func.func @main(%x: tensor<2x3xf32>) -> tensor<4x6xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x2x3xf32>) -> tensor<4x3xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<4x6xf32> {
    %0 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg1: tensor<2x3xf32>):
      %1 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
      %2 = stablehlo.reshape %1 : (tensor<2x2x3xf32>) -> tensor<4x3xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x3xf32>) -> tensor<4x3x2xf32>
      %4 = stablehlo.reshape %3 : (tensor<4x3x2xf32>) -> tensor<4x6xf32>
      stablehlo.return %4 : tensor<4x6xf32>
    }) : (tensor<2x3xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
// -----
// passes: movement_fusion
// Not applied to a single broadcast, to a concatenation of existing values, or to a broadcast with another
// user.
func.func @main(%x: tensor<3xf32>, %y: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = stablehlo.concatenate %y, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %3 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.concatenate %3, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return %1, %2, %4, %3 : tensor<6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<2x3xf32>) -> (tensor<6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %2 = stablehlo.concatenate %arg1, %arg1, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.concatenate %3, %arg1, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    return %1, %2, %4, %3 : tensor<6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x3xf32>
  }
}
