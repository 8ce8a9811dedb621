// passes: sink
// A broadcast, and a value computed from it, move to their users. Small values stay, and so do values whose
// operands would have to be kept as long.
func.func @main(%x: tensor<64xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %few = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<64xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<64xf32>
  %y = stablehlo.sine %x : tensor<64xf32>
  %z = stablehlo.cosine %y : tensor<64xf32>
  %d = stablehlo.concatenate %few, %z, dim = 0 : (tensor<2xf32>, tensor<64xf32>) -> tensor<66xf32>
  %e = stablehlo.slice %d [2:66] : (tensor<66xf32>) -> tensor<64xf32>
  %f = stablehlo.add %e, %s : tensor<64xf32>
  return %f : tensor<64xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<64xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4xf32>) -> tensor<64xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.sine %arg0 : tensor<64xf32>
    %2 = stablehlo.cosine %1 : tensor<64xf32>
    %3 = stablehlo.concatenate %0, %2, dim = 0 : (tensor<2xf32>, tensor<64xf32>) -> tensor<66xf32>
    %4 = stablehlo.slice %3 [2:66] : (tensor<66xf32>) -> tensor<64xf32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %6 = "stablehlo.scatter"(%5, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %8 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<64xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<64xf32>
    %7 = stablehlo.add %4, %6 : tensor<64xf32>
    return %7 : tensor<64xf32>
  }
}
// -----
// passes: sink
// An instruction that reads an input donated to a result does not move. An instruction that reads another
// input does. A view moves together with its user.
func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<128xf32>) {
  %a = stablehlo.negate %x : tensor<64xf32>
  %b = stablehlo.negate %y : tensor<64xf32>
  %r = stablehlo.reshape %b : (tensor<64xf32>) -> tensor<8x8xf32>
  %s = stablehlo.sine %x : tensor<64xf32>
  %t = stablehlo.cosine %s : tensor<64xf32>
  %v = stablehlo.reshape %r : (tensor<8x8xf32>) -> tensor<64xf32>
  %c = stablehlo.concatenate %a, %v, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  return %t, %c : tensor<64xf32>, tensor<128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<64xf32>) -> (tensor<64xf32>, tensor<128xf32>) {
    %0 = stablehlo.negate %arg0 : tensor<64xf32>
    %1 = stablehlo.sine %arg0 : tensor<64xf32>
    %2 = stablehlo.cosine %1 : tensor<64xf32>
    %3 = stablehlo.negate %arg1 : tensor<64xf32>
    %4 = stablehlo.reshape %3 : (tensor<64xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<8x8xf32>) -> tensor<64xf32>
    %6 = stablehlo.concatenate %0, %5, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
    return %2, %6 : tensor<64xf32>, tensor<128xf32>
  }
}
