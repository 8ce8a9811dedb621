// passes: build
// Calls are inlined, tuples are flattened, tokens are dropped, and regions are closed.
func.func @main(%t: tuple<tensor<f32>, tensor<2xf32>>, %k: !stablehlo.token) -> tuple<tensor<f32>, tensor<f32>> {
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<2xf32>>) -> tensor<f32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<2xf32>>) -> tensor<2xf32>
  %2 = call @scaled_sum(%1, %0) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %3:2 = stablehlo.custom_call @f(%t, %k) : (tuple<tensor<f32>, tensor<2xf32>>, !stablehlo.token) -> (tensor<f32>, !stablehlo.token)
  %4 = stablehlo.optimization_barrier %3#0 : tensor<f32>
  %5 = stablehlo.tuple %2, %4 : tuple<tensor<f32>, tensor<f32>>
  return %5 : tuple<tensor<f32>, tensor<f32>>
}
func.func private @scaled_sum(%x: tensor<2xf32>, %k: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 0>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.multiply %a, %k : tensor<f32>
      %2 = stablehlo.add %1, %b : tensor<f32>
      %3 = stablehlo.add %2, %c : tensor<f32>
      stablehlo.return %3 : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<2xf32>) -> (tensor<f32>, tensor<f32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = "stablehlo.reduce"(%arg1, %cst, %arg0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>):
      %2 = stablehlo.multiply %arg2, %arg4 : tensor<f32>
      %3 = stablehlo.add %2, %arg3 : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %4 = stablehlo.add %3, %cst_0 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) {farcall.captures = 1 : i64} : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.custom_call @f(%arg0, %arg1) {farcall.types = (tuple<tensor<f32>, tensor<2xf32>>, !stablehlo.token) -> (tensor<f32>, !stablehlo.token)} : (tensor<f32>, tensor<2xf32>) -> tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}
// -----
// passes: build
// Every region between the definition of a value and its use captures the value. An `if` with a known
// predicate becomes its branch.
func.func @main(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%i = %x) : tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %i, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = "stablehlo.if"(%p) ({
        %2 = stablehlo.add %i, %x : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }, {
        %true = stablehlo.constant dense<true> : tensor<i1>
        %2 = "stablehlo.if"(%true) ({
          stablehlo.return %y : tensor<f32>
        }, {
          %3 = stablehlo.custom_call @never(%x) : (tensor<f32>) -> tensor<f32>
          stablehlo.return %3 : tensor<f32>
        }) : (tensor<i1>) -> tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
  return %0 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.while"(%arg1, %arg2, %arg1, %arg0) ({
    ^bb0(%iterArg: tensor<f32>, %iterArg_0: tensor<f32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i1>):
      %1 = stablehlo.compare LT, %iterArg, %iterArg_0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<f32>, %iterArg_0: tensor<f32>, %iterArg_1: tensor<f32>, %iterArg_2: tensor<i1>):
      %1 = "stablehlo.if"(%iterArg_2, %iterArg, %iterArg_1, %iterArg_0) ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
        %2 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }, {
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
        %c = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %arg5 : tensor<f32>
      }) {farcall.captures = 3 : i64} : (tensor<i1>, tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {farcall.captures = 3 : i64} : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
