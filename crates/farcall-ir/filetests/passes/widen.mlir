// passes: widen
// Elementwise operations: each result is truncated or rounded to its type. Conversions are split into steps
// with kernels.
func.func @main(%a: tensor<3xi4>, %b: tensor<3xi4>, %f: tensor<3xf8E4M3FN>, %h: tensor<3xbf16>) -> (tensor<3xi4>, tensor<3xf8E4M3FN>, tensor<3xcomplex<f32>>, tensor<3xi4>, tensor<3xui2>) {
  %0 = stablehlo.add %a, %b : tensor<3xi4>
  %1 = stablehlo.maximum %f, %f : tensor<3xf8E4M3FN>
  %2 = stablehlo.multiply %1, %f : tensor<3xf8E4M3FN>
  %3 = stablehlo.convert %h : (tensor<3xbf16>) -> tensor<3xcomplex<f32>>
  %4 = stablehlo.convert %h : (tensor<3xbf16>) -> tensor<3xi4>
  %5 = stablehlo.convert %f : (tensor<3xf8E4M3FN>) -> tensor<3xui2>
  return %0, %2, %3, %4, %5 : tensor<3xi4>, tensor<3xf8E4M3FN>, tensor<3xcomplex<f32>>, tensor<3xi4>, tensor<3xui2>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xi4>, %arg1: tensor<3xi4>, %arg2: tensor<3xf8E4M3FN>, %arg3: tensor<3xbf16>) -> (tensor<3xi4>, tensor<3xf8E4M3FN>, tensor<3xcomplex<f32>>, tensor<3xi4>, tensor<3xui2>) {
    %0 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xi8>
    %1 = stablehlo.convert %arg1 : (tensor<3xi4>) -> tensor<3xi8>
    %2 = stablehlo.add %0, %1 : tensor<3xi8>
    %3 = stablehlo.convert %2 : (tensor<3xi8>) -> tensor<3xi4>
    %4 = stablehlo.convert %arg2 : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
    %5 = stablehlo.maximum %4, %4 : tensor<3xf32>
    %6 = stablehlo.convert %5 : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
    %7 = stablehlo.multiply %5, %4 : tensor<3xf32>
    %8 = stablehlo.convert %7 : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
    %9 = stablehlo.convert %arg3 : (tensor<3xbf16>) -> tensor<3xf32>
    %10 = stablehlo.convert %9 : (tensor<3xf32>) -> tensor<3xcomplex<f32>>
    %11 = stablehlo.convert %arg3 : (tensor<3xbf16>) -> tensor<3xi8>
    %c = stablehlo.constant dense<-8> : tensor<i8>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i8>) -> tensor<3xi8>
    %c_0 = stablehlo.constant dense<7> : tensor<i8>
    %13 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i8>) -> tensor<3xi8>
    %14 = stablehlo.clamp %12, %11, %13 : tensor<3xi8>
    %15 = stablehlo.convert %14 : (tensor<3xi8>) -> tensor<3xi4>
    %16 = stablehlo.convert %arg2 : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
    %17 = stablehlo.convert %16 : (tensor<3xf32>) -> tensor<3xui8>
    %c_1 = stablehlo.constant dense<0> : tensor<ui8>
    %18 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui8>) -> tensor<3xui8>
    %c_2 = stablehlo.constant dense<3> : tensor<ui8>
    %19 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui8>) -> tensor<3xui8>
    %20 = stablehlo.clamp %18, %17, %19 : tensor<3xui8>
    %21 = stablehlo.convert %20 : (tensor<3xui8>) -> tensor<3xui2>
    return %3, %8, %10, %15, %21 : tensor<3xi4>, tensor<3xf8E4M3FN>, tensor<3xcomplex<f32>>, tensor<3xi4>, tensor<3xui2>
  }
}
// -----
// passes: widen
// Operations on bits of integers give results for the original width.
func.func @main(%a: tensor<3xi4>, %b: tensor<3xi4>, %c: tensor<3xui2>) -> (tensor<3xi4>, tensor<3xi4>, tensor<3xi4>, tensor<3xui2>, tensor<3xi4>) {
  %0 = stablehlo.shift_right_logical %a, %b : tensor<3xi4>
  %1 = stablehlo.popcnt %a : tensor<3xi4>
  %2 = stablehlo.count_leading_zeros %a : tensor<3xi4>
  %3 = stablehlo.shift_right_arithmetic %c, %c : tensor<3xui2>
  %4 = chlo.mulhi %a, %b : tensor<3xi4>, tensor<3xi4> -> tensor<3xi4>
  return %0, %1, %2, %3, %4 : tensor<3xi4>, tensor<3xi4>, tensor<3xi4>, tensor<3xui2>, tensor<3xi4>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xi4>, %arg1: tensor<3xi4>, %arg2: tensor<3xui2>) -> (tensor<3xi4>, tensor<3xi4>, tensor<3xi4>, tensor<3xui2>, tensor<3xi4>) {
    %0 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xui4>
    %1 = stablehlo.convert %0 : (tensor<3xui4>) -> tensor<3xui8>
    %2 = stablehlo.convert %arg1 : (tensor<3xi4>) -> tensor<3xui4>
    %3 = stablehlo.convert %2 : (tensor<3xui4>) -> tensor<3xui8>
    %4 = stablehlo.shift_right_logical %1, %3 : tensor<3xui8>
    %5 = stablehlo.convert %4 : (tensor<3xui8>) -> tensor<3xi4>
    %6 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xui4>
    %7 = stablehlo.convert %6 : (tensor<3xui4>) -> tensor<3xui8>
    %8 = stablehlo.popcnt %7 : tensor<3xui8>
    %9 = stablehlo.convert %8 : (tensor<3xui8>) -> tensor<3xi4>
    %10 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xui4>
    %11 = stablehlo.convert %10 : (tensor<3xui4>) -> tensor<3xui8>
    %12 = stablehlo.count_leading_zeros %11 : tensor<3xui8>
    %c = stablehlo.constant dense<4> : tensor<ui8>
    %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<3xui8>
    %14 = stablehlo.subtract %12, %13 : tensor<3xui8>
    %15 = stablehlo.convert %14 : (tensor<3xui8>) -> tensor<3xi4>
    %16 = stablehlo.convert %arg2 : (tensor<3xui2>) -> tensor<3xi2>
    %17 = stablehlo.convert %16 : (tensor<3xi2>) -> tensor<3xi8>
    %18 = stablehlo.convert %arg2 : (tensor<3xui2>) -> tensor<3xi2>
    %19 = stablehlo.convert %18 : (tensor<3xi2>) -> tensor<3xi8>
    %20 = stablehlo.shift_right_arithmetic %17, %19 : tensor<3xi8>
    %21 = stablehlo.convert %20 : (tensor<3xi8>) -> tensor<3xui2>
    %22 = stablehlo.convert %arg0 : (tensor<3xi4>) -> tensor<3xi8>
    %23 = stablehlo.convert %arg1 : (tensor<3xi4>) -> tensor<3xi8>
    %c_0 = stablehlo.constant dense<4> : tensor<i8>
    %24 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i8>) -> tensor<3xi8>
    %25 = stablehlo.shift_left %22, %24 : tensor<3xi8>
    %26 = chlo.mulhi %25, %23 : tensor<3xi8>, tensor<3xi8> -> tensor<3xi8>
    %27 = stablehlo.convert %26 : (tensor<3xi8>) -> tensor<3xi4>
    return %5, %9, %15, %21, %27 : tensor<3xi4>, tensor<3xi4>, tensor<3xi4>, tensor<3xui2>, tensor<3xi4>
  }
}
// -----
// passes: widen
// Conversions between a byte and the packed integers in it.
func.func @main(%a: tensor<3xui8>, %b: tensor<3x2xi4>) -> (tensor<3x2xi4>, tensor<3xi8>) {
  %0 = stablehlo.bitcast_convert %a : (tensor<3xui8>) -> tensor<3x2xi4>
  %1 = stablehlo.bitcast_convert %b : (tensor<3x2xi4>) -> tensor<3xi8>
  return %0, %1 : tensor<3x2xi4>, tensor<3xi8>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xui8>, %arg1: tensor<3x2xi4>) -> (tensor<3x2xi4>, tensor<3xi8>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x2xui8>
    %c = stablehlo.constant dense<4> : tensor<ui8>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui8>) -> tensor<3x2xui8>
    %2 = stablehlo.multiply %0, %1 : tensor<3x2xui8>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<3xui8>) -> tensor<3x2xui8>
    %4 = stablehlo.shift_right_logical %3, %2 : tensor<3x2xui8>
    %5 = stablehlo.convert %4 : (tensor<3x2xui8>) -> tensor<3x2xui4>
    %6 = stablehlo.convert %5 : (tensor<3x2xui4>) -> tensor<3x2xi4>
    %7 = stablehlo.iota dim = 1 : tensor<3x2xui8>
    %c_0 = stablehlo.constant dense<4> : tensor<ui8>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui8>) -> tensor<3x2xui8>
    %9 = stablehlo.multiply %7, %8 : tensor<3x2xui8>
    %10 = stablehlo.convert %arg1 : (tensor<3x2xi4>) -> tensor<3x2xui4>
    %11 = stablehlo.convert %10 : (tensor<3x2xui4>) -> tensor<3x2xui8>
    %12 = stablehlo.shift_left %11, %9 : tensor<3x2xui8>
    %c_1 = stablehlo.constant dense<0> : tensor<ui8>
    %13 = stablehlo.reduce(%12 init: %c_1) applies stablehlo.or across dimensions = [1] : (tensor<3x2xui8>, tensor<ui8>) -> tensor<3xui8>
    %14 = stablehlo.convert %13 : (tensor<3xui8>) -> tensor<3xi8>
    return %6, %14 : tensor<3x2xi4>, tensor<3xi8>
  }
}
// -----
// passes: widen
// Products: integers are converted to a 16-bit float that represents them; otherwise, to the type of the
// result.
func.func @main(%x: tensor<2x3xbf16>, %w: tensor<3x2xi4>, %i: tensor<2x3xi8>, %j: tensor<3x2xui8>, %p: tensor<2x3xi1>, %q: tensor<3x2xi1>) -> (tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xi1>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x2xi4>) -> tensor<2x2xbf16>
  %1 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<2x3xi8>, tensor<3x2xui8>) -> tensor<2x2xi32>
  %2 = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<2x3xi1>, tensor<3x2xi1>) -> tensor<2x2xi1>
  return %0, %1, %2 : tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xbf16>, %arg1: tensor<3x2xi4>, %arg2: tensor<2x3xi8>, %arg3: tensor<3x2xui8>, %arg4: tensor<2x3xi1>, %arg5: tensor<3x2xi1>) -> (tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xi1>) {
    %0 = stablehlo.convert %arg1 : (tensor<3x2xi4>) -> tensor<3x2xi8>
    %1 = stablehlo.convert %0 : (tensor<3x2xi8>) -> tensor<3x2xbf16>
    %2 = stablehlo.dot_general %arg0, %1, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x2xbf16>) -> tensor<2x2xbf16>
    %3 = stablehlo.convert %arg2 : (tensor<2x3xi8>) -> tensor<2x3xi32>
    %4 = stablehlo.convert %arg3 : (tensor<3x2xui8>) -> tensor<3x2xi32>
    %5 = stablehlo.dot_general %3, %4, contracting_dims = [1] x [0] : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
    %6 = stablehlo.convert %arg4 : (tensor<2x3xi1>) -> tensor<2x3xi8>
    %7 = stablehlo.convert %arg5 : (tensor<3x2xi1>) -> tensor<3x2xi8>
    %8 = stablehlo.dot_general %6, %7, contracting_dims = [1] x [0] : (tensor<2x3xi8>, tensor<3x2xi8>) -> tensor<2x2xi32>
    %9 = stablehlo.convert %8 : (tensor<2x2xi32>) -> tensor<2x2xi1>
    return %2, %5, %9 : tensor<2x2xbf16>, tensor<2x2xi32>, tensor<2x2xi1>
  }
}
// -----
// passes: widen
// Regions: sums of integers and reductions of floats are rounded once, other results in each step. Movements
// of elements stay.
func.func @main(%x: tensor<4x3xi4>, %i: tensor<i4>, %f: tensor<4x3xf8E5M2>, %g: tensor<f8E5M2>) -> (tensor<4xi4>, tensor<4xf8E5M2>, tensor<4x2xf8E5M2>, tensor<3x4xf8E5M2>, tensor<4x3xf8E5M2>) {
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<4x3xi4>, tensor<i4>) -> tensor<4xi4>
  %1 = stablehlo.reduce(%f init: %g) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf8E5M2>, tensor<f8E5M2>) -> tensor<4xf8E5M2>
  %2 = "stablehlo.reduce_window"(%f, %g) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
    %r = stablehlo.add %a, %b : tensor<f8E5M2>
    stablehlo.return %r : tensor<f8E5M2>
  }) : (tensor<4x3xf8E5M2>, tensor<f8E5M2>) -> tensor<4x2xf8E5M2>
  %3 = stablehlo.transpose %f, dims = [1, 0] : (tensor<4x3xf8E5M2>) -> tensor<3x4xf8E5M2>
  %4 = "stablehlo.sort"(%f) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f8E5M2>, %b: tensor<f8E5M2>):
    %r = stablehlo.compare LT, %a, %b : (tensor<f8E5M2>, tensor<f8E5M2>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<4x3xf8E5M2>) -> tensor<4x3xf8E5M2>
  return %0, %1, %2, %3, %4 : tensor<4xi4>, tensor<4xf8E5M2>, tensor<4x2xf8E5M2>, tensor<3x4xf8E5M2>, tensor<4x3xf8E5M2>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x3xi4>, %arg1: tensor<i4>, %arg2: tensor<4x3xf8E5M2>, %arg3: tensor<f8E5M2>) -> (tensor<4xi4>, tensor<4xf8E5M2>, tensor<4x2xf8E5M2>, tensor<3x4xf8E5M2>, tensor<4x3xf8E5M2>) {
    %0 = stablehlo.convert %arg0 : (tensor<4x3xi4>) -> tensor<4x3xi8>
    %1 = stablehlo.convert %arg1 : (tensor<i4>) -> tensor<i8>
    %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : (tensor<4x3xi8>, tensor<i8>) -> tensor<4xi8>
    %3 = stablehlo.convert %2 : (tensor<4xi8>) -> tensor<4xi4>
    %4 = stablehlo.convert %arg2 : (tensor<4x3xf8E5M2>) -> tensor<4x3xf32>
    %5 = stablehlo.convert %arg3 : (tensor<f8E5M2>) -> tensor<f32>
    %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    %7 = stablehlo.convert %6 : (tensor<4xf32>) -> tensor<4xf8E5M2>
    %8 = "stablehlo.reduce_window"(%4, %5) <{window_dimensions = array<i64: 1, 2>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %13 = stablehlo.add %arg4, %arg5 : tensor<f32>
      %14 = stablehlo.convert %13 : (tensor<f32>) -> tensor<f8E5M2>
      %15 = stablehlo.convert %14 : (tensor<f8E5M2>) -> tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x2xf32>
    %9 = stablehlo.convert %8 : (tensor<4x2xf32>) -> tensor<4x2xf8E5M2>
    %10 = stablehlo.transpose %arg2, dims = [1, 0] : (tensor<4x3xf8E5M2>) -> tensor<3x4xf8E5M2>
    %11 = "stablehlo.sort"(%4) <{dimension = 1 : i64}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %13 = stablehlo.compare LT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    }) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %12 = stablehlo.convert %11 : (tensor<4x3xf32>) -> tensor<4x3xf8E5M2>
    return %3, %7, %9, %10, %12 : tensor<4xi4>, tensor<4xf8E5M2>, tensor<4x2xf8E5M2>, tensor<3x4xf8E5M2>, tensor<4x3xf8E5M2>
  }
}
