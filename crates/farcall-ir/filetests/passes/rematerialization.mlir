// passes: rematerialization
// The sum is recomputed for its use after the product, because the exponential is stored in any case.
func.func @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %0 = stablehlo.exponential %x : tensor<128x128xf32>
  %1 = stablehlo.add %0, %one : tensor<128x128xf32>
  %2 = stablehlo.multiply %1, %x : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
  %5 = stablehlo.multiply %4, %0 : tensor<128x128xf32>
  return %4, %5 : tensor<128x128xf32>, tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<128x128xf32>
    %0 = stablehlo.exponential %arg0 : tensor<128x128xf32>
    %1 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %2 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<128x128xf32>
    %4 = stablehlo.dot_general %3, %arg1, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<128x128xf32>
    %6 = stablehlo.multiply %5, %0 : tensor<128x128xf32>
    return %5, %6 : tensor<128x128xf32>, tensor<128x128xf32>
  }
}
// -----
// passes: rematerialization
// The sum is not recomputed: the exponential has no other later user, so it would be stored only for the sum.
func.func @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<128x128xf32>
  %0 = stablehlo.exponential %x : tensor<128x128xf32>
  %1 = stablehlo.add %0, %one : tensor<128x128xf32>
  %2 = stablehlo.multiply %1, %x : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
  return %4 : tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<128x128xf32>
    %0 = stablehlo.exponential %arg0 : tensor<128x128xf32>
    %1 = stablehlo.add %0, %cst : tensor<128x128xf32>
    %2 = stablehlo.multiply %1, %arg0 : tensor<128x128xf32>
    %3 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
    return %4 : tensor<128x128xf32>
  }
}
// -----
// passes: rematerialization
// Two later generations use the sum, one of them through a product. Each generation gets its own copies.
func.func @main(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
  %0 = stablehlo.add %x, %y : tensor<128x128xf32>
  %1 = stablehlo.multiply %0, %y : tensor<128x128xf32>
  %2 = stablehlo.sine %1 : tensor<128x128xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %4 = stablehlo.multiply %3, %0 : tensor<128x128xf32>
  %5 = stablehlo.dot_general %4, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  %6 = stablehlo.subtract %5, %1 : tensor<128x128xf32>
  return %4, %6 : tensor<128x128xf32>, tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>, %arg2: tensor<128x128xf32>) -> (tensor<128x128xf32>, tensor<128x128xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %1 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %2 = stablehlo.add %arg0, %arg1 : tensor<128x128xf32>
    %3 = stablehlo.multiply %1, %arg1 : tensor<128x128xf32>
    %4 = stablehlo.multiply %2, %arg1 : tensor<128x128xf32>
    %5 = stablehlo.sine %4 : tensor<128x128xf32>
    %6 = stablehlo.dot_general %5, %arg2, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %7 = stablehlo.multiply %6, %0 : tensor<128x128xf32>
    %8 = stablehlo.dot_general %7, %arg2, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %9 = stablehlo.subtract %8, %3 : tensor<128x128xf32>
    return %7, %9 : tensor<128x128xf32>, tensor<128x128xf32>
  }
}
// -----
// passes: rematerialization
// A small value is stored, not recomputed.
func.func @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.add %x, %x : tensor<64x64xf32>
  %1 = stablehlo.multiply %0, %x : tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<64x64xf32>
    %1 = stablehlo.multiply %0, %arg0 : tensor<64x64xf32>
    %2 = stablehlo.dot_general %1, %arg1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = stablehlo.multiply %2, %0 : tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  }
}
// -----
// passes: rematerialization
// A comparison is stored: its result has one byte for each eight bytes that recomputing would read.
func.func @main(%x: tensor<256x256xf32>, %y: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = stablehlo.compare GT, %x, %y : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xi1>
  %1 = stablehlo.select %0, %x, %y : tensor<256x256xi1>, tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = stablehlo.select %0, %2, %w : tensor<256x256xi1>, tensor<256x256xf32>
  return %3 : tensor<256x256xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<256x256xf32>, %arg1: tensor<256x256xf32>, %arg2: tensor<256x256xf32>) -> tensor<256x256xf32> {
    %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xi1>
    %1 = stablehlo.select %0, %arg0, %arg1 : tensor<256x256xi1>, tensor<256x256xf32>
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %3 = stablehlo.select %0, %2, %arg2 : tensor<256x256xi1>, tensor<256x256xf32>
    return %3 : tensor<256x256xf32>
  }
}
// -----
// passes: canonicalize, rematerialization
// The sum is stored, because the carried value that it is computed from may be overwritten in place.
func.func @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<128x128xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %i, %one : tensor<i32>
    %1 = stablehlo.add %a, %a : tensor<128x128xf32>
    %2 = stablehlo.sine %1 : tensor<128x128xf32>
    %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<128x128xf32>
    stablehlo.return %n, %4 : tensor<i32>, tensor<128x128xf32>
  }
  return %0#1 : tensor<128x128xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<128x128xf32>, %arg1: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = "stablehlo.while"(%c, %arg0, %arg1) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<128x128xf32>, %iterArg_1: tensor<128x128xf32>):
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<128x128xf32>, %iterArg_1: tensor<128x128xf32>):
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %2 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<128x128xf32>
      %3 = stablehlo.sine %2 : tensor<128x128xf32>
      %4 = stablehlo.dot_general %3, %iterArg_1, contracting_dims = [1] x [0] : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
      %5 = stablehlo.multiply %4, %2 : tensor<128x128xf32>
      stablehlo.return %1, %5 : tensor<i32>, tensor<128x128xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i32>, tensor<128x128xf32>, tensor<128x128xf32>) -> (tensor<i32>, tensor<128x128xf32>)
    return %0#1 : tensor<128x128xf32>
  }
}
