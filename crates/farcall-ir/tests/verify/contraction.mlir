func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_i1] 2:8: lhs must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [dot_general_c14] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<3x4xf32> and tensor<2x4xf32>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c1] 2:8: lhs and rhs must have the same number of batching dimensions, found [0] and []
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c2] 2:8: lhs and rhs must have the same number of contracting dimensions, found [0, 1] and [0]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c3] 2:8: lhs batching and contracting dimensions must be unique, found [1, 1]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c4] 2:8: rhs batching and contracting dimensions must be unique, found [0, 0]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c5] 2:8: lhs_batching_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c6] 2:8: lhs_contracting_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c7] 2:8: rhs_batching_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c8] 2:8: rhs_contracting_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c9] 2:8: batching dimension 0 of lhs, tensor<5x2x3xf32>, and 0 of rhs, tensor<6x3x4xf32>, must have the same size
func.func @f(%a: tensor<5x2x3xf32>, %b: tensor<6x3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>}> : (tensor<5x2x3xf32>, tensor<6x3x4xf32>) -> tensor<5x2x4xf32>
  return
}
// -----
// [dot_general_c10] 2:8: contracting dimension 1 of lhs, tensor<2x3xf32>, and 0 of rhs, tensor<5x4xf32>, must have the same size
func.func @f(%a: tensor<2x3xf32>, %b: tensor<5x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<5x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c11] 2:8: precision_config must have at most 2 entries, found 3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c12] 2:8: result must be tensor<2x4xf32>, found tensor<2x5xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x5xf32>
  return
}
// -----
// [dot_general_c12] 2:8: result must be tensor<2x4xf32>, found tensor<2x4x1xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4x1xf32>
  return
}
// -----
// [dot_general_c13] 2:8: lhs and rhs must have the same element type, found tensor<2x3xf32> and tensor<3x4xcomplex<f32>>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xcomplex<f32>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xcomplex<f32>>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c13] 2:8: the result must be complex if and only if the operands are, found tensor<2x3xf32> and tensor<2x4xcomplex<f32>>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xcomplex<f32>>
  return
}
// -----
func.func @f(%a: tensor<2x3xbf16>, %b: tensor<3x4xbf16>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xi8>, %b: tensor<3x4xi8>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xi8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  return
}
// -----
// [dot_general_c14] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4xf32> and tensor<2x4x!quant.uniform<i32:f32, 0.5>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4xf32>) -> tensor<2x4x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dot_general_c15] 2:8: the zero points of rhs must be 0, found tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dot_general_c16] 2:8: the quantized dimension of rhs must not be contracted, found tensor<3x4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dot_general_c17] 2:8: operands must be stored as the same type, found tensor<2x3x!quant.uniform<i8:f32, 0.5>> and tensor<3x4x!quant.uniform<i16:f32, 0.5>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i16:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dot_general_c18] 2:8: operands and result must express the same type, found tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5>> and tensor<2x4x!quant.uniform<i32:f16, 0.5>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i32:f16, 0.5>>
  return
}
// -----
// [dot_general_c19] 2:8: the result must have a single scale if rhs has a single scale, found tensor<3x4x!quant.uniform<i8:f32, 0.5>> and tensor<2x4x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
// [dot_general_c20] 2:8: lhs and result must have the type that rhs expresses, found tensor<2x3xf16>, tensor<3x4x!quant.uniform<i8:f32, 0.5>> and tensor<2x4xf16>
func.func @f(%a: tensor<2x3xf16>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf16>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4xf16>
  return
}
// -----
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dot_general_c21] 2:8: precision_config must be DEFAULT where an algorithm is given
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c22] 2:8: lhs_component_count must be positive, found 0
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c23] 2:8: rhs_component_count must be positive, found 0
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [dot_general_c24] 2:8: num_primitive_operations must be positive, found 0
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_i1] 2:8: lhs must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>
// [convolution_c28] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, tensor<3x3x4x6xf32> and tensor<1x6x6x6xf32>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c1] 2:8: lhs and rhs must have the same rank, 2 or more, found tensor<1x8x8x4xf32> and tensor<3x4x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c2] 2:8: window_strides must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c3] 2:8: window_strides must be positive, found [1, 0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 0>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c4] 2:8: padding must have 2 entries (one pair per spatial dimension), found 3
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<3x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c5] 2:8: lhs_dilation must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c6] 2:8: lhs_dilation must be positive, found [0, 1]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 0, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c7] 2:8: rhs_dilation must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c8] 2:8: rhs_dilation must be positive, found [1, 0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 0>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c9] 2:8: window_reversal must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c10] 2:8: input batch dimension must be a multiple of batch_group_count, found 3 and 2
func.func @f(%a: tensor<3x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<3x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c11] 2:8: input feature dimension must be a multiple of feature_group_count, found 4 and 3
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x1x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x1x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c14] 2:8: kernel input feature dimension must be 8 / 1 (input features by groups), found 4
// [convolution_c25] 2:8: result must be tensor<1x6x2x6xf32>, found tensor<1x6x6x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, f, 1]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c14] 2:8: kernel input feature dimension must be 4 / 1 (input features by groups), found 5
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x5x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x5x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c15] 2:8: kernel output feature dimension must be a multiple of batch_group_count, found 6 and 4
func.func @f(%a: tensor<4x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 4 : i64}> : (tensor<4x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c16] 2:8: kernel output feature dimension must be a multiple of feature_group_count, found 6 and 4
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x1x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 4 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x1x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c21] 2:8: feature_group_count must be positive, found [0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c22] 2:8: batch_group_count must be positive, found [0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 0 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c23] 2:8: one of feature_group_count and batch_group_count must be 1, found 2 and 2
func.func @f(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x2x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x2x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c24] 2:8: precision_config must have at most 2 entries, found 3
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c25] 2:8: result must be tensor<1x6x6x6xf32>, found tensor<1x5x6x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x5x6x6xf32>
  return
}
// -----
// [convolution_c25] 2:8: result must be tensor<1x6x6x6xf32>, found tensor<1x6x6x5xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x5xf32>
  return
}
// -----
// [convolution_c25] 2:8: result must be tensor<1x6x6x6xf32>, found tensor<6x6x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<6x6x6xf32>
  return
}
// -----
// [convolution_c27] 2:8: lhs and rhs must have the same element type, found tensor<1x8x8x4xf32> and tensor<3x3x4x6xi32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xi32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xi32>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [convolution_c27] 2:8: the result must be complex if and only if the operands are, found tensor<1x8x8x4xf32> and tensor<1x6x6x6xcomplex<f32>>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xcomplex<f32>>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 2, 2>, padding = dense<1> : tensor<2x2xi64>, lhs_dilation = array<i64: 2, 1>, rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x8x3x6xf32>
  return
}
// -----
// [convolution_c28] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6xf32> and tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6xf32>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [convolution_c31] 2:8: operands must be stored as the same type, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>> and tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [convolution_c32] 2:8: operands and result must express the same type, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>> and tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [convolution_c33] 2:8: the result must have a single scale if rhs has a single scale, found tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>> and tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
// [convolution_c29] 2:8: rhs must be quantized along its output features, dimension 3, found tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [convolution_c30] 2:8: the result must be quantized along its features, dimension 3, found tensor<1x6x6x6x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
// [convolution_c34] 2:8: lhs and result must have the type that rhs expresses, found tensor<1x8x8x4xf16>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>> and tensor<1x6x6x6xf16>
func.func @f(%a: tensor<1x8x8x4xf16>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf16>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6xf16>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.convolution"(%a, %b) <{window_strides = array<i64: 1, 1>, padding = dense<0> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x6xf32>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c4] 2:8: padding must be an integer tensor of shape [2, 2], found tensor<3x2xi64>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<3x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<3x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c2] 2:8: window_strides must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c3] 2:8: window_strides must be positive, found [0, 1]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 0, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c5] 2:8: lhs_dilation must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c6] 2:8: lhs_dilation must be positive, found [0, 1]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 0, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c7] 2:8: rhs_dilation must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c8] 2:8: rhs_dilation must be positive, found [0, 1]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 0, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c9] 2:8: window_reversal must have 2 entries (one per spatial dimension), found 1
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c1] 2:8: lhs and rhs must have the same rank, 2 or more, found tensor<1x8x8x4xf32> and tensor<3x4x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_i1] 2:8: lhs must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>
// [dynamic_conv_c28] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, tensor<3x3x4x6xf32> and tensor<1x6x6x6xf32>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5}>>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c10] 2:8: input batch dimension must be a multiple of batch_group_count, found 3 and 2
func.func @f(%a: tensor<3x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 2 : i64}> : (tensor<3x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c11] 2:8: input feature dimension must be a multiple of feature_group_count, found 4 and 3
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x1x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x1x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c14] 2:8: kernel input feature dimension must be 4 / 1 (input features by groups), found 5
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x5x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x5x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c15] 2:8: kernel output feature dimension must be a multiple of batch_group_count, found 6 and 4
func.func @f(%a: tensor<4x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 4 : i64}> : (tensor<4x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c16] 2:8: kernel output feature dimension must be a multiple of feature_group_count, found 6 and 4
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x1x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 4 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x1x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c21] 2:8: feature_group_count must be positive, found [0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c22] 2:8: batch_group_count must be positive, found [0]
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 0 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c23] 2:8: one of feature_group_count and batch_group_count must be 1, found 2 and 2
func.func @f(%a: tensor<2x8x8x4xf32>, %b: tensor<3x3x2x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64, batch_group_count = 2 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x2x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c24] 2:8: precision_config must have at most 2 entries, found 3
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c25] 2:8: result must be tensor<1x?x?x6xf32>, found tensor<2x6x6x6xf32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c27] 2:8: lhs and rhs must have the same element type, found tensor<1x8x8x4xf32> and tensor<3x3x4x6xi32>
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xi32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xi32>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
// -----
// [dynamic_conv_c28] 2:8: rhs must be quantized, and lhs and result both or neither, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6xf32> and tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dynamic_conv_c31] 2:8: operands must be stored as the same type, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>> and tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i16:f32, 0.5>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dynamic_conv_c32] 2:8: operands and result must express the same type, found tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>> and tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f16, 0.5>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dynamic_conv_c33] 2:8: the result must have a single scale if rhs has a single scale, found tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>> and tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
// [dynamic_conv_c29] 2:8: rhs must be quantized along its output features, dimension 3, found tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5, 0.5}>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32, 0.5>>
  return
}
// -----
// [dynamic_conv_c30] 2:8: the result must be quantized along its features, dimension 3, found tensor<1x6x6x6x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
func.func @f(%a: tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x4x6x!quant.uniform<i8:f32:3, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>, tensor<2x2xi64>) -> tensor<1x6x6x6x!quant.uniform<i32:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}
// -----
// [dynamic_conv_c34] 2:8: lhs and result must have the type that rhs expresses, found tensor<1x8x8x4xf16>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>> and tensor<1x6x6x6xf16>
func.func @f(%a: tensor<1x8x8x4xf16>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf16>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<1x6x6x6xf16>
  return
}
// -----
func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, %c: tensor<2x2xi64>) {
  %r = "stablehlo.dynamic_conv"(%a, %b, %c) <{window_strides = array<i64: 1, 1>, lhs_dilation = array<i64: 1, 1>, rhs_dilation = array<i64: 1, 1>, window_reversal = array<i1: false, false>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi64>) -> tensor<1x6x6x6xf32>
  return
}
