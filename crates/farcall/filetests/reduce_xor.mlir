// Reductions by xor: of rows, of columns and of all elements; in windows and in a scatter.
func.func @main(%x: tensor<3x4xi32>, %p: tensor<3x4xi1>, %i: tensor<3x1xi32>) -> (tensor<3xi32>, tensor<4xi32>, tensor<i32>, tensor<4xi1>, tensor<3x3xi32>, tensor<4xi32>) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %rows = stablehlo.reduce(%x init: %z) applies stablehlo.xor across dimensions = [1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<3xi32>
  %columns = stablehlo.reduce(%x init: %o) applies stablehlo.xor across dimensions = [0] : (tensor<3x4xi32>, tensor<i32>) -> tensor<4xi32>
  %all = stablehlo.reduce(%x init: %o) applies stablehlo.xor across dimensions = [0, 1] : (tensor<3x4xi32>, tensor<i32>) -> tensor<i32>
  %parity = stablehlo.reduce(%p init: %t) applies stablehlo.xor across dimensions = [0] : (tensor<3x4xi1>, tensor<i1>) -> tensor<4xi1>
  %pairs = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.xor %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x3xi32>
  %to = stablehlo.constant dense<0> : tensor<4xi32>
  %s = "stablehlo.scatter"(%to, %i, %rows) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.xor %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<4xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<4xi32>
  return %rows, %columns, %all, %parity, %pairs, %s : tensor<3xi32>, tensor<4xi32>, tensor<i32>, tensor<4xi1>, tensor<3x3xi32>, tensor<4xi32>
}
// run: dense<[[1, 2, 4, -1], [3, 3, 8, 16], [-2, 7, 9, 100]]> : tensor<3x4xi32> ; dense<[[true, false, true, true], [true, true, false, true], [false, true, true, true]]> : tensor<3x4xi1> ; dense<[[1], [3], [1]]> : tensor<3x1xi32>
// = dense<[-8, 24, -108]> : tensor<3xi32>
// = dense<[-3, 7, 4, -118]> : tensor<4xi32>
// = dense<117> : tensor<i32>
// = dense<[true, true, true, false]> : tensor<4xi1>
// = dense<[[3, 6, -5], [0, 11, 24], [-7, 14, 109]]> : tensor<3x3xi32>
// = dense<[0, 108, 0, 24]> : tensor<4xi32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<3x4xi32>
// | in1: tensor<3x4xi1>
// | in2: tensor<3x1xi32>
// | number0: tensor<i32> = 0
// | const0: tensor<4xi32> = 0
// | out0:s32[3], out1:s32[4], out2:s32[], out3:pred[4] = fusion constant reduce constant reduce reduce constant reduce(in0:s32[3,4], in1:pred[3,4]) scratch stack[0..192]
// | out4:s32[3,3] = reduce_window xor 1x2(in0:s32[3,4], number0:s32[])
// | out5:s32[4] = scatter xor(const0:s32[4], in2:s32[3,1], out0:s32[3])
// | return out0:s32[3], out1:s32[4], out2:s32[], out3:pred[4], out4:s32[3,3], out5:s32[4]
