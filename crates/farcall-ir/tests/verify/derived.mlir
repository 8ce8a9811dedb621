func.func @f(%a: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xi32>) -> tensor<2x3xi32>
  return
}
// -----
// [broadcast_c1] 2:8: result must be tensor<2x3xi32>, found tensor<3x2xi32>
func.func @f(%a: tensor<3xi32>) {
  %r = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xi32>) -> tensor<3x2xi32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_i1] 2:8: operand 0 must be a tensor of boolean or integer type, found tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = "chlo.broadcast_and"(%a, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_i1] 2:8: lhs must be a tensor of f32 or f64, found tensor<2xf16>
func.func @f(%a: tensor<2xf16>, %b: tensor<2xf16>) {
  %r = "chlo.broadcast_complex"(%a, %b) : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xcomplex<f32>>
  return
}
// -----
// [chlo_broadcast_i2] 2:8: pred must be a tensor of boolean type, found tensor<3xi32>
func.func @f(%a: tensor<3xi32>, %b: tensor<2x3xf32>, %c: tensor<2x3xf32>) {
  %r = "chlo.broadcast_select"(%a, %b, %c) : (tensor<3xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c1] 2:8: operands must have the same element type, found tensor<2x3xf32> and tensor<3xf64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf64>) {
  %r = "chlo.broadcast_add"(%a, %b) : (tensor<2x3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c2] 2:8: broadcast_dimensions must have 1 entries (the rank of the smaller operand), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c3] 2:8: broadcast_dimensions must be dimensions of the result, [0, 2), in order, found [2]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) <{broadcast_dimensions = array<i64: 2>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c3] 2:8: broadcast_dimensions must be dimensions of the result, [0, 2), in order, found [1, 0]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c4] 2:8: sizes must be equal or 1, found tensor<2x3xf32> and tensor<3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c4] 2:8: sizes must be equal or 1, found tensor<2x3xf32> and tensor<2xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c5] 2:8: result must be tensor<2x3xi1>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1x1xf32>) {
  %r = "chlo.broadcast_compare"(%a, %b) <{comparison_direction = #chlo<comparison_direction EQ>}> : (tensor<2x3xf32>, tensor<1x1xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [chlo_broadcast_c5] 2:8: result must be tensor<?x3xf32>, found tensor<?x4xf32>
func.func @f(%a: tensor<?x3xf32>, %b: tensor<1x?xf32>) {
  %r = "chlo.broadcast_add"(%a, %b) : (tensor<?x3xf32>, tensor<1x?xf32>) -> tensor<?x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2xcomplex<f64>>) {
  %r = "chlo.constant_like"(%a) <{value = #complex.number<:f64 1.0, 2.0>}> : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f64>>
  return
}
// -----
// [chlo_constant_like_c1] 2:8: the value must be of the element type of tensor<1x2xi64>, found f32
// [chlo_constant_like_c2] 2:8: result must be tensor<1x2xi64>, found tensor<1x2xi32>
func.func @f(%a: tensor<1x2xi64>) {
  %r = "chlo.constant_like"(%a) <{value = 3.2 : f32}> : (tensor<1x2xi64>) -> tensor<1x2xi32>
  return
}
// -----
// [chlo_constant_like_i1] 2:8: operand must be a tensor of boolean, integer, floating-point or complex type, found tensor<2x!quant.uniform<i8:f32, 0.5>>
// [chlo_constant_like_c2] 2:8: result must be tensor<2x!quant.uniform<i8:f32, 0.5>>, found tensor<2xi8>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "chlo.constant_like"(%a) <{value = 1 : i8}> : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi8>
  return
}
// -----
// [chlo_constant_like_c2] 2:8: result must be tensor<2x3xf32>, found tensor<3x2xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
// -----
func.func @f(%a: tensor<?x3xf32>, %b: tensor<3xf32>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?xf32>
  return
}
// -----
// [dot_c1] 2:8: lhs must have rank 1 or 2, found tensor<2x2x3xf32>
func.func @f(%a: tensor<2x2x3xf32>, %b: tensor<3xf32>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x2x3xf32>, tensor<3xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [dot_c2] 2:8: the last dimension of lhs, tensor<2x3xf32>, must have the size of the first of rhs, tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [dot_c3] 2:8: lhs and rhs must have the same element type, found tensor<2x3xf32> and tensor<3xcomplex<f32>>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xcomplex<f32>>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3xcomplex<f32>>) -> tensor<2xf32>
  return
}
// -----
// [dot_c4] 2:8: result must be tensor<2x4xf32>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [einsum_c1] 2:8: the configuration needs `->` before the letters of the result, found "ab,bc"
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c1] 2:8: dimensions are named by letters, found `.` in "ab,...->a"
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,...->a"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c1] 2:8: the configuration needs 2 lists of letters before `->` and one after it, found "ab->ab"
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab->ab"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c1] 2:8: letters of the result must be unique, found `a` twice in "ab,bc->aac"
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->aac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c1] 2:8: a letter of the result must belong to an operand, found `d` in "ab,bc->ad"
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ad"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c1] 2:8: operand 0 needs one letter per dimension of tensor<2x3xf32>, found 3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "abc,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [einsum_c2] 2:8: dimension b must have one size, found 3 and 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [einsum_c3] 2:8: result must be tensor<2x4xf32>, found tensor<4x2xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}
// -----
func.func @f(%a: tensor<1x2xi4>, %b: tensor<2x1xi4>) {
  %r = "stablehlo.einsum"(%a, %b) <{einsum_config = "ab,bc->ac"}> : (tensor<1x2xi4>, tensor<2x1xi4>) -> tensor<1x1xi8>
  return
}
// -----
// [unary_einsum_c1] 2:8: letters of the result must be unique, found `a` twice in "ab->aa"
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->aa"}> : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}
// -----
// [unary_einsum_c2] 2:8: dimension a must have one size, found 2 and 3
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.unary_einsum"(%a) <{einsum_config = "aa->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
// -----
// [unary_einsum_c3] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}
// -----
func.func @f(%a: tensor<8x128x30x6xf32>, %b: tensor<8x16x10xi32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 2 : i64, batch_dims = 1 : i64}> : (tensor<8x128x30x6xf32>, tensor<8x16x10xi32>) -> tensor<8x128x16x10x6xf32>
  return
}
// -----
// [torch_index_select_i2] 2:8: index must be a tensor of integer type, found tensor<4xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [torch_index_select_c1] 2:8: dim must be a dimension of tensor<2x3xf32> after the first batch_dims, which it shares with tensor<4xi32>, found dim 2 and batch_dims 0
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xi32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 2 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [torch_index_select_c1] 2:8: dim must be a dimension of tensor<2x3xf32> after the first batch_dims, which it shares with tensor<4xi32>, found dim 0 and batch_dims 1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xi32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 1 : i64}> : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [torch_index_select_c2] 2:8: the first 1 dimensions of tensor<2x3xf32> and tensor<4x1xi32> must have the same sizes
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x1xi32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<2x1xf32>
  return
}
// -----
// [torch_index_select_c3] 2:8: result must be tensor<4x3xf32>, found tensor<4x4xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xi32>) {
  %r = "stablehlo.torch_index_select"(%a, %b) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<4xi32>) -> tensor<4x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_i1] 2:8: operand must be a tensor of floating-point or per-tensor quantized type, found tensor<2x3x4xi32>
