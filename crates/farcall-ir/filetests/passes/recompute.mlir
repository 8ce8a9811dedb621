// passes: recompute
// What is multiplied with the second product is made again: the exponential is stored, and so is %x.
func.func @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %0 = stablehlo.exponential %x : tensor<128x128xf32>
  %1 = stablehlo.add %0, %one : tensor<128x128xf32>
  %2 = stablehlo.multiply %1, %x : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
  %5 = stablehlo.multiply %4, %0 : tensor<128x128xf32>
  return %4, %5 : tensor<128x128xf32>, tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<128x128xf32>
    %0 = stablehlo.exponential %arg0 : tensor<128x128xf32>
    %1 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %2 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<128x128xf32>
    %4 = stablehlo.dot_general %3, %arg1, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<128x128xf32>
    %6 = stablehlo.multiply %5, %0 : tensor<128x128xf32>
    return %5, %6 : tensor<128x128xf32>, tensor<128x128xf32>
  }
}
// -----
// passes: recompute
// The exponential is stored, but nobody takes it later: it would be there for the sum alone.
func.func @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %0 = stablehlo.exponential %x : tensor<128x128xf32>
  %1 = stablehlo.add %0, %one : tensor<128x128xf32>
  %2 = stablehlo.multiply %1, %x : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
  return %4 : tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<128x128xf32>
    %0 = stablehlo.exponential %arg0 : tensor<128x128xf32>
    %1 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %2 = stablehlo.multiply %1, %arg0 : tensor<128x128xf32>
    %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
    return %4 : tensor<128x128xf32>
  }
}
// -----
// passes: recompute
// Two generations take a sum, and one of them a product of it: each gets copies of its own.
func.func @main(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %0 = stablehlo.add %x, %y : tensor<128x128xf32>
  %1 = stablehlo.multiply %0, %y : tensor<128x128xf32>
  %2 = stablehlo.sine %1 : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<128x128xf32>
  %5 = stablehlo.dot_general %4, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %6 = stablehlo.subtract %5, %1 : tensor<128x128xf32>
  return %4, %6 : tensor<128x128xf32>, tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %1 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %2 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %3 = stablehlo.multiply %1, %arg1 : tensor<128x128xf32>
    %4 = stablehlo.multiply %2, %arg1 : tensor<128x128xf32>
    %5 = stablehlo.sine %4 : tensor<128x128xf32>
    %6 = stablehlo.dot_general %5, %arg2, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %7 = stablehlo.multiply %6, %0 : tensor<128x128xf32>
    %8 = stablehlo.dot_general %7, %arg2, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %9 = stablehlo.subtract %8, %3 : tensor<128x128xf32>
    return %7, %9 : tensor<128x128xf32>, tensor<128x128xf32>
  }
}
// -----
// passes: recompute
// A small value is stored.
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.add %x, %x : tensor<64x64xf32>
  %1 = stablehlo.multiply %0, %x : tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<64x64xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<64x64xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}
