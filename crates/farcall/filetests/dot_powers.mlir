// Powers of two have a wider range than the types of the results, so the evaluator computes their products.
func.func @main(%x: tensor<1x2xf8E8M0FNU>, %y: tensor<2x1xf8E8M0FNU>) -> (tensor<1x1xf16>, tensor<1x1xf32>) {
  %0 = stablehlo.dot %x, %y : (tensor<1x2xf8E8M0FNU>, tensor<2x1xf8E8M0FNU>) -> tensor<1x1xf16>
  %1 = stablehlo.dot %x, %y : (tensor<1x2xf8E8M0FNU>, tensor<2x1xf8E8M0FNU>) -> tensor<1x1xf32>
  return %0, %1 : tensor<1x1xf16>, tensor<1x1xf32>
}
// run: dense<[[1099511627776.0, 2.0]]> : tensor<1x2xf8E8M0FNU> ; dense<[[9.094947017729282e-13], [4.0]]> : tensor<2x1xf8E8M0FNU>
// = dense<9.000000e+00> : tensor<1x1xf16>
// = dense<9.000000e+00> : tensor<1x1xf32>
// plan
// | plan: arena 48 bytes, denormals ieee
// | in0: tensor<1x2xf8E8M0FNU>
// | in1: tensor<2x1xf8E8M0FNU>
// | arena[0..16]:f64[2], arena[16..32]:f64[2] = fusion convert convert reshape reshape(in0:f8e8m0fnu[1,2], in1:f8e8m0fnu[2,1])
// | arena[32..40]:f64[] = dot 1x[1x2x1](arena[0..16]:f64[2], arena[16..32]:f64[2])
// | out0:f16[1,1], out1:f32[1,1] = fusion reshape convert convert(arena[32..40]:f64[])
// | return out0:f16[1,1], out1:f32[1,1]
