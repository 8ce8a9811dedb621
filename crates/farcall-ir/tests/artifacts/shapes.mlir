module @shapes {
  func.func @main(%x: tensor<2x5x15x13xf32>, %w: tensor<7x5x3x3xf32>, %y: tensor<4x8x16xf32>, %i: tensor<3x2xi64>, %s: tensor<i64>) -> tensor<2x7x8x7xf32> {
    %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]} : (tensor<2x5x15x13xf32>, tensor<7x5x3x3xf32>) -> tensor<2x7x8x7xf32>
    %1 = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<4x8x16xf32>) -> tensor<4x16x8xf32>
    %2 = stablehlo.dot_general %y, %1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> tensor<4x8x8xf32>
    %3 = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 1, 16>}> : (tensor<4x8x16xf32>, tensor<3x2xi64>) -> tensor<3x16xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %4 = "stablehlo.scatter"(%y, %i, %3) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<4x8x16xf32>, tensor<3x2xi64>, tensor<3x16xf32>) -> tensor<4x8x16xf32>
    %5 = "stablehlo.reduce_window"(%4, %z) <{padding = dense<[[0, 0], [1, 1], [1, 1]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %6 = stablehlo.reduce(%5 init: %z) applies stablehlo.add across dimensions = [1, 2] : (tensor<4x4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %7:2 = "stablehlo.sort"(%6, %6) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %e = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %e : tensor<i1>
    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %8 = stablehlo.slice %7#0 [0:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %9 = stablehlo.pad %8, %z, low = [1], high = [-1], interior = [2] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    %10 = stablehlo.concatenate %9, %8, dim = 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
    %11 = stablehlo.dynamic_slice %10, %s, sizes = [2] : (tensor<6xf32>, tensor<i64>) -> tensor<2xf32>
    %12 = stablehlo.iota dim = 0 : tensor<2xi32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
    %14 = stablehlo.fft %y, type = RFFT, length = [16] : (tensor<4x8x16xf32>) -> tensor<4x8x9xcomplex<f32>>
    return %0 : tensor<2x7x8x7xf32>
  }
}
