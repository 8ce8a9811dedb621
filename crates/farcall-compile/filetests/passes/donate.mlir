// passes: donate
// A result that is named, and those of the type for an input that may be given to any. A promised result is not promised again.
func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %z: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.multiply %x, %y : tensor<4xf32>
  %2 = stablehlo.sine %1 : tensor<4xf32>
  return %0, %1, %z, %2 : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32> {farcall.donated = array<i64: 0, 3>, jax.buffer_donor = true}, %arg1: tensor<4xf32> {farcall.donated = array<i64: 1>, tf.aliasing_output = 1 : i32}, %arg2: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<4xf32>
    %2 = stablehlo.sine %1 : tensor<4xf32>
    return %0, %1, %arg2, %2 : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
  }
}
// -----
// passes: donate
// What the form says already does not count, and a result that is the same as a promised one is promised with it.
func.func @main(%x: tensor<4xf32> {farcall.donated = array<i64: 0>}, %y: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %z: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32> {farcall.donated = array<i64: 0>, tf.aliasing_output = 0 : i32}, %arg2: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    return %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: donate
// An input that no result is like keeps its memory.
func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<2xf32> {
    %0 = stablehlo.slice %arg0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
