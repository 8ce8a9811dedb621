// A loop in a loop, with a branch and a call inside.
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %v = %x, %s = %zero) : tensor<i32>, tensor<2xf32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %q:2 = stablehlo.while(%j = %i, %t = %s) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %u = stablehlo.add %t, %j : tensor<i32>
      %k = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %k, %u : tensor<i32>, tensor<i32>
    }
    %m = stablehlo.remainder %i, %two : tensor<i32>
    %w = "stablehlo.case"(%m) ({
      %d = func.call @twice(%v) : (tensor<2xf32>) -> tensor<2xf32>
      stablehlo.return %d : tensor<2xf32>
    }, {
      stablehlo.return %v : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    %p = stablehlo.compare GT, %q#1, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %y = "stablehlo.if"(%p) ({
      %d = stablehlo.negate %w : tensor<2xf32>
      stablehlo.return %d : tensor<2xf32>
    }, {
      stablehlo.return %x : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    %k = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %k, %y, %q#1 : tensor<i32>, tensor<2xf32>, tensor<i32>
  }
  return %r#1, %r#2 : tensor<2xf32>, tensor<i32>
}
// run: dense<[1.0, -3.0]> : tensor<2xf32> ; dense<4> : tensor<i32>
// = dense<[4.000000e+00, -1.200000e+01]> : tensor<2xf32>
// = dense<20> : tensor<i32>
// run: dense<[1.0, -3.0]> : tensor<2xf32> ; dense<1> : tensor<i32>
// = dense<[1.000000e+00, -3.000000e+00]> : tensor<2xf32>
// = dense<0> : tensor<i32>
// run: dense<[1.0, -3.0]> : tensor<2xf32> ; dense<0> : tensor<i32>
// = dense<[1.000000e+00, -3.000000e+00]> : tensor<2xf32>
// = dense<0> : tensor<i32>
