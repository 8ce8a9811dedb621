// passes: fuse, dce
// A chain of operations. The constant and the broadcasts are duplicated into the fusion.
func.func @main(%x: tensor<4x3xf32>, %b: tensor<3xf32>, %s: tensor<f32>) -> tensor<4x3xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x3xf32>
  %0 = stablehlo.multiply %x, %c : tensor<4x3xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x3xf32>
  %3 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
  %4 = stablehlo.maximum %2, %3 : tensor<4x3xf32>
  return %4 : tensor<4x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<f32>) -> tensor<4x3xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<4x3xf32>, %arg4: tensor<3xf32>, %arg5: tensor<f32>):
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<4x3xf32>
      %1 = stablehlo.multiply %arg3, %cst : tensor<4x3xf32>
      %2 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
      %3 = stablehlo.add %1, %2 : tensor<4x3xf32>
      %4 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
      %5 = stablehlo.maximum %3, %4 : tensor<4x3xf32>
      stablehlo.return %5 : tensor<4x3xf32>
    }) : (tensor<4x3xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
// -----
// passes: fuse, dce
// An operation between two members that cannot be fused splits the fusion. A value that both parts need is a
// result.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<4xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4xf32>
  %4 = stablehlo.negate %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg1: tensor<4xf32>):
      %3 = stablehlo.sine %arg1 : tensor<4xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<4xf32>
      stablehlo.return %3, %4 : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %1 = stablehlo.reverse %0#1, dims = [0] : tensor<4xf32>
    %2 = "farcall.fusion"(%0#0, %1) ({
    ^bb0(%arg1: tensor<4xf32>, %arg2: tensor<4xf32>):
      %3 = stablehlo.divide %arg1, %arg2 : tensor<4xf32>
      %4 = stablehlo.negate %3 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// Small unrelated operations are fused, except an operation with a different number of elements.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x2xi32>, %z: tensor<3xf32>) -> (tensor<4xf32>, tensor<2x2xi32>, tensor<3xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %y, %y : tensor<2x2xi32>
  %2 = stablehlo.cosine %z : tensor<3xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<2x2xi32>, tensor<3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<2x2xi32>, %arg2: tensor<3xf32>) -> (tensor<4xf32>, tensor<2x2xi32>, tensor<3xf32>) {
    %0:2 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg3: tensor<4xf32>, %arg4: tensor<2x2xi32>):
      %2 = stablehlo.sine %arg3 : tensor<4xf32>
      %3 = stablehlo.add %arg4, %arg4 : tensor<2x2xi32>
      stablehlo.return %2, %3 : tensor<4xf32>, tensor<2x2xi32>
    }) : (tensor<4xf32>, tensor<2x2xi32>) -> (tensor<4xf32>, tensor<2x2xi32>)
    %1 = stablehlo.cosine %arg2 : tensor<3xf32>
    return %0#0, %0#1, %1 : tensor<4xf32>, tensor<2x2xi32>, tensor<3xf32>
  }
}
// -----
// passes: fuse, dce
// Reshapes of members and of operands are computed in the fusion.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<6xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.sine %x : tensor<2x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = stablehlo.add %1, %y : tensor<6xf32>
  %3 = stablehlo.reshape %2 : (tensor<6xf32>) -> tensor<3x2xf32>
  %4 = stablehlo.reshape %y : (tensor<6xf32>) -> tensor<3x2xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<3x2xf32>
  return %5 : tensor<3x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<6xf32>) -> tensor<3x2xf32> {
    %0 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2x3xf32>, %arg3: tensor<6xf32>):
      %1 = stablehlo.sine %arg2 : tensor<2x3xf32>
      %2 = stablehlo.reshape %1 : (tensor<2x3xf32>) -> tensor<6xf32>
      %3 = stablehlo.add %2, %arg3 : tensor<6xf32>
      %4 = stablehlo.reshape %3 : (tensor<6xf32>) -> tensor<3x2xf32>
      %5 = stablehlo.reshape %arg3 : (tensor<6xf32>) -> tensor<3x2xf32>
      %6 = stablehlo.multiply %4, %5 : tensor<3x2xf32>
      stablehlo.return %6 : tensor<3x2xf32>
    }) : (tensor<2x3xf32>, tensor<6xf32>) -> tensor<3x2xf32>
    return %0 : tensor<3x2xf32>
  }
}
// -----
// passes: fuse, dce
// Calls with side effects keep their order, so an operand of one call is not fused with users of another.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.custom_call @take(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @give(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.cosine %2 : tensor<4xf32>
  %4 = stablehlo.add %3, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4xf32>
    %1 = stablehlo.custom_call @take(%0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.custom_call @give(%arg0) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = "farcall.fusion"(%2) ({
    ^bb0(%arg1: tensor<4xf32>):
      %4 = stablehlo.cosine %arg1 : tensor<4xf32>
      %5 = stablehlo.add %4, %4 : tensor<4xf32>
      stablehlo.return %5 : tensor<4xf32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// Operations in the body of a loop are fused.
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<4xf32>
      %3 = stablehlo.add %2, %x : tensor<4xf32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = "stablehlo.while"(%c, %arg1, %arg0, %arg1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<4xf32>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<4xf32>):
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      %2 = "farcall.fusion"(%iterArg_0, %iterArg_2) ({
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<4xf32>):
        %3 = stablehlo.sine %arg2 : tensor<4xf32>
        %4 = stablehlo.add %3, %arg3 : tensor<4xf32>
        stablehlo.return %4 : tensor<4xf32>
      }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>
    }) {farcall.captures = 2 : i64} : (tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    return %0#1 : tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// A reduction of rows is fused with its operand, and with users of its result that work on whole rows.
func.func @main(%x: tensor<4x3xf32>, %b: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<4x3xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = stablehlo.add %1, %b : tensor<4xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3xf32>
  %5 = stablehlo.divide %0, %4 : tensor<4x3xf32>
  return %5, %1 : tensor<4x3xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
    %0:2 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<4x3xf32>, %arg3: tensor<4xf32>):
      %1 = stablehlo.exponential %arg2 : tensor<4x3xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
      %3 = stablehlo.add %2, %arg3 : tensor<4xf32>
      %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
      %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x3xf32>
      %6 = stablehlo.divide %1, %5 : tensor<4x3xf32>
      stablehlo.return %2, %6 : tensor<4xf32>, tensor<4x3xf32>
    }) : (tensor<4x3xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4x3xf32>)
    return %0#1, %0#0 : tensor<4x3xf32>, tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// A reduction of rows of a different length is not fused. A reduction across rows is.
