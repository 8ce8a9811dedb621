// The smallest elements: ties in the operand's order, negative NaNs first, -0 before 0, the smallest integer.
func.func @main(%x: tensor<2x7xf32>, %i: tensor<5xi64>, %u: tensor<4xui8>, %b: tensor<1x4xi1>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x7xf32>, tensor<2x7xi32>, tensor<4xi64>, tensor<4xi32>, tensor<2xui8>, tensor<2xi32>, tensor<1x3xi1>, tensor<1x3xi32>, tensor<2x0xf32>, tensor<2x0xi32>) {
  %some:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x7xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %all:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 7 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x7xf32>) -> (tensor<2x7xf32>, tensor<2x7xi32>)
  %wide:2 = stablehlo.custom_call @mhlo.topk(%i) {mhlo.attributes = {k = 4 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<5xi64>) -> (tensor<4xi64>, tensor<4xi32>)
  %byte:2 = stablehlo.custom_call @mhlo.topk(%u) {mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4xui8>) -> (tensor<2xui8>, tensor<2xi32>)
  %truth:2 = stablehlo.custom_call @mhlo.topk(%b) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<1x4xi1>) -> (tensor<1x3xi1>, tensor<1x3xi32>)
  %none:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 0 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x7xf32>) -> (tensor<2x0xf32>, tensor<2x0xi32>)
  return %some#0, %some#1, %all#0, %all#1, %wide#0, %wide#1, %byte#0, %byte#1, %truth#0, %truth#1, %none#0, %none#1 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x7xf32>, tensor<2x7xi32>, tensor<4xi64>, tensor<4xi32>, tensor<2xui8>, tensor<2xi32>, tensor<1x3xi1>, tensor<1x3xi32>, tensor<2x0xf32>, tensor<2x0xi32>
}
// run: dense<[[3.0, -0.0, 0x7F800000, -2.5, 0.0, 3.0, -0.0], [1.0, 0x7FC00000, -1.0, 0xFFC00000, 2.0, 0x7FC00000, 0xFF800000]]> : tensor<2x7xf32> ; dense<[-9223372036854775808, 3, 9223372036854775807, 3, -1]> : tensor<5xi64> ; dense<[200, 3, 255, 3]> : tensor<4xui8> ; dense<[[false, true, false, true]]> : tensor<1x4xi1>
// = dense<[[-2.500000e+00, -0.000000e+00, -0.000000e+00], [0xFFC00000, 0xFF800000, -1.000000e+00]]> : tensor<2x3xf32>
// = dense<[[3, 1, 6], [3, 6, 2]]> : tensor<2x3xi32>
// = dense<[[-2.500000e+00, -0.000000e+00, -0.000000e+00, 0.000000e+00, 3.000000e+00, 3.000000e+00, 0x7F800000], [0xFFC00000, 0xFF800000, -1.000000e+00, 1.000000e+00, 2.000000e+00, 0x7FC00000, 0x7FC00000]]> : tensor<2x7xf32>
// = dense<[[3, 1, 6, 4, 0, 5, 2], [3, 6, 2, 0, 4, 1, 5]]> : tensor<2x7xi32>
// = dense<[-9223372036854775808, -1, 3, 3]> : tensor<4xi64>
// = dense<[0, 4, 1, 3]> : tensor<4xi32>
// = dense<3> : tensor<2xui8>
// = dense<[1, 3]> : tensor<2xi32>
// = dense<[[false, false, true]]> : tensor<1x3xi1>
// = dense<[[0, 2, 1]]> : tensor<1x3xi32>
// = dense<> : tensor<2x0xf32>
// = dense<> : tensor<2x0xi32>
// plan
// | plan: arena 80 bytes, denormals ieee
// | in0: tensor<2x7xf32>
// | in1: tensor<5xi64>
// | in2: tensor<4xui8>
// | in3: tensor<1x4xi1>
// | const0: tensor<2x0xf32> =
// | const1: tensor<2x0xi32> =
// | out2:f32[2,7], out3:s32[2,7] = sort(in0:f32[2,7], iota(1):s32[2,7])
// | out0:f32[2,3] = slice(out2:f32[2,7])
// | out1:s32[2,3] = slice(out3:s32[2,7])
// | out2:f32[2,7], out3:s32[2,7] = sort(in0:f32[2,7], iota(1):s32[2,7])
// | arena[0..40]:s64[5], arena[48..68]:s32[5] = sort(in1:s64[5], iota(0):s32[5]) scratch stack[0..256]
// | out4:s64[4] = slice(arena[0..40]:s64[5])
// | out5:s32[4] = slice(arena[48..68]:s32[5])
// | out7:u8[4], arena[0..16]:s32[4] = sort(in2:u8[4], iota(0):s32[4]) scratch stack[0..128]
// | out6:u8[2] = slice(out7:u8[4])
// | out7:s32[2] = slice(arena[0..16]:s32[4])
// | out9:pred[1,4], arena[0..16]:s32[1,4] = sort(in3:pred[1,4], iota(1):s32[1,4]) scratch stack[0..128]
// | out8:pred[1,3] = slice(out9:pred[1,4])
// | out9:s32[1,3] = slice(arena[0..16]:s32[1,4])
// | return out0:f32[2,3], out1:s32[2,3], out2:f32[2,7], out3:s32[2,7], out4:s64[4], out5:s32[4], out6:u8[2], out7:s32[2], out8:pred[1,3], out9:s32[1,3], const0:f32[2,0], const1:s32[2,0]
