func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}
// -----
// [compare_i1] 2:8: lhs must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [compare_c1] 2:8: operands must have the same element type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<2xf32>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xf32>) -> tensor<2xi1>
  return
}
// -----
// [compare_c1] 2:8: operands must have the same element type, found tensor<2xf32> and tensor<2xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}
// -----
// [compare_c2] 2:8: operands must have the same shape, found tensor<2xf32> and tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xi1>
  return
}
// -----
// [compare_c2] 2:8: result must be tensor<2xi1>, found tensor<3xi1>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
  return
}
// -----
// [compare_o1] 2:8: result must be tensor<2xi1>, found tensor<2xi8>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi8>
  return
}
// -----
// [compare_c3] 2:8: compare_type SIGNED does not fit tensor<2xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}
// -----
// [compare_c3] 2:8: compare_type UNSIGNED does not fit tensor<2xi32>
func.func @f(%a: tensor<2xi32>, %b: tensor<2xi32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type UNSIGNED>}> : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return
}
// -----
// [compare_c3] 2:8: compare_type TOTALORDER does not fit tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return
}
// -----
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return
}
// -----
// [select_i1] 2:8: pred must be a tensor of boolean type, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [select_c1] 2:8: pred must have rank 0 or the shape of tensor<2xf32>, found tensor<3xi1>
func.func @f(%a: tensor<3xi1>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [select_c2] 2:8: on_true and on_false must have the same type, found tensor<2xf32> and tensor<2xi32>
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<2xi32>) {
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}
// -----
// [select_c2] 2:8: result must be tensor<2xf32>, found tensor<2xf64>
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  return
}
// -----
// [select_i2] 2:8: on_true must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [select_i3] 2:8: on_false must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<i1>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %c: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.select"(%a, %b, %c) : (tensor<i1>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [clamp_c1] 2:8: min must have rank 0 or the shape of tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<3xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [clamp_c2] 2:8: max must have rank 0 or the shape of tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}
// -----
// [clamp_c3] 2:8: min, operand and max must have the same element type, found tensor<f32>, tensor<2xf32> and tensor<i32>
func.func @f(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<i32>) {
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [clamp_c4] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [clamp_i1] 2:8: min must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [clamp_i2] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [clamp_i3] 2:8: max must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %c: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.clamp"(%a, %b, %c) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [convert_c1] 2:8: result must be tensor<2xi32>, found tensor<3xi32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.convert"(%a) : (tensor<2xf32>) -> tensor<3xi32>
  return
}
// -----
// [convert_o1] 2:8: result must be a tensor of boolean, integer, floating-point or complex type, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.convert"(%a) : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [convert_i1] 2:8: operand must be a tensor of boolean, integer, floating-point or complex type, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.convert"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<2xi32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<2x4xi8>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<f64>
  return
}
// -----
// [bitcast_convert_c1] 2:8: result must be tensor<2x4xi8>, found tensor<2xi8>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf32>) -> tensor<2xi8>
  return
}
// -----
// [bitcast_convert_c1] 2:8: elements of tensor<3xf32> cannot be split or joined to 64 bits
func.func @f(%a: tensor<3xf32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<3xf32>) -> tensor<f64>
  return
}
// -----
// [bitcast_convert_c1] 2:8: elements of tensor<f32> cannot be split or joined to 64 bits
func.func @f(%a: tensor<f32>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<f32>) -> tensor<f64>
  return
}
// -----
// [bitcast_convert_c2] 2:8: complex types convert only to complex types, found tensor<2xf64> to tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xf64>) {
  %r = "stablehlo.bitcast_convert"(%a) : (tensor<2xf64>) -> tensor<2xcomplex<f32>>
  return
}
// -----
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "mhlo.copy"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [copy_c1] 2:8: result must be tensor<2xf32>, found tensor<2xi32>
func.func @f(%a: tensor<2xf32>) {
  %r = "mhlo.copy"(%a) : (tensor<2xf32>) -> tensor<2xi32>
  return
}
// -----
// [fusion-arguments] 2:8: the region must take the operands' types, (tensor<2xf32>), found (tensor<3xf32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "farcall.fusion"(%a) ({
  ^bb0(%b: tensor<3xf32>):
    stablehlo.return %b : tensor<3xf32>
  }) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [fusion-results] 2:8: result must be tensor<2xf32>, found tensor<2xi32>
