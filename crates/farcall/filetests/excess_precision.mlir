// A bf16 product that is only widened or summed is not rounded in between; with another use, it is rounded.
func.func @main(%a: tensor<4xbf16>, %b: tensor<4xbf16>) -> (tensor<f32>, tensor<bf16>, tensor<f32>, tensor<4xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %a, %b : tensor<4xbf16>
  %1 = stablehlo.convert %0 : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %narrow_zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.multiply %a, %b : tensor<4xbf16>
  %4 = stablehlo.reduce(%3 init: %narrow_zero) applies stablehlo.add across dimensions = [0] : (tensor<4xbf16>, tensor<bf16>) -> tensor<bf16>
  %5 = stablehlo.multiply %a, %b : tensor<4xbf16>
  %6 = stablehlo.convert %5 : (tensor<4xbf16>) -> tensor<4xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %2, %4, %7, %5 : tensor<f32>, tensor<bf16>, tensor<f32>, tensor<4xbf16>
}
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<4xbf16>
// | in1: tensor<4xbf16>
// | out3:bf16[4], out0:f32[], out1:bf16[], out2:f32[] = fusion multiply convert convert multiply constant reduce reduce convert convert reduce(in0:bf16[4], in1:bf16[4])
// | return out0:f32[], out1:bf16[], out2:f32[], out3:bf16[4]
