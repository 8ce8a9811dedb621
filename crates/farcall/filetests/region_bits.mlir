// Reducers of bit patterns keep every bit, also of signaling NaNs: in reductions of all elements, of rows and
// of windows, in a scatter, and in a region with further operations on its arguments.
func.func @main(%x: tensor<4x3xf32>, %h: tensor<6xbf16>, %i: tensor<3x1xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<4x2xf32>, tensor<4xbf16>, tensor<bf16>, tensor<6xbf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %hz = stablehlo.constant dense<0.0> : tensor<bf16>
  %all = stablehlo.reduce(%x init: %z) across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %p = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<i32>
    %q = stablehlo.bitcast_convert %b : (tensor<f32>) -> tensor<i32>
    %s = stablehlo.xor %p, %q : tensor<i32>
    %r = stablehlo.bitcast_convert %s : (tensor<i32>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  %rows = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %p = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<ui32>
    %q = stablehlo.bitcast_convert %b : (tensor<f32>) -> tensor<ui32>
    %s = stablehlo.or %q, %p : tensor<ui32>
    %r = stablehlo.bitcast_convert %s : (tensor<ui32>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  %windows = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<i32>
    %q = stablehlo.bitcast_convert %b : (tensor<f32>) -> tensor<i32>
    %s = stablehlo.xor %p, %q : tensor<i32>
    %r = stablehlo.bitcast_convert %s : (tensor<i32>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x2xf32>
  %to = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xbf16>
  %u = stablehlo.slice %h [0:3] : (tensor<6xbf16>) -> tensor<3xbf16>
  %scattered = "stablehlo.scatter"(%to, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %p = stablehlo.bitcast_convert %a : (tensor<bf16>) -> tensor<i16>
    %q = stablehlo.bitcast_convert %b : (tensor<bf16>) -> tensor<i16>
    %s = stablehlo.xor %p, %q : tensor<i16>
    %r = stablehlo.bitcast_convert %s : (tensor<i16>) -> tensor<bf16>
    stablehlo.return %r : tensor<bf16>
  }) : (tensor<4xbf16>, tensor<3x1xi32>, tensor<3xbf16>) -> tensor<4xbf16>
  %mixed = stablehlo.reduce(%h init: %hz) across dimensions = [0] : (tensor<6xbf16>, tensor<bf16>) -> tensor<bf16>
   reducer(%a: tensor<bf16>, %b: tensor<bf16>) {
    %p = stablehlo.bitcast_convert %a : (tensor<bf16>) -> tensor<i16>
    %q = stablehlo.bitcast_convert %b : (tensor<bf16>) -> tensor<i16>
    %s = stablehlo.xor %p, %q : tensor<i16>
    %r = stablehlo.bitcast_convert %s : (tensor<i16>) -> tensor<bf16>
    %c = stablehlo.compare EQ, %b, %b : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
    %t = stablehlo.select %c, %r, %a : tensor<i1>, tensor<bf16>
    stablehlo.return %t : tensor<bf16>
  }
  %sorted = "stablehlo.sort"(%h) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %p = stablehlo.bitcast_convert %a : (tensor<bf16>) -> tensor<ui16>
    %q = stablehlo.bitcast_convert %b : (tensor<bf16>) -> tensor<ui16>
    %s = stablehlo.compare LT, %p, %q : (tensor<ui16>, tensor<ui16>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<6xbf16>) -> tensor<6xbf16>
  return %all, %rows, %windows, %scattered, %mixed, %sorted : tensor<f32>, tensor<4xf32>, tensor<4x2xf32>, tensor<4xbf16>, tensor<bf16>, tensor<6xbf16>
}
// run: dense<[[0x7F800001, 0x00000002, 1.0], [0x7FA00000, 0xFF800001, 0x00400000], [3.0, 0x7F800000, 0x00000100], [0xFFBFFFFF, 0.5, 2.0]]> : tensor<4x3xf32> ; dense<[0x7F81, 0x0001, 0xFFA0, 0x7F80, 0x0080, 0x7FC1]> : tensor<6xbf16> ; dense<[[1], [3], [1]]> : tensor<3x1xi32>
// = dense<2.1267123E38> : tensor<f32>
// = dense<[0x7F800003, 0xFFE00001, 0x7FC00100, 0xFFBFFFFF]> : tensor<4xf32>
// = dense<[[0x7F800003, 1.0000002], [-2.938737e-39, 0xFFC00001], [1.500000e+00, 0x7F800100], [-5.9999995, 1.7014118E38]]> : tensor<4x2xf32>
// = dense<[1.000000e+00, -2.515625e+00, 3.000000e+00, 4.031250e+00]> : tensor<4xbf16>
// = dense<1.714704e+38> : tensor<bf16>
// = dense<[9.183550e-41, 1.175494e-38, 0x7F80, 0x7F81, 0x7FC1, 0xFFA0]> : tensor<6xbf16>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<4x3xf32>
// | in1: tensor<6xbf16>
// | in2: tensor<3x1xi32>
// | number0: tensor<i32> = 0
// | const0: tensor<4xi16> = 16256, 16384, 16448, 16512
// | out0:s32[], out1:f32[4] = fusion constant bitcast_convert reduce constant bitcast_convert reduce bitcast_convert(in0:f32[4,3]) scratch stack[0..64]
// | out2:s32[4,2] = reduce_window xor 1x2(in0:s32[4,3], number0:s32[])
// | out3:s16[4] = scatter xor(const0:s16[4], in2:s32[3,1], in1:s16[3])
// | out4:bf16[] = fusion slice reshape bitcast_convert constant xor bitcast_convert compare constant select bitcast_convert slice reshape bitcast_convert xor bitcast_convert compare select bitcast_convert slice reshape bitcast_convert xor bitcast_convert compare select bitcast_convert slice reshape bitcast_convert xor bitcast_convert compare select bitcast_convert slice reshape bitcast_convert xor bitcast_convert compare select bitcast_convert slice reshape bitcast_convert xor bitcast_convert compare select reshape(in1:bf16[6,1])
// | out5:bf16[6], arena[0..12]:u16[6] = sort(in1:bf16[6], in1:u16[6]) scratch stack[0..256]
// | return out0:f32[], out1:f32[4], out2:f32[4,2], out3:bf16[4], out4:bf16[], out5:bf16[6]
