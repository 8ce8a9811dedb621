module @elementwise attributes {mhlo.num_partitions = 1 : i32, jax.uses_shape_polymorphism = false} {
  func.func public @main(%x: tensor<4x3xf32> {jax.arg_info = "x"}, %p: tensor<4x3xi1>) -> (tensor<4x3xf32> {jax.result_info = "result"}, tensor<4x3xbf16>) attributes {mine = [1 : i32, 2.5 : f64, true, "text"]} {
    %0 = stablehlo.exponential %x : tensor<4x3xf32>
    %1 = stablehlo.add %0, %x {mhlo.frontend_attributes = {a = "b"}} : tensor<4x3xf32>
    %2 = stablehlo.compare  LT, %1, %x,  FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %3 = stablehlo.compare  EQ, %1, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %4 = stablehlo.and %2, %3 : tensor<4x3xi1>
    %5 = stablehlo.select %4, %1, %x : tensor<4x3xi1>, tensor<4x3xf32>
    %6 = stablehlo.reduce_precision %5, format = e5m10 : tensor<4x3xf32>
    %7 = stablehlo.convert %6 : (tensor<4x3xf32>) -> tensor<4x3xbf16>
    %8 = func.call @helper(%6) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %8, %7 : tensor<4x3xf32>, tensor<4x3xbf16>
  }
  func.func private @helper(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.custom_call @target(%x) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = [1 : i32], c = "s", d = dense<[1, 2]> : tensor<2xi64>}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.custom_call @other(%0) {has_side_effect = true, called_computations = [@unused], backend_config = "text"} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
  func.func private @unused(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
