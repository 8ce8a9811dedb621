// Conversions to and from floats of at most eight bits, and an operation that is fused with both.
func.func @main(%x: tensor<8xf32>, %y: tensor<4xf16>) -> (tensor<8xf8E4M3FN>, tensor<8xf32>, tensor<4xf8E5M2>, tensor<4xbf16>, tensor<4xf4E2M1FN>, tensor<2x2xf32>) {
  %a = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
  %b = stablehlo.convert %a : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
  %c = stablehlo.multiply %b, %b : tensor<8xf32>
  %d = stablehlo.convert %y : (tensor<4xf16>) -> tensor<4xf8E5M2>
  %e = stablehlo.convert %d : (tensor<4xf8E5M2>) -> tensor<4xbf16>
  %f = stablehlo.convert %d : (tensor<4xf8E5M2>) -> tensor<4xf4E2M1FN>
  %g = stablehlo.reshape %d : (tensor<4xf8E5M2>) -> tensor<2x2xf8E5M2>
  %h = stablehlo.dot %g, %g : (tensor<2x2xf8E5M2>, tensor<2x2xf8E5M2>) -> tensor<2x2xf32>
  return %a, %c, %d, %e, %f, %h : tensor<8xf8E4M3FN>, tensor<8xf32>, tensor<4xf8E5M2>, tensor<4xbf16>, tensor<4xf4E2M1FN>, tensor<2x2xf32>
}
// run: dense<[1.0, -1.0625, 1.1875, 448.0, 465.0, -0.002, 0.0009, 0x7FC00000]> : tensor<8xf32> ; dense<[3.5, -0.3, 0.0001, 60000.0]> : tensor<4xf16>
// = dense<[1.000000e+00, -1.000000e+00, 1.250000e+00, 4.480000e+02, 0x7F, -1.953125e-03, 0.000000e+00, 0x7F]> : tensor<8xf8E4M3FN>
// = dense<[1.000000e+00, 1.000000e+00, 1.562500e+00, 2.007040e+05, 0x7FC00000, 3.8146973E-6, 0.000000e+00, 0x7FC00000]> : tensor<8xf32>
// = dense<[3.500000e+00, -3.125000e-01, 1.068115e-04, 5.734400e+04]> : tensor<4xf8E5M2>
// = dense<[3.500000e+00, -3.125000e-01, 1.068115e-04, 5.734400e+04]> : tensor<4xbf16>
// = dense<[4.000000e+00, -5.000000e-01, 0.000000e+00, 6.000000e+00]> : tensor<4xf4E2M1FN>
// = dense<[[12.249967, -17921.094], [6.125374e+00, 3288334300.0]]> : tensor<2x2xf32>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<8xf32>
// | in1: tensor<4xf16>
// | out0:f8e4m3fn[8], out1:f32[8] = fusion convert convert multiply(in0:f32[8])
// | out2:f8e5m2[4], out3:bf16[4], out4:f4e2m1fn[4], arena[0..16]:f32[2,2] = fusion convert convert convert reshape convert(in1:f16[4])
// | out5:f32[2,2] = dot 1x[2x2x2](arena[0..16]:f32[2,2], arena[0..16]:f32[2,2])
// | return out0:f8e4m3fn[8], out1:f32[8], out2:f8e5m2[4], out3:bf16[4], out4:f4e2m1fn[4], out5:f32[2,2]
