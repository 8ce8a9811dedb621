// passes: layouts
// A column-major operand and a column-major result are transposed, and reshaped to the types that the call
// declares.
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.custom_call @f(%1) {farcall.laid_out, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    return %4 : tensor<2x3xf32>
  }
}
// -----
// passes: layouts
// Three dimensions: the permutation of the dimensions differs from its inverse.
func.func @main(%a: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 2, 1]> : tensor<3xindex>], result_layouts = [dense<[1, 0, 2]> : tensor<3xindex>]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
    %2 = stablehlo.custom_call @f(%1) {farcall.laid_out, operand_layouts = [dense<[0, 2, 1]> : tensor<3xindex>], result_layouts = [dense<[1, 0, 2]> : tensor<3xindex>]} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
    %4 = stablehlo.transpose %3, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
    return %4 : tensor<2x3x4xf32>
  }
}
// -----
// passes: layouts, layouts
// Row-major operands and unused results are unchanged, and square matrices need no reshape. The second run
// changes nothing.
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>) -> tensor<2x2xf32> {
  %0:2 = stablehlo.custom_call @f(%a, %b) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x2xf32>, tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>)
  return %0#0 : tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x2xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1:2 = stablehlo.custom_call @f(%0, %arg1) {farcall.laid_out, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x2xf32>, tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>)
    %2 = stablehlo.transpose %1#0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %2 : tensor<2x2xf32>
  }
}
// -----
// passes: layouts
// The layouts of a tuple are the layouts of its elements. A token has no layout.
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %0 = stablehlo.custom_call @f(%a, %t) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>, !stablehlo.token) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  %2 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  %3 = stablehlo.add %1, %2 : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %2:2 = stablehlo.custom_call @f(%1) {farcall.laid_out, farcall.types = (tensor<2x3xf32>, !stablehlo.token) -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    %3 = stablehlo.reshape %2#0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %5 = stablehlo.add %4, %2#1 : tensor<2x3xf32>
    return %5 : tensor<2x3xf32>
  }
}
// -----
// passes: layouts
// Quantized tensors are transposed as their stored integers. The call is in a branch.
func.func @main(%n: tensor<i1>, %a: tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>> {
  %0 = "stablehlo.if"(%n) ({
    %1 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
    stablehlo.return %1 : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
  }, {
    stablehlo.return %a : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
  }) : (tensor<i1>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
  return %0 : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>> {
    %0 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>):
      %1 = stablehlo.bitcast_convert %arg2 : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3xi8>
      %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
      %3 = stablehlo.reshape %2 : (tensor<3x2xi8>) -> tensor<2x3xi8>
      %4 = stablehlo.bitcast_convert %3 : (tensor<2x3xi8>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
      %5 = stablehlo.custom_call @f(%4) {farcall.laid_out, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
      %6 = stablehlo.bitcast_convert %5 : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3xi8>
      %7 = stablehlo.reshape %6 : (tensor<2x3xi8>) -> tensor<3x2xi8>
      %8 = stablehlo.transpose %7, dims = [1, 0] : (tensor<3x2xi8>) -> tensor<2x3xi8>
      %9 = stablehlo.bitcast_convert %8 : (tensor<2x3xi8>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
      stablehlo.return %9 : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
    }, {
    ^bb0(%arg2: tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>):
      stablehlo.return %arg2 : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
    return %0 : tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
  }
}
// -----
// passes: layouts
// A column-major result that another call takes in column-major order is not transposed. Transposes of the
// program cancel as well.
func.func @main(%a: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %0 = stablehlo.custom_call @f(%t) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.custom_call @f(%0) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = stablehlo.add %1, %a : tensor<2x3xf32>
  return %0, %2, %3 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.custom_call @f(%0) {farcall.laid_out, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.reshape %2 : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %5 = stablehlo.custom_call @f(%4) {farcall.laid_out, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %6 = stablehlo.reshape %5 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %8 = stablehlo.add %7, %arg0 : tensor<2x3xf32>
    return %3, %6, %8 : tensor<2x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>
  }
}
