// [dynamic_slice_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [dynamic_slice_c5] 2:8: result must be tensor<1x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<i32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [dynamic_slice_i2] 2:8: start index 0 must have rank 0, found tensor<1xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xi32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<1xi32>) -> tensor<1xf32>
  return
}
// -----
// [dynamic_slice_i2] 2:8: start index 0 must be a tensor of integer type, found tensor<f32>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
  return
}
// -----
// [dynamic_slice_c2] 2:8: start_indices must have 2 entries (one per dimension), found 1
// [dynamic_slice_c2] 2:8: slice_sizes must have 2 entries (one per dimension), found 1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<1xf32>
  return
}
// -----
// [dynamic_slice_c3] 2:8: start indices must have the same type, found tensor<i32>, tensor<i64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<i32>, %c: tensor<i64>) {
  %r = "stablehlo.dynamic_slice"(%a, %b, %c) <{slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}
// -----
// [dynamic_slice_c4] 2:8: slice size 3 exceeds dimension 0 of tensor<2xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 3>}> : (tensor<2xf32>, tensor<i32>) -> tensor<3xf32>
  return
}
// -----
// [dynamic_slice_c5] 2:8: result must be tensor<1xf32>, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [dynamic_slice_c1] 2:8: result must be tensor<1xf32>, found tensor<1xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<i32>) {
  %r = "stablehlo.dynamic_slice"(%a, %b) <{slice_sizes = array<i64: 1>}> : (tensor<2xf32>, tensor<i32>) -> tensor<1xi32>
  return
}
// -----
// [dynamic_update_slice_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %c: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<i32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [dynamic_update_slice_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> tensor<3xf32>
  return
}
// -----
// [dynamic_update_slice_c2] 2:8: the update must have the element type of tensor<2xf32>, found tensor<1xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xi32>, %c: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2xf32>, tensor<1xi32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [dynamic_update_slice_c3] 2:8: the update must have the rank of tensor<2xf32>, found tensor<1x1xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1x1xf32>, %c: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2xf32>, tensor<1x1xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [dynamic_update_slice_c4] 2:8: start_indices must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>, %c: tensor<i32>, %d: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<1xf32>, tensor<i32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [dynamic_update_slice_c5] 2:8: start indices must have the same type, found tensor<i32>, tensor<i64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<i32>, %d: tensor<i64>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c, %d) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<2x3xf32>
  return
}
// -----
// [dynamic_update_slice_i3] 2:8: start index 0 must be a tensor of integer type, found tensor<f32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>, %c: tensor<f32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2xf32>, tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [dynamic_update_slice_c6] 2:8: the update's size 3 exceeds dimension 0 of tensor<2xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<i32>) {
  %r = "stablehlo.dynamic_update_slice"(%a, %b, %c) : (tensor<2xf32>, tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [real_dynamic_slice_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  %r = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [real_dynamic_slice_c2] 2:8: start_indices must be a 1-dimensional integer tensor with one element per dimension of tensor<2xf32>, found tensor<2xi64>
// [real_dynamic_slice_c2] 2:8: strides must have the element type of start_indices, found tensor<1xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<1xi64>, %d: tensor<1xi32>) {
  %r = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi32>) -> tensor<?xf32>
  return
}
// -----
// [real_dynamic_slice_c1] 2:8: result must be tensor<?xf32>, found tensor<?xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  %r = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  return
}
// -----
// [real_dynamic_slice_c5] 2:8: the result must have the rank of tensor<2xf32>, found tensor<?x?xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  %r = "stablehlo.real_dynamic_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [real_dynamic_slice_c4] 3:8: strides must be positive, found [0]
func.func @f(%a: tensor<2xf32>) {
  %l = stablehlo.constant dense<0> : tensor<1xi64>
  %r = "stablehlo.real_dynamic_slice"(%a, %l, %l, %l) : (tensor<2xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [gather_c22] 2:8: result must be tensor<5x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<5x1xi32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [gather_i2] 2:8: start_indices must be a tensor of integer type, found tensor<5x1xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xf32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xf32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c1] 2:8: offset_dims, collapsed_slice_dims and operand_batching_dims must have 2 entries together (the rank of tensor<4x3xf32>), found 3
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c2] 2:8: index_vector_dim must be in [0, 2], found 3
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c3] 2:8: start_index_map must have 1 entries (the length of an index in start_indices), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c4] 2:8: offset_dims must be sorted, found [2, 1]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5, 3>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [gather_c4] 2:8: offset_dims must be unique, found [1, 1]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5, 3>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [gather_c5] 2:8: offset_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c6] 2:8: collapsed_slice_dims and operand_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5, 3>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c7] 2:8: collapsed_slice_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c8] 2:8: collapsed_slice_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c9] 2:8: the slice size of each of collapsed_slice_dims must be at most 1, found 2 for dimension 0
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c10] 2:8: operand_batching_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<5x5x3xf32>, tensor<5x5x1xi32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [gather_c11] 2:8: operand_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [2], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c12] 2:8: the slice size of each of operand_batching_dims must be at most 1, found 2 for dimension 0
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<5x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c13] 2:8: start_indices_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 3>}> : (tensor<5x5x3xf32>, tensor<5x5x1xi32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [gather_c14] 2:8: start_indices_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c15] 2:8: start_indices_batching_dims must not hold index_vector_dim, 1
func.func @f(%a: tensor<1x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<1x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c16] 2:8: operand_batching_dims and start_indices_batching_dims must have the same number of entries, found 1 and 0
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c17] 2:8: dimension 0 of tensor<6x4xf32> and dimension 0 of the indices, tensor<5x1xi32>, must have the same size
func.func @f(%a: tensor<6x4xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<6x4xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c18] 2:8: start_index_map and operand_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x2xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x2xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c19] 2:8: start_index_map must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c20] 2:8: slice_sizes must have 2 entries (one per operand dimension), found 1
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c21] 2:8: slice size 4 exceeds dimension 1 of tensor<4x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xf32>
  return
}
// -----
// [gather_c22] 2:8: result must be tensor<5x3xf32>, found tensor<5x2xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x2xf32>
  return
}
// -----
// [gather_c23] 2:8: result must be tensor<5x3xf32>, found tensor<5x3xi32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<5x3xi32>
  return
}
// -----
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x?xf32>
  return
}
// -----
// [dynamic_gather_i2] 2:8: start_indices must be a tensor of integer type, found tensor<5x1xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xf32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xf32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_i3] 2:8: slice_sizes must be a 1-dimensional tensor of integer type, found tensor<2xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xf32>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xf32>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c20] 2:8: slice_sizes must have one element per operand dimension, found tensor<1xi64>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<1xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<1xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c2] 2:8: index_vector_dim must be in [0, 2], found 3
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c1] 2:8: offset_dims, collapsed_slice_dims and operand_batching_dims must have 2 entries together (the rank of tensor<4x3xf32>), found 3
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c3] 2:8: start_index_map must have 1 entries (the length of an index in start_indices), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c5] 2:8: offset_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c8] 2:8: collapsed_slice_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c19] 2:8: start_index_map must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [dynamic_gather_c22] 2:8: result must be tensor<5x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<5x1xi32>, %c: tensor<1xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<5x1xi32>, tensor<1xi64>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [dynamic_gather_c4] 2:8: offset_dims must be sorted, found [2, 1]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<3xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<3xi64>) -> tensor<5x5x3xf32>
  return
}
// -----
// [dynamic_gather_c6] 2:8: collapsed_slice_dims and operand_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<3xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<3xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c7] 2:8: collapsed_slice_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<3xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<3xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c10] 2:8: operand_batching_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>, %c: tensor<3xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>}> : (tensor<5x5x3xf32>, tensor<5x5x1xi32>, tensor<3xi64>) -> tensor<5x5x3xf32>
  return
}
// -----
// [dynamic_gather_c11] 2:8: operand_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [2], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>}> : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c13] 2:8: start_indices_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>, %c: tensor<3xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>}> : (tensor<5x5x3xf32>, tensor<5x5x1xi32>, tensor<3xi64>) -> tensor<5x5x3xf32>
  return
}
// -----
// [dynamic_gather_c14] 2:8: start_indices_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 1>}> : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c15] 2:8: start_indices_batching_dims must not hold index_vector_dim, 1
func.func @f(%a: tensor<1x4xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>}> : (tensor<1x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c16] 2:8: operand_batching_dims and start_indices_batching_dims must have the same number of entries, found 1 and 0
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>}> : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c17] 2:8: dimension 0 of tensor<6x4xf32> and dimension 0 of the indices, tensor<5x1xi32>, must have the same size
func.func @f(%a: tensor<6x4xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>}> : (tensor<6x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c18] 2:8: start_index_map and operand_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x2xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x2xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c22] 2:8: result must be tensor<5x?xf32>, found tensor<6x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<6x3xf32>
  return
}
// -----
// [dynamic_gather_c23] 2:8: result must be tensor<5x?xf32>, found tensor<5x3xi32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<2xi64>) {
  %r = "stablehlo.dynamic_gather"(%a, %b, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xi32>
  return
}
// -----
// [dynamic_gather_c9] 3:8: the slice size of each of collapsed_slice_dims must be at most 1, found 2 for dimension 0
// [dynamic_gather_c21] 3:8: slice size 4 exceeds dimension 1 of tensor<4x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %s = stablehlo.constant dense<[2, 4]> : tensor<2xi64>
  %r = "stablehlo.dynamic_gather"(%a, %b, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c21] 3:8: slice_sizes must not be negative, found [1, -3]
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %s = stablehlo.constant dense<[1, -3]> : tensor<2xi64>
  %r = "stablehlo.dynamic_gather"(%a, %b, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
// [dynamic_gather_c12] 3:8: the slice size of each of operand_batching_dims must be at most 1, found 2 for dimension 0
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %r = "stablehlo.dynamic_gather"(%a, %b, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>}> : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<2xi64>) -> tensor<5x3xf32>
  return
}
// -----
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_i1] 2:8: input 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [scatter_c23] 2:8: elements of tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> cannot be promoted to argument 1, tensor<f32>
// [scatter_c25] 2:8: result must be tensor<2xf32>, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<5x1xi32>, %c: tensor<5xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [scatter_i2] 2:8: scatter_indices must be a tensor of integer type, found tensor<5x1xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xf32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_i3] 2:8: update 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [scatter_c4] 2:8: dimension 0 of tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> must be 5, a dimension of tensor<5x1xi32>
// [scatter_c6] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2xf32>, %b: tensor<5x1xi32>, %c: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<5x1xi32>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2xf32>
  return
}
// -----
// [scatter_c1] 2:10: inputs must have the same shape, found tensor<4x3xf32> and (input 1) tensor<2x3xf32>
// [scatter_c24] 2:10: result 1 must be tensor<2x3xf32>, found tensor<4x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<2x3xf32>, %c: tensor<5x1xi32>, %d: tensor<5x3xf32>, %e: tensor<5x3xf32>) {
  %r:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}
