// passes: outer_products
// A product with a batch dimension, of operands with different types.
func.func @main(%x: tensor<4x2x1xbf16>, %y: tensor<4x1x5xf32>) -> tensor<4x2x5xf32> {
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x2x1xbf16>, tensor<4x1x5xf32>) -> tensor<4x2x5xf32>
  return %r : tensor<4x2x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x2x1xbf16>, %arg1: tensor<4x1x5xf32>) -> tensor<4x2x5xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<4x2x1xbf16>) -> tensor<4x2xbf16>
    %1 = stablehlo.convert %0 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2x5xf32>
    %3 = stablehlo.reshape %arg1 : (tensor<4x1x5xf32>) -> tensor<4x5xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<4x5xf32>) -> tensor<4x2x5xf32>
    %5 = stablehlo.multiply %2, %4 : tensor<4x2x5xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x2x5xf32>
    %7 = stablehlo.add %5, %6 : tensor<4x2x5xf32>
    return %7 : tensor<4x2x5xf32>
  }
}
// -----
// passes: outer_products
// A product of integers, and a product with only batch dimensions.
func.func @main(%x: tensor<4xi8>, %y: tensor<3xi8>, %a: tensor<2x3xi32>, %b: tensor<2x3xi32>) -> (tensor<4x3xi32>, tensor<2x3xi32>) {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<4xi8>, tensor<3xi8>) -> tensor<4x3xi32>
  %s = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [] : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  return %r, %s : tensor<4x3xi32>, tensor<2x3xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi8>, %arg1: tensor<3xi8>, %arg2: tensor<2x3xi32>, %arg3: tensor<2x3xi32>) -> (tensor<4x3xi32>, tensor<2x3xi32>) {
    %0 = stablehlo.convert %arg0 : (tensor<4xi8>) -> tensor<4xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xi32>) -> tensor<4x3xi32>
    %2 = stablehlo.convert %arg1 : (tensor<3xi8>) -> tensor<3xi32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<3xi32>) -> tensor<4x3xi32>
    %4 = stablehlo.multiply %1, %3 : tensor<4x3xi32>
    %5 = stablehlo.multiply %arg2, %arg3 : tensor<2x3xi32>
    return %4, %5 : tensor<4x3xi32>, tensor<2x3xi32>
  }
}
// -----
// passes: outer_products
// Not applied to sums of two products, to products that are rounded afterwards, or to factors that need a
// transpose.
func.func @main(%x: tensor<4x2xf32>, %y: tensor<2x3xf32>, %v: tensor<4xf32>, %w: tensor<3xf32>, %h: tensor<4xf16>) -> (tensor<4x3xf32>, tensor<4x3xf16>, tensor<2x4x3xf32>, tensor<4x4xf16>) {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %s = stablehlo.dot_general %v, %w, contracting_dims = [] x [] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf16>
  %t = stablehlo.dot_general %x, %y, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<2x4x3xf32>
  %u = stablehlo.dot_general %h, %h, contracting_dims = [] x [] : (tensor<4xf16>, tensor<4xf16>) -> tensor<4x4xf16>
  return %r, %s, %t, %u : tensor<4x3xf32>, tensor<4x3xf16>, tensor<2x4x3xf32>, tensor<4x4xf16>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<4xf32>, %arg3: tensor<3xf32>, %arg4: tensor<4xf16>) -> (tensor<4x3xf32>, tensor<4x3xf16>, tensor<2x4x3xf32>, tensor<4x4xf16>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [] x [] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf16>
    %2 = stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [0], contracting_dims = [] x [] : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<2x4x3xf32>
    %3 = stablehlo.dot_general %arg4, %arg4, contracting_dims = [] x [] : (tensor<4xf16>, tensor<4xf16>) -> tensor<4x4xf16>
    return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<4x3xf16>, tensor<2x4x3xf32>, tensor<4x4xf16>
  }
}
// -----
// passes: outer_products
// denormals: flush
// Not applied if denormals are flushed: a flushed product may be -0, but a sum that starts with 0 is never
// -0.
func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
