// Rows, columns, single elements, windows, and one element of each row; indices out of bounds are clamped.
func.func @main(%x: tensor<3x4xf32>, %i: tensor<2x2xi32>, %j: tensor<3xui8>) -> (tensor<2x2x4xf32>, tensor<3x2x2xf32>, tensor<2xf32>, tensor<2x2x3xf32>, tensor<3xf32>, tensor<0x4xf32>) {
  %rows = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<2x2x4xf32>
  %columns = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<3x2x2xf32>
  %elements = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  %windows = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<3x4xf32>, tensor<2x2xi32>) -> tensor<2x2x3xf32>
  %each = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x4xf32>, tensor<3xui8>) -> tensor<3xf32>
  %none = stablehlo.constant dense<> : tensor<0x1xi32>
  %nothing = "stablehlo.gather"(%x, %none) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xf32>, tensor<0x1xi32>) -> tensor<0x4xf32>
  return %rows, %columns, %elements, %windows, %each, %nothing : tensor<2x2x4xf32>, tensor<3x2x2xf32>, tensor<2xf32>, tensor<2x2x3xf32>, tensor<3xf32>, tensor<0x4xf32>
}
// run: dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32> ; dense<[[2, -1], [0, 3000000]]> : tensor<2x2xi32> ; dense<[3, 0, 200]> : tensor<3xui8>
// = dense<[[[8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01], [0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00]], [[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00], [8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01]]]> : tensor<2x2x4xf32>
// = dense<[[[2.000000e+00, 0.000000e+00], [0.000000e+00, 3.000000e+00]], [[6.000000e+00, 4.000000e+00], [4.000000e+00, 7.000000e+00]], [[1.000000e+01, 8.000000e+00], [8.000000e+00, 1.100000e+01]]]> : tensor<3x2x2xf32>
// = dense<[2.000000e+00, 8.000000e+00]> : tensor<2xf32>
// = dense<[[[4.000000e+00, 5.000000e+00, 6.000000e+00], [1.000000e+00, 2.000000e+00, 3.000000e+00]], [[8.000000e+00, 9.000000e+00, 1.000000e+01], [5.000000e+00, 6.000000e+00, 7.000000e+00]]]> : tensor<2x2x3xf32>
// = dense<[3.000000e+00, 4.000000e+00, 1.100000e+01]> : tensor<3xf32>
// = dense<> : tensor<0x4xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<3x4xf32>
// | in1: tensor<2x2xi32>
// | in2: tensor<3xui8>
// | const0: tensor<0x4xf32> =
// | out0:f32[2,2,4] = gather(in0:f32[3,4], in1:s32[2,2])
// | out1:f32[3,2,2] = gather(in0:f32[3,4], in1:s32[2,2])
// | out2:f32[2] = gather(in0:f32[3,4], in1:s32[2,2])
// | out3:f32[2,2,3] = gather(in0:f32[3,4], in1:s32[2,2])
// | out4:f32[3] = gather(in0:f32[3,4], in2:u8[3])
// | return out0:f32[2,2,4], out1:f32[3,2,2], out2:f32[2], out3:f32[2,2,3], out4:f32[3], const0:f32[0,4]
