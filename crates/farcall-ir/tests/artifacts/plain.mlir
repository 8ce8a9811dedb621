module @plain attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<7x2xi32>, %arg2: tensor<7x9x8xf32>, %arg3: tensor<i1>, %arg4: !stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %1 = stablehlo.sine %arg0 : tensor<4x4xf32>
    %2 = stablehlo.exponential %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4x4xf32>
    %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0], precision = [HIGHEST, HIGH] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.compare GT, %arg0, %0, TOTALORDER : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
    %6 = stablehlo.select %5, %3, %4 : tensor<4x4xi1>, tensor<4x4xf32>
    %7 = stablehlo.reduce(%6 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %8 = "stablehlo.gather"(%arg2, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [2, 1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3, 8>}> : (tensor<7x9x8xf32>, tensor<7x2xi32>) -> tensor<7x3x8xf32>
    %9 = "stablehlo.scatter"(%arg2, %arg1, %8) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 1>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %23 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %23 : tensor<f32>
    }) : (tensor<7x9x8xf32>, tensor<7x2xi32>, tensor<7x3x8xf32>) -> tensor<7x9x8xf32>
    %10 = stablehlo.reshape %arg0 : (tensor<4x4xf32>) -> tensor<1x4x4x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<2x2x1x3xf32>
    %11 = stablehlo.convolution(%10, %cst_0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 2], pad = [[0, 1], [1, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x3xf32>) -> tensor<1x4x2x3xf32>
    %12:2 = "stablehlo.sort"(%7, %7) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>, %arg7: tensor<f32>, %arg8: tensor<f32>):
      %23 = stablehlo.compare LT, %arg5, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %23 : tensor<i1>
    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %13 = "stablehlo.all_reduce"(%7) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %23 = stablehlo.maximum %arg5, %arg6 : tensor<f32>
      stablehlo.return %23 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %14 = stablehlo.pad %arg0, %cst, low = [0, -1], high = [1, 2], interior = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<5x8xf32>
    %15 = stablehlo.slice %14 [0:4, 0:8:2] : (tensor<5x8xf32>) -> tensor<4x4xf32>
    %16 = stablehlo.transpose %15, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %17 = stablehlo.cholesky %16, lower = true : tensor<4x4xf32>
    %18 = "stablehlo.triangular_solve"(%17, %16) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %19 = stablehlo.fft %18, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
    %c_1 = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %c_1, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
    %20 = stablehlo.while(%iterArg = %arg0) : tensor<4x4xf32>
    cond {
      stablehlo.return %arg3 : tensor<i1>
    } do {
      %23 = stablehlo.negate %iterArg : tensor<4x4xf32>
      stablehlo.return %23 : tensor<4x4xf32>
    }
    %21 = stablehlo.custom_call @f(%20) {api_version = 4 : i32, backend_config = {a = 1 : i32}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %22 = call @g(%21) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %22, %arg4 : tensor<4x4xf32>, !stablehlo.token
  }
  func.func private @g(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
