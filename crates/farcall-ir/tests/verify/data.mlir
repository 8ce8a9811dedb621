// [constant_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f() {
  %r = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}
// -----
// [constant_c1] 2:8: result must be tensor<2xf32>, found tensor<2xi32>
func.func @f() {
  %r = "stablehlo.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> tensor<2xi32>
  return
}
// -----
// [iota_c1] 2:8: iota_dimension must be in [0, 1), found 1
func.func @f() {
  %r = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3xf32>
  return
}
// -----
// [iota_c1] 2:8: iota_dimension must be in [0, 0), found 0
func.func @f() {
  %r = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<f32>
  return
}
// -----
// [iota_o1] 2:8: result must be a tensor of integer, floating-point, complex or per-tensor quantized type, found tensor<3xi1>
func.func @f() {
  %r = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<3xi1>
  return
}
// -----
// [dynamic_iota_c1] 2:8: iota_dimension must be in [0, 1), found 1
func.func @f(%a: tensor<1xi64>) {
  %r = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 1 : i64}> : (tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_iota_i1] 2:8: output shape must be a 1-dimensional tensor of integer type, found tensor<1xf32>
func.func @f(%a: tensor<1xf32>) {
  %r = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 0 : i64}> : (tensor<1xf32>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_iota_o1] 2:8: result must be a tensor of integer, floating-point, complex or per-tensor quantized type, found tensor<?xi1>
func.func @f(%a: tensor<1xi64>) {
  %r = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<?xi1>
  return
}
// -----
// [dynamic_iota_c2] 2:8: output shape must have one element per dimension of tensor<?xf32>, found tensor<2xi64>
func.func @f(%a: tensor<2xi64>) {
  %r = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 0 : i64}> : (tensor<2xi64>) -> tensor<?xf32>
  return
}
// -----
func.func @f(%a: tensor<1xi64>) {
  %r = "stablehlo.dynamic_iota"(%a) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_iota_c2] 3:8: output shape [4] does not fit the result, tensor<3xf32>
func.func @f() {
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %r = "stablehlo.dynamic_iota"(%s) <{iota_dimension = 0 : i64}> : (tensor<1xi64>) -> tensor<3xf32>
  return
}
// -----
// [broadcast_in_dim_c1] 2:8: result must be tensor<2x3xf32>, found tensor<2x3xi32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return
}
// -----
// [broadcast_in_dim_c2] 2:8: broadcast_dimensions must have 2 entries (one per operand dimension), found 1
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [broadcast_in_dim_c3] 2:8: broadcast_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [broadcast_in_dim_c4] 2:8: broadcast_dimensions must be unique, found [0, 0]
func.func @f(%a: tensor<2x2xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 0>}> : (tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [broadcast_in_dim_c5] 2:8: dimension 1 of tensor<2x3xf32> must be 1 or the size of dimension 1 of tensor<2x4xf32>, found 3
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x1xf32>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>) -> tensor<2x4xf32>
  return
}
// -----
// [broadcast_in_dim_c1] 2:8: operand and result must have the same scales and zero points, found tensor<2x!quant.uniform<i8:f32, 0.5>> and tensor<2x!quant.uniform<i8:f32, 0.25>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  return
}
// -----
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1, 0>}> : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
// [broadcast_in_dim_c6] 2:8: the quantized dimension must be broadcast with its scale, found tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> (broadcast_dimensions [0, 1])
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
// [broadcast_in_dim_c6] 2:8: the quantized dimension must be broadcast with its scale, found tensor<1x!quant.uniform<i8:f32:0, {0.5}>> and tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> (broadcast_dimensions [0])
func.func @f(%a: tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) {
  %r = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 0>}> : (tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [dynamic_broadcast_in_dim_c1] 2:8: result must be tensor<?x?xf32>, found tensor<?x?xi32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xi32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c2] 2:8: broadcast_dimensions must have 2 entries (one per operand dimension), found 1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c3] 2:8: broadcast_dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c4] 2:8: broadcast_dimensions must be unique, found [0, 0]
