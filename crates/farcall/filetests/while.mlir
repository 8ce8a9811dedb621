// Loop values that are swapped, summed, written in place, and passed through.
func.func @main(%a: tensor<i32>, %b: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %empty = stablehlo.constant dense<0> : tensor<4xi32>
  %r:6 = stablehlo.while(%i = %zero, %x = %a, %y = %b, %out = %empty, %k = %n, %last = %a) : tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %sum = stablehlo.add %x, %y : tensor<i32>
    %u = stablehlo.reshape %sum : (tensor<i32>) -> tensor<1xi32>
    %o = stablehlo.dynamic_update_slice %out, %u, %i : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %y, %x, %o, %k, %i : tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>, tensor<i32>
  }
  return %r#0, %r#1, %r#2, %r#3, %r#5 : tensor<i32>, tensor<i32>, tensor<i32>, tensor<4xi32>, tensor<i32>
}
// run: dense<3> : tensor<i32> ; dense<10> : tensor<i32> ; dense<3> : tensor<i32>
// = dense<3> : tensor<i32>
// = dense<10> : tensor<i32>
// = dense<3> : tensor<i32>
// = dense<[13, 13, 13, 0]> : tensor<4xi32>
// = dense<2> : tensor<i32>
// run: dense<3> : tensor<i32> ; dense<10> : tensor<i32> ; dense<0> : tensor<i32>
// = dense<0> : tensor<i32>
// = dense<3> : tensor<i32>
// = dense<10> : tensor<i32>
// = dense<0> : tensor<4xi32>
// = dense<3> : tensor<i32>
// plan
// | plan: arena 32 bytes, denormals ieee
// | in0: tensor<i32>
// | in1: tensor<i32>
// | in2: tensor<i32>
// | number0: tensor<i32> = 0
// | const0: tensor<4xi32> = 0
// | out0:s32[] = broadcast(number0:s32[])
// | out1:s32[] = copy(in0:s32[])
// | out2:s32[] = copy(in1:s32[])
// | out3:s32[4] = copy(const0:s32[4])
// | out4:s32[] = copy(in0:s32[])
// | out0:s32[], out1:s32[], out2:s32[], out3:s32[4], out4:s32[] = while(arena[0..1]:pred[])
// |  condition:
// |   arena[0..1]:pred[] = elementwise compare.lt(out0:s32[], in2:s32[])
// |  body:
// |   arena[0..4]:s32[1], arena[16..20]:s32[] = fusion add reshape constant add(out1:s32[], out2:s32[], out0:s32[])
// |   out3:s32[4] = dynamic_update_slice(out3:s32[4], arena[0..4]:s32[1], out0:s32[])
// |   arena[0..4]:s32[] = copy(out2:s32[])
// |   out2:s32[] = copy(out1:s32[])
// |   out4:s32[] = copy(out0:s32[])
// |   out0:s32[] = copy(arena[16..20]:s32[])
// |   out1:s32[] = copy(arena[0..4]:s32[])
// | return out0:s32[], out1:s32[], out2:s32[], out3:s32[4], out4:s32[]
