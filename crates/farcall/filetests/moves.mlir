// Elements repeated in two dimensions, then concatenated: one fusion moves them without intermediate values.
// The same for bytes, and for a constant without memory.
func.func @main(%x: tensor<2x3x2xf32>, %y: tensor<4x6x1xf32>, %b: tensor<3xui8>, %one: tensor<f32>) -> (tensor<4x6x3xf32>, tensor<12xui8>, tensor<3x1xf32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 2, 3] : (tensor<2x3x2xf32>) -> tensor<2x2x3x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x2x3x2xf32>) -> tensor<4x3x2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 3] : (tensor<4x3x2xf32>) -> tensor<4x3x2x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x3x2x2xf32>) -> tensor<4x6x2xf32>
  %4 = stablehlo.concatenate %y, %3, dim = 2 : (tensor<4x6x1xf32>, tensor<4x6x2xf32>) -> tensor<4x6x3xf32>
  %5 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xui8>) -> tensor<2x3xui8>
  %6 = stablehlo.reshape %5 : (tensor<2x3xui8>) -> tensor<6xui8>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<6xui8>) -> tensor<6x2xui8>
  %8 = stablehlo.reshape %7 : (tensor<6x2xui8>) -> tensor<12xui8>
  %9 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
  %10 = stablehlo.constant dense<7.0> : tensor<1x1xf32>
  %11 = stablehlo.concatenate %9, %10, dim = 0 : (tensor<2x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
  return %4, %8, %11 : tensor<4x6x3xf32>, tensor<12xui8>, tensor<3x1xf32>
}
// run: dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]> : tensor<2x3x2xf32> ; dense<[[[-1.0], [-2.0], [-3.0], [-4.0], [-5.0], [-6.0]], [[-7.0], [-8.0], [-9.0], [-10.0], [-11.0], [-12.0]], [[-13.0], [-14.0], [-15.0], [-16.0], [-17.0], [-18.0]], [[-19.0], [-20.0], [-21.0], [-22.0], [-23.0], [-24.0]]]> : tensor<4x6x1xf32> ; dense<[1, 2, 3]> : tensor<3xui8> ; dense<5.0> : tensor<f32>
// = dense<[[[-1.000000e+00, 1.000000e+00, 2.000000e+00], [-2.000000e+00, 1.000000e+00, 2.000000e+00], [-3.000000e+00, 3.000000e+00, 4.000000e+00], [-4.000000e+00, 3.000000e+00, 4.000000e+00], [-5.000000e+00, 5.000000e+00, 6.000000e+00], [-6.000000e+00, 5.000000e+00, 6.000000e+00]], [[-7.000000e+00, 1.000000e+00, 2.000000e+00], [-8.000000e+00, 1.000000e+00, 2.000000e+00], [-9.000000e+00, 3.000000e+00, 4.000000e+00], [-1.000000e+01, 3.000000e+00, 4.000000e+00], [-1.100000e+01, 5.000000e+00, 6.000000e+00], [-1.200000e+01, 5.000000e+00, 6.000000e+00]], [[-1.300000e+01, 7.000000e+00, 8.000000e+00], [-1.400000e+01, 7.000000e+00, 8.000000e+00], [-1.500000e+01, 9.000000e+00, 1.000000e+01], [-1.600000e+01, 9.000000e+00, 1.000000e+01], [-1.700000e+01, 1.100000e+01, 1.200000e+01], [-1.800000e+01, 1.100000e+01, 1.200000e+01]], [[-1.900000e+01, 7.000000e+00, 8.000000e+00], [-2.000000e+01, 7.000000e+00, 8.000000e+00], [-2.100000e+01, 9.000000e+00, 1.000000e+01], [-2.200000e+01, 9.000000e+00, 1.000000e+01], [-2.300000e+01, 1.100000e+01, 1.200000e+01], [-2.400000e+01, 1.100000e+01, 1.200000e+01]]]> : tensor<4x6x3xf32>
// = dense<[1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]> : tensor<12xui8>
// = dense<[[5.000000e+00], [5.000000e+00], [7.000000e+00]]> : tensor<3x1xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x3x2xf32>
// | in1: tensor<4x6x1xf32>
// | in2: tensor<3xui8>
// | in3: tensor<f32>
// | number0: tensor<1x1xf32> = 7.0
// | out1:u8[12] = fusion broadcast_in_dim reshape broadcast_in_dim reshape(in2:u8[3])
// | out2:f32[3,1] = fusion broadcast_in_dim concatenate(in3:f32[], number0:f32[1,1])
// | out0:f32[4,6,3] = fusion broadcast_in_dim reshape broadcast_in_dim reshape concatenate(in0:f32[2,3,2], in1:f32[4,6,1])
// | return out0:f32[4,6,3], out1:u8[12], out2:f32[3,1]
