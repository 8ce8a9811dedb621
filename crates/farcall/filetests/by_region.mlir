// A comparator that does not compare keys, and scatters whose regions capture several values.
func.func @main(%x: tensor<7xi32>, %y: tensor<7xi8>, %m: tensor<i32>, %n: tensor<i32>, %i: tensor<4x1xi32>) -> (tensor<7xi32>, tensor<7xi8>, tensor<7xi32>, tensor<7xi8>, tensor<3x2xi32>) {
  %sorted:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i8>, %d: tensor<i8>):
    %p = stablehlo.subtract %a, %b : tensor<i32>
    %q = stablehlo.multiply %p, %m : tensor<i32>
    %r = stablehlo.compare LT, %q, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<7xi32>, tensor<7xi8>) -> (tensor<7xi32>, tensor<7xi8>)
  %s = stablehlo.slice %x [0:4] : (tensor<7xi32>) -> tensor<4xi32>
  %t = stablehlo.slice %y [3:7] : (tensor<7xi8>) -> tensor<4xi8>
  %scattered:2 = "stablehlo.scatter"(%x, %y, %i, %s, %t) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i8>, %c: tensor<i32>, %d: tensor<i8>):
    %p = stablehlo.compare LT, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %u = stablehlo.multiply %c, %m : tensor<i32>
    %v = stablehlo.add %u, %n : tensor<i32>
    %q = stablehlo.select %p, %v, %a : tensor<i1>, tensor<i32>
    %r = stablehlo.select %p, %d, %b : tensor<i1>, tensor<i8>
    stablehlo.return %q, %r : tensor<i32>, tensor<i8>
  }) : (tensor<7xi32>, tensor<7xi8>, tensor<4x1xi32>, tensor<4xi32>, tensor<4xi8>) -> (tensor<7xi32>, tensor<7xi8>)
  %to = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %rows = stablehlo.constant dense<[[2, 0], [1, 0], [2, 0], [7, 0]]> : tensor<4x2xi32>
  %u = stablehlo.constant dense<[[10, 11], [20, 21], [30, 31], [40, 41]]> : tensor<4x2xi32>
  %windows = "stablehlo.scatter"(%to, %rows, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.multiply %a, %m : tensor<i32>
    %q = stablehlo.subtract %b, %p : tensor<i32>
    stablehlo.return %q : tensor<i32>
  }) : (tensor<3x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<3x2xi32>
  return %sorted#0, %sorted#1, %scattered#0, %scattered#1, %windows : tensor<7xi32>, tensor<7xi8>, tensor<7xi32>, tensor<7xi8>, tensor<3x2xi32>
}
// run: dense<[3, -1, 4, 1, -5, 9, 2]> : tensor<7xi32> ; dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi8> ; dense<2> : tensor<i32> ; dense<0> : tensor<i32> ; dense<[[4], [6], [4], [9]]> : tensor<4x1xi32>
// = dense<[-5, -1, 1, 2, 3, 4, 9]> : tensor<7xi32>
// = dense<[4, 1, 3, 6, 0, 2, 5]> : tensor<7xi8>
// = dense<[3, -1, 4, 1, 6, 9, 2]> : tensor<7xi32>
// = dense<[0, 1, 2, 3, 3, 5, 6]> : tensor<7xi8>
// = dense<[[1, 2], [14, 13], [30, 33]]> : tensor<3x2xi32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<7xi32>
// | in1: tensor<7xi8>
// | in2: tensor<i32>
// | in3: tensor<i32>
// | in4: tensor<4x1xi32>
// | const0: tensor<3x2xi32> = 1, 2, 3, 4, …
// | const1: tensor<4x2xi32> = 2, 0, 1, 0, …
// | const2: tensor<4x2xi32> = 10, 11, 20, 21, …
// | out0:s32[7], out1:s8[7] = sort_by_region(in0:s32[7], in1:s8[7], in2:s32[], in3:s32[]) scratch stack[0..576]
// | out4:s8[4] = slice(in1:s8[7])
// | out2:s32[7], out3:s8[7] = scatter_by_region(in0:s32[7], in1:s8[7], in4:s32[4,1], in0:s32[4], out4:s8[4], in2:s32[], in3:s32[]) scratch stack[0..448]
// | out4:s32[3,2] = scatter_by_region(const0:s32[3,2], const1:s32[4,2], const2:s32[4,2], in2:s32[]) scratch stack[0..192]
// | return out0:s32[7], out1:s8[7], out2:s32[7], out3:s8[7], out4:s32[3,2]