func.func @f(%a: tensor<2xf32>) {
  %r = "farcall.fusion"(%a) ({
  ^bb0(%b: tensor<2xf32>):
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xi32>
  return
}
// -----
// [form-operation] 2:8: farcall.fusion is an operation of the middle form, not of programs
func.func @f(%a: tensor<2xf32>) {
  %r = "farcall.fusion"(%a) ({
  ^bb0(%b: tensor<2xf32>):
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_precision_i1] 2:8: operand must be a tensor of floating-point or per-tensor quantized type, found tensor<2xi32>
func.func @f(%a: tensor<2xi32>) {
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<2xi32>) -> tensor<2xi32>
  return
}
// -----
// [reduce_precision_c2] 2:8: exponent_bits must be at least 1, found 0
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 0 : i32, mantissa_bits = 10 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_precision_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [uniform_quantize_i1] 2:8: operand must be a tensor of floating-point, per-tensor quantized or per-axis quantized type, found tensor<2xi32>
// [uniform_quantize_c2] 2:8: the result must express i32, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2xi32>) {
  %r = "stablehlo.uniform_quantize"(%a) : (tensor<2xi32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [uniform_quantize_c1] 2:8: result must be tensor<3x!quant.uniform<i8:f32, 0.5>>, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<3xf32>) {
  %r = "stablehlo.uniform_quantize"(%a) : (tensor<3xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [uniform_quantize_c2] 2:8: the result must express f64, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2xf64>) {
  %r = "stablehlo.uniform_quantize"(%a) : (tensor<2xf64>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [uniform_quantize_o1] 2:8: result must be a tensor of per-tensor quantized or per-axis quantized type, found tensor<2xi8>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.uniform_quantize"(%a) : (tensor<2xf32>) -> tensor<2xi8>
  return
}
// -----
// [uniform_dequantize_i1] 2:8: operand must be a tensor of per-tensor quantized or per-axis quantized type, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.uniform_dequantize"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [uniform_dequantize_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.uniform_dequantize"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xf32>
  return
}
// -----
// [uniform_dequantize_c2] 2:8: result must be tensor<2xf32>, found tensor<2xf64>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.uniform_dequantize"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf64>
  return
}
// -----
// [add_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [add_c2] 2:8: either both operands or none must be quantized, found tensor<2xf32> and tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2xf32>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  return
}
// -----
// [add_c2] 2:8: operands and result must all be quantized or none, found tensor<2x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [add_c3] 2:8: operands must be stored as the same type, found tensor<2x!quant.uniform<i8:f32, 0.5>> and tensor<2x!quant.uniform<i16:f32, 0.5>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i16:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [add_c3] 2:8: the result must be stored as tensor<2x!quant.uniform<i8:f32, 0.5>> is, found tensor<2x!quant.uniform<i16:f32, 0.5>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i16:f32, 0.5>>
  return
}
// -----
// [add_c4] 2:8: operands must express the same type, found tensor<2x!quant.uniform<i8:f32, 0.5>> and tensor<2x!quant.uniform<i8:f16, 0.5>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f16, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f16, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [add_c4] 2:8: the result must express the type that tensor<2x!quant.uniform<i8:f32, 0.5>> does, found tensor<2x!quant.uniform<i8:f16, 0.5>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f16, 0.5>>
  return
}
// -----
// [add_c5] 2:8: the result must be quantized per axis if an operand is, found tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>> and tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [add_c7] 2:8: rhs and result must be quantized along the same dimension, found tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [add_c6] 2:8: lhs and result must be quantized along the same dimension, found tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 0.25>>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
// -----
// [complex_i1] 2:8: lhs must be a tensor of f32 or f64, found tensor<2xf16>
func.func @f(%a: tensor<2xf16>, %b: tensor<2xf16>) {
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xcomplex<f32>>
  return
}
// -----
// [complex_c2] 2:8: result must be tensor<2xcomplex<f32>>, found tensor<3xcomplex<f32>>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xcomplex<f32>>
  return
}
// -----
// [complex_c3] 2:8: result must be tensor<2xcomplex<f32>>, found tensor<2xcomplex<f64>>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.complex"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
  return
}
// -----
// [abs_c2] 2:8: result must be tensor<2xf32>, found tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>) {
  %r = "stablehlo.abs"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}
// -----
// [real_c2] 2:8: result must be tensor<2xf32>, found tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>) {
  %r = "stablehlo.real"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}
// -----
// [imag_c2] 2:8: result must be tensor<2xf32>, found tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>) {
  %r = "stablehlo.imag"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}
// -----
// [chlo_top_k_c2] 2:10: k must be at most the size of the last dimension of tensor<2xf32>, found 3
func.func @f(%a: tensor<2xf32>) {
  %r:2 = "chlo.top_k"(%a) <{k = 3 : i64}> : (tensor<2xf32>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}
// -----
// [chlo_top_k_c1] 2:10: operand must have rank at least 1, found tensor<f32>
func.func @f(%a: tensor<f32>) {
  %r:2 = "chlo.top_k"(%a) <{k = 1 : i64}> : (tensor<f32>) -> (tensor<1xf32>, tensor<1xi32>)
  return
}
// -----
// [chlo_top_k_i1] 2:10: operand must be a tensor of boolean, integer or floating-point type, found tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>) {
  %r:2 = "chlo.top_k"(%a) <{k = 1 : i64}> : (tensor<2xcomplex<f32>>) -> (tensor<1xcomplex<f32>>, tensor<1xi32>)
  return
}
// -----
// [chlo_top_k_c3] 2:10: result 1 must be tensor<1xi32>, found tensor<1xi64>
func.func @f(%a: tensor<2xf32>) {
  %r:2 = "chlo.top_k"(%a) <{k = 1 : i64}> : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi64>)
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r:2 = chlo.top_k(%a, k = 1) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)
  return
}
// -----
// [compare_i2] 2:8: rhs must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [compare_c1] 2:8: operands must have the same element type, found tensor<2xf32> and tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2xf32>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2xi1>
  return
}
