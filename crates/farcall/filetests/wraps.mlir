// Negative indices, which count from the end: rows that are added and gathered, with the smallest integers
// and with indices that remain out of bounds; index vectors of two entries; batches; no indices.
func.func @main(%x: tensor<3x2xf32>, %i: tensor<8xi8>, %u: tensor<8x2xf32>, %j: tensor<4x2xi64>, %b: tensor<3x2xi16>, %e: tensor<0xi32>) -> (tensor<8x2xf32>, tensor<3x2xf32>, tensor<4xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<0x2xf32>) {
  %i0 = stablehlo.constant dense<0> : tensor<8xi8>
  %i3 = stablehlo.constant dense<3> : tensor<8xi8>
  %ineg = stablehlo.compare LT, %i, %i0, SIGNED : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi1>
  %isum = stablehlo.add %i, %i3 : tensor<8xi8>
  %iall = stablehlo.select %ineg, %isum, %i : tensor<8xi1>, tensor<8xi8>
  %rows = stablehlo.broadcast_in_dim %iall, dims = [0] : (tensor<8xi8>) -> tensor<8x1xi8>
  %taken = "stablehlo.gather"(%x, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<8x1xi8>) -> tensor<8x2xf32>
  %added = "stablehlo.scatter"(%x, %rows, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %d: tensor<f32>):
    %r = stablehlo.add %a, %d : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<8x1xi8>, tensor<8x2xf32>) -> tensor<3x2xf32>
  %j0 = stablehlo.constant dense<0> : tensor<4x2xi64>
  %j2 = stablehlo.constant dense<2> : tensor<4x2xi64>
  %jneg = stablehlo.compare GT, %j0, %j : (tensor<4x2xi64>, tensor<4x2xi64>) -> tensor<4x2xi1>
  %jsum = stablehlo.add %j2, %j : tensor<4x2xi64>
  %jall = stablehlo.select %jneg, %jsum, %j : tensor<4x2xi1>, tensor<4x2xi64>
  %elements = "stablehlo.gather"(%x, %jall) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xf32>, tensor<4x2xi64>) -> tensor<4xf32>
  %b0 = stablehlo.constant dense<0> : tensor<3x2xi16>
  %b2 = stablehlo.constant dense<2> : tensor<3x2xi16>
  %bpos = stablehlo.compare GE, %b, %b0 : (tensor<3x2xi16>, tensor<3x2xi16>) -> tensor<3x2xi1>
  %bsum = stablehlo.add %b, %b2 : tensor<3x2xi16>
  %ball = stablehlo.select %bpos, %b, %bsum : tensor<3x2xi1>, tensor<3x2xi16>
  %column = stablehlo.reshape %ball : (tensor<3x2xi16>) -> tensor<3x2x1xi16>
  %each = "stablehlo.gather"(%x, %column) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x2xf32>, tensor<3x2x1xi16>) -> tensor<3x2xf32>
  %set = "stablehlo.scatter"(%x, %column, %each) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %d: tensor<f32>):
    %r = stablehlo.multiply %a, %d : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x2xf32>, tensor<3x2x1xi16>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %e0 = stablehlo.constant dense<0> : tensor<0xi32>
  %eneg = stablehlo.compare LT, %e, %e0 : (tensor<0xi32>, tensor<0xi32>) -> tensor<0xi1>
  %esum = stablehlo.add %e, %e0 : tensor<0xi32>
  %eall = stablehlo.select %eneg, %esum, %e : tensor<0xi1>, tensor<0xi32>
  %ecolumn = stablehlo.reshape %eall : (tensor<0xi32>) -> tensor<0x1xi32>
  %none = "stablehlo.gather"(%x, %ecolumn) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<0x1xi32>) -> tensor<0x2xf32>
  return %taken, %added, %elements, %each, %set, %none : tensor<8x2xf32>, tensor<3x2xf32>, tensor<4xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<0x2xf32>
}
// run: dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32> ; dense<[0, 2, 3, 127, -1, -3, -4, -128]> : tensor<8xi8> ; dense<[[1.0, 2.0], [4.0, 8.0], [16.0, 32.0], [64.0, 128.0], [256.0, 512.0], [1024.0, 2048.0], [4096.0, 8192.0], [16384.0, 32768.0]]> : tensor<8x2xf32> ; dense<[[-1, 0], [0, -1], [-2, -2], [2, -9223372036854775808]]> : tensor<4x2xi64> ; dense<[[-1, -2], [0, -32768], [1, 2]]> : tensor<3x2xi16> ; dense<> : tensor<0xi32>
// = dense<[[1.000000e+00, 2.000000e+00], [5.000000e+00, 6.000000e+00], [5.000000e+00, 6.000000e+00], [5.000000e+00, 6.000000e+00], [5.000000e+00, 6.000000e+00], [1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<8x2xf32>
// = dense<[[1.026000e+03, 2.052000e+03], [3.000000e+00, 4.000000e+00], [2.650000e+02, 5.260000e+02]]> : tensor<3x2xf32>
// = dense<[3.000000e+00, 2.000000e+00, 1.000000e+00, 5.000000e+00]> : tensor<4xf32>
// = dense<[[2.000000e+00, 1.000000e+00], [3.000000e+00, 3.000000e+00], [6.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
// = dense<[[1.000000e+00, 4.000000e+00], [9.000000e+00, 4.000000e+00], [5.000000e+00, 3.600000e+01]]> : tensor<3x2xf32>
// = dense<> : tensor<0x2xf32>
