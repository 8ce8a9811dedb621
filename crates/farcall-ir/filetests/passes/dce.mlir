// passes: dce
// Instructions with unused results are dropped. Calls with side effects stay.
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.sine %a : tensor<2xf32>
  %1 = stablehlo.custom_call @pure(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.cosine %a : tensor<2xf32>
  %3 = stablehlo.custom_call @log(%2) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
  return %a : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.cosine %arg0 : tensor<2xf32>
    %1 = stablehlo.custom_call @log(%0) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
    return %arg0 : tensor<2xf32>
  }
}
// -----
// passes: dce
// A carried value that only its own update uses is dropped, and so is a capture that only this update uses.
func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<i32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %a, %x : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  return %0#0 : tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<f32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.while"(%c, %arg0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<i32>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<i32>):
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0 : tensor<i32>
  }
}
// -----
// passes: dce
// An unused result of an `if` is dropped, together with the instructions in the branches that compute it.
func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<f32>
    stablehlo.return %1, %x : tensor<f32>, tensor<f32>
  }, {
    %1 = stablehlo.cosine %x : tensor<f32>
    stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
  return %0#1 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<f32>):
      stablehlo.return %arg2 : tensor<f32>
    }, {
    ^bb0(%arg2: tensor<f32>):
      %1 = stablehlo.cosine %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
// -----
// passes: dce
// A loop that contains a side effect stays, together with the values that determine its trip count.
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.custom_call @log(%i) {has_side_effect = true} : (tensor<i32>) -> ()
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  return %x : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.while(%iterArg = %c) : tensor<i32>
    cond {
      %c_0 = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %c_0 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_0 : tensor<i32>
      stablehlo.custom_call @log(%iterArg) {has_side_effect = true} : (tensor<i32>) -> ()
      stablehlo.return %1 : tensor<i32>
    }
    return %arg0 : tensor<f32>
  }
}
// -----
// passes: dce
// A call whose only used result has no elements is dropped.
func.func @main(%a: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0x3xf32>) {
  %0:2 = stablehlo.custom_call @qr(%a) : (tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<3xf32>)
  %1 = stablehlo.sine %0#0 : tensor<0x3xf32>
  return %0#0, %1 : tensor<0x3xf32>, tensor<0x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<0x3xf32>) {
    %cst = stablehlo.constant dense<> : tensor<0x3xf32>
    %cst_0 = stablehlo.constant dense<> : tensor<0x3xf32>
    return %cst, %cst_0 : tensor<0x3xf32>, tensor<0x3xf32>
  }
}
