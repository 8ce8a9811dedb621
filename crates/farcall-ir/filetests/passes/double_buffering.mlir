// passes: double_buffering
// A stencil step reads the neighbors of the elements that it writes.
func.func @main(%x: tensor<2048xf32>, %k: tensor<f32>) -> (tensor<2048xf32>, tensor<i32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<2048xf32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.slice %a [2047:2048] : (tensor<2048xf32>) -> tensor<1xf32>
      %3 = stablehlo.slice %a [0:2047] : (tensor<2048xf32>) -> tensor<2047xf32>
      %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<2047xf32>) -> tensor<2048xf32>
      %5 = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<f32>) -> tensor<2048xf32>
      %6 = stablehlo.multiply %4, %5 : tensor<2048xf32>
      %7 = stablehlo.add %a, %6 : tensor<2048xf32>
      stablehlo.return %1, %7 : tensor<i32>, tensor<2048xf32>
    }
  return %0#1, %0#0 : tensor<2048xf32>, tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2048xf32>, %arg1: tensor<f32>) -> (tensor<2048xf32>, tensor<i32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = "stablehlo.while"(%c, %arg0, %arg1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<2048xf32>, %iterArg_1: tensor<f32>):
      %c_2 = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<2048xf32>, %iterArg_1: tensor<f32>):
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %2 = stablehlo.slice %iterArg_0 [2047:2048] : (tensor<2048xf32>) -> tensor<1xf32>
      %3 = stablehlo.slice %iterArg_0 [0:2047] : (tensor<2048xf32>) -> tensor<2047xf32>
      %4 = stablehlo.concatenate %2, %3, dim = 0 : (tensor<1xf32>, tensor<2047xf32>) -> tensor<2048xf32>
      %5 = stablehlo.broadcast_in_dim %iterArg_1, dims = [] : (tensor<f32>) -> tensor<2048xf32>
      %6 = stablehlo.multiply %4, %5 : tensor<2048xf32>
      %7 = stablehlo.add %iterArg_0, %6 : tensor<2048xf32>
      %8 = stablehlo.add %1, %c_2 : tensor<i32>
      %9 = stablehlo.slice %7 [2047:2048] : (tensor<2048xf32>) -> tensor<1xf32>
      %10 = stablehlo.slice %7 [0:2047] : (tensor<2048xf32>) -> tensor<2047xf32>
      %11 = stablehlo.concatenate %9, %10, dim = 0 : (tensor<1xf32>, tensor<2047xf32>) -> tensor<2048xf32>
      %12 = stablehlo.broadcast_in_dim %iterArg_1, dims = [] : (tensor<f32>) -> tensor<2048xf32>
      %13 = stablehlo.multiply %11, %12 : tensor<2048xf32>
      %14 = stablehlo.add %7, %13 : tensor<2048xf32>
      stablehlo.return %8, %14 : tensor<i32>, tensor<2048xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<2048xf32>, tensor<f32>) -> (tensor<i32>, tensor<2048xf32>)
    return %0#1, %0#0 : tensor<2048xf32>, tensor<i32>
  }
}
// -----
// passes: double_buffering
// Not applied: an odd trip count; a value that is updated in place; a small value.
func.func @main(%x: tensor<2048xf32>, %s: tensor<4xf32>) -> (tensor<2048xf32>, tensor<2048xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<2048xf32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.reverse %a, dims = [0] : tensor<2048xf32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<2048xf32>
    }
  %3:3 = stablehlo.while(%i = %c, %a = %x, %b = %s) : tensor<i32>, tensor<2048xf32>, tensor<4xf32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare LE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.slice %a [5:6] : (tensor<2048xf32>) -> tensor<1xf32>
      %4 = stablehlo.dynamic_update_slice %a, %2, %i : (tensor<2048xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2048xf32>
      %5 = stablehlo.reverse %b, dims = [0] : tensor<4xf32>
      stablehlo.return %1, %4, %5 : tensor<i32>, tensor<2048xf32>, tensor<4xf32>
    }
  return %0#1, %3#1, %3#2 : tensor<2048xf32>, tensor<2048xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2048xf32>, %arg1: tensor<4xf32>) -> (tensor<2048xf32>, tensor<2048xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<2048xf32>
    cond {
      %c_1 = stablehlo.constant dense<100> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %3 = stablehlo.reverse %iterArg_0, dims = [0] : tensor<2048xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<2048xf32>
    }
    %1:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0, %iterArg_1 = %arg1) : tensor<i32>, tensor<2048xf32>, tensor<4xf32>
    cond {
      %c_2 = stablehlo.constant dense<100> : tensor<i32>
      %2 = stablehlo.compare LE, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %3 = stablehlo.slice %iterArg_0 [5:6] : (tensor<2048xf32>) -> tensor<1xf32>
      %4 = stablehlo.dynamic_update_slice %iterArg_0, %3, %iterArg : (tensor<2048xf32>, tensor<1xf32>, tensor<i32>) -> tensor<2048xf32>
      %5 = stablehlo.reverse %iterArg_1, dims = [0] : tensor<4xf32>
      stablehlo.return %2, %4, %5 : tensor<i32>, tensor<2048xf32>, tensor<4xf32>
    }
    return %0#1, %1#1, %1#2 : tensor<2048xf32>, tensor<2048xf32>, tensor<4xf32>
  }
}
// -----
// passes: double_buffering
// Not applied: the sine is computed before the concatenation, which can then overwrite the carried value.
func.func @main(%x: tensor<2048xf32>, %b: tensor<1xf32>) -> tensor<2048xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<2048xf32>
    cond {
      %n = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare NE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.slice %a [0:2046] : (tensor<2048xf32>) -> tensor<2046xf32>
      %3 = stablehlo.sine %2 : tensor<2046xf32>
      %4 = stablehlo.concatenate %b, %3, %b, dim = 0 : (tensor<1xf32>, tensor<2046xf32>, tensor<1xf32>) -> tensor<2048xf32>
      stablehlo.return %1, %4 : tensor<i32>, tensor<2048xf32>
    }
  return %0#1 : tensor<2048xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2048xf32>, %arg1: tensor<1xf32>) -> tensor<2048xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = "stablehlo.while"(%c, %arg0, %arg1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<2048xf32>, %iterArg_1: tensor<1xf32>):
      %c_2 = stablehlo.constant dense<100> : tensor<i32>
      %1 = stablehlo.compare NE, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<2048xf32>, %iterArg_1: tensor<1xf32>):
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %2 = stablehlo.slice %iterArg_0 [0:2046] : (tensor<2048xf32>) -> tensor<2046xf32>
      %3 = stablehlo.sine %2 : tensor<2046xf32>
      %4 = stablehlo.concatenate %iterArg_1, %3, %iterArg_1, dim = 0 : (tensor<1xf32>, tensor<2046xf32>, tensor<1xf32>) -> tensor<2048xf32>
      stablehlo.return %1, %4 : tensor<i32>, tensor<2048xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<2048xf32>, tensor<1xf32>) -> (tensor<i32>, tensor<2048xf32>)
    return %0#1 : tensor<2048xf32>
  }
}
