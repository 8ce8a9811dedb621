// Custom calls: typed and untyped, in place, with a layout, in a loop, and in a called function.
func.func private @scaled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @scale(%x) {mhlo.backend_config = {factor = 3.0 : f32}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %m: tensor<2x3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0 = call @scaled(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @add_one(%0) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @transposed(%m) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %1) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %w = stablehlo.custom_call @add_one(%v) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %0, %1, %r#1, %2, %r#0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<i32>
}
// run: dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> ; dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
// = dense<[3.000000e+00, 6.000000e+00, 9.000000e+00, 1.200000e+01]> : tensor<4xf32>
// = dense<[4.000000e+00, 7.000000e+00, 1.000000e+01, 1.300000e+01]> : tensor<4xf32>
// = dense<[7.000000e+00, 1.000000e+01, 1.300000e+01, 1.600000e+01]> : tensor<4xf32>
// = dense<[[1.000000e+00, 2.020000e+02, 4.030000e+02], [1.040000e+02, 3.050000e+02, 5.060000e+02]]> : tensor<2x3xf32>
// = dense<3> : tensor<i32>
