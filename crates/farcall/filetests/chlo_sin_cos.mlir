// chlo.sin_cos, which returns the sine and the cosine of each element.
func.func @main(%x: tensor<5xf32>, %h: tensor<2x2xbf16>) -> (tensor<5xf32>, tensor<5xf32>, tensor<2x2xbf16>, tensor<2x2xbf16>) {
  %s, %c = chlo.sin_cos %x : tensor<5xf32> -> (tensor<5xf32>, tensor<5xf32>)
  %r:2 = "chlo.sin_cos"(%h) : (tensor<2x2xbf16>) -> (tensor<2x2xbf16>, tensor<2x2xbf16>)
  return %s, %c, %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>, tensor<2x2xbf16>, tensor<2x2xbf16>
}

// run: dense<[0.0, -0.0, 1.5, 0x7F800000, 0x7FC00000]> : tensor<5xf32> ; dense<[[0.5, -1.0], [3.0, 100.0]]> : tensor<2x2xbf16>
// = dense<[0.000000e+00, -0.000000e+00, 9.974950e-01, 0xFFC00000, 0x7FC00000]> : tensor<5xf32>
// = dense<[1.000000e+00, 1.000000e+00, 7.073720e-02, 0xFFC00000, 0x7FC00000]> : tensor<5xf32>
// = dense<[[4.785156e-01, -8.398438e-01], [1.416016e-01, -5.078125e-01]]> : tensor<2x2xbf16>
// = dense<[[8.789062e-01, 5.390625e-01], [-9.882812e-01, 8.632812e-01]]> : tensor<2x2xbf16>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<5xf32>
// | in1: tensor<2x2xbf16>
// | out0:f32[5], out1:f32[5] = fusion sine cosine(in0:f32[5])
// | out2:bf16[2,2], out3:bf16[2,2] = fusion sine cosine(in1:bf16[2,2])
// | return out0:f32[5], out1:f32[5], out2:bf16[2,2], out3:bf16[2,2]
