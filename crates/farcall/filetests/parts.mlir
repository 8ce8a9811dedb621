// A contiguous slice of an input is read in place: whole matrices, rows of a matrix, in a loop and under
// another name. Others are copied: every second row, slices whose beginning is not aligned, results, values
// that a loop carries, and slices of a donated input.
func.func @main(%w: tensor<3x4x4xf32>, %x: tensor<2x4xf32>, %c: tensor<4x4xf32> {tf.aliasing_output = 3 : i32}) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %many = stablehlo.constant dense<40> : tensor<i32>
  %w0 = stablehlo.slice %w [0:1, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
  %w1 = stablehlo.slice %w [1:2, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
  %w2 = stablehlo.slice %w [2:3, 0:4, 0:4] : (tensor<3x4x4xf32>) -> tensor<1x4x4xf32>
  %m1 = stablehlo.reshape %w1 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %m2 = stablehlo.reshape %w2 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %rows = stablehlo.slice %m2 [2:4, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %odd = stablehlo.slice %m2 [1:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %left = stablehlo.slice %x [0:2, 1:3] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %y = stablehlo.dot %x, %m1 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %p = stablehlo.dot %left, %rows : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %q = stablehlo.dot %left, %odd : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %pq = stablehlo.add %p, %q : tensor<2x4xf32>
  %0:2 = stablehlo.while(%i = %zero, %z = %y) : tensor<i32>, tensor<2x4xf32>
    cond {
      %t = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %v = stablehlo.dot %z, %m2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      stablehlo.return %n, %v : tensor<i32>, tensor<2x4xf32>
    }
  %top = stablehlo.slice %c [0:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %new = stablehlo.dynamic_update_slice %c, %pq, %two, %zero : (tensor<4x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
  %old = stablehlo.dot %top, %m1 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %sum = stablehlo.add %0#1, %old : tensor<2x4xf32>
  return %sum, %pq, %w0, %new : tensor<2x4xf32>, tensor<2x4xf32>, tensor<1x4x4xf32>, tensor<4x4xf32>
}
// run: dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]], [[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 4.0]], [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]]]> : tensor<3x4x4xf32> ; dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32> ; dense<[[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0], [4.0, 4.0, 4.0, 4.0]]> : tensor<4x4xf32>
// = dense<[[2.000000e+00, 6.000000e+00, 1.200000e+01, 2.000000e+01], [7.000000e+00, 1.600000e+01, 2.700000e+01, 4.000000e+01]]> : tensor<2x4xf32>
// = dense<[[6.000000e+00, 0.000000e+00, 2.000000e+00, 2.000000e+00], [1.400000e+01, 0.000000e+00, 6.000000e+00, 6.000000e+00]]> : tensor<2x4xf32>
// = dense<[[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00], [1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [2.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00]]]> : tensor<1x4x4xf32>
// = dense<[[1.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00], [2.000000e+00, 2.000000e+00, 2.000000e+00, 2.000000e+00], [6.000000e+00, 0.000000e+00, 2.000000e+00, 2.000000e+00], [1.400000e+01, 0.000000e+00, 6.000000e+00, 6.000000e+00]]> : tensor<4x4xf32>
// plan
// | plan: arena 128 bytes, denormals ieee
// | in0: tensor<3x4x4xf32>
// | in1: tensor<2x4xf32>
// | in2: tensor<4x4xf32>, donated
// | number0: tensor<i32> = 0
// | number1: tensor<i32> = 2
// | number2: tensor<i32> = 40
// | number3: tensor<i32> = 1
// | out2:f32[1,4,4] = slice(in0:f32[3,4,4])
// | arena[0..32]:f32[2,4] = slice(in0[128..192]:f32[4,4])
// | arena[96..112]:f32[2,2] = slice(in1:f32[2,4])
// | arena[32..64]:f32[2,4] = dot 1x[2x4x4](in1:f32[2,4], in0[64..128]:f32[4,4])
// | out0:f32[2,4] = dot 1x[2x2x4](arena[96..112]:f32[2,2], in0[160..192]:f32[2,4])
// | arena[64..96]:f32[2,4] = dot 1x[2x2x4](arena[96..112]:f32[2,2], arena[0..32]:f32[2,4])
// | arena[96..100]:s32[] = broadcast(number0:s32[])
// | arena[96..100]:s32[], arena[32..64]:f32[2,4] = while(arena[0..1]:pred[])
// |  condition:
// |   arena[0..1]:pred[] = elementwise compare.lt(arena[96..100]:s32[], number2:s32[])
// |  body:
// |   arena[96..100]:s32[] = elementwise add(arena[96..100]:s32[], number3:s32[])
// |   arena[0..32]:f32[2,4] = dot 1x[2x4x4](arena[32..64]:f32[2,4], in0[128..192]:f32[4,4])
// |   arena[32..64]:f32[2,4] = copy(arena[0..32]:f32[2,4])
// | arena[0..32]:f32[2,4] = slice(in2:f32[4,4])
// | arena[96..128]:f32[2,4] = dot 1x[2x4x4](arena[0..32]:f32[2,4], in0[64..128]:f32[4,4])
// | out1:f32[2,4], out0:f32[2,4] = fusion add add(out0:f32[2,4], arena[64..96]:f32[2,4], arena[32..64]:f32[2,4], arena[96..128]:f32[2,4])
// | in2:f32[4,4] = dynamic_update_slice(in2:f32[4,4], out1:f32[2,4], number1:s32[], number0:s32[])
// | return out0:f32[2,4], out1:f32[2,4], out2:f32[1,4,4], in2:f32[4,4]
