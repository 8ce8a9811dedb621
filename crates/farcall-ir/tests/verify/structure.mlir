func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
// -----
// [return-arity] 2:3: @f returns 1 values, found 0
func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
  return
}
// -----
// [return-type] 2:3: result 0 of @f is tensor<3xf32>, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>) -> tensor<3xf32> {
  return %a : tensor<2xf32>
}
// -----
// [operand-count] 2:8: stablehlo.add has 2 operands, found 1
func.func @f(%a: tensor<2xf32>) {
  %0 = "stablehlo.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [result-count] 2:10: stablehlo.add has 1 result, found 2
func.func @f(%a: tensor<2xf32>) {
  %0:2 = "stablehlo.add"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
// -----
// [operand-kind] 2:8: operand 0 of stablehlo.abs must be a tensor, found !stablehlo.token
func.func @f(%a: !stablehlo.token) {
  %0 = "stablehlo.abs"(%a) : (!stablehlo.token) -> tensor<2xf32>
  return
}
// -----
// [result-kind] 2:8: result 0 must be a tensor, found !stablehlo.token
func.func @f(%a: tensor<2xf32>) {
  %0 = "stablehlo.convert"(%a) : (tensor<2xf32>) -> !stablehlo.token
  return
}
// -----
// [region-count] 2:8: stablehlo.reduce has 1 region, found 0
func.func @f(%a: tensor<2xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 0>}> : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return
}
// -----
// [bounds] 1:32: dimension 0 has size 4, its bound must be `?`, found 4
func.func @f(%a: tensor<4xf32, #stablehlo.bounds<4>>) {
  return
}
// -----
// [sine_i1] 2:8: operand must be a tensor of floating-point, complex or per-tensor quantized type, found tensor<2xi1>
// [add_c1] 3:8: operands must have the same type, found tensor<2xf32> and tensor<3xf32>
// [transpose_c2] 4:8: permutation must hold each of [0, 1) once, found [1]
// [slice_c3] 5:8: start 0 and limit 9 must be in order and within dimension 0 of tensor<2xf32>
// [reshape_c2] 7:8: tensor<2xf32> and tensor<5xf32> must have the same number of elements
func.func @several(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<2xi1>) -> tensor<5xf32> {
  %0 = stablehlo.sine %c : tensor<2xi1>
  %1 = "stablehlo.add"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  %2 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1>}> : (tensor<2xf32>) -> tensor<2xf32>
  %3 = "stablehlo.slice"(%a) <{start_indices = array<i64: 0>, limit_indices = array<i64: 9>, strides = array<i64: 1>}> : (tensor<2xf32>) -> tensor<9xf32>
  %4 = stablehlo.multiply %a, %a : tensor<2xf32>
  %5 = "stablehlo.reshape"(%4) : (tensor<2xf32>) -> tensor<5xf32>
  return %5 : tensor<5xf32>
}
