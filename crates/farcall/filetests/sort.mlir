// Sorts by comparators that have a kernel: one operand or several, ascending or descending, along any dimension,
// with NaNs and zeros of both signs.
func.func @main(%x: tensor<2x7xf32>, %k: tensor<7xi16>, %b: tensor<7xi1>) -> (tensor<2x7xf32>, tensor<2x7xf32>, tensor<2x7xf32>, tensor<7xi16>, tensor<7xi32>, tensor<7xi1>, tensor<7xi16>, tensor<7xi32>, tensor<2x7xf32>) {
  %ascending = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x7xf32>) -> tensor<2x7xf32>
  %total = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare GT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x7xf32>) -> tensor<2x7xf32>
  // The sort that jax.numpy.sort compiles to.
  %jax = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %0 = stablehlo.compare EQ, %l, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %zero, %l : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare NE, %l, %l, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %nan, %1 : tensor<i1>, tensor<f32>
    %4 = stablehlo.compare EQ, %r, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.select %4, %zero, %r : tensor<i1>, tensor<f32>
    %6 = stablehlo.compare NE, %r, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %7 = stablehlo.select %6, %nan, %5 : tensor<i1>, tensor<f32>
    %c = stablehlo.compare LT, %3, %7, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x7xf32>) -> tensor<2x7xf32>
  // A stable sort that carries other numbers along.
  %place = stablehlo.iota dim = 0 : tensor<7xi32>
  %down:2 = "stablehlo.sort"(%k, %place) ({
  ^bb0(%l: tensor<i16>, %r: tensor<i16>, %m: tensor<i32>, %n: tensor<i32>):
    %c = stablehlo.compare LT, %r, %l : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<7xi16>, tensor<7xi32>) -> (tensor<7xi16>, tensor<7xi32>)
  // Two keys.
  %both:3 = "stablehlo.sort"(%b, %k, %place) ({
  ^bb0(%l: tensor<i1>, %r: tensor<i1>, %m: tensor<i16>, %n: tensor<i16>, %p: tensor<i32>, %q: tensor<i32>):
    %less = stablehlo.compare LT, %m, %n, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %same = stablehlo.compare EQ, %l, %r, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = stablehlo.compare LT, %l, %r, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %then = stablehlo.and %same, %less : tensor<i1>
    %c = stablehlo.or %first, %then : tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<7xi1>, tensor<7xi16>, tensor<7xi32>) -> (tensor<7xi1>, tensor<7xi16>, tensor<7xi32>)
  %columns = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<2x7xf32>) -> tensor<2x7xf32>
  return %ascending, %total, %jax, %down#0, %down#1, %both#0, %both#1, %both#2, %columns : tensor<2x7xf32>, tensor<2x7xf32>, tensor<2x7xf32>, tensor<7xi16>, tensor<7xi32>, tensor<7xi1>, tensor<7xi16>, tensor<7xi32>, tensor<2x7xf32>
}
// run: dense<[[3.0, -0.0, 0x7F800000, -2.5, 0.0, 1.0e-40, -0.0], [1.0, 0x7FC00000, -1.0, 0xFFC00000, 2.0, 0x7FC00000, 0.5]]> : tensor<2x7xf32> ; dense<[3, -1, 300, -300, 3, 0, -1]> : tensor<7xi16> ; dense<[true, false, true, false, false, true, true]> : tensor<7xi1>
// = dense<[[-2.500000e+00, -0.000000e+00, 0.000000e+00, -0.000000e+00, 9.999946e-41, 3.000000e+00, 0x7F800000], [-1.000000e+00, 5.000000e-01, 1.000000e+00, 0x7FC00000, 0xFFC00000, 2.000000e+00, 0x7FC00000]]> : tensor<2x7xf32>
// = dense<[[0x7F800000, 3.000000e+00, 9.999946e-41, 0.000000e+00, -0.000000e+00, -0.000000e+00, -2.500000e+00], [0x7FC00000, 0x7FC00000, 2.000000e+00, 1.000000e+00, 5.000000e-01, -1.000000e+00, 0xFFC00000]]> : tensor<2x7xf32>
// = dense<[[-2.500000e+00, -0.000000e+00, 0.000000e+00, -0.000000e+00, 9.999946e-41, 3.000000e+00, 0x7F800000], [-1.000000e+00, 5.000000e-01, 1.000000e+00, 2.000000e+00, 0x7FC00000, 0xFFC00000, 0x7FC00000]]> : tensor<2x7xf32>
// = dense<[300, 3, 3, 0, -1, -1, -300]> : tensor<7xi16>
// = dense<[2, 0, 4, 5, 1, 6, 3]> : tensor<7xi32>
// = dense<[false, false, false, true, true, true, true]> : tensor<7xi1>
// = dense<[-300, -1, 3, -1, 0, 3, 300]> : tensor<7xi16>
// = dense<[3, 1, 4, 6, 5, 0, 2]> : tensor<7xi32>
// = dense<[[3.000000e+00, -0.000000e+00, 0x7F800000, -2.500000e+00, 2.000000e+00, 9.999946e-41, 5.000000e-01], [1.000000e+00, 0x7FC00000, -1.000000e+00, 0xFFC00000, 0.000000e+00, 0x7FC00000, -0.000000e+00]]> : tensor<2x7xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x7xf32>
// | in1: tensor<7xi16>
// | in2: tensor<7xi1>
// | out0:f32[2,7] = sort(in0:f32[2,7]) scratch stack[0..128]
// | out1:f32[2,7] = sort(in0:f32[2,7])
// | out2:f32[2,7] = sort(in0:f32[2,7])
// | out3:s16[7], out4:s32[7] = sort(in1:s16[7], iota(0):s32[7]) scratch stack[0..128]
// | out5:pred[7], out6:s16[7], out7:s32[7] = sort(in2:pred[7], in1:s16[7], iota(0):s32[7]) scratch stack[0..256]
// | out8:f32[2,7] = sort(in0:f32[2,7]) scratch stack[0..128]
// | return out0:f32[2,7], out1:f32[2,7], out2:f32[2,7], out3:s16[7], out4:s32[7], out5:pred[7], out6:s16[7], out7:s32[7], out8:f32[2,7]
