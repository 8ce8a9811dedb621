// passes: fuse, dce, product_fusion
// A product, a fusion of its result, and a product of the fusion's result.
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<4xf32>, %u: tensor<4x5xf32>) -> tensor<2x5xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x4xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<2x4xf32>
  %4 = stablehlo.dot_general %3, %u, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %4 : tensor<2x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4x5xf32>) -> tensor<2x5xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<2x3xf32>, %arg5: tensor<3x4xf32>, %arg6: tensor<4xf32>, %arg7: tensor<4x5xf32>):
      %1 = stablehlo.dot_general %arg4, %arg5, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %2 = stablehlo.broadcast_in_dim %arg6, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
      %3 = stablehlo.add %1, %2 : tensor<2x4xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<2x4xf32>
      %5 = stablehlo.dot_general %4, %arg7, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
      stablehlo.return %5 : tensor<2x5xf32>
    }) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
// -----
// passes: fuse, dce, product_fusion
// A result with another user ends the chain.
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %u: tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<2x4xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.negate %0 : tensor<2x4xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<2x4xf32>
  %3 = stablehlo.dot_general %2, %u, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %3, %2 : tensor<2x5xf32>, tensor<2x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<4x5xf32>) -> (tensor<2x5xf32>, tensor<2x4xf32>) {
    %0 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg3: tensor<2x3xf32>, %arg4: tensor<3x4xf32>):
      %2 = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %3 = stablehlo.negate %2 : tensor<2x4xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<2x4xf32>
      stablehlo.return %4 : tensor<2x4xf32>
    }) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    return %1, %0 : tensor<2x5xf32>, tensor<2x4xf32>
  }
}
// -----
// passes: fuse, dce, product_fusion
// A fusion with two results ends the chain.
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.negate %0 : tensor<2x4xf32>
  %2 = stablehlo.multiply %1, %0 : tensor<2x4xf32>
  return %1, %2 : tensor<2x4xf32>, tensor<2x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    %0:2 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2x3xf32>, %arg3: tensor<3x4xf32>):
      %1 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %2 = stablehlo.negate %1 : tensor<2x4xf32>
      %3 = stablehlo.multiply %2, %1 : tensor<2x4xf32>
      stablehlo.return %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>
    }) : (tensor<2x3xf32>, tensor<3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xf32>
  }
}
// -----
// passes: fuse, dce, product_fusion
// A product that uses one result as both operands is not part of the chain.
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.negate %0 : tensor<2x2xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<2x2xf32>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg1: tensor<2x2xf32>):
      %2 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      %3 = stablehlo.negate %2 : tensor<2x2xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<2x2xf32>
      stablehlo.return %4 : tensor<2x2xf32>
    }) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %1 : tensor<2x2xf32>
  }
}
// -----
// passes: fuse, dce, product_fusion
// Reshapes may separate a product and the users of its result.
func.func @main(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>, %b: tensor<1x2x4xf32>, %u: tensor<4x5xf32>) -> tensor<5x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %2 = stablehlo.add %1, %b : tensor<1x2x4xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<1x2x4xf32>
  %4 = stablehlo.reshape %3 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  %5 = stablehlo.dot_general %4, %u, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  %6 = stablehlo.reshape %5 : (tensor<2x5xf32>) -> tensor<5x2xf32>
  return %6 : tensor<5x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>, %arg2: tensor<1x2x4xf32>, %arg3: tensor<4x5xf32>) -> tensor<5x2xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1, %arg2, %arg3) ({
    ^bb0(%arg4: tensor<2x3xf32>, %arg5: tensor<3x4xf32>, %arg6: tensor<1x2x4xf32>, %arg7: tensor<4x5xf32>):
      %2 = stablehlo.dot_general %arg4, %arg5, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
      %3 = stablehlo.reshape %2 : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
      %4 = stablehlo.add %3, %arg6 : tensor<1x2x4xf32>
      %5 = stablehlo.multiply %4, %4 : tensor<1x2x4xf32>
      %6 = stablehlo.reshape %5 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
      %7 = stablehlo.dot_general %6, %arg7, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
      stablehlo.return %7 : tensor<2x5xf32>
    }) : (tensor<2x3xf32>, tensor<3x4xf32>, tensor<1x2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x5xf32>) -> tensor<5x2xf32>
    return %1 : tensor<5x2xf32>
  }
}
// -----
// passes: fuse, dce, product_fusion
// A product is fused with the transpose that follows it, and written in transposed order.
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) -> tensor<3x2x5xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
  %2 = stablehlo.negate %1 : tensor<3x2x5xf32>
  return %2 : tensor<3x2x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x4x5xf32>) -> tensor<3x2x5xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2x3x4xf32>, %arg3: tensor<2x4x5xf32>):
      %2 = stablehlo.dot_general %arg2, %arg3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
      %3 = stablehlo.transpose %2, dims = [1, 0, 2] : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
      stablehlo.return %3 : tensor<3x2x5xf32>
    }) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<3x2x5xf32>
    %1 = stablehlo.negate %0 : tensor<3x2x5xf32>
    return %1 : tensor<3x2x5xf32>
  }
}
