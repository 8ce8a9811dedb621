// passes: if_conversion
// Branches become selects, in the order of their indices. The last branch is also taken for all other
// indices.
func.func @main(%x: tensor<4xi32>, %i: tensor<i32>) -> tensor<i32> {
  %r = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
   reducer(%a: tensor<i32>, %b: tensor<i32>) {
    %c = "stablehlo.case"(%b) ({
      stablehlo.return %a : tensor<i32>
    }, {
      %s = stablehlo.add %a, %i : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }, {
      %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %m = "stablehlo.if"(%p) ({
        stablehlo.return %b : tensor<i32>
      }, {
        %n = stablehlo.negate %a : tensor<i32>
        stablehlo.return %n : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      stablehlo.return %m : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %c : tensor<i32>
  }
  return %r : tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = "stablehlo.reduce"(%arg0, %arg1, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %1 = stablehlo.add %arg2, %arg4 : tensor<i32>
      %2 = stablehlo.compare LT, %arg2, %arg3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %3 = stablehlo.negate %arg2 : tensor<i32>
      %4 = stablehlo.select %2, %arg3, %3 : tensor<i1>, tensor<i32>
      %c = stablehlo.constant dense<1> : tensor<i32>
      %5 = stablehlo.compare EQ, %arg3, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.select %5, %1, %4 : tensor<i1>, tensor<i32>
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %7 = stablehlo.compare EQ, %arg3, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %8 = stablehlo.select %7, %arg2, %6 : tensor<i1>, tensor<i32>
      stablehlo.return %8 : tensor<i32>
    }) {farcall.captures = 1 : i64} : (tensor<4xi32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0 : tensor<i32>
  }
}
// -----
// passes: if_conversion
// Values that depend only on captured values are computed before the operation.
func.func @main(%x: tensor<4xi32>, %t: tensor<3xi32>) -> tensor<4xi32> {
  %r = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>):
    %s = stablehlo.slice %t [2:3] : (tensor<3xi32>) -> tensor<1xi32>
    %n = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
    %m = stablehlo.add %a, %n : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<3xi32>) -> tensor<4xi32> {
    %0 = stablehlo.slice %arg1 [2:3] : (tensor<3xi32>) -> tensor<1xi32>
    %1 = stablehlo.reshape %0 : (tensor<1xi32>) -> tensor<i32>
    %2 = "stablehlo.map"(%arg0, %1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }) {farcall.captures = 1 : i64} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    return %2 : tensor<4xi32>
  }
}
// -----
// passes: if_conversion
// A reducer of bit patterns, beside a reducer that uses its arguments as floats.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = stablehlo.reduce(%x init: %i), (%y init: %i) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<f32>, %d: tensor<f32>) {
    %p = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<i32>
    %q = stablehlo.bitcast_convert %c : (tensor<f32>) -> tensor<i32>
    %s = stablehlo.xor %p, %q : tensor<i32>
    %t = stablehlo.bitcast_convert %s : (tensor<i32>) -> tensor<f32>
    %u = stablehlo.bitcast_convert %b : (tensor<f32>) -> tensor<i32>
    %v = stablehlo.bitcast_convert %u : (tensor<i32>) -> tensor<f32>
    %w = stablehlo.add %b, %d : tensor<f32>
    stablehlo.return %t, %w : tensor<f32>, tensor<f32>
  }
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    %1 = stablehlo.bitcast_convert %arg2 : (tensor<f32>) -> tensor<i32>
    %2:2 = stablehlo.reduce(%0 init: %1), (%arg1 init: %arg2) across dimensions = [0] : (tensor<4xi32>, tensor<4xf32>, tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
     reducer(%arg3: tensor<i32>, %arg5: tensor<i32>) (%arg4: tensor<f32>, %arg6: tensor<f32>)  {
      %4 = stablehlo.xor %arg3, %arg5 : tensor<i32>
      %5 = stablehlo.bitcast_convert %arg4 : (tensor<f32>) -> tensor<i32>
      %6 = stablehlo.bitcast_convert %5 : (tensor<i32>) -> tensor<f32>
      %7 = stablehlo.add %arg4, %arg6 : tensor<f32>
      stablehlo.return %4, %7 : tensor<i32>, tensor<f32>
    }
    %3 = stablehlo.bitcast_convert %2#0 : (tensor<i32>) -> tensor<f32>
    return %3, %2#1 : tensor<f32>, tensor<f32>
  }
}
// -----
// passes: if_conversion
// A key that is computed from two operands, a captured value and a constant.
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>, %m: tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %two = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.multiply %a, %two : tensor<i32>
    %q = stablehlo.add %p, %c : tensor<i32>
    %s = stablehlo.remainder %q, %m : tensor<i32>
    %t = stablehlo.multiply %b, %two : tensor<i32>
    %u = stablehlo.add %t, %d : tensor<i32>
    %v = stablehlo.remainder %u, %m : tensor<i32>
    %w = stablehlo.compare GT, %s, %v : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xi32>, tensor<4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi32>, %arg2: tensor<i32>) -> (tensor<4xi32>, tensor<4xi32>) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.multiply %arg0, %0 : tensor<4xi32>
    %2 = stablehlo.add %1, %arg1 : tensor<4xi32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %4 = stablehlo.remainder %2, %3 : tensor<4xi32>
    %5:3 = "stablehlo.sort"(%arg0, %arg1, %4) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>, %arg6: tensor<i32>, %arg7: tensor<i32>, %arg8: tensor<i32>):
      %6 = stablehlo.compare GT, %arg7, %arg8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>)
    return %5#0, %5#1 : tensor<4xi32>, tensor<4xi32>
  }
}
// -----
// passes: if_conversion
// A select between values of one side is a key, too. An expression that combines both sides gives no key.
func.func @main(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare LT, %a, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %n = stablehlo.not %a : tensor<i32>
    %k = stablehlo.select %p, %n, %a : tensor<i1>, tensor<i32>
    %q = stablehlo.compare LT, %b, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %m = stablehlo.not %b : tensor<i32>
    %l = stablehlo.select %q, %m, %b : tensor<i1>, tensor<i32>
    %w = stablehlo.compare LT, %k, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.subtract %a, %b : tensor<i32>
    %w = stablehlo.compare LT, %p, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %w : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %r, %s : tensor<4xi32>, tensor<4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
    %0 = stablehlo.not %arg0 : tensor<4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.compare LT, %arg0, %1 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %3 = stablehlo.not %arg0 : tensor<4xi32>
    %4 = stablehlo.select %2, %3, %arg0 : tensor<4xi1>, tensor<4xi32>
    %5:2 = "stablehlo.sort"(%arg0, %4) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %7 = stablehlo.compare LT, %arg3, %arg4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }) : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
    %6 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %7 = stablehlo.subtract %arg1, %arg2 : tensor<i32>
      %8 = stablehlo.compare LT, %7, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    }) : (tensor<4xi32>) -> tensor<4xi32>
    return %5#0, %6 : tensor<4xi32>, tensor<4xi32>
  }
}
