// A loop body that reads a tensor at shifted positions does not update the tensor in place.
func.func @main(%s: tensor<f32>) -> tensor<3xf32> {
  %i0 = stablehlo.iota dim = 0 : tensor<1200xf32>
  %s0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<1200xf32>
  %x = stablehlo.power %i0, %s0 : tensor<1200xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %u = %x) : tensor<i32>, tensor<1200xf32>
  cond {
    %n = stablehlo.constant dense<9> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.slice %u [1199:1200] : (tensor<1200xf32>) -> tensor<1xf32>
    %1 = stablehlo.slice %u [0:1199] : (tensor<1200xf32>) -> tensor<1199xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<1199xf32>) -> tensor<1200xf32>
    %3 = stablehlo.subtract %u, %2 : tensor<1200xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<1200xf32>
  }
  %e = stablehlo.slice %r#1 [0:1200:599] : (tensor<1200xf32>) -> tensor<3xf32>
  return %e : tensor<3xf32>
}
// run: dense<0.5> : tensor<f32>
// = dense<[-34.640804, -6.675720e-05, 0.000000e+00]> : tensor<3xf32>
// plan
// | plan: arena 9600 bytes, denormals ieee
// | in0: tensor<f32>
// | number0: tensor<i32> = 0
// | number1: tensor<i32> = 9
// | number2: tensor<i32> = 1
// | arena[0..4800]:f32[1200] = fusion broadcast_in_dim iota power(in0:f32[])
// | out0:s32[] = broadcast(number0:s32[])
// | out0:s32[], arena[0..4800]:f32[1200] = while(arena[4800..4801]:pred[])
// |  condition:
// |   arena[4800..4801]:pred[] = elementwise compare.lt(out0:s32[], number1:s32[])
// |  body:
// |   arena[4800..9600]:f32[1200] = fusion slice slice concatenate subtract(arena[0..4800]:f32[1200])
// |   out0:s32[] = elementwise add(out0:s32[], number2:s32[])
// |   arena[0..4800]:f32[1200] = copy(arena[4800..9600]:f32[1200])
// | out0:f32[3] = slice(arena[0..4800]:f32[1200])
// | return out0:f32[3]
