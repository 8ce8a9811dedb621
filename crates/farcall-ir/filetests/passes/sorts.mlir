// passes: sorts
// Only the first elements are taken, of both results, and not as many of each.
func.func @main(%x: tensor<2x32xf32>) -> (tensor<2x3xf32>, tensor<1x2xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<2x32xi32>
  %s:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %g = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<2x32xf32>, tensor<2x32xi32>) -> (tensor<2x32xf32>, tensor<2x32xi32>)
  %v = stablehlo.slice %s#0 [0:2, 0:3] : (tensor<2x32xf32>) -> tensor<2x3xf32>
  %p = stablehlo.slice %s#1 [1:2, 0:2] : (tensor<2x32xi32>) -> tensor<1x2xi32>
  return %v, %p : tensor<2x3xf32>, tensor<1x2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x32xf32>) -> (tensor<2x3xf32>, tensor<1x2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x32xi32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 1 : i64, farcall.part = array<i64: 0, 3>, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %3 = stablehlo.compare GT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<2x32xf32>, tensor<2x32xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    %2 = stablehlo.slice %1#1 [1:2, 0:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
    return %1#0, %2 : tensor<2x3xf32>, tensor<1x2xi32>
  }
}
// -----
// passes: sorts
// The last ones, and some before them, of which one is left out.
func.func @main(%x: tensor<32x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x2xi32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %g = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<32x2xi32>) -> tensor<32x2xi32>
  %last = stablehlo.slice %s [30:32, 0:2] : (tensor<32x2xi32>) -> tensor<2x2xi32>
  %some = stablehlo.slice %s [28:31:2, 0:2] : (tensor<32x2xi32>) -> tensor<2x2xi32>
  %one = stablehlo.slice %s [29:30, 0:2] : (tensor<32x2xi32>) -> tensor<1x2xi32>
  return %last, %some, %one : tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<32x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x2xi32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, farcall.part = array<i64: 28, 32>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %4 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<32x2xi32>) -> tensor<4x2xi32>
    %1 = stablehlo.slice %0 [2:4, 0:2] : (tensor<4x2xi32>) -> tensor<2x2xi32>
    %2 = stablehlo.slice %0 [0:3:2, 0:2] : (tensor<4x2xi32>) -> tensor<2x2xi32>
    %3 = stablehlo.slice %0 [1:2, 0:2] : (tensor<4x2xi32>) -> tensor<1x2xi32>
    return %1, %2, %3 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<1x2xi32>
  }
}
// -----
// passes: sorts
// A quarter of them: as fast in order.
func.func @main(%x: tensor<16xi32>) -> tensor<4xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %g = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<16xi32>) -> tensor<16xi32>
  %v = stablehlo.slice %s [0:4] : (tensor<16xi32>) -> tensor<4xi32>
  return %v : tensor<4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xi32>) -> tensor<4xi32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<16xi32>) -> tensor<16xi32>
    %1 = stablehlo.slice %0 [0:4] : (tensor<16xi32>) -> tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
// -----
// passes: sorts
// Something else takes all of them, too.
func.func @main(%x: tensor<16xi32>) -> (tensor<2xi32>, tensor<16xi32>) {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %g = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<16xi32>) -> tensor<16xi32>
  %v = stablehlo.slice %s [0:2] : (tensor<16xi32>) -> tensor<2xi32>
  return %v, %s : tensor<2xi32>, tensor<16xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xi32>) -> (tensor<2xi32>, tensor<16xi32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<16xi32>) -> tensor<16xi32>
    %1 = stablehlo.slice %0 [0:2] : (tensor<16xi32>) -> tensor<2xi32>
    return %1, %0 : tensor<2xi32>, tensor<16xi32>
  }
}
// -----
// passes: sorts
// Nothing of it is taken.
func.func @main(%x: tensor<16xi32>) -> tensor<0xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %g = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<16xi32>) -> tensor<16xi32>
  %v = stablehlo.slice %s [2:2] : (tensor<16xi32>) -> tensor<0xi32>
  return %v : tensor<0xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xi32>) -> tensor<0xi32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<16xi32>) -> tensor<16xi32>
    %1 = stablehlo.slice %0 [2:2] : (tensor<16xi32>) -> tensor<0xi32>
    return %1 : tensor<0xi32>
  }
}
// -----
// passes: sorts
// One in the middle: it takes as long as all of them.
func.func @main(%x: tensor<16xi32>) -> tensor<1xi32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %g = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) : (tensor<16xi32>) -> tensor<16xi32>
  %v = stablehlo.slice %s [8:9] : (tensor<16xi32>) -> tensor<1xi32>
  return %v : tensor<1xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xi32>) -> tensor<1xi32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<16xi32>) -> tensor<16xi32>
    %1 = stablehlo.slice %0 [8:9] : (tensor<16xi32>) -> tensor<1xi32>
    return %1 : tensor<1xi32>
  }
}
