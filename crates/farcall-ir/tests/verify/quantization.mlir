func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c2] 1:11: stored range (-200, 10) is not within -128 to 127
func.func @f(%a: tensor<2x!quant.uniform<i8<-200:10>:f32, 0.5>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c4] 1:11: expresses i32, not a float
func.func @f(%a: tensor<2x!quant.uniform<i8:i32, 0.5>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c5] 1:11: scales must be positive and finite, found -0.5
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, -0.5>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c7] 1:11: zero point 300 is not within (-128, 127)
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5:300>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c7] 1:11: zero point 20 is not within (0, 10)
func.func @f(%a: tensor<2x!quant.uniform<i8<0:10>:f32, 0.5:20>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c12] 1:11: quantized along dimension 1 of 1
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
// [quantized_type_c13] 1:11: 3 scales for a dimension of size 2
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
// -----
func.func @f(%a: tensor<?x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) {
  %r = stablehlo.custom_call @t() : () -> tensor<2xf32>
  return
}
