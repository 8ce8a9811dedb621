// passes: unroll
// The loop runs three iterations, each of which swaps the carried values.
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %c, %a = %x, %b = %y) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %a, %d : tensor<4xf32>
      stablehlo.return %1, %b, %2 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %arg2: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %arg2 : tensor<4xf32>
    %1 = stablehlo.add %arg1, %arg2 : tensor<4xf32>
    %2 = stablehlo.add %0, %arg2 : tensor<4xf32>
    %c_1 = stablehlo.constant dense<3> : tensor<i32>
    return %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: unroll
// The induction variable counts down, in steps given by a constant from outside of the loop.
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %c = stablehlo.constant dense<5> : tensor<i32>
  %step = stablehlo.constant dense<-2> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.compare GT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %step, %i : tensor<i32>
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  return %0#1 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %c = stablehlo.constant dense<5> : tensor<i32>
    %c_0 = stablehlo.constant dense<-2> : tensor<i32>
    %c_1 = stablehlo.constant dense<-2> : tensor<i32>
    %0 = stablehlo.sine %arg0 : tensor<f32>
    %1 = stablehlo.sine %0 : tensor<f32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    return %1 : tensor<f32>
  }
}
// -----
// passes: unroll
// Not applied: too many iterations, no iterations, and an unknown trip count.
func.func @main(%x: tensor<f32>, %m: tensor<i32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<9> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  %w:2 = stablehlo.while(%i = %c, %a = %0#1) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<-3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  %v:2 = stablehlo.while(%i = %m, %a = %w#1) : tensor<i32>, tensor<f32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.sine %a : tensor<f32>
      stablehlo.return %1, %2 : tensor<i32>, tensor<f32>
    }
  return %v#1 : tensor<f32>
}
// =>
module {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<i32>) -> tensor<f32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<f32>
    cond {
      %c_1 = stablehlo.constant dense<9> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %4 = stablehlo.sine %iterArg_0 : tensor<f32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
    }
    %1:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %0#1) : tensor<i32>, tensor<f32>
    cond {
      %c_1 = stablehlo.constant dense<-3> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %4 = stablehlo.sine %iterArg_0 : tensor<f32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
    }
    %2:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %1#1) : tensor<i32>, tensor<f32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %4 = stablehlo.sine %iterArg_0 : tensor<f32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
    }
    return %2#1 : tensor<f32>
  }
}