func.func @main(%x: tensor<2x3x4xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<4xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<2x3x4xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2xf32>
  %3 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.sine %1 : tensor<2x3xf32>
  %5 = stablehlo.sine %2 : tensor<2xf32>
  return %4, %5, %3 : tensor<2x3xf32>, tensor<2xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<4xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0:3 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg1: tensor<2x3x4xf32>):
      %3 = stablehlo.exponential %arg1 : tensor<2x3x4xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
      %5 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<4xf32>
      %6 = stablehlo.sine %4 : tensor<2x3xf32>
      stablehlo.return %3, %5, %6 : tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>
    }) : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<2x3xf32>)
    %1 = stablehlo.reduce(%0#0 init: %cst) applies stablehlo.add across dimensions = [1, 2] : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.sine %1 : tensor<2xf32>
    return %0#2, %2, %0#1 : tensor<2x3xf32>, tensor<2xf32>, tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// A square matrix: the operand of a broadcast along columns is computed outside of the fusion.
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<3x3xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<3xf32>) -> tensor<3x3xf32>
  %3 = stablehlo.divide %0, %2 : tensor<3x3xf32>
  %i = stablehlo.iota dim = 0 : tensor<3xf32>
  %4 = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<3xf32>) -> tensor<3x3xf32>
  %5 = stablehlo.add %3, %4 : tensor<3x3xf32>
  return %5 : tensor<3x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x3xf32>) -> tensor<3x3xf32> {
    %0:2 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg1: tensor<3x3xf32>):
      %3 = stablehlo.exponential %arg1 : tensor<3x3xf32>
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
      stablehlo.return %3, %4 : tensor<3x3xf32>, tensor<3xf32>
    }) : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>)
    %1 = stablehlo.iota dim = 0 : tensor<3xf32>
    %2 = "farcall.fusion"(%0#1, %0#0, %1) ({
    ^bb0(%arg1: tensor<3xf32>, %arg2: tensor<3x3xf32>, %arg3: tensor<3xf32>):
      %3 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<3x3xf32>
      %4 = stablehlo.divide %arg2, %3 : tensor<3x3xf32>
      %5 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<3xf32>) -> tensor<3x3xf32>
      %6 = stablehlo.add %4, %5 : tensor<3x3xf32>
      stablehlo.return %6 : tensor<3x3xf32>
    }) : (tensor<3xf32>, tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    return %2 : tensor<3x3xf32>
  }
}
// -----
// passes: fuse, dce
// Slices of operands, and concatenations of slices, are duplicated into fusions. Slices of members are not.
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x12xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = stablehlo.slice %x [0:4, 5:6] : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.slice %x [0:4, 0:5] : (tensor<4x6xf32>) -> tensor<4x5xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<4x1xf32>, tensor<4x5xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.slice %y [0:4, 6:12] : (tensor<4x12xf32>) -> tensor<4x6xf32>
  %4 = stablehlo.add %2, %3 : tensor<4x6xf32>
  %5 = stablehlo.slice %4 [0:4, 3:6] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %6 = stablehlo.slice %4 [0:4, 0:3] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %7 = stablehlo.concatenate %5, %6, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %8 = stablehlo.multiply %7, %4 : tensor<4x6xf32>
  return %4, %8 : tensor<4x6xf32>, tensor<4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x12xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
    %0 = "farcall.fusion"(%arg1, %arg0) ({
    ^bb0(%arg2: tensor<4x12xf32>, %arg3: tensor<4x6xf32>):
      %2 = stablehlo.slice %arg2 [0:4, 6:12] : (tensor<4x12xf32>) -> tensor<4x6xf32>
      %3 = stablehlo.slice %arg3 [0:4, 0:5] : (tensor<4x6xf32>) -> tensor<4x5xf32>
      %4 = stablehlo.slice %arg3 [0:4, 5:6] : (tensor<4x6xf32>) -> tensor<4x1xf32>
      %5 = stablehlo.concatenate %4, %3, dim = 1 : (tensor<4x1xf32>, tensor<4x5xf32>) -> tensor<4x6xf32>
      %6 = stablehlo.add %5, %2 : tensor<4x6xf32>
      stablehlo.return %6 : tensor<4x6xf32>
    }) : (tensor<4x12xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %1 = "farcall.fusion"(%0) ({
    ^bb0(%arg2: tensor<4x6xf32>):
      %2 = stablehlo.slice %arg2 [0:4, 0:3] : (tensor<4x6xf32>) -> tensor<4x3xf32>
      %3 = stablehlo.slice %arg2 [0:4, 3:6] : (tensor<4x6xf32>) -> tensor<4x3xf32>
      %4 = stablehlo.concatenate %3, %2, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
      %5 = stablehlo.multiply %4, %arg2 : tensor<4x6xf32>
      stablehlo.return %5 : tensor<4x6xf32>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    return %0, %1 : tensor<4x6xf32>, tensor<4x6xf32>
  }
}
// -----
// passes: fuse, dce
// A member whose only users belong to a later generation joins their fusion.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
  %2 = stablehlo.cosine %x : tensor<4xf32>
  %3 = stablehlo.reverse %2, dims = [0] : tensor<4xf32>
  %4 = stablehlo.add %1, %3 : tensor<4xf32>
  return %4 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.cosine %arg0 : tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    %2 = "farcall.fusion"(%arg0, %1) ({
    ^bb0(%arg1: tensor<4xf32>, %arg2: tensor<4xf32>):
      %3 = stablehlo.sine %arg1 : tensor<4xf32>
      %4 = stablehlo.multiply %3, %3 : tensor<4xf32>
      %5 = stablehlo.add %4, %arg2 : tensor<4xf32>
      stablehlo.return %5 : tensor<4xf32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// Padding of an operand is computed in the fusion. The padded value itself is not.
func.func @main(%x: tensor<5x2xf32>, %y: tensor<4x2xf32>, %z: tensor<f32>) -> tensor<9x2xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.sine %y : tensor<4x2xf32>
  %2 = stablehlo.pad %x, %z, low = [0, 0], high = [0, 0], interior = [1, 0] : (tensor<5x2xf32>, tensor<f32>) -> tensor<9x2xf32>
  %3 = stablehlo.pad %1, %0, low = [1, 0], high = [1, 0], interior = [1, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<9x2xf32>
  %4 = stablehlo.add %2, %3 : tensor<9x2xf32>
  return %4 : tensor<9x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5x2xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<f32>) -> tensor<9x2xf32> {
    %0 = stablehlo.sine %arg1 : tensor<4x2xf32>
    %1 = "farcall.fusion"(%0, %arg0, %arg2) ({
    ^bb0(%arg3: tensor<4x2xf32>, %arg4: tensor<5x2xf32>, %arg5: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.pad %arg3, %cst, low = [1, 0], high = [1, 0], interior = [1, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<9x2xf32>
      %3 = stablehlo.pad %arg4, %arg5, low = [0, 0], high = [0, 0], interior = [1, 0] : (tensor<5x2xf32>, tensor<f32>) -> tensor<9x2xf32>
      %4 = stablehlo.add %3, %2 : tensor<9x2xf32>
      stablehlo.return %4 : tensor<9x2xf32>
    }) : (tensor<4x2xf32>, tensor<5x2xf32>, tensor<f32>) -> tensor<9x2xf32>
    return %1 : tensor<9x2xf32>
  }
}
// -----
// passes: fuse, dce
// Unrelated operations on inputs can be postponed, so they are not fused, unless they are small or returned.
func.func @main(%x: tensor<200xf32>, %y: tensor<200xf32>, %s: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<200xf32>
  %1 = stablehlo.add %0, %x : tensor<200xf32>
  %2 = stablehlo.cosine %y : tensor<200xf32>
  %3 = stablehlo.multiply %2, %y : tensor<200xf32>
  %4 = stablehlo.reverse %1, dims = [0] : tensor<200xf32>
  %5 = stablehlo.reverse %3, dims = [0] : tensor<200xf32>
  %6 = stablehlo.negate %x : tensor<200xf32>
  %7 = stablehlo.abs %y : tensor<200xf32>
  %8 = stablehlo.negate %s : tensor<4xf32>
  %9 = stablehlo.abs %t : tensor<4xf32>
  return %4, %5, %6, %7, %8, %9 : tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<200xf32>, %arg1: tensor<200xf32>, %arg2: tensor<4xf32>, %arg3: tensor<4xf32>) -> (tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = "farcall.fusion"(%arg0) ({
    ^bb0(%arg4: tensor<200xf32>):
      %6 = stablehlo.sine %arg4 : tensor<200xf32>
      %7 = stablehlo.add %6, %arg4 : tensor<200xf32>
      stablehlo.return %7 : tensor<200xf32>
    }) : (tensor<200xf32>) -> tensor<200xf32>
    %1 = "farcall.fusion"(%arg1) ({
    ^bb0(%arg4: tensor<200xf32>):
      %6 = stablehlo.cosine %arg4 : tensor<200xf32>
      %7 = stablehlo.multiply %6, %arg4 : tensor<200xf32>
      stablehlo.return %7 : tensor<200xf32>
    }) : (tensor<200xf32>) -> tensor<200xf32>
    %2 = stablehlo.reverse %0, dims = [0] : tensor<200xf32>
    %3 = stablehlo.reverse %1, dims = [0] : tensor<200xf32>
    %4:2 = "farcall.fusion"(%arg0, %arg1) ({
    ^bb0(%arg4: tensor<200xf32>, %arg5: tensor<200xf32>):
      %6 = stablehlo.negate %arg4 : tensor<200xf32>
      %7 = stablehlo.abs %arg5 : tensor<200xf32>
      stablehlo.return %6, %7 : tensor<200xf32>, tensor<200xf32>
    }) : (tensor<200xf32>, tensor<200xf32>) -> (tensor<200xf32>, tensor<200xf32>)
    %5:2 = "farcall.fusion"(%arg2, %arg3) ({
    ^bb0(%arg4: tensor<4xf32>, %arg5: tensor<4xf32>):
      %6 = stablehlo.negate %arg4 : tensor<4xf32>
      %7 = stablehlo.abs %arg5 : tensor<4xf32>
      stablehlo.return %6, %7 : tensor<4xf32>, tensor<4xf32>
    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %2, %3, %4#0, %4#1, %5#0, %5#1 : tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<200xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// Padding by very large amounts, which cuts off all elements of the operand, is not computed in fusions.
func.func @main(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.pad %x, %z, low = [-2000000000000], high = [2000000000000], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.sine %0 : tensor<4xf32>
  %2 = stablehlo.add %1, %0 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [-2000000000000], high = [2000000000000], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = "farcall.fusion"(%0) ({
    ^bb0(%arg2: tensor<4xf32>):
      %2 = stablehlo.sine %arg2 : tensor<4xf32>
      %3 = stablehlo.add %2, %arg2 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
// -----
// passes: fuse, dce
// A slice that a concatenation could apply while it reads is also broadcast: it is an operand of the fusion for both.
func.func @main(%y: tensor<2x1x2xi32>) -> (tensor<2x1x2xi32>, tensor<1x1x2xi32>, tensor<2x1x2xi32>) {
  %x = stablehlo.slice %y [0:1, 0:1, 0:2] : (tensor<2x1x2xi32>) -> tensor<1x1x2xi32>
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<1x1x2xi32>, tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [0, 1, 2] : (tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
  %2 = stablehlo.add %0, %1 : tensor<2x1x2xi32>
  return %2, %x, %0 : tensor<2x1x2xi32>, tensor<1x1x2xi32>, tensor<2x1x2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x1x2xi32>) -> (tensor<2x1x2xi32>, tensor<1x1x2xi32>, tensor<2x1x2xi32>) {
    %0 = stablehlo.slice %arg0 [0:1, 0:1, 0:2] : (tensor<2x1x2xi32>) -> tensor<1x1x2xi32>
    %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1x1x2xi32>, tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
    %2 = "farcall.fusion"(%0) ({
    ^bb0(%arg1: tensor<1x1x2xi32>):
      %3 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2] : (tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
      %4 = stablehlo.concatenate %arg1, %arg1, dim = 0 : (tensor<1x1x2xi32>, tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
      %5 = stablehlo.add %4, %3 : tensor<2x1x2xi32>
      stablehlo.return %5 : tensor<2x1x2xi32>
    }) : (tensor<1x1x2xi32>) -> tensor<2x1x2xi32>
    return %2, %0, %1 : tensor<2x1x2xi32>, tensor<1x1x2xi32>, tensor<2x1x2xi32>
  }
}
