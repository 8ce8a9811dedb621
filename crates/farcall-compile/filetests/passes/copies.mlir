// passes: copies
// What a loop changes is copied before it; the body copies what it returns. A value that is handed through is not copied.
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %m = %n, %a = %x) : tensor<i32>, tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<4xf32>
      stablehlo.return %1, %m, %2 : tensor<i32>, tensor<i32>, tensor<4xf32>
    }
  return %0#2 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = farcall.copy %c : tensor<i32>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg0, %iterArg_1 = %1) : tensor<i32>, tensor<i32>, tensor<4xf32>
    cond {
      %3 = stablehlo.compare LT, %iterArg, %iterArg_0 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %4 = stablehlo.sine %iterArg_1 : tensor<4xf32>
      %5 = farcall.copy %3 : tensor<i32>
      %6 = farcall.copy %4 : tensor<4xf32>
      stablehlo.return %5, %iterArg_0, %6 : tensor<i32>, tensor<i32>, tensor<4xf32>
    }
    return %2#2 : tensor<4xf32>
  }
}
// -----
// passes: copies
// A swap: both are saved before they are overwritten.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %y) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %f, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2 = farcall.copy %arg2 : tensor<4xf32>
    %3:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1, %iterArg_1 = %2) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %4 = farcall.copy %iterArg_1 : tensor<4xf32>
      %5 = farcall.copy %iterArg_0 : tensor<4xf32>
      %6 = farcall.copy %c_2 : tensor<i1>
      %7 = farcall.copy %4 : tensor<4xf32>
      %8 = farcall.copy %5 : tensor<4xf32>
      stablehlo.return %6, %7, %8 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    return %3#1, %3#2 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies
// A view of what is about to be overwritten is saved like the value itself.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %z = stablehlo.constant dense<0.0> : tensor<2x2xf32>
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %z) : tensor<i1>, tensor<4xf32>, tensor<2x2xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.sine %a : tensor<4xf32>
      %2 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>
      stablehlo.return %f, %1, %2 : tensor<i1>, tensor<4xf32>, tensor<2x2xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2x2xf32>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg1 : tensor<4xf32>
    %2 = farcall.copy %cst : tensor<2x2xf32>
    %3:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %1, %iterArg_1 = %2) : tensor<i1>, tensor<4xf32>, tensor<2x2xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %4 = stablehlo.sine %iterArg_0 : tensor<4xf32>
      %5 = stablehlo.reshape %iterArg_0 : (tensor<4xf32>) -> tensor<2x2xf32>
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %6 = farcall.copy %5 : tensor<2x2xf32>
      %7 = farcall.copy %c_2 : tensor<i1>
      %8 = farcall.copy %4 : tensor<4xf32>
      %9 = farcall.copy %6 : tensor<2x2xf32>
      stablehlo.return %7, %8, %9 : tensor<i1>, tensor<4xf32>, tensor<2x2xf32>
    }
    return %3#1, %3#2 : tensor<4xf32>, tensor<2x2xf32>
  }
}
// -----
// passes: copies
// A value that is handed through is not overwritten, so nobody saves it.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %f = stablehlo.constant dense<false> : tensor<i1>
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %y) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      stablehlo.return %f, %a, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<false> : tensor<i1>
    %0 = farcall.copy %arg0 : tensor<i1>
    %1 = farcall.copy %arg2 : tensor<4xf32>
    %2:3 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg1, %iterArg_1 = %1) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<false> : tensor<i1>
      %3 = farcall.copy %c_2 : tensor<i1>
      %4 = farcall.copy %iterArg_0 : tensor<4xf32>
      stablehlo.return %3, %iterArg_0, %4 : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
    return %2#1, %2#2 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies
// Branches copy what they return, whatever it is; a value that is returned twice is copied twice.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1, %1 : tensor<4xf32>, tensor<4xf32>
  }, {
    %1 = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %1, %x : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<4xf32>):
      %1 = stablehlo.sine %arg2 : tensor<4xf32>
      %2 = farcall.copy %1 : tensor<4xf32>
      %3 = farcall.copy %1 : tensor<4xf32>
      stablehlo.return %2, %3 : tensor<4xf32>, tensor<4xf32>
    }, {
    ^bb0(%arg2: tensor<4xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
      %1 = farcall.copy %cst : tensor<4xf32>
      %2 = farcall.copy %arg2 : tensor<4xf32>
      stablehlo.return %1, %2 : tensor<4xf32>, tensor<4xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies
// A call changes a copy of its operand.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.custom_call @f(%x) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %x : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = farcall.copy %arg0 : tensor<4xf32>
    %1 = stablehlo.custom_call @f(%0) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
    return %1, %arg0 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies
// Regions that are applied to elements are parts of their instruction.
func.func @main(%p: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.map"(%p, %x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%q: tensor<i1>, %a: tensor<f32>):
    %1 = "stablehlo.if"(%q) ({
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }, {
      stablehlo.return %a : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.map"(%arg0, %arg1) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg2: tensor<i1>, %arg3: tensor<f32>):
      %1 = "stablehlo.if"(%arg2, %arg3) ({
      ^bb0(%arg4: tensor<f32>):
        %2 = stablehlo.sine %arg4 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }, {
      ^bb0(%arg4: tensor<f32>):
        stablehlo.return %arg4 : tensor<f32>
      }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<f32>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
