// Slices of inputs in a branch, as bits of another type, as slices of slices, and as operands of a call. Only
// the operand of the call is copied to memory of its own.
func.func @main(%w: tensor<4x16xf32>, %p: tensor<i1>) -> (tensor<16xf32>, tensor<1x8xui32>, tensor<1x16xf32>) {
  %row = stablehlo.slice %w [1:2, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
  %bits = stablehlo.bitcast_convert %row : (tensor<1x16xf32>) -> tensor<1x16xui32>
  %half = stablehlo.slice %bits [0:1, 8:16] : (tensor<1x16xui32>) -> tensor<1x8xui32>
  %back = stablehlo.reverse %half, dims = [1] : tensor<1x8xui32>
  %r = "stablehlo.if"(%p) ({
    %last = stablehlo.slice %w [3:4, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %flat = stablehlo.reshape %last : (tensor<1x16xf32>) -> tensor<16xf32>
    %turned = stablehlo.reverse %flat, dims = [0] : tensor<16xf32>
    stablehlo.return %turned : tensor<16xf32>
  }, {
    %flat = stablehlo.reshape %row : (tensor<1x16xf32>) -> tensor<16xf32>
    %turned = stablehlo.reverse %flat, dims = [0] : tensor<16xf32>
    stablehlo.return %turned : tensor<16xf32>
  }) : (tensor<i1>) -> tensor<16xf32>
  %other = stablehlo.slice %w [2:3, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
  %scaled = stablehlo.custom_call @scale(%other) {mhlo.backend_config = {factor = 3.0 : f32}} : (tensor<1x16xf32>) -> tensor<1x16xf32>
  return %r, %back, %scaled : tensor<16xf32>, tensor<1x8xui32>, tensor<1x16xf32>
}
// run: dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0], [32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0], [48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0]]> : tensor<4x16xf32> ; dense<true> : tensor<i1>
// = dense<[6.300000e+01, 6.200000e+01, 6.100000e+01, 6.000000e+01, 5.900000e+01, 5.800000e+01, 5.700000e+01, 5.600000e+01, 5.500000e+01, 5.400000e+01, 5.300000e+01, 5.200000e+01, 5.100000e+01, 5.000000e+01, 4.900000e+01, 4.800000e+01]> : tensor<16xf32>
// = dense<[[1106771968, 1106247680, 1105723392, 1105199104, 1104674816, 1104150528, 1103626240, 1103101952]]> : tensor<1x8xui32>
// = dense<[[9.600000e+01, 9.900000e+01, 1.020000e+02, 1.050000e+02, 1.080000e+02, 1.110000e+02, 1.140000e+02, 1.170000e+02, 1.200000e+02, 1.230000e+02, 1.260000e+02, 1.290000e+02, 1.320000e+02, 1.350000e+02, 1.380000e+02, 1.410000e+02]]> : tensor<1x16xf32>
// run: dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0], [16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0], [32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0, 40.0, 41.0, 42.0, 43.0, 44.0, 45.0, 46.0, 47.0], [48.0, 49.0, 50.0, 51.0, 52.0, 53.0, 54.0, 55.0, 56.0, 57.0, 58.0, 59.0, 60.0, 61.0, 62.0, 63.0]]> : tensor<4x16xf32> ; dense<false> : tensor<i1>
// = dense<[3.100000e+01, 3.000000e+01, 2.900000e+01, 2.800000e+01, 2.700000e+01, 2.600000e+01, 2.500000e+01, 2.400000e+01, 2.300000e+01, 2.200000e+01, 2.100000e+01, 2.000000e+01, 1.900000e+01, 1.800000e+01, 1.700000e+01, 1.600000e+01]> : tensor<16xf32>
// = dense<[[1106771968, 1106247680, 1105723392, 1105199104, 1104674816, 1104150528, 1103626240, 1103101952]]> : tensor<1x8xui32>
// = dense<[[9.600000e+01, 9.900000e+01, 1.020000e+02, 1.050000e+02, 1.080000e+02, 1.110000e+02, 1.140000e+02, 1.170000e+02, 1.200000e+02, 1.230000e+02, 1.260000e+02, 1.290000e+02, 1.320000e+02, 1.350000e+02, 1.380000e+02, 1.410000e+02]]> : tensor<1x16xf32>
// plan
// | plan: arena 64 bytes, denormals ieee
// | in0: tensor<4x16xf32>
// | in1: tensor<i1>
// | out1:u32[1,8] = reverse(in0[96..128]:u32[1,8])
// | out0:f32[16] = case(in1:pred[])
// |  branch 0:
// |   out0:f32[16] = reverse(in0[192..256]:f32[16])
// |  branch 1:
// |   out0:f32[16] = reverse(in0[64..128]:f32[16])
// | arena[0..64]:f32[1,16] = slice(in0:f32[4,16])
// | out2:f32[1,16] = custom_call @scale(arena[0..64]:f32[1,16])
// | return out0:f32[16], out1:u32[1,8], out2:f32[1,16]
