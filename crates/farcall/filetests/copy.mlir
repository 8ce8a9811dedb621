// A copy in a program is the same value as its operand.
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = mhlo.copy %x : tensor<4xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %b = %a, %c = %x) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = mhlo.copy %b : tensor<4xf32>
      %3 = stablehlo.add %b, %c : tensor<4xf32>
      %4 = mhlo.copy %3 : tensor<4xf32>
      stablehlo.return %1, %4, %2 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// run: dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> ; dense<3> : tensor<i32>
// = dense<[5.000000e+00, 1.000000e+01, 1.500000e+01, 2.000000e+01]> : tensor<4xf32>
// = dense<[3.000000e+00, 6.000000e+00, 9.000000e+00, 1.200000e+01]> : tensor<4xf32>
// plan
// | plan: arena 32 bytes, denormals ieee
// | in0: tensor<4xf32>
// | in1: tensor<i32>
// | number0: tensor<i32> = 0
// | number1: tensor<i32> = 1
// | arena[0..4]:s32[] = broadcast(number0:s32[])
// | out0:f32[4] = copy(in0:f32[4])
// | out1:f32[4] = copy(in0:f32[4])
// | arena[0..4]:s32[], out0:f32[4], out1:f32[4] = while(arena[16..17]:pred[])
// |  condition:
// |   arena[16..17]:pred[] = elementwise compare.lt(arena[0..4]:s32[], in1:s32[])
// |  body:
// |   arena[0..4]:s32[] = elementwise add(arena[0..4]:s32[], number1:s32[])
// |   arena[16..32]:f32[4] = elementwise add(out0:f32[4], out1:f32[4])
// |   out1:f32[4] = copy(out0:f32[4])
// |   out0:f32[4] = copy(arena[16..32]:f32[4])
// | return out0:f32[4], out1:f32[4]
