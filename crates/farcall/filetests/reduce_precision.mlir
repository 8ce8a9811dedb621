// Rounding to fewer exponent and mantissa bits, also in place: ties, subnormals, overflow, infinities, NaNs.
func.func @main(%x: tensor<12xf32>, %h: tensor<4xf16>, %d: tensor<3xf64>) -> (tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<4xf16>, tensor<3xf64>) {
  %bf16 = stablehlo.reduce_precision %x, format = e8m7 : tensor<12xf32>
  %f16 = stablehlo.reduce_precision %x, format = e5m10 : tensor<12xf32>
  %sum = stablehlo.add %x, %x : tensor<12xf32>
  %least = stablehlo.reduce_precision %sum, format = e2m0 : tensor<12xf32>
  %h0 = stablehlo.reduce_precision %h, format = e4m3 : tensor<4xf16>
  %d0 = stablehlo.reduce_precision %d, format = e8m23 : tensor<3xf64>
  return %bf16, %f16, %least, %h0, %d0 : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<4xf16>, tensor<3xf64>
}
// run: dense<[1.00390625, 1.01171875, -1.0, 65519.0, 65520.0, 6.1e-5, 5.9e-8, -0.0, 0x7F800000, 0x7FC00001, 0xFF800001, 3.4e38]> : tensor<12xf32> ; dense<[1.0625, 300.0, -0.001, 0x7C00]> : tensor<4xf16> ; dense<[0.1, 1.0e300, -1.0e-300]> : tensor<3xf64>
// = dense<[1.000000e+00, 1.015625e+00, -1.000000e+00, 6.553600e+04, 6.553600e+04, 6.1035156E-5, 5.8906153E-8, -0.000000e+00, 0x7F800000, 0x7FC00001, 0xFFC00001, 0x7F800000]> : tensor<12xf32>
// = dense<[1.0039063, 1.0117188, -1.000000e+00, 6.550400e+04, 0x7F800000, 0.000000e+00, 0.000000e+00, -0.000000e+00, 0x7F800000, 0x7FC00001, 0xFFC00001, 0x7F800000]> : tensor<12xf32>
// = dense<[2.000000e+00, 2.000000e+00, -2.000000e+00, 0x7F800000, 0x7F800000, 0.000000e+00, 0.000000e+00, -0.000000e+00, 0x7F800000, 0x7F800000, 0x7F800000, 0x7F800000]> : tensor<12xf32>
// = dense<[1.000000e+00, 0x7C00, -0.000000e+00, 0x7C00]> : tensor<4xf16>
// = dense<[0.10000000149011612, 0x7FF0000000000000, -0.000000e+00]> : tensor<3xf64>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<12xf32>
// | in1: tensor<4xf16>
// | in2: tensor<3xf64>
// | out3:f16[4] = reduce_precision e4m3(in1:f16[4])
// | out4:f64[3] = reduce_precision e8m23(in2:f64[3])
// | out0:f32[12], out1:f32[12], out2:f32[12] = fusion reduce_precision reduce_precision add reduce_precision(in0:f32[12])
// | return out0:f32[12], out1:f32[12], out2:f32[12], out3:f16[4], out4:f64[3]
