// passes: canonicalize
// Constants move to the right, and operations that change nothing are dropped.
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>, tensor<2xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<2xf32>
  %0 = stablehlo.multiply %c, %a : tensor<2xf32>
  %1 = stablehlo.compare LT, %c, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %2 = stablehlo.subtract %c, %a : tensor<2xf32>
  %3 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = stablehlo.convert %3 : tensor<2xf32>
  return %4, %1, %2 : tensor<2xf32>, tensor<2xi1>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi1>, tensor<2xf32>) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<2xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<2xf32>
    %1 = stablehlo.compare GT, %arg0, %cst : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %2 = stablehlo.subtract %cst, %arg0 : tensor<2xf32>
    return %0, %1, %2 : tensor<2xf32>, tensor<2xi1>, tensor<2xf32>
  }
}
// -----
// passes: canonicalize
// A carried value that the loop returns unchanged is captured. Two values that the loop swaps are not.
func.func @main(%n: tensor<i32>, %x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:4 = stablehlo.while(%i = %c, %m = %n, %a = %x, %b = %y) : tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %1, %m, %b, %a : tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>
    }
  return %0#2, %0#3 : tensor<f32>, tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = "stablehlo.while"(%c, %arg1, %arg2, %arg0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<f32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<f32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i32>):
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %1, %iterArg_1, %iterArg_0 : tensor<i32>, tensor<f32>, tensor<f32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>) -> (tensor<i32>, tensor<f32>, tensor<f32>)
    return %0#1, %0#2 : tensor<f32>, tensor<f32>
  }
}
// -----
// passes: canonicalize
// The operands of a complex maximum keep their order, because the order decides between zeros of different
// sign.
func.func @main(%a: tensor<complex<f32>>) -> (tensor<complex<f32>>, tensor<complex<f32>>) {
  %c = stablehlo.constant dense<(0.0, -0.0)> : tensor<complex<f32>>
  %0 = stablehlo.maximum %c, %a : tensor<complex<f32>>
  %1 = stablehlo.add %c, %a : tensor<complex<f32>>
  return %0, %1 : tensor<complex<f32>>, tensor<complex<f32>>
}
// =>
module {
  func.func public @main(%arg0: tensor<complex<f32>>) -> (tensor<complex<f32>>, tensor<complex<f32>>) {
    %cst = stablehlo.constant dense<(0.000000e+00,-0.000000e+00)> : tensor<complex<f32>>
    %0 = stablehlo.maximum %cst, %arg0 : tensor<complex<f32>>
    %1 = stablehlo.add %arg0, %cst : tensor<complex<f32>>
    return %0, %1 : tensor<complex<f32>>, tensor<complex<f32>>
  }
}
// -----
// passes: canonicalize
// A copy is replaced by its operand. Later passes decide which values need separate memory.
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = mhlo.copy %a : tensor<2xf32>
  %1 = stablehlo.add %0, %a : tensor<2xf32>
  %2 = "mhlo.copy"(%1) : (tensor<2xf32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// Carried values that always equal their initial values: a value returned in another position, and a
// constant.
// passes: canonicalize
func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> (tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %x, %c = %seven) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %same = stablehlo.constant dense<7> : tensor<i32>
    %next = stablehlo.add %i, %c : tensor<i32>
    stablehlo.return %next, %a, %a, %same : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>
  }
  return %r#0, %r#1, %r#2, %r#3 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> (tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<7> : tensor<i32>
    %0 = "stablehlo.while"(%c, %arg1, %arg0, %c_0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<f32>, %iterArg_3: tensor<i32>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<f32>, %iterArg_3: tensor<i32>):
      %c_4 = stablehlo.constant dense<7> : tensor<i32>
      %1 = stablehlo.add %iterArg, %iterArg_3 : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) {farcall.captures = 3 : i64} : (tensor<i32>, tensor<i32>, tensor<f32>, tensor<i32>) -> tensor<i32>
    return %0, %arg0, %arg0, %c_0 : tensor<i32>, tensor<f32>, tensor<f32>, tensor<i32>
  }
}
