// Elements selected by a region for which there is no special kernel, and scattered by another region: with
// padding, with overlapping windows and windows without an element, and with a captured value.
func.func @main(%x: tensor<2x6xf32>, %y: tensor<2x4xf32>, %z: tensor<2x3xf32>, %c: tensor<f32>) -> (tensor<2x6xf32>, tensor<2x6xf32>) {
  %init = stablehlo.constant dense<1.0> : tensor<f32>
  %near = "stablehlo.select_and_scatter"(%x, %y, %init) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [2, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.subtract %a, %c : tensor<f32>
    %q = stablehlo.subtract %b, %c : tensor<f32>
    %r = stablehlo.abs %p : tensor<f32>
    %s = stablehlo.abs %q : tensor<f32>
    %t = stablehlo.compare LE, %r, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.multiply %a, %c : tensor<f32>
    %q = stablehlo.add %p, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) : (tensor<2x6xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x6xf32>
  %total = "stablehlo.select_and_scatter"(%x, %z, %init) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 4>, padding = dense<[[0, 0], [0, 4]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %t = stablehlo.compare GE, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) : (tensor<2x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  return %near, %total : tensor<2x6xf32>, tensor<2x6xf32>
}
// run: dense<[[1.0, 4.0, 2.0, -1.0, 3.0, 2.0], [5.0, 2.5, 0x7FC00000, 0.0, -0.0, 7.0]]> : tensor<2x6xf32> ; dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32> ; dense<[[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]> : tensor<2x3xf32> ; dense<2.0> : tensor<f32>
// = dense<[[3.000000e+00, 1.000000e+00, 1.100000e+01, 1.000000e+00, 1.000000e+00, 6.000000e+00], [7.000000e+00, 1.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.000000e+00]]> : tensor<2x6xf32>
// = dense<[[1.000000e+00, 1.100000e+01, 1.000000e+00, 1.000000e+00, 2.100000e+01, 1.000000e+00], [4.100000e+01, 1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00, 5.100000e+01]]> : tensor<2x6xf32>
// plan
// | plan: arena 192 bytes, denormals ieee
// | in0: tensor<2x6xf32>
// | in1: tensor<2x4xf32>
// | in2: tensor<2x3xf32>
// | in3: tensor<f32>
// | number0: tensor<f32> = 0.0
// | number1: tensor<i32> = -1
// | const0: tensor<2x4xi1> = false, true, true, true, …
// | const1: tensor<2x4xi1> = true, true, true, false, …
// | const2: tensor<12xf32> = 1.0
// | const3: tensor<2x3xi1> = true, true, false, true, …
// | out1:s32[12] = iota dim 0()
// | arena[0..72]:f32[2,9] = pad(in0:f32[2,6], number0:f32[])
// | arena[80..152]:s32[2,9] = pad(out1:s32[2,6], number1:s32[])
// | arena[160..192]:s32[8] = fusion broadcast_in_dim constant subtract slice subtract abs abs compare constant slice compare or constant and select constant select select select subtract slice subtract abs abs compare compare slice compare or and select select select select subtract slice subtract abs abs compare compare slice compare or and select select reshape(in3:f32[], arena[0..72]:f32[2,9], arena[80..152]:s32[2,9], const0:pred[2,4], const1:pred[2,4])
// | out0:f32[12] = scatter_by_region(const2:f32[12], arena[160..192]:s32[8], in1:f32[8], in3:f32[]) scratch stack[0..64]
// | arena[0..80]:f32[2,10] = pad(in0:f32[2,6], number0:f32[])
// | arena[80..160]:s32[2,10] = pad(out1:s32[2,6], number1:s32[])
// | arena[160..184]:s32[6] = fusion slice constant compare constant slice compare or constant and select constant select select select slice compare compare slice compare or and select select reshape(arena[0..80]:f32[2,10], arena[80..160]:s32[2,10], const3:pred[2,3])
// | out1:f32[12] = scatter add(const2:f32[12], arena[160..184]:s32[6], in2:f32[6])
// | return out0:f32[2,6], out1:f32[2,6]
