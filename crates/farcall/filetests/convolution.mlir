// Convolutions: two padded images of two features, every second window, and a kernel for each feature.
func.func @main(%x: tensor<1x2x3x3xf32>, %y: tensor<2x2x2x2xf32>, %z: tensor<2x1x2x2xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 0], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x3x3xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %1 = stablehlo.convolution(%x, %z) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x2x3x3xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %0, %1 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}
// run: dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]], [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [2.0, 0.0, 2.0]]]]> : tensor<1x2x3x3xf32> ; dense<[[[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], [[[0.5, 0.5], [0.5, 0.5]], [[1.0, 1.0], [1.0, 1.0]]]]> : tensor<2x2x2x2xf32> ; dense<[[[[1.0, 0.0], [0.0, 1.0]]], [[[0.5, 0.5], [0.5, 0.5]]]]> : tensor<2x1x2x2xf32>
// = dense<[[[[3.000000e+00, 1.000000e+00], [1.500000e+01, 8.000000e+00]], [[2.500000e+00, 2.500000e+00], [1.500000e+01, 9.500000e+00]]]]> : tensor<1x2x2x2xf32>
// = dense<[[[[6.000000e+00, 8.000000e+00], [1.200000e+01, 1.400000e+01]], [[1.000000e+00, 1.000000e+00], [1.500000e+00, 1.500000e+00]]]]> : tensor<1x2x2x2xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<1x2x3x3xf32>
// | in1: tensor<2x2x2x2xf32>
// | in2: tensor<2x1x2x2xf32>
// | out0:f32[1,2,2,2] = convolution 1x[2x8x4](in0:f32[1,2,3,3], in1:f32[2,2,2,2])
// | out1:f32[1,2,2,2] = convolution 2x[4x4x1](in0:f32[1,2,3,3], in2:f32[2,1,2,2])
// | return out0:f32[1,2,2,2], out1:f32[1,2,2,2]