func.func @f(%a: tensor<2x2xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 0>}> : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c5] 2:8: dimension 1 of tensor<2x3xf32> must be 1 or the size of dimension 1 of tensor<2x4xf32>, found 3
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c7] 2:8: output shape must have one element per dimension of tensor<?x?xf32>, found tensor<3xi64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_i2] 2:8: output shape must be a 1-dimensional tensor of integer type, found tensor<2xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c7] 3:8: output shape [2, 5] does not fit the result, tensor<2x4xf32>
func.func @f(%a: tensor<2x1xf32>) {
  %s = stablehlo.constant dense<[2, 5]> : tensor<2xi64>
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x1xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}
// -----
// [dynamic_broadcast_in_dim_c6] 2:8: the quantized dimension must be broadcast with its scale, found tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> (broadcast_dimensions [0, 1])
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_broadcast_in_dim"(%a, %b) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [reshape_c1] 2:8: result must be tensor<6xf32>, found tensor<6xi32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<6xi32>
  return
}
// -----
// [reshape_c2] 2:8: tensor<2x3xf32> and tensor<7xf32> must have the same number of elements
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}
// -----
// [reshape_c1] 2:8: operand and result must have the same scales and zero points, found tensor<2x!quant.uniform<i8:f32, 0.5>> and tensor<1x2x!quant.uniform<i8:f32, 0.25>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.25>>
  return
}
// -----
// [reshape_c2] 2:8: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<6x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>> must have the same number of elements
// [reshape_c3] 2:8: the quantized dimension must stay as it is, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<6x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<6x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
// [reshape_c3] 2:8: the quantized dimension must stay as it is, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
// [reshape_c1] 2:8: operand and result must have the same scales and zero points, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.125}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reshape"(%a) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.125}>>
  return
}
// -----
// [dynamic_reshape_c1] 2:8: result must be tensor<6xf32>, found tensor<6xi32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<6xi32>
  return
}
// -----
// [dynamic_reshape_c2] 2:8: tensor<2x3xf32> and tensor<7xf32> must have the same number of elements
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<7xf32>
  return
}
// -----
// [dynamic_reshape_c4] 2:8: output shape must have one element per dimension of tensor<?xf32>, found tensor<2xi64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_reshape_i2] 2:8: output shape must be a 1-dimensional tensor of integer type, found tensor<1x1xi64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1x1xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3xf32>, tensor<1x1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_reshape_c3] 2:8: the quantized dimension must stay as it is, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<2xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1xi64>) {
  %r = "stablehlo.dynamic_reshape"(%a, %b) : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [transpose_c2] 2:8: permutation must hold each of [0, 2) once, found [1]
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
// -----
// [transpose_c2] 2:8: permutation must hold each of [0, 2) once, found [1, 1]
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 1>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
// -----
// [transpose_c2] 2:8: permutation must hold each of [0, 2) once, found [2, 0]
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 2, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}
// -----
// [transpose_c3] 2:8: result must be tensor<3x2xf32>, found tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [transpose_c1] 2:8: result must be tensor<3x2xf32>, found tensor<3x2xi32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xi32>
  return
}
// -----
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}
// -----
// [transpose_c4] 2:8: the quantized dimension must move as the others do, found tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> and tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [slice_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [slice_c1] 2:8: result must be tensor<2xf32>, found tensor<2xi32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2xi32>
  return
}
// -----
// [slice_c2] 2:8: start_indices must have 2 entries (one per dimension), found 1
// [slice_c2] 2:8: strides must have 2 entries (one per dimension), found 1
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2, 3>, strides = array<i64: 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [slice_c3] 2:8: start 0 and limit 3 must be in order and within dimension 0 of tensor<2xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [slice_c3] 2:8: start 2 and limit 1 must be in order and within dimension 0 of tensor<2xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 2>, limit_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<0xf32>
  return
}
// -----
// [slice_c4] 2:8: strides must be positive, found [0]
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 0>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [slice_c5] 2:8: result must be tensor<2xf32>, found tensor<1xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1xf32>
  return
}
// -----
// [concatenate_c1] 2:8: inputs must have the same element type, found tensor<2xf32> and (input 1) tensor<2xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}
// -----
// [concatenate_i1] 2:8: input 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.concatenate"(%a) <{dimension = 0 : i64}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [concatenate_c2] 2:8: inputs must have the same shape except for dimension 0, found tensor<2x3xf32> and (input 1) tensor<2x4xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [concatenate_c2] 2:8: inputs must have the same shape except for dimension 0, found tensor<2x3xf32> and (input 1) tensor<2xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}
// -----
// [concatenate_c3] 2:8: at least one input is needed, found none
func.func @f() {
  %r = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<2xf32>
  return
}
// -----
// [concatenate_c4] 2:8: dimension must be in [0, 1), found 1
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.concatenate"(%a) <{dimension = 1 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [concatenate_c5] 2:8: result must be tensor<4xf32>, found tensor<4xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xi32>
  return
}
// -----
// [concatenate_c6] 2:8: result must be tensor<4xf32>, found tensor<5xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.concatenate"(%a, %b) <{dimension = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<5xf32>
  return
}
// -----
// [pad_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [pad_c1] 2:8: padding_value must have the element type of tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<f32>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<f32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [pad_c1] 2:8: padding_value must have the element type of tensor<2xf32>, found tensor<i32>
func.func @f(%a: tensor<2xf32>, %b: tensor<i32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [pad_i2] 2:8: padding_value must have rank 0, found tensor<1xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  return
}
// -----
// [pad_c2] 2:8: edge_padding_low must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [pad_c3] 2:8: interior_padding must not be negative, found [-1]
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: -1>}> : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [pad_c4] 2:8: dimension 0 of tensor<2xf32> cannot be cropped to a negative size
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: -3>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<2xf32>, tensor<f32>) -> tensor<0xf32>
  return
}
// -----
// [pad_c4] 2:8: result must be tensor<8xf32>, found tensor<7xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 3>}> : (tensor<2xf32>, tensor<f32>) -> tensor<7xf32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 3>}> : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
  return
}
// -----
// [pad_c1] 2:8: result must be tensor<8xf32>, found tensor<8xf64>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: 2>, interior_padding = array<i64: 3>}> : (tensor<2xf32>, tensor<f32>) -> tensor<8xf64>
  return
}
// -----
// [pad_c4] 2:8: result must be tensor<9223372036854775807xf32>, found tensor<8xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>) {
  %r = "stablehlo.pad"(%a, %b) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 9223372036854775807>}> : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
  return
}
// -----
// [dynamic_pad_c1] 2:8: padding_value must have the element type of tensor<2xf32>, found tensor<i32>
func.func @f(%a: tensor<2xf32>, %b: tensor<i32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [dynamic_pad_c1] 2:8: padding_value must have the element type of tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<f32>
// [dynamic_pad_c1] 2:8: result must be tensor<?x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, found tensor<?xf32>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_c1] 2:8: result must be tensor<?xf32>, found tensor<?xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
  return
}
// -----
// [dynamic_pad_i2] 2:8: padding_value must have rank 0, found tensor<1xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<1xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_c2] 2:8: edge_padding_low must have one element per dimension of tensor<2xf32>, found tensor<2xi64>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>, %c: tensor<2xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<f32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_i3] 2:8: edge_padding_low must be a 1-dimensional tensor of integer type, found tensor<1xf32>
// [dynamic_pad_i4] 2:8: edge_padding_high must be a 1-dimensional tensor of integer type, found tensor<i64>
// [dynamic_pad_i5] 2:8: interior_padding must be a 1-dimensional tensor of integer type, found tensor<1x1xi64>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>, %c: tensor<1xf32>, %d: tensor<i64>, %e: tensor<1x1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<f32>, tensor<1xf32>, tensor<i64>, tensor<1x1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_c4] 2:8: the result must have the rank of tensor<2xf32>, found tensor<?x?xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<f32>, %c: tensor<1xi64>, %d: tensor<1xi64>, %e: tensor<1xi64>) {
  %r = "stablehlo.dynamic_pad"(%a, %b, %c, %d, %e) : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}