// [batch_norm_inference_c2] 2:8: scale must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_inference_c2] 2:8: offset must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_inference_c2] 2:8: mean must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_inference_c2] 2:8: variance must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_inference_c2] 2:8: result must be tensor<2x3x4xi32>, found tensor<2x3x4xf32>
func.func @f(%a: tensor<2x3x4xi32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_i2] 2:8: scale must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x1xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_i3] 2:8: offset must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3x1xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_i4] 2:8: mean must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3x1xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_i5] 2:8: variance must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3x1xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c1] 2:8: feature_index must be in [0, 3), found 3
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 3 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c2] 2:8: scale must have the element type of tensor<2x3x4xf32>, found tensor<3xf64>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf64>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c3] 2:8: scale must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<4xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c4] 2:8: offset must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c5] 2:8: mean must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<4xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c6] 2:8: variance must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<4xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [batch_norm_inference_c7] 2:8: result must be tensor<2x3x4xf32>, found tensor<2x4x3xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x4x3xf32>
  return
}
// -----
// [batch_norm_inference_c2] 2:8: result must be tensor<2x3x4xf32>, found tensor<2x3x4xf64>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf64>
  return
}
// -----
func.func @f(%a: tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x!quant.uniform<i8:f32, 0.25>>, %c: tensor<3x!quant.uniform<i8:f32, 0.25>>, %d: tensor<3x!quant.uniform<i8:f32, 0.25>>, %e: tensor<3x!quant.uniform<i8:f32, 0.25>>) {
  %r = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x4x!quant.uniform<i8:f32, 0.25>>
  return
}
// -----
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_i1] 2:10: operand must be a tensor of floating-point or per-tensor quantized type, found tensor<2x3x4xi32>
// [batch_norm_training_c2] 2:10: scale must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_training_c2] 2:10: offset must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_training_c2] 2:10: result 0 must be tensor<2x3x4xi32>, found tensor<2x3x4xf32>
// [batch_norm_training_c2] 2:10: result 1 must be tensor<3xi32>, found tensor<3xf32>
// [batch_norm_training_c2] 2:10: result 2 must be tensor<3xi32>, found tensor<3xf32>
func.func @f(%a: tensor<2x3x4xi32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xi32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_i2] 2:10: scale must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x1xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3x1xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_i3] 2:10: offset must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3x1xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3x1xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c1] 2:10: feature_index must be in [0, 3), found 3
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 3 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c2] 2:10: scale must have the element type of tensor<2x3x4xf32>, found tensor<3xf64>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf64>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf64>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c3] 2:10: scale must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<4xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c4] 2:10: offset must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c5] 2:10: result 1 must be tensor<3xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c6] 2:10: result 2 must be tensor<3xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}
// -----
// [batch_norm_training_c7] 2:10: result 0 must be tensor<2x3x4xf32>, found tensor<2x4x3xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_training_c2] 2:10: result 1 must be tensor<3xf32>, found tensor<3xf64>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  %r:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf64>, tensor<3xf32>)
  return
}
// -----
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_i1] 2:10: operand must be a tensor of floating-point or per-tensor quantized type, found tensor<2x3x4xi32>
// [batch_norm_grad_c2] 2:10: scale must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_grad_c2] 2:10: mean must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_grad_c2] 2:10: variance must have the element type of tensor<2x3x4xi32>, found tensor<3xf32>
// [batch_norm_grad_c2] 2:10: grad_output must have the element type of tensor<2x3x4xi32>, found tensor<2x3x4xf32>
// [batch_norm_grad_c2] 2:10: result 0 must be tensor<2x3x4xi32>, found tensor<2x3x4xf32>
// [batch_norm_grad_c2] 2:10: result 1 must be tensor<3xi32>, found tensor<3xf32>
// [batch_norm_grad_c2] 2:10: result 2 must be tensor<3xi32>, found tensor<3xf32>
func.func @f(%a: tensor<2x3x4xi32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_i2] 2:10: scale must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x1xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_i3] 2:10: mean must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3x1xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_i4] 2:10: variance must be a 1-dimensional tensor of floating-point or per-tensor quantized type, found tensor<3x1xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3x1xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_i5] 2:10: grad_output must be a tensor of floating-point or per-tensor quantized type, found tensor<2x3x4xi32>
// [batch_norm_grad_c2] 2:10: grad_output must have the element type of tensor<2x3x4xf32>, found tensor<2x3x4xi32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xi32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xi32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c1] 2:10: feature_index must be in [0, 3), found 3
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 3 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c2] 2:10: mean must have the element type of tensor<2x3x4xf32>, found tensor<3xf64>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf64>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c3] 2:10: grad_output must have the shape of tensor<2x3x4xf32>, found tensor<2x4x3xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x4x3xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x4x3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c4] 2:10: mean must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c5] 2:10: scale must have the size of dimension 1 of tensor<2x3x4xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<4xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [batch_norm_grad_c4] 2:10: result 2 must be tensor<3xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<4xf32>)
  return
}
// -----
// [batch_norm_grad_c3] 2:10: result 0 must be tensor<2x3x4xf32>, found tensor<2x4x3xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3x4xf32>) {
  %r:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<2x3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<2x3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_i1] 2:8: rhs must be a tensor of boolean, integer, floating-point or complex type, found tensor<3x2x5x7x!quant.uniform<i8:f32, 0.5>>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7x!quant.uniform<i8:f32, 0.5>>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7x!quant.uniform<i8:f32, 0.5>>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_i3] 2:8: group_sizes must be a tensor of integer type, found tensor<3xf32>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xf32>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xf32>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c1] 2:8: lhs must have one ragged dimension, found [0, 1]
