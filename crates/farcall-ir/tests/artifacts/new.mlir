module @new {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"y":(2)2}>}) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}) {
    %0 = stablehlo.tan %x : tensor<4x8xf32>
    %1 = stablehlo.dot_general %0, %0, contracting_dims = [0, 1] x [0, 1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<f32>
    %2 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
    %4 = stablehlo.add %3, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<4x8xf32>
    %5 = stablehlo.custom_call @f(%4) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=4, j=2, k=4} need_replication={j}, custom>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %5 : tensor<4x8xf32>
  }
}