// -----
// [dynamic_pad_c3] 4:8: interior_padding must not be negative, found [-1]
func.func @f(%a: tensor<2xf32>, %v: tensor<f32>) {
  %l = stablehlo.constant dense<1> : tensor<1xi64>
  %i = stablehlo.constant dense<-1> : tensor<1xi64>
  %r = "stablehlo.dynamic_pad"(%a, %v, %l, %l, %i) : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [dynamic_pad_c4] 3:8: result must be tensor<5xf32>, found tensor<4xf32>
func.func @f(%a: tensor<2xf32>, %v: tensor<f32>) {
  %l = stablehlo.constant dense<1> : tensor<1xi64>
  %r = "stablehlo.dynamic_pad"(%a, %v, %l, %l, %l) : (tensor<2xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  return
}
// -----
// [reverse_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [reverse_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [reverse_c2] 2:8: dimensions must be unique, found [0, 0]
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0, 0>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [reverse_c3] 2:8: dimensions must be in [0, 1), found 1
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.reverse"(%a) <{dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [get_dimension_size_c1] 2:8: dimension must be in [0, 1), found 1
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.get_dimension_size"(%a) <{dimension = 1 : i64}> : (tensor<2xf32>) -> tensor<i32>
  return
}
// -----
// [get_dimension_size_o1] 2:8: result must be tensor<i32>, found tensor<i64>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.get_dimension_size"(%a) <{dimension = 0 : i64}> : (tensor<2xf32>) -> tensor<i64>
  return
}
// -----
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<4x2xf32>
  return
}
// -----
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<4, ?>>
  return
}
// -----
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %k = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.set_dimension_size %x, %k, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<3x2xf32>
  return
}
// -----
func.func @f(%x: tensor<?x?xf32, #stablehlo.bounds<3, ?>>, %n: tensor<i32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<?x?xf32, #stablehlo.bounds<3, ?>>, tensor<i32>) -> tensor<?x?xf32>
  return
}
// -----
// [set_dimension_size_c1] 2:8: dimension must be in [0, 2), found 2
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 2 : (tensor<4x2xf32>, tensor<i32>) -> tensor<4x2xf32>
  return
}
// -----
// [set_dimension_size_c2] 2:8: size must be tensor<i32>, found tensor<1xi32>
func.func @f(%x: tensor<4x2xf32>, %n: tensor<1xi32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x2xf32>, tensor<1xi32>) -> tensor<4x2xf32>
  return
}
// -----
// [set_dimension_size_c2] 2:8: size must be tensor<i32>, found tensor<i64>
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i64>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x2xf32>, tensor<i64>) -> tensor<4x2xf32>
  return
}
// -----
// [set_dimension_size_c3] 3:8: size must be in [0, 4], found 5
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %k = stablehlo.constant dense<5> : tensor<i32>
  %r = stablehlo.set_dimension_size %x, %k, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<5x2xf32>
  return
}
// -----
// [set_dimension_size_c3] 3:8: size must be in [0, 4], found -1
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %k = stablehlo.constant dense<-1> : tensor<i32>
  %r = stablehlo.set_dimension_size %x, %k, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<?x2xf32>
  return
}
// -----
// [set_dimension_size_c4] 3:8: result must be tensor<3x2xf32>, found tensor<4x2xf32>
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %k = stablehlo.constant dense<3> : tensor<i32>
  %r = stablehlo.set_dimension_size %x, %k, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<4x2xf32>
  return
}
// -----
// [set_dimension_size_c4] 2:8: result must be tensor<?x2xf32, #stablehlo.bounds<4, ?>>, found tensor<5x2xf32>
func.func @f(%x: tensor<4x2xf32>, %n: tensor<i32>) {
  %r = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x2xf32>, tensor<i32>) -> tensor<5x2xf32>
  return
}