// [chlo_ragged_dot_c5] 2:8: rhs must have one group dimension where the ragged dimension is free, else none, found [0]
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c1] 2:8: lhs must have one ragged dimension, found []
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c2] 2:8: lhs and rhs must have the same numbers of batching and of contracting dimensions
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c3] 2:8: rhs batching, contracting and group dimensions must be unique, found [1, 2, 1]
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [1]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c4] 2:8: dimensions of lhs must be in [0, 3), found 3
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c5] 2:8: rhs must have one group dimension where the ragged dimension is free, else none, found []
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c6] 2:8: dimension 2 of lhs, tensor<2x11x5xf32>, and 2 of rhs, tensor<3x2x6x7xf32>, must have the same size
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x6x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x6x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c7] 2:8: group_sizes must have rank 1 or the dimensions [2] before the group dimension, found tensor<2x11x3xi64>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<2x11x3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<2x11x3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c7] 2:8: group_sizes must have rank at least 1, found tensor<i64>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<i64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<i64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c8] 2:8: dimension 0 of rhs must be the number of groups, 2, found tensor<3x2x5x7xf32>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<2xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<2xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c9] 2:8: result must be tensor<2x11x7xf32>, found tensor<2x7x11xf32>
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<3x2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<3x2x5x7xf32>, tensor<3xi64>) -> tensor<2x7x11xf32>
  return
}
// -----
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2], rhs_group_dimensions = []>}> : (tensor<2x11x5xf32>, tensor<2x5x7xf32>, tensor<3xi64>) -> tensor<3x2x11x7xf32>
  return
}
// -----
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = []>}> : (tensor<2x11x5xf32>, tensor<2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
// [chlo_ragged_dot_c3] 2:8: rhs batching, contracting and group dimensions must be unique, found [0, 1, 0]
// [chlo_ragged_dot_c5] 2:8: rhs must have one group dimension where the ragged dimension is free, else none, found [0]
func.func @f(%a: tensor<2x11x5xf32>, %b: tensor<2x5x7xf32>, %c: tensor<3xi64>) {
  %r = "chlo.ragged_dot"(%a, %b, %c) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<2x11x5xf32>, tensor<2x5x7xf32>, tensor<3xi64>) -> tensor<2x11x7xf32>
  return
}
// -----
func.func @f(%a: tensor<2xbf16>) {
  %s, %c = chlo.sin_cos %a : tensor<2xbf16> -> (tensor<2xbf16>, tensor<2xbf16>)
  return
}
// -----
// [chlo_sin_cos_i1] 2:10: operand must be a tensor of floating-point type, found tensor<2xcomplex<f32>>
func.func @f(%a: tensor<2xcomplex<f32>>) {
  %r:2 = chlo.sin_cos %a : tensor<2xcomplex<f32>> -> (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>)
  return
}
// -----
// [chlo_sin_cos_c1] 2:10: result 1 must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r:2 = chlo.sin_cos %a : tensor<2xf32> -> (tensor<2xf32>, tensor<3xf32>)
  return
}
