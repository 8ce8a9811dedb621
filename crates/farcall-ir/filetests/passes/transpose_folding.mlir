// passes: transpose_folding, dce
// The gradient of a product as JAX writes it, with rows and columns exchanged.
func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) -> tensor<5x4xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [HIGHEST, DEFAULT] : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %1 : tensor<5x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x5xf32>) -> tensor<5x4xf32> {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [0] x [0], precision = [DEFAULT, HIGHEST] : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
    return %0 : tensor<5x4xf32>
  }
}
// -----
// passes: transpose_folding, dce
// A batched product with two row dimensions.
func.func @main(%x: tensor<2x3x4x6xf32>, %y: tensor<3x5x2xf32>) -> tensor<2x5x4x6xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [2], contracting_dims = [1] x [0] : (tensor<2x3x4x6xf32>, tensor<3x5x2xf32>) -> tensor<2x4x6x5xf32>
  %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x4x6x5xf32>) -> tensor<2x5x4x6xf32>
  return %1 : tensor<2x5x4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4x6xf32>, %arg1: tensor<3x5x2xf32>) -> tensor<2x5x4x6xf32> {
    %0 = stablehlo.dot_general %arg1, %arg0, batching_dims = [2] x [0], contracting_dims = [0] x [1] : (tensor<3x5x2xf32>, tensor<2x3x4x6xf32>) -> tensor<2x5x4x6xf32>
    return %0 : tensor<2x5x4x6xf32>
  }
}
// -----
// passes: transpose_folding, dce
// Not applied if the product has another user.
func.func @main(%x: tensor<3x4xf32>, %y: tensor<3x5xf32>) -> (tensor<4x5xf32>, tensor<5x4xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return %0, %1 : tensor<4x5xf32>, tensor<5x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x5xf32>) -> (tensor<4x5xf32>, tensor<5x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
    return %0, %1 : tensor<4x5xf32>, tensor<5x4xf32>
  }
}
// -----
// passes: transpose_folding, dce
// Not applied if batch dimensions move.
func.func @main(%x: tensor<2x4x3xf32>, %y: tensor<2x3x5xf32>) -> tensor<4x2x5xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<2x4x5xf32>) -> tensor<4x2x5xf32>
  return %1 : tensor<4x2x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x4x3xf32>, %arg1: tensor<2x3x5xf32>) -> tensor<4x2x5xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<2x4x5xf32>) -> tensor<4x2x5xf32>
    return %1 : tensor<4x2x5xf32>
  }
}
// -----
// passes: transpose_folding, dce
// Products of transposed operands read the original operands.
func.func @main(%x: tensor<4x3xf32>, %y: tensor<5x2x4xf32>) -> tensor<3x5x2xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<5x2x4xf32>) -> tensor<5x4x2xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<5x4x2xf32>) -> tensor<3x5x2xf32>
  return %2 : tensor<3x5x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<5x2x4xf32>) -> tensor<3x5x2xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [2] : (tensor<4x3xf32>, tensor<5x2x4xf32>) -> tensor<3x5x2xf32>
    return %0 : tensor<3x5x2xf32>
  }
}
// -----
// passes: transpose_folding, dce
// Not applied if dimensions of the result would be reordered.
func.func @main(%x: tensor<4x3xf32>, %y: tensor<5x2x4xf32>) -> tensor<3x2x5xf32> {
  %0 = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [2] : (tensor<4x3xf32>, tensor<2x5x4xf32>) -> tensor<3x2x5xf32>
  return %1 : tensor<3x2x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<5x2x4xf32>) -> tensor<3x2x5xf32> {
    %0 = stablehlo.transpose %arg1, dims = [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [0] x [2] : (tensor<4x3xf32>, tensor<2x5x4xf32>) -> tensor<3x2x5xf32>
    return %1 : tensor<3x2x5xf32>
  }
}
// -----
// passes: transpose_folding, dce
// Columns move before rows and before a batch dimension. The batch dimension still needs a transpose.
func.func @main(%v: tensor<2x7x4x3xf32>, %p: tensor<2x4x5x7xf32>) -> tensor<2x5x4x3xf32> {
  %0 = stablehlo.dot_general %v, %p, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x4x3xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x3x5xf32>
  %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x4x3x5xf32>) -> tensor<2x5x4x3xf32>
  return %1 : tensor<2x5x4x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x7x4x3xf32>, %arg1: tensor<2x4x5x7xf32>) -> tensor<2x5x4x3xf32> {
    %0 = stablehlo.dot_general %arg1, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x5x7xf32>, tensor<2x7x4x3xf32>) -> tensor<2x4x5x3xf32>
    %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<2x4x5x3xf32>) -> tensor<2x5x4x3xf32>
    return %1 : tensor<2x5x4x3xf32>
  }
}