// -----
// [scatter_c3] 2:10: updates must have the same shape, found tensor<5x3xf32> and (update 1) tensor<2x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %c: tensor<5x1xi32>, %d: tensor<5x3xf32>, %e: tensor<2x3xf32>) {
  %r:2 = "stablehlo.scatter"(%a, %b, %c, %d, %e) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>, tensor<2x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}
// -----
// [scatter_c2] 2:8: update_window_dims, inserted_window_dims and input_batching_dims must have 2 entries together (the rank of tensor<4x3xf32>), found 1
// [scatter_c4] 2:8: updates must have rank 1 (scatter and window dimensions), found tensor<5x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c8] 2:8: update_window_dims must be in [0, 1), found 1
// [scatter_c4] 2:8: updates must have rank 2 (scatter and window dimensions), found tensor<5xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c4] 2:8: dimension 1 of tensor<5x4xf32> must be at most 3, a dimension of tensor<4x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x4xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c4] 2:8: dimension 0 of tensor<6x3xf32> must be 5, a dimension of tensor<5x1xi32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<6x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c5] 2:8: operands must be N inputs, scatter_indices and N updates, found 2 operands
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>) {
  %r = "stablehlo.scatter"(%a, %b) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c6] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xi32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xi32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c7] 2:8: update_window_dims must be sorted, found [2, 1]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<5x5x3xf32>) -> tensor<4x5x3xf32>
  return
}
// -----
// [scatter_c7] 2:8: update_window_dims must be unique, found [1, 1]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<5x5x3xf32>) -> tensor<4x5x3xf32>
  return
}
// -----
// [scatter_c8] 2:8: update_window_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c2] 2:8: update_window_dims, inserted_window_dims and input_batching_dims must have 3 entries together (the rank of tensor<4x5x3xf32>), found 2
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>
  return
}
// -----
// [scatter_c9] 2:8: inserted_window_dims and input_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>
  return
}
// -----
// [scatter_c10] 2:8: inserted_window_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<4x5x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x5x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x5x3xf32>
  return
}
// -----
// [scatter_c11] 2:8: inserted_window_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c12] 2:8: input_batching_dims must be sorted, found [1, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>, %c: tensor<5x5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<5x5x3xf32>, tensor<5x5x1xi32>, tensor<5x5x3xf32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [scatter_c13] 2:8: input_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [2], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<5x4xf32>
  return
}
// -----
// [scatter_c14] 2:8: scatter_indices_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<5x5x3xf32>, %b: tensor<5x5x1xi32>, %c: tensor<5x5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<5x5x3xf32>, tensor<5x5x1xi32>, tensor<5x5x3xf32>) -> tensor<5x5x3xf32>
  return
}
// -----
// [scatter_c15] 2:8: scatter_indices_batching_dims must be in [0, 2), found 2
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<5x4xf32>
  return
}
// -----
// [scatter_c16] 2:8: scatter_indices_batching_dims must not hold index_vector_dim, 1
func.func @f(%a: tensor<1x4xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<1x4xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<1x4xf32>
  return
}
// -----
// [scatter_c17] 2:8: input_batching_dims and scatter_indices_batching_dims must have the same number of entries, found 1 and 0
func.func @f(%a: tensor<5x4xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<5x4xf32>
  return
}
// -----
// [scatter_c18] 2:8: dimension 0 of tensor<6x4xf32> and dimension 0 of the indices, tensor<5x1xi32>, must have the same size
func.func @f(%a: tensor<6x4xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<6x4xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<6x4xf32>
  return
}
// -----
// [scatter_c19] 2:8: scatter_dims_to_operand_dims must have 1 entries (the length of an index in scatter_indices), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c20] 2:8: scatter_dims_to_operand_dims and input_batching_dims must be unique, found [0, 0]
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x2xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x2xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c21] 2:8: scatter_dims_to_operand_dims must be in [0, 2), found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c22] 2:8: index_vector_dim must be in [0, 2], found 3
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c23] 2:8: the region must take 2 arguments, found 1
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c23] 2:8: the region must return 1 values, found 2
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c23] 2:8: elements of tensor<4x3xf32> cannot be promoted to argument 1, tensor<i32>
// [scatter_c6] 2:8: initial value 0 must have rank 0 and a type that tensor<i32> can hold, found tensor<f32>
// [scatter_c25] 2:8: result must be tensor<4x3xi32>, found tensor<4x3xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<i32>, %x1: tensor<i32>): "stablehlo.return"(%x0) : (tensor<i32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [scatter_c24] 2:8: result must be tensor<4x3xf32>, found tensor<4x4xf32>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x4xf32>
  return
}
// -----
// [scatter_c25] 2:8: result must be tensor<4x3xf32>, found tensor<4x3xf64>
func.func @f(%a: tensor<4x3xf32>, %b: tensor<5x1xi32>, %c: tensor<5x3xf32>) {
  %r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf64>
  return
}
// -----
// [gather_wrap] 2:8: wrap must have 1 entries (one per entry of an index), found 2
func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x1xi32>) {
  %r = "farcall.wrapping_gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, wrap = array<i64: 3, 4>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}
// -----
// [gather_wrap] 2:8: wrap must hold numbers of a signed index type, found [128] for tensor<2x1xi8>
func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x1xi8>) {
  %r = "farcall.wrapping_gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, wrap = array<i64: 128>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x1xi8>) -> tensor<2x4xf32>
  return
}
// -----
// [gather_wrap] 2:8: wrap must hold numbers of a signed index type, found [3] for tensor<2x1xui32>
func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x1xui32>) {
  %r = "farcall.wrapping_gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, wrap = array<i64: 3>}> : (tensor<3x4xf32>, tensor<2x1xui32>) -> tensor<2x4xf32>
  return
}
// -----
// [scatter_wrap] 2:8: wrap must hold numbers of a signed index type, found [3] for tensor<2x1xui32>
func.func @f(%a: tensor<3x4xf32>, %b: tensor<2x1xui32>, %u: tensor<2x4xf32>) {
  %r = "farcall.wrapping_scatter"(%a, %b, %u) <{wrap = array<i64: 3>, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    "stablehlo.return"(%y) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<2x1xui32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  return
}
