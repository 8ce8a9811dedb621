// The largest elements of lines: ties in the operand's order, positive NaNs first, all elements, no elements.
func.func @main(%x: tensor<2x7xf32>, %i: tensor<5xi64>, %b: tensor<1x4xi1>, %h: tensor<0x3xbf16>) -> (tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x7xf32>, tensor<2x7xi32>, tensor<4xi64>, tensor<4xi32>, tensor<1x3xi1>, tensor<1x3xi32>, tensor<0x2xbf16>, tensor<0x2xi32>, tensor<2x0xf32>, tensor<2x0xi32>) {
  %some, %places = chlo.top_k(%x, k = 3) : tensor<2x7xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %all:2 = chlo.top_k(%x, k = 7) : tensor<2x7xf32> -> (tensor<2x7xf32>, tensor<2x7xi32>)
  %wide:2 = chlo.top_k(%i, k = 4) : tensor<5xi64> -> (tensor<4xi64>, tensor<4xi32>)
  %truth:2 = chlo.top_k(%b, k = 3) : tensor<1x4xi1> -> (tensor<1x3xi1>, tensor<1x3xi32>)
  %empty:2 = chlo.top_k(%h, k = 2) : tensor<0x3xbf16> -> (tensor<0x2xbf16>, tensor<0x2xi32>)
  %none:2 = chlo.top_k(%x, k = 0) : tensor<2x7xf32> -> (tensor<2x0xf32>, tensor<2x0xi32>)
  return %some, %places, %all#0, %all#1, %wide#0, %wide#1, %truth#0, %truth#1, %empty#0, %empty#1, %none#0, %none#1 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2x7xf32>, tensor<2x7xi32>, tensor<4xi64>, tensor<4xi32>, tensor<1x3xi1>, tensor<1x3xi32>, tensor<0x2xbf16>, tensor<0x2xi32>, tensor<2x0xf32>, tensor<2x0xi32>
}
// run: dense<[[3.0, -0.0, 0x7F800000, -2.5, 0.0, 3.0, -0.0], [1.0, 0x7FC00000, -1.0, 0xFFC00000, 2.0, 0x7FC00000, 0xFF800000]]> : tensor<2x7xf32> ; dense<[-9223372036854775808, 3, 9223372036854775807, 3, -1]> : tensor<5xi64> ; dense<[[false, true, false, true]]> : tensor<1x4xi1> ; dense<> : tensor<0x3xbf16>
// = dense<[[0x7F800000, 3.000000e+00, 3.000000e+00], [0x7FC00000, 0x7FC00000, 2.000000e+00]]> : tensor<2x3xf32>
// = dense<[[2, 0, 5], [1, 5, 4]]> : tensor<2x3xi32>
// = dense<[[0x7F800000, 3.000000e+00, 3.000000e+00, 0.000000e+00, -0.000000e+00, -0.000000e+00, -2.500000e+00], [0x7FC00000, 0x7FC00000, 2.000000e+00, 1.000000e+00, -1.000000e+00, 0xFF800000, 0xFFC00000]]> : tensor<2x7xf32>
// = dense<[[2, 0, 5, 4, 1, 6, 3], [1, 5, 4, 0, 2, 6, 3]]> : tensor<2x7xi32>
// = dense<[9223372036854775807, 3, 3, -1]> : tensor<4xi64>
// = dense<[2, 1, 3, 4]> : tensor<4xi32>
// = dense<[[true, true, false]]> : tensor<1x3xi1>
// = dense<[[1, 3, 0]]> : tensor<1x3xi32>
// = dense<> : tensor<0x2xbf16>
// = dense<> : tensor<0x2xi32>
// = dense<> : tensor<2x0xf32>
// = dense<> : tensor<2x0xi32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x7xf32>
// | in1: tensor<5xi64>
// | in2: tensor<1x4xi1>
// | in3: tensor<0x3xbf16>
// | const0: tensor<0x2xbf16> =
// | const1: tensor<0x2xi32> =
// | const2: tensor<2x0xf32> =
// | const3: tensor<2x0xi32> =
// | out0:f32[2,3], out1:s32[2,3] = top_k k 3(in0:f32[2,7]) scratch stack[0..64]
// | out2:f32[2,7], out3:s32[2,7] = top_k k 7(in0:f32[2,7]) scratch stack[0..64]
// | out4:s64[4], out5:s32[4] = top_k k 4(in1:s64[5]) scratch stack[0..128]
// | out6:pred[1,3], out7:s32[1,3] = top_k k 3(in2:pred[1,4]) scratch stack[0..64]
// | return out0:f32[2,3], out1:s32[2,3], out2:f32[2,7], out3:s32[2,7], out4:s64[4], out5:s32[4], out6:pred[1,3], out7:s32[1,3], const0:bf16[0,2], const1:s32[0,2], const2:f32[2,0], const3:s32[2,0]
