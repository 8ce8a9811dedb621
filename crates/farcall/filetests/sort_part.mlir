// The first and last elements of sorted lines: along either dimension, with NaNs that the comparator orders,
// and with NaNs that it does not order.
func.func @main(%x: tensor<2x9xf32>, %k: tensor<9x1xi16>) -> (tensor<2x1xf32>, tensor<2x1xi32>, tensor<1xf32>, tensor<1x1xi16>, tensor<1x1xi16>, tensor<1x1xi32>) {
  %place = stablehlo.iota dim = 1 : tensor<2x9xi32>
  // approx_max_k
  %top:2 = "stablehlo.sort"(%x, %place) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>, %m: tensor<i32>, %n: tensor<i32>):
    %c = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x9xf32>, tensor<2x9xi32>) -> (tensor<2x9xf32>, tensor<2x9xi32>)
  %values = stablehlo.slice %top#0 [0:2, 0:1] : (tensor<2x9xf32>) -> tensor<2x1xf32>
  %places = stablehlo.slice %top#1 [0:2, 0:1] : (tensor<2x9xi32>) -> tensor<2x1xi32>
  // sort(x)[1, -1], where the last elements are NaNs.
  %all = "stablehlo.sort"(%x) ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x9xf32>) -> tensor<2x9xf32>
  %last = stablehlo.slice %all [1:2, 8:9] : (tensor<2x9xf32>) -> tensor<1x1xf32>
  %number = stablehlo.reshape %last : (tensor<1x1xf32>) -> tensor<1xf32>
  // The first element of a reversed sort, and its index: of equal elements, the last.
  %i = stablehlo.iota dim = 0 : tensor<9x1xi32>
  %keys:2 = "stablehlo.sort"(%k, %i) ({
  ^bb0(%l: tensor<i16>, %r: tensor<i16>, %m: tensor<i32>, %n: tensor<i32>):
    %c = stablehlo.compare LT, %l, %r : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<9x1xi16>, tensor<9x1xi32>) -> (tensor<9x1xi16>, tensor<9x1xi32>)
  %down = stablehlo.reverse %keys#0, dims = [0] : tensor<9x1xi16>
  %largest = stablehlo.slice %down [0:1, 0:1] : (tensor<9x1xi16>) -> tensor<1x1xi16>
  %least = "stablehlo.sort"(%k) ({
  ^bb0(%l: tensor<i16>, %r: tensor<i16>):
    %c = stablehlo.compare LT, %l, %r : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<9x1xi16>) -> tensor<9x1xi16>
  %smallest = stablehlo.slice %least [0:1, 0:1] : (tensor<9x1xi16>) -> tensor<1x1xi16>
  %where = stablehlo.slice %keys#1 [8:9, 0:1] : (tensor<9x1xi32>) -> tensor<1x1xi32>
  return %values, %places, %number, %largest, %smallest, %where : tensor<2x1xf32>, tensor<2x1xi32>, tensor<1xf32>, tensor<1x1xi16>, tensor<1x1xi16>, tensor<1x1xi32>
}
// run: dense<[[3.0, -0.0, 0x7F800000, -2.5, 0.0, 1.0e-40, -0.0, 0x7F800000, 1.0], [1.0, 0x7FC00000, -1.0, 0xFFC00000, 2.0, 0x7FC00000, 0.5, 7.0, 3.0]]> : tensor<2x9xf32> ; dense<[[3], [-1], [300], [-300], [3], [0], [-1], [300], [2]]> : tensor<9x1xi16>
// = dense<[[0x7F800000], [7.000000e+00]]> : tensor<2x1xf32>
// = dense<[[2], [7]]> : tensor<2x1xi32>
// = dense<0x7FC00000> : tensor<1xf32>
// = dense<300> : tensor<1x1xi16>
// = dense<-300> : tensor<1x1xi16>
// = dense<7> : tensor<1x1xi32>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<2x9xf32>
// | in1: tensor<9x1xi16>
// | out0:f32[2,1], out1:s32[2,1] = sort_part 0 to 1(in0:f32[2,9], iota(1):s32[2,9]) scratch stack[0..320]
// | arena[0..8]:f32[2,1] = sort_part 8 to 9(in0:f32[2,9]) scratch stack[0..320]
// | out2:f32[1,1] = slice(arena[0..8]:f32[2,1])
// | out4:s16[1,1], out5:s32[1,1] = sort_part 8 to 9(in1:s16[9,1], iota(0):s32[9,1]) scratch stack[0..320]
// | out3:s16[1,1] = reverse(out4:s16[1,1])
// | out4:s16[1,1] = sort_part 0 to 1(in1:s16[9,1]) scratch stack[0..320]
// | return out0:f32[2,1], out1:s32[2,1], out2:f32[1], out3:s16[1,1], out4:s16[1,1], out5:s32[1,1]
