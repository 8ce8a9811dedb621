// passes: cse
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  %1 = stablehlo.add %a, %b : tensor<2xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: cse
// Not applied to operations with different result types, or to random numbers.
func.func @main(%a: tensor<2xf32>, %s: tensor<1xi64>) -> (tensor<2xf32>, tensor<2xf64>, tensor<2xf16>, tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xf64>
  %1 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<2xf16>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.constant dense<1.0> : tensor<f32>
  %2 = stablehlo.rng %c, %d, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
  %3 = stablehlo.rng %c, %d, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
  %4 = stablehlo.sine %a : tensor<2xf32>
  return %4, %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf64>, tensor<2xf16>, tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<1xi64>) -> (tensor<2xf32>, tensor<2xf64>, tensor<2xf16>, tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xf64>
    %1 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xf16>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.rng %cst, %cst_0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
    %3 = stablehlo.rng %cst, %cst_0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
    %4 = stablehlo.sine %arg0 : tensor<2xf32>
    return %4, %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf64>, tensor<2xf16>, tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: cse
// Calls without side effects are merged if they have the same target and the same attributes.
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0:2 = stablehlo.custom_call @f(%a) {mhlo.backend_config = {n = 1 : i32}} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)
  %1:2 = stablehlo.custom_call @f(%a) {mhlo.backend_config = {n = 1 : i32}} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)
  %2 = stablehlo.convert %1#1 : (tensor<i32>) -> tensor<f32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %4 = stablehlo.add %1#0, %3 : tensor<2xf32>
  %5:2 = stablehlo.custom_call @f(%a) {mhlo.backend_config = {n = 2 : i32}} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)
  return %0#0, %4, %5#0, %a : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0:2 = stablehlo.custom_call @f(%arg0) {mhlo.backend_config = {n = 1 : i32}} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)
    %1 = stablehlo.convert %0#1 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.add %0#0, %2 : tensor<2xf32>
    %4:2 = stablehlo.custom_call @f(%arg0) {mhlo.backend_config = {n = 2 : i32}} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)
    return %0#0, %3, %4#0, %arg0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: cse
// Calls with side effects are not merged.
func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.custom_call @f(%a) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @f(%a) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.custom_call @f(%arg0) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.custom_call @f(%arg0) {has_side_effect = true} : (tensor<2xf32>) -> tensor<2xf32>
    return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: cse
// Calls that tokens order are not merged, and neither are calls with different layouts.
func.func @main(%a: tensor<2x3xf32>, %t: !stablehlo.token) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, !stablehlo.token) {
  %0:2 = stablehlo.custom_call @f(%a, %t) : (tensor<2x3xf32>, !stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
  %1:2 = stablehlo.custom_call @f(%a, %0#1) : (tensor<2x3xf32>, !stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
  %2 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0#0, %1#0, %2, %3, %1#1 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, !stablehlo.token
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.custom_call @f(%arg0) {farcall.types = (tensor<2x3xf32>, !stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.custom_call @f(%arg0) {farcall.types = (tensor<2x3xf32>, !stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.custom_call @f(%arg0) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.custom_call @f(%arg0) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
}
