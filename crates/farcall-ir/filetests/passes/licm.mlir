// passes: licm
// The sine and the cosine leave the loop. Operations that depend on the induction variable stay.
func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %m = stablehlo.multiply %n, %two : tensor<i32>
      %1 = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %x : tensor<f32>
      %3 = stablehlo.cosine %2 : tensor<f32>
      %4 = stablehlo.add %a, %3 : tensor<f32>
      stablehlo.return %1, %4 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.multiply %arg0, %c_0 : tensor<i32>
    %1 = stablehlo.sine %arg1 : tensor<f32>
    %2 = stablehlo.cosine %1 : tensor<f32>
    %3:2 = "stablehlo.while"(%c, %arg1, %arg0, %arg1, %0, %2) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<f32>, %iterArg_4: tensor<i32>, %iterArg_5: tensor<f32>):
      %c_6 = stablehlo.constant dense<2> : tensor<i32>
      %4 = stablehlo.compare LT, %iterArg, %iterArg_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<f32>, %iterArg_4: tensor<i32>, %iterArg_5: tensor<f32>):
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_6 : tensor<i32>
      %5 = stablehlo.add %iterArg_1, %iterArg_5 : tensor<f32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<f32>
    }) {farcall.captures = 4 : i64} : (tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
    return %3#1 : tensor<f32>
  }
}
// -----
// passes: licm
// Calls stay in the loop, and so do operations that make a large tensor from a small one.
func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %0:2 = stablehlo.while(%i = %c, %a = %z) : tensor<i32>, tensor<8xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.custom_call @f(%x) : (tensor<f32>) -> tensor<f32>
      %3 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %5 = stablehlo.add %3, %4 : tensor<8xf32>
      %6 = stablehlo.add %a, %5 : tensor<8xf32>
      stablehlo.return %1, %6 : tensor<i32>, tensor<8xf32>
    }
  return %0#1 : tensor<8xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> tensor<8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %0:2 = "stablehlo.while"(%c, %cst, %arg0, %arg1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<8xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<f32>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<8xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<f32>):
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      %2 = stablehlo.custom_call @f(%iterArg_2) : (tensor<f32>) -> tensor<f32>
      %3 = stablehlo.broadcast_in_dim %iterArg_2, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %5 = stablehlo.add %3, %4 : tensor<8xf32>
      %6 = stablehlo.add %iterArg_0, %5 : tensor<8xf32>
      stablehlo.return %1, %6 : tensor<i32>, tensor<8xf32>
    }) {farcall.captures = 2 : i64} : (tensor<i32>, tensor<8xf32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<8xf32>)
    return %0#1 : tensor<8xf32>
  }
}
// -----
// passes: licm
// Operations that may fail stay, because the loop may run zero times.
func.func @main(%n: tensor<i32>, %x: tensor<3xf32>, %size: tensor<i32>, %y: tensor<2xf6E2M3FN>) -> (tensor<3xf32>, tensor<2xf6E2M3FN>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %a = %x, %b = %y) : tensor<i32>, tensor<3xf32>, tensor<2xf6E2M3FN>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.set_dimension_size %x, %size, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
      %3 = stablehlo.reduce_precision %y, format = e2m1 : tensor<2xf6E2M3FN>
      %4 = stablehlo.negate %x : tensor<3xf32>
      %5 = stablehlo.add %2, %4 : tensor<3xf32>
      stablehlo.return %1, %5, %3 : tensor<i32>, tensor<3xf32>, tensor<2xf6E2M3FN>
    }
  return %0#1, %0#2 : tensor<3xf32>, tensor<2xf6E2M3FN>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>, %arg3: tensor<2xf6E2M3FN>) -> (tensor<3xf32>, tensor<2xf6E2M3FN>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.negate %arg1 : tensor<3xf32>
    %1:3 = "stablehlo.while"(%c, %arg1, %arg3, %arg0, %arg1, %arg2, %arg3, %0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<3xf32>, %iterArg_1: tensor<2xf6E2M3FN>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<3xf32>, %iterArg_4: tensor<i32>, %iterArg_5: tensor<2xf6E2M3FN>, %iterArg_6: tensor<3xf32>):
      %2 = stablehlo.compare LT, %iterArg, %iterArg_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<3xf32>, %iterArg_1: tensor<2xf6E2M3FN>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<3xf32>, %iterArg_4: tensor<i32>, %iterArg_5: tensor<2xf6E2M3FN>, %iterArg_6: tensor<3xf32>):
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_7 : tensor<i32>
      %3 = stablehlo.set_dimension_size %iterArg_3, %iterArg_4, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
      %4 = stablehlo.reduce_precision %iterArg_5, format = e2m1 : tensor<2xf6E2M3FN>
      %5 = stablehlo.add %3, %iterArg_6 : tensor<3xf32>
      stablehlo.return %2, %5, %4 : tensor<i32>, tensor<3xf32>, tensor<2xf6E2M3FN>
    }) {farcall.captures = 5 : i64} : (tensor<i32>, tensor<3xf32>, tensor<2xf6E2M3FN>, tensor<i32>, tensor<3xf32>, tensor<i32>, tensor<2xf6E2M3FN>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<2xf6E2M3FN>)
    return %1#1, %1#2 : tensor<3xf32>, tensor<2xf6E2M3FN>
  }
}
// -----
// passes: licm
// A reduction moves with its operands, and so does a loop with a known trip count. A loop that may not end
// stays.
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %a = %s, %k = %c) : tensor<i32>, tensor<f32>, tensor<i32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<i32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %y = stablehlo.multiply %x, %b : tensor<4xf32>
      %sum = stablehlo.reduce(%y init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %2 = stablehlo.add %a, %sum : tensor<f32>
      %ended:2 = stablehlo.while(%j = %zero, %d = %n) : tensor<i32>, tensor<i32>
        cond {
          %3 = stablehlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %3 : tensor<i1>
        } do {
          %3 = stablehlo.add %j, %one : tensor<i32>
          %4 = stablehlo.add %d, %d : tensor<i32>
          stablehlo.return %3, %4 : tensor<i32>, tensor<i32>
        }
      %open = stablehlo.while(%j = %zero) : tensor<i32>
        cond {
          %3 = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %3 : tensor<i1>
        } do {
          %3 = stablehlo.add %j, %two : tensor<i32>
          stablehlo.return %3 : tensor<i32>
        }
      %5 = stablehlo.add %k, %ended#1 : tensor<i32>
      %6 = stablehlo.add %5, %open : tensor<i32>
      stablehlo.return %1, %2, %6 : tensor<i32>, tensor<f32>, tensor<i32>
    }
  return %0#1, %0#2 : tensor<f32>, tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<i32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<4xf32>
    %2 = stablehlo.reduce(%1 init: %arg2) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %arg0) : tensor<i32>, tensor<i32>
    cond {
      %c_2 = stablehlo.constant dense<2> : tensor<i32>
      %5 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %6 = stablehlo.add %iterArg_1, %iterArg_1 : tensor<i32>
      stablehlo.return %5, %6 : tensor<i32>, tensor<i32>
    }
    %4:3 = "stablehlo.while"(%c, %arg2, %c, %arg0, %arg2, %arg1, %2, %3#1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<i32>, %iterArg_4: tensor<f32>, %iterArg_5: tensor<4xf32>, %iterArg_6: tensor<f32>, %iterArg_7: tensor<i32>):
      %5 = stablehlo.compare LT, %iterArg, %iterArg_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<i32>, %iterArg_4: tensor<f32>, %iterArg_5: tensor<4xf32>, %iterArg_6: tensor<f32>, %iterArg_7: tensor<i32>):
      %c_8 = stablehlo.constant dense<1> : tensor<i32>
      %c_9 = stablehlo.constant dense<2> : tensor<i32>
      %c_10 = stablehlo.constant dense<0> : tensor<i32>
      %5 = stablehlo.add %iterArg, %c_8 : tensor<i32>
      %6 = stablehlo.broadcast_in_dim %iterArg_4, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %7 = stablehlo.add %iterArg_1, %iterArg_6 : tensor<f32>
      %8 = "stablehlo.while"(%c_10, %iterArg_3) ({
      ^bb0(%iterArg_11: tensor<i32>, %iterArg_12: tensor<i32>):
        %11 = stablehlo.compare LT, %iterArg_11, %iterArg_12 : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %11 : tensor<i1>
      }, {
      ^bb0(%iterArg_11: tensor<i32>, %iterArg_12: tensor<i32>):
        %c_13 = stablehlo.constant dense<2> : tensor<i32>
        %11 = stablehlo.add %iterArg_11, %c_13 : tensor<i32>
        stablehlo.return %11 : tensor<i32>
      }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %9 = stablehlo.add %iterArg_2, %iterArg_7 : tensor<i32>
      %10 = stablehlo.add %9, %8 : tensor<i32>
      stablehlo.return %5, %7, %10 : tensor<i32>, tensor<f32>, tensor<i32>
    }) {farcall.captures = 5 : i64} : (tensor<i32>, tensor<f32>, tensor<i32>, tensor<i32>, tensor<f32>, tensor<4xf32>, tensor<f32>, tensor<i32>) -> (tensor<i32>, tensor<f32>, tensor<i32>)
    return %4#1, %4#2 : tensor<f32>, tensor<i32>
  }
}
// -----
// passes: licm
// Among values computed only from constants and iotas, small values move and large values stay.
func.func @main(%n: tensor<i32>) -> (tensor<8xf32>, tensor<100000xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %w = stablehlo.constant dense<0.0> : tensor<100000xf32>
  %0:3 = stablehlo.while(%i = %c, %a = %z, %b = %w) : tensor<i32>, tensor<8xf32>, tensor<100000xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.iota dim = 0 : tensor<8xf32>
      %3 = stablehlo.sine %2 : tensor<8xf32>
      %4 = stablehlo.add %a, %3 : tensor<8xf32>
      %5 = stablehlo.iota dim = 0 : tensor<100000xf32>
      %6 = stablehlo.sine %5 : tensor<100000xf32>
      %7 = stablehlo.add %b, %6 : tensor<100000xf32>
      stablehlo.return %1, %4, %7 : tensor<i32>, tensor<8xf32>, tensor<100000xf32>
    }
  return %0#1, %0#2 : tensor<8xf32>, tensor<100000xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>) -> (tensor<8xf32>, tensor<100000xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<8xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<100000xf32>
    %0 = stablehlo.iota dim = 0 : tensor<8xf32>
    %1 = stablehlo.sine %0 : tensor<8xf32>
    %2:3 = "stablehlo.while"(%c, %cst, %cst_0, %arg0, %1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<8xf32>, %iterArg_2: tensor<100000xf32>, %iterArg_3: tensor<i32>, %iterArg_4: tensor<8xf32>):
      %3 = stablehlo.compare LT, %iterArg, %iterArg_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<8xf32>, %iterArg_2: tensor<100000xf32>, %iterArg_3: tensor<i32>, %iterArg_4: tensor<8xf32>):
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_5 : tensor<i32>
      %4 = stablehlo.iota dim = 0 : tensor<8xf32>
      %5 = stablehlo.add %iterArg_1, %iterArg_4 : tensor<8xf32>
      %6 = stablehlo.iota dim = 0 : tensor<100000xf32>
      %7 = stablehlo.sine %6 : tensor<100000xf32>
      %8 = stablehlo.add %iterArg_2, %7 : tensor<100000xf32>
      stablehlo.return %3, %5, %8 : tensor<i32>, tensor<8xf32>, tensor<100000xf32>
    }) {farcall.captures = 2 : i64} : (tensor<i32>, tensor<8xf32>, tensor<100000xf32>, tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>, tensor<100000xf32>)
    return %2#1, %2#2 : tensor<8xf32>, tensor<100000xf32>
  }
}
// -----
// passes: licm, dce
// A sum of a large tensor that is computed only from constants moves together with its operands.
func.func @main(%n: tensor<i32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %0:2 = stablehlo.while(%i = %zero, %a = %none) : tensor<i32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.iota dim = 0 : tensor<100000xf32>
      %3 = stablehlo.multiply %2, %2 : tensor<100000xf32>
      %4 = stablehlo.reduce(%3 init: %none) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
      %5 = stablehlo.add %a, %4 : tensor<f32>
      stablehlo.return %1, %5 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.iota dim = 0 : tensor<100000xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<100000xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
    %3:2 = "stablehlo.while"(%c, %cst, %arg0, %2) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<f32>):
      %4 = stablehlo.compare LT, %iterArg, %iterArg_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>, %iterArg_3: tensor<f32>):
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      %5 = stablehlo.add %iterArg_1, %iterArg_3 : tensor<f32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<f32>
    }) {farcall.captures = 2 : i64} : (tensor<i32>, tensor<f32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
    return %3#1 : tensor<f32>
  }
}
