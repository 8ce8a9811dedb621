// Branches in reducers, comparators, maps and scatters, with captured values, nested, and with an index out of range.
func.func @main(%x: tensor<2x4xf32>, %y: tensor<6xi32>, %flag: tensor<i1>, %limit: tensor<f32>, %table: tensor<3xi32>) -> (tensor<2xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<2x3xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.reduce(%x init: %z) across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %p = stablehlo.compare GT, %b, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %s = stablehlo.add %a, %limit : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }, {
      %q = "stablehlo.if"(%flag) ({
        stablehlo.return %a : tensor<f32>
      }, {
        %t = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }) : (tensor<i1>) -> tensor<f32>
      stablehlo.return %q : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }
  %sorted = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = "stablehlo.if"(%flag) ({
      %s = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }, {
      %s = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  %mapped = "stablehlo.map"(%y) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>):
    %m = "stablehlo.case"(%a) ({
      %s = stablehlo.add %a, %a : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }, {
      %s = stablehlo.negate %a : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }, {
      %i = stablehlo.slice %table [2:3] : (tensor<3xi32>) -> tensor<1xi32>
      %s = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  %at = stablehlo.constant dense<[[0], [1], [1], [0], [5], [0]]> : tensor<6x1xi32>
  %scattered = "stablehlo.scatter"(%y, %at, %y) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %s = stablehlo.subtract %b, %a : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }, {
      stablehlo.return %a : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<6xi32>, tensor<6x1xi32>, tensor<6xi32>) -> tensor<6xi32>
  %windows = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %s = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }, {
      %s = stablehlo.multiply %b, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %rows, %sorted, %mapped, %scattered, %windows : tensor<2xf32>, tensor<6xi32>, tensor<6xi32>, tensor<6xi32>, tensor<2x3xf32>
}
// run: dense<[[1.0, 5.0, 2.0, 9.0], [-1.0, 3.0, 0.5, 2.5]]> : tensor<2x4xf32> ; dense<[0, 1, 7, -3, 2, 1]> : tensor<6xi32> ; dense<false> : tensor<i1> ; dense<2.5> : tensor<f32> ; dense<[10, 20, 30]> : tensor<3xi32>
// = dense<[8.000000e+00, 4.500000e+00]> : tensor<2xf32>
// = dense<[7, 2, 1, 1, 0, -3]> : tensor<6xi32>
// = dense<[0, -1, 30, 30, 30, -1]> : tensor<6xi32>
// = dense<[1, 6, 7, -3, 2, 1]> : tensor<6xi32>
// = dense<[[2.500000e+01, 2.300000e+01, 8.100000e+01], [9.000000e+00, 8.500000e+00, 6.250000e+00]]> : tensor<2x3xf32>
// run: dense<[[1.0, 5.0, 2.0, 9.0], [-1.0, 3.0, 0.5, 2.5]]> : tensor<2x4xf32> ; dense<[0, 1, 7, -3, 2, 1]> : tensor<6xi32> ; dense<true> : tensor<i1> ; dense<2.5> : tensor<f32> ; dense<[10, 20, 30]> : tensor<3xi32>
// = dense<[5.000000e+00, 2.500000e+00]> : tensor<2xf32>
// = dense<[-3, 0, 1, 1, 2, 7]> : tensor<6xi32>
// = dense<[0, -1, 30, 30, 30, -1]> : tensor<6xi32>
// = dense<[1, 6, 7, -3, 2, 1]> : tensor<6xi32>
// = dense<[[2.500000e+01, 2.300000e+01, 8.100000e+01], [9.000000e+00, 8.500000e+00, 6.250000e+00]]> : tensor<2x3xf32>
// plan
// | plan: arena 32 bytes, denormals ieee
// | in0: tensor<2x4xf32>
// | in1: tensor<6xi32>
// | in2: tensor<i1>
// | in3: tensor<f32>
// | in4: tensor<3xi32>
// | const0: tensor<6x1xi32> = 0, 1, 1, 0, …
// | arena[0..32]:f32[4,2] = transpose(in0:f32[2,4])
// | out0:f32[2] = fusion broadcast_in_dim slice reshape compare constant add add broadcast_in_dim select select slice reshape compare add add select select slice reshape compare add add select select slice reshape compare add add select select(in3:f32[], arena[0..32]:f32[4,2], in2:pred[])
// | out1:s32[6] = sort_by_region(in1:s32[6], in2:pred[]) scratch stack[0..384]
// | arena[0..4]:s32[1] = slice(in4:s32[3])
// | out3:s32[6] = scatter_by_region(in1:s32[6], const0:s32[6,1], in1:s32[6]) scratch stack[0..256]
// | out2:s32[6], out4:f32[2,3] = fusion add negate constant compare reshape broadcast_in_dim select constant compare select slice constant compare subtract multiply select slice compare subtract multiply select(in1:s32[6], arena[0..4]:s32[1], in0:f32[2,4])
// | return out0:f32[2], out1:s32[6], out2:s32[6], out3:s32[6], out4:f32[2,3]
