// Operations that become one thunk each: a concatenation, padding together with its operand, an in-place
// update, and a product whose operands are widened and rearranged.
func.func @main(%x: tensor<2x3xf16>, %y: tensor<3x2x2xf32>) -> (tensor<2x8xf16>, tensor<4x4xf16>, tensor<2x3xf16>, tensor<3x2xf32>) {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %update = stablehlo.constant dense<9.0> : tensor<1x2xf16>
  %left = stablehlo.slice %x [0:2, 0:2] : (tensor<2x3xf16>) -> tensor<2x2xf16>
  %0 = stablehlo.concatenate %x, %left, %x, dim = 1 : (tensor<2x3xf16>, tensor<2x2xf16>, tensor<2x3xf16>) -> tensor<2x8xf16>
  %1 = stablehlo.pad %x, %zero, low = [1, 0], high = [1, 1], interior = [0, 0] : (tensor<2x3xf16>, tensor<f16>) -> tensor<4x4xf16>
  %sum = stablehlo.add %x, %x : tensor<2x3xf16>
  %2 = stablehlo.dynamic_update_slice %sum, %update, %i, %i : (tensor<2x3xf16>, tensor<1x2xf16>, tensor<i32>, tensor<i32>) -> tensor<2x3xf16>
  %3 = stablehlo.dot_general %y, %left, contracting_dims = [1, 2] x [1, 0] : (tensor<3x2x2xf32>, tensor<2x2xf16>) -> tensor<3xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
  return %0, %1, %2, %4 : tensor<2x8xf16>, tensor<4x4xf16>, tensor<2x3xf16>, tensor<3x2xf32>
}
// run: dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16> ; dense<[[[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]> : tensor<3x2x2xf32>
// = dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00, 1.000000e+00, 2.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00], [4.000000e+00, 5.000000e+00, 6.000000e+00, 4.000000e+00, 5.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00]]> : tensor<2x8xf16>
// = dense<[[0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00], [1.000000e+00, 2.000000e+00, 3.000000e+00, 0.000000e+00], [4.000000e+00, 5.000000e+00, 6.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]]> : tensor<4x4xf16>
// = dense<[[2.000000e+00, 4.000000e+00, 6.000000e+00], [8.000000e+00, 9.000000e+00, 9.000000e+00]]> : tensor<2x3xf16>
// = dense<[[3.500000e+01, 3.500000e+01], [5.000000e-01, 5.000000e-01], [4.000000e+00, 4.000000e+00]]> : tensor<3x2xf32>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<2x3xf16>
// | in1: tensor<3x2x2xf32>
// | number0: tensor<i32> = 1
// | number1: tensor<f16> = 0.0
// | const0: tensor<1x2xf16> = 9.0
// | out3:f16[2,2] = slice(in0:f16[2,3])
// | out0:f16[2,8] = concatenate(in0:f16[2,3], out3:f16[2,2], in0:f16[2,3])
// | out1:f16[4,4] = pad(in0:f16[2,3], number1:f16[])
// | out2:f16[2,3] = elementwise add(in0:f16[2,3], in0:f16[2,3])
// | out2:f16[2,3] = dynamic_update_slice(out2:f16[2,3], const0:f16[1,2], number0:s32[], number0:s32[])
// | arena[0..12]:f32[3] = dot 1x[3x4x1](in1:f32[3,2,2], out3:f16[2,2]) scratch stack[0..64]
// | out3:f32[3,2] = broadcast(arena[0..12]:f32[3])
// | return out0:f16[2,8], out1:f16[4,4], out2:f16[2,3], out3:f32[3,2]
