func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-layout] 2:8: operand_layouts and result_layouts must both be given or both be left out
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [dense<[0, 1]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-layout] 2:8: the layout of operand 0 must be a permutation of the dimensions of tensor<2x3xf32>, found [0, 0]
// [custom-call-layout] 2:8: the layout of result 0 must be a permutation of the dimensions of tensor<2x3xf32>, found [1]
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [dense<[0, 0]> : tensor<2xindex>], result_layouts = [dense<[1]> : tensor<1xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-layout] 2:8: operand_layouts must have 1 entries (one per operand), found 0
// [custom-call-layout] 2:8: result_layouts must have 1 entries (one per result), found 2
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-layout] 2:8: the layout of operand 0 must be a permutation of the dimensions of !stablehlo.token, found [0]
func.func @f(%a: !stablehlo.token) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [dense<[0]> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}> : (!stablehlo.token) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]}> : (tensor<2x3xf32>) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-alias] 2:8: operand_index must be in [0, 1), found 1
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-alias] 2:8: output_tuple_indices [0] name no part of tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-alias] 2:8: operand_tuple_indices [0] name no part of tensor<2x3xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = [0]>]}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-alias] 2:8: an operand and a result that share memory must have the same type, found tensor<2x3xf32> and tensor<2xf32>
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r:2 = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>)
  return
}
// -----
// [custom-call-alias] 2:10: an operand and a result that share memory must have the same type, found tensor<2x3xf32> and tuple<tensor<2xf32>, tensor<2x3xf32>>
func.func @f(%a: tensor<2x3xf32>) {
  %r:2 = "stablehlo.custom_call"(%a) <{call_target_name = "t", output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}> : (tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2x3xf32>)
  return
}
// -----
// [custom-call-config] 2:8: backend_config must be a dictionary where api_version is 4, found a string
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 4 : i32, backend_config = "text"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 4 : i32, backend_config = {a = 1 : i32}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 2 : i32, backend_config = "text"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// A string with the text of a dictionary counts as a dictionary.
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 4 : i32, backend_config = "{a = 1 : i32, b = \22x\22}"}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-config] 2:8: backend_config must be a string where api_version is 3, found a dictionary
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 3 : i32, backend_config = {a = 1 : i32}}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-version] 2:8: api_version must be in [0, 4], found 5
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = 5 : i32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [custom-call-version] 2:8: api_version must be in [0, 4], found -1
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.custom_call"(%a) <{call_target_name = "t", api_version = -1 : i32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
// -----
// [check-value] 2:3: attribute `value` of check.expect_eq_const must be dense<…> of a tensor
// [check-value] 3:3: attribute `value` of check.expect_close_const must be dense<…> of a tensor
// [sharding-constraint] 4:8: a sharding constraint must have one operand, and a result of its type, found (tensor<2xf32>) and (tensor<3xf32>)
func.func @main(%x: tensor<2xf32>) {
  stablehlo.custom_call @check.expect_eq_const(%x) {has_side_effect = true} : (tensor<2xf32>) -> ()
  "check.expect_close_const"(%x) <{value = 1 : i32}> : (tensor<2xf32>) -> ()
  %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@mesh, [{}]>}> : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [chlo_top_k_c3] 5:10: result 0 must be tensor<4x3xf32>, found tensor<4x5xf32>
// [chlo_erf_c1] 6:8: result must be tensor<4x8xf32>, found tensor<4x8xi32>
// [call-type] 7:8: result 0 of @more is tensor<f32>, found tensor<i1>
func.func @more(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  return %a : tensor<f32>
}
func.func @f(%x: tensor<4x8xf32>, %i: tensor<f32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 3 : i64}} : (tensor<4x8xf32>) -> (tensor<4x5xf32>, tensor<4x3xi32>)
  %1 = stablehlo.custom_call @mhlo.erf(%x) : (tensor<4x8xf32>) -> tensor<4x8xi32>
  %2 = stablehlo.custom_call @ApproxTopK(%x, %i) {called_computations = [@more], mhlo.backend_config = {reduction_dim = 1 : i64}} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x3xf32>
  return
}
