// passes: slices
// Slices take the first elements of both results of a sort, a different number of each.
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
    %1:2 = "farcall.partial_sort"(%arg0, %0) <{dimension = 1 : i64, is_stable = true, part = array<i64: 0, 3>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<i32>):
      %3 = stablehlo.compare GT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<2x32xf32>, tensor<2x32xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    %2 = stablehlo.slice %1#1 [1:2, 0:2] : (tensor<2x3xi32>) -> tensor<1x2xi32>
    return %1#0, %2 : tensor<2x3xf32>, tensor<1x2xi32>
  }
}
// -----
// passes: slices
// Slices take the last elements and some elements before them; one slice skips an element.
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
    %0 = "farcall.partial_sort"(%arg0) <{dimension = 0 : i64, part = array<i64: 28, 32>}> ({
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
// passes: slices
// A quarter of the elements is too many: sorting the whole line is as fast.
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
// passes: slices
// The sort has another user, which needs all elements.
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
// passes: slices
// The slice is empty.
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
// passes: slices
// A single element in the middle takes as long to find as sorting the whole line.
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
// -----
// passes: slices
func.func @main(%a: tensor<16x5xf32>) -> tensor<2x2xf32> {
  // The slices take rows 14 and 11 of the sorted tensor.
  %s = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<16x5xf32>) -> tensor<16x5xf32>
  %r = stablehlo.reverse %s, dims = [0] : tensor<16x5xf32>
  %t = stablehlo.slice %r [1:6:3, 2:4] : (tensor<16x5xf32>) -> tensor<2x2xf32>
  return %t : tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16x5xf32>) -> tensor<2x2xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<16x5xf32>) -> tensor<16x5xf32>
    %1 = stablehlo.slice %0 [11:15:3, 2:4] : (tensor<16x5xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.reverse %1, dims = [0] : tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
}
// -----
// passes: slices
func.func @main(%a: tensor<4xf32>) -> tensor<0xf32> {
  // The slice is empty.
  %s = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %r = stablehlo.reverse %s, dims = [0] : tensor<4xf32>
  %t = stablehlo.slice %r [3:3] : (tensor<4xf32>) -> tensor<0xf32>
  return %t : tensor<0xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<0xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %3 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
    %2 = stablehlo.slice %1 [3:3] : (tensor<4xf32>) -> tensor<0xf32>
    return %2 : tensor<0xf32>
  }
}
// -----
// passes: slices
func.func @main(%a: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  // The tensor is reversed once, for both slices.
  %r = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
  %even = stablehlo.slice %r [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  %odd = stablehlo.slice %r [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  return %even, %odd : tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<4xf32>
    %1 = stablehlo.slice %0 [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %2 = stablehlo.slice %0 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    return %1, %2 : tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: slices
// A slice of one row moves up through elementwise operations and through operations that move elements.
func.func @main(%x: tensor<6x9xf32>, %p: tensor<i1>, %b: tensor<9xf32>, %one: tensor<6x1xf32>) -> tensor<1x9xf64> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x9xf32>) -> tensor<9x6xf32>
  %e = stablehlo.exponential %t : tensor<9x6xf32>
  %u = stablehlo.transpose %e, dims = [1, 0] : (tensor<9x6xf32>) -> tensor<6x9xf32>
  %bs = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<9xf32>) -> tensor<6x9xf32>
  %os = stablehlo.broadcast_in_dim %one, dims = [0, 1] : (tensor<6x1xf32>) -> tensor<6x9xf32>
  %a = stablehlo.add %u, %bs : tensor<6x9xf32>
  %m = stablehlo.multiply %a, %os : tensor<6x9xf32>
  %q = stablehlo.select %p, %m, %bs : tensor<i1>, tensor<6x9xf32>
  %c = stablehlo.convert %q : (tensor<6x9xf32>) -> tensor<6x9xf64>
  %s = stablehlo.slice %c [5:6, 0:9] : (tensor<6x9xf64>) -> tensor<1x9xf64>
  return %s : tensor<1x9xf64>
}
// =>
module {
  func.func public @main(%arg0: tensor<6x9xf32>, %arg1: tensor<i1>, %arg2: tensor<9xf32>, %arg3: tensor<6x1xf32>) -> tensor<1x9xf64> {
    %0 = stablehlo.slice %arg0 [5:6, 0:9] : (tensor<6x9xf32>) -> tensor<1x9xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<1x9xf32>) -> tensor<9x1xf32>
    %2 = stablehlo.exponential %1 : tensor<9x1xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<9x1xf32>) -> tensor<1x9xf32>
    %4 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<9xf32>) -> tensor<6x9xf32>
    %5 = stablehlo.slice %arg3 [5:6, 0:1] : (tensor<6x1xf32>) -> tensor<1x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x1xf32>) -> tensor<1x9xf32>
    %7 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<9xf32>) -> tensor<1x9xf32>
    %8 = stablehlo.add %3, %7 : tensor<1x9xf32>
    %9 = stablehlo.multiply %8, %6 : tensor<1x9xf32>
    %10 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<9xf32>) -> tensor<1x9xf32>
    %11 = stablehlo.select %arg1, %9, %10 : tensor<i1>, tensor<1x9xf32>
    %12 = stablehlo.convert %11 : (tensor<1x9xf32>) -> tensor<1x9xf64>
    return %12 : tensor<1x9xf64>
  }
}
// -----
// passes: slices
// A slice that two users need is computed once.
func.func @main(%x: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<8xf32>
  %a = stablehlo.add %x, %i : tensor<8xf32>
  %e = stablehlo.exponential %a : tensor<8xf32>
  %y = stablehlo.multiply %e, %e : tensor<8xf32>
  %n = stablehlo.negate %y : tensor<8xf32>
  %s = stablehlo.slice %n [0:2] : (tensor<8xf32>) -> tensor<2xf32>
  %t = stablehlo.slice %y [0:2] : (tensor<8xf32>) -> tensor<2xf32>
  return %s, %t : tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<8xf32>
    %1 = stablehlo.slice %arg0 [0:2] : (tensor<8xf32>) -> tensor<2xf32>
    %2 = stablehlo.iota dim = 0 : tensor<2xf32>
    %3 = stablehlo.add %1, %2 : tensor<2xf32>
    %4 = stablehlo.exponential %3 : tensor<2xf32>
    %5 = stablehlo.multiply %4, %4 : tensor<2xf32>
    %6 = stablehlo.negate %5 : tensor<2xf32>
    return %6, %5 : tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: slices
// Different slices of one value: the value is computed for the smallest slice that contains all of them.
func.func @main(%x: tensor<4x20xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>) {
  %y = stablehlo.slice %x [0:4:2, 0:20] : (tensor<4x20xf32>) -> tensor<2x20xf32>
  %e = stablehlo.exponential %y : tensor<2x20xf32>
  %s = stablehlo.slice %e [0:2, 3:4] : (tensor<2x20xf32>) -> tensor<2x1xf32>
  %t = stablehlo.slice %e [0:2, 4:8:2] : (tensor<2x20xf32>) -> tensor<2x2xf32>
  return %s, %t : tensor<2x1xf32>, tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x20xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>) {
    %0 = stablehlo.slice %arg0 [0:3:2, 3:8] : (tensor<4x20xf32>) -> tensor<2x5xf32>
    %1 = stablehlo.exponential %0 : tensor<2x5xf32>
    %2 = stablehlo.slice %1 [0:2, 0:1] : (tensor<2x5xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.slice %1 [0:2, 1:5:2] : (tensor<2x5xf32>) -> tensor<2x2xf32>
    return %2, %3 : tensor<2x1xf32>, tensor<2x2xf32>
  }
}
// -----
// passes: slices
// Not applied if the slices cover the whole value, if the value has another user, or if it is a sum.
func.func @main(%x: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1xf32>) {
  %e = stablehlo.exponential %x : tensor<8x4xf32>
  %s = stablehlo.slice %e [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %t = stablehlo.slice %e [4:8, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %f = stablehlo.sine %x : tensor<8x4xf32>
  %u = stablehlo.slice %f [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
  %v = stablehlo.slice %sum [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  return %s, %t, %f, %u, %v : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1xf32>) {
    %0 = stablehlo.exponential %arg0 : tensor<8x4xf32>
    %1 = stablehlo.slice %0 [0:4, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.slice %0 [4:8, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.sine %arg0 : tensor<8x4xf32>
    %4 = stablehlo.slice %3 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %6 = stablehlo.slice %5 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
    return %1, %2, %3, %4, %6 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<1x4xf32>, tensor<1xf32>
  }
}
// -----
// passes: slices
// The slice of a splat constant becomes a smaller constant. An iota with another user is sliced as well.
func.func @main(%x: tensor<8x4xf32>, %i: tensor<8x4xi32>) -> (tensor<1x4xf32>, tensor<1x4xi32>, tensor<8x4xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %n = stablehlo.iota dim = 0 : tensor<8x4xi32>
  %y = stablehlo.maximum %x, %zero : tensor<8x4xf32>
  %m = stablehlo.add %i, %n : tensor<8x4xi32>
  %s = stablehlo.slice %y [7:8, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
  %t = stablehlo.slice %m [0:1, 0:4] : (tensor<8x4xi32>) -> tensor<1x4xi32>
  return %s, %t, %n : tensor<1x4xf32>, tensor<1x4xi32>, tensor<8x4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xi32>) -> (tensor<1x4xf32>, tensor<1x4xi32>, tensor<8x4xi32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<8x4xf32>
    %0 = stablehlo.iota dim = 0 : tensor<8x4xi32>
    %1 = stablehlo.slice %arg0 [7:8, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<1x4xf32>
    %2 = stablehlo.maximum %1, %cst_0 : tensor<1x4xf32>
    %3 = stablehlo.slice %arg1 [0:1, 0:4] : (tensor<8x4xi32>) -> tensor<1x4xi32>
    %4 = stablehlo.iota dim = 0 : tensor<1x4xi32>
    %5 = stablehlo.add %3, %4 : tensor<1x4xi32>
    return %2, %5, %0 : tensor<1x4xf32>, tensor<1x4xi32>, tensor<8x4xi32>
  }
}
// -----
// passes: simplify, dce, slices
// A slice of a slice is combined into one slice, and the unused slice is removed before the pass.
func.func @main(%x: tensor<100xf32>) -> tensor<4xf32> {
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<100xf32>) -> tensor<100xf32>
  %h = stablehlo.slice %s [0:50] : (tensor<100xf32>) -> tensor<50xf32>
  %t = stablehlo.slice %h [0:8:2] : (tensor<50xf32>) -> tensor<4xf32>
  return %t : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<100xf32>) -> tensor<4xf32> {
    %0 = "farcall.partial_sort"(%arg0) <{dimension = 0 : i64, part = array<i64: 0, 7>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.compare LT, %arg1, %arg2, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<100xf32>) -> tensor<7xf32>
    %1 = stablehlo.slice %0 [0:7:2] : (tensor<7xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
// -----
// passes: slices
// Slices in a loop: of values computed from a carried value, and of a value from outside of the loop.
func.func @main(%x: tensor<6xf32>, %n: tensor<i32>) -> tensor<2xf32> {
  %e = stablehlo.exponential %x : tensor<6xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %first = stablehlo.constant dense<1.0> : tensor<6xf32>
  %lo = stablehlo.constant dense<0.5> : tensor<f32>
  %hi = stablehlo.constant dense<4.0> : tensor<f32>
  %r:3 = stablehlo.while(%i = %zero, %c = %first, %s = %x) : tensor<i32>, tensor<6xf32>, tensor<6xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %k = stablehlo.clamp %lo, %c, %hi : (tensor<f32>, tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
    %v = stablehlo.reverse %k, dims = [0] : tensor<6xf32>
    %w = stablehlo.slice %v [0:3:2] : (tensor<6xf32>) -> tensor<2xf32>
    %u = stablehlo.slice %e [4:6] : (tensor<6xf32>) -> tensor<2xf32>
    %d = stablehlo.add %w, %u : tensor<2xf32>
    %f = stablehlo.concatenate %d, %d, %d, dim = 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32>
    stablehlo.return %j, %f, %f : tensor<i32>, tensor<6xf32>, tensor<6xf32>
  }
  %t = stablehlo.slice %r#1 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
  return %t : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<6xf32>, %arg1: tensor<i32>) -> tensor<2xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<6xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_2 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %1:3 = "stablehlo.while"(%c, %cst, %arg0, %arg1, %0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_3: tensor<6xf32>, %iterArg_4: tensor<6xf32>, %iterArg_5: tensor<i32>, %iterArg_6: tensor<6xf32>):
      %3 = stablehlo.compare LT, %iterArg, %iterArg_5 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_3: tensor<6xf32>, %iterArg_4: tensor<6xf32>, %iterArg_5: tensor<i32>, %iterArg_6: tensor<6xf32>):
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_7 : tensor<i32>
      %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_9 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
      %4 = stablehlo.slice %iterArg_3 [3:6:2] : (tensor<6xf32>) -> tensor<2xf32>
      %5 = stablehlo.clamp %cst_8, %4, %cst_9 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
      %6 = stablehlo.reverse %5, dims = [0] : tensor<2xf32>
      %7 = stablehlo.slice %iterArg_6 [4:6] : (tensor<6xf32>) -> tensor<2xf32>
      %8 = stablehlo.add %6, %7 : tensor<2xf32>
      %9 = stablehlo.concatenate %8, %8, %8, dim = 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32>
      stablehlo.return %3, %9, %9 : tensor<i32>, tensor<6xf32>, tensor<6xf32>
    }) {farcall.captures = 2 : i64} : (tensor<i32>, tensor<6xf32>, tensor<6xf32>, tensor<i32>, tensor<6xf32>) -> (tensor<i32>, tensor<6xf32>, tensor<6xf32>)
    %2 = stablehlo.slice %1#1 [0:2] : (tensor<6xf32>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
}
// -----
// passes: slices
// Not applied to a slice of almost all elements. An empty slice counts with its position.
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<7xf32>, tensor<0xf32>, tensor<1xf32>) {
  %e = stablehlo.exponential %x : tensor<8xf32>
  %s = stablehlo.slice %e [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %f = stablehlo.exponential %y : tensor<8xf32>
  %t = stablehlo.slice %f [3:3] : (tensor<8xf32>) -> tensor<0xf32>
  %u = stablehlo.slice %f [1:2] : (tensor<8xf32>) -> tensor<1xf32>
  return %s, %t, %u : tensor<7xf32>, tensor<0xf32>, tensor<1xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> (tensor<7xf32>, tensor<0xf32>, tensor<1xf32>) {
    %0 = stablehlo.exponential %arg0 : tensor<8xf32>
    %1 = stablehlo.slice %0 [1:8] : (tensor<8xf32>) -> tensor<7xf32>
    %2 = stablehlo.slice %arg1 [1:3] : (tensor<8xf32>) -> tensor<2xf32>
    %3 = stablehlo.exponential %2 : tensor<2xf32>
    %4 = stablehlo.slice %3 [2:2] : (tensor<2xf32>) -> tensor<0xf32>
    %5 = stablehlo.slice %3 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    return %1, %4, %5 : tensor<7xf32>, tensor<0xf32>, tensor<1xf32>
  }
}
// -----
// The results have different ranks.
// passes: slices
func.func @main(%p: tensor<i1>, %x: tensor<4x3xf32>, %w: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>) {
  %y:2 = "stablehlo.if"(%p) ({
    stablehlo.return %x, %w : tensor<4x3xf32>, tensor<3xf32>
  }, {
    %a = stablehlo.negate %x : tensor<4x3xf32>
    %b = stablehlo.negate %w : tensor<3xf32>
    stablehlo.return %a, %b : tensor<4x3xf32>, tensor<3xf32>
  }) : (tensor<i1>) -> (tensor<4x3xf32>, tensor<3xf32>)
  %s = stablehlo.slice %y#0 [0:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
  %t = stablehlo.slice %y#1 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
  return %s, %t : tensor<2x3xf32>, tensor<1xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4x3xf32>, %arg2: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<1xf32>) {
    %0:2 = "stablehlo.if"(%arg0, %arg1, %arg2) ({
    ^bb0(%arg3: tensor<4x3xf32>, %arg4: tensor<3xf32>):
      stablehlo.return %arg3, %arg4 : tensor<4x3xf32>, tensor<3xf32>
    }, {
    ^bb0(%arg3: tensor<4x3xf32>, %arg4: tensor<3xf32>):
      %3 = stablehlo.negate %arg3 : tensor<4x3xf32>
      %4 = stablehlo.negate %arg4 : tensor<3xf32>
      stablehlo.return %3, %4 : tensor<4x3xf32>, tensor<3xf32>
    }) {farcall.captures = 2 : i64} : (tensor<i1>, tensor<4x3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
    %1 = stablehlo.slice %0#0 [0:2, 0:3] : (tensor<4x3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.slice %0#1 [0:1] : (tensor<3xf32>) -> tensor<1xf32>
    return %1, %2 : tensor<2x3xf32>, tensor<1xf32>
  }
}
