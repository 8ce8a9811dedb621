func.func @f(%a: tensor<?xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
  return
}
// -----
// [add_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<?xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<?xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
func.func @f(%a: tensor<?x3xf32>, %b: tensor<2x?xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [add_c1] 2:8: result must be tensor<2x3xf32>, found tensor<2x4xf32>
func.func @f(%a: tensor<?x3xf32>, %b: tensor<2x?xf32>) {
  %r = "stablehlo.add"(%a, %b) : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32, #stablehlo.bounds<4>>) {
  %r = "stablehlo.abs"(%a) : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<3xf32>
  return
}
// -----
// [abs_c1] 2:8: result must be tensor<?xf32, #stablehlo.bounds<4>>, found tensor<5xf32>
func.func @f(%a: tensor<?xf32, #stablehlo.bounds<4>>) {
  %r = "stablehlo.abs"(%a) : (tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<5xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<?xf32>, tensor<2xf32>) -> tensor<7xf32>
  return
}
// -----
// [concatenate_c6] 2:8: result must be tensor<?x3xf32>, found tensor<7x4xf32>
func.func @f(%a: tensor<?x3xf32>, %b: tensor<2x?xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<7x4xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32>) {
  %r = "stablehlo.reshape"(%a) : (tensor<?xf32>) -> tensor<7xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 9>, strides = array<i64: 1>}> : (tensor<?xf32>) -> tensor<9xf32>
  return
}
// -----
func.func @f(%a: tensor<?xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 3>}> : (tensor<?xf32>, tensor<f32>) -> tensor<9xf32>
  return
}
// -----
func.func @f(%a: tensor<?x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<7xf32>
  return
}
// -----
// [reduce_c7] 2:8: result must be tensor<?xf32>, found tensor<7x1xf32>
func.func @f(%a: tensor<?x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<?x3xf32>, tensor<f32>) -> tensor<7x1xf32>
  return
}
// -----
func.func @f(%a: tensor<?x?xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<?x?xf32>, tensor<3x4xf32>) -> tensor<9x4xf32>
  return
}
// -----
func.func @f(%a: tensor<4x3xf32>, %b: tensor<?x1xi32>) {
  %r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<?x1xi32>) -> tensor<9x3xf32>
  return
}
