// Scatters that have a kernel: rows that are added, windows that are replaced, batches, columns; indices that
// are too large or negative; several updates of one element, applied in the order of the indices.
func.func @main(%x: tensor<4x3xf32>, %i: tensor<5x1xi32>, %u: tensor<5x3xf32>, %j: tensor<2x2xi64>, %w: tensor<2x2x2xf32>, %b: tensor<4x2x1xui8>, %k: tensor<4x2xi16>, %y: tensor<4x3xi16>, %c: tensor<4x2xf32>, %n: tensor<2x1xi32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi16>, tensor<4x3xf32>) {
  %rows = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %d: tensor<f32>):
    %r = stablehlo.add %a, %d : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<5x1xi32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  %windows = "stablehlo.scatter"(%x, %j, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %d : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x2xi64>, tensor<2x2x2xf32>) -> tensor<4x3xf32>
  %batches = "stablehlo.scatter"(%y, %b, %k) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<i16>, %d: tensor<i16>):
    %r = stablehlo.maximum %d, %a : tensor<i16>
    stablehlo.return %r : tensor<i16>
  }) : (tensor<4x3xi16>, tensor<4x2x1xui8>, tensor<4x2xi16>) -> tensor<4x3xi16>
  %columns = "stablehlo.scatter"(%x, %n, %c) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %d: tensor<f32>):
    %r = stablehlo.multiply %a, %d : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<4x2xf32>) -> tensor<4x3xf32>
  return %rows, %windows, %batches, %columns : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi16>, tensor<4x3xf32>
}
// run: dense<1.0> : tensor<4x3xf32> ; dense<[[1], [-1], [3], [1], [4]]> : tensor<5x1xi32> ; dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [1.0e8, -0.0, 0x7F800000], [1.0, 1.0, 1.0]]> : tensor<5x3xf32> ; dense<[[1, 2], [2, 0]]> : tensor<2x2xi64> ; dense<[[[2.0, 3.0], [4.0, 5.0]], [[6.0, 7.0], [8.0, 9.0]]]> : tensor<2x2x2xf32> ; dense<[[[0], [2]], [[1], [1]], [[2], [3]], [[255], [0]]]> : tensor<4x2x1xui8> ; dense<[[1, -2], [3, 4], [-5, 6], [7, -8]]> : tensor<4x2xi16> ; dense<0> : tensor<4x3xi16> ; dense<[[2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]]> : tensor<4x2xf32> ; dense<[[2], [2]]> : tensor<2x1xi32>
// = dense<[[1.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+08, 3.000000e+00, 0x7F800000], [1.000000e+00, 1.000000e+00, 1.000000e+00], [8.000000e+00, 9.000000e+00, 1.000000e+01]]> : tensor<4x3xf32>
// = dense<[[1.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+00, 2.000000e+00, 3.000000e+00], [1.000000e+00, 4.000000e+00, 5.000000e+00]]> : tensor<4x3xf32>
// = dense<[[1, 0, 0], [0, 4, 0], [0, 0, 0], [0, 0, 0]]> : tensor<4x3xi16>
// = dense<[[1.000000e+00, 1.000000e+00, 6.000000e+00], [1.000000e+00, 1.000000e+00, 2.000000e+01], [1.000000e+00, 1.000000e+00, 4.200000e+01], [1.000000e+00, 1.000000e+00, 7.200000e+01]]> : tensor<4x3xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<4x3xf32>
// | in1: tensor<5x1xi32>
// | in2: tensor<5x3xf32>
// | in3: tensor<2x2xi64>
// | in4: tensor<2x2x2xf32>
// | in5: tensor<4x2x1xui8>
// | in6: tensor<4x2xi16>
// | in7: tensor<4x3xi16>
// | in8: tensor<4x2xf32>
// | in9: tensor<2x1xi32>
// | out0:f32[4,3] = scatter add(in0:f32[4,3], in1:s32[5,1], in2:f32[5,3])
// | out1:f32[4,3] = scatter set(in0:f32[4,3], in3:s64[2,2], in4:f32[2,2,2])
// | out2:s16[4,3] = scatter maximum(in7:s16[4,3], in5:u8[4,2,1], in6:s16[4,2])
// | out3:f32[4,3] = scatter multiply(in0:f32[4,3], in9:s32[2,1], in8:f32[4,2])
// | return out0:f32[4,3], out1:f32[4,3], out2:s16[4,3], out3:f32[4,3]
