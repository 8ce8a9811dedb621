// Windows of many elements, reduced by a region without a kernel, (1 + a)(1 + b) - 1: a loop over the
// elements, with strides, dilation and padding.
func.func @main(%x: tensor<70xi32>) -> (tensor<3xi32>, tensor<7xi32>) {
  %z = stablehlo.constant dense<4> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 66>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.multiply %a, %b : tensor<i32>
    %q = stablehlo.add %a, %b : tensor<i32>
    %r = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<70xi32>, tensor<i32>) -> tensor<3xi32>
  %1 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 67>, window_strides = array<i64: 5>, window_dilations = array<i64: 2>, base_dilations = array<i64: 2>, padding = dense<[[10, 16]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.multiply %a, %b : tensor<i32>
    %q = stablehlo.add %a, %b : tensor<i32>
    %r = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<70xi32>, tensor<i32>) -> tensor<7xi32>
  return %0, %1 : tensor<3xi32>, tensor<7xi32>
}
// run: dense<[-50, -40, -16, 22, -27, 39, 18, 11, 18, 39, -27, 22, -16, -40, -50, -46, -28, 4, 50, 9, -18, -31, -30, -15, 14, -44, 13, -17, -33, -35, -23, 3, 43, -4, -37, 45, 40, 49, -29, 8, -42, 23, 1, -7, 6, 19, -48, 0, -39, 37, 26, 29, 46, -24, 21, -21, -49, 38, 38, -49, -21, 21, -24, 46, 29, 26, 37, -39, 0, -48]> : tensor<70xi32>
// = dense<-1> : tensor<3xi32>
// = dense<[-1, 4, -1, 4, -1, 4, -1]> : tensor<7xi32>
// plan
// | plan: arena 864 bytes, denormals ieee
// | in0: tensor<70xi32>
// | number0: tensor<i32> = 4
// | number1: tensor<i64> = 0
// | number2: tensor<i64> = 66
// | number3: tensor<i64> = 1
// | number4: tensor<i64> = 67
// | const0: tensor<3xi32> = 4
// | const1: tensor<66x1xi64> = 0, 1, 2, 3, …
// | const2: tensor<165xi1> = false, false, false, false, …
// | const3: tensor<7xi32> = 4
// | const4: tensor<67x1xi64> = 0, 2, 4, 6, …
// | out1:s64[] = broadcast(number1:s64[])
// | out0:s32[3] = copy(const0:s32[3])
// | out1:s64[], out0:s32[3] = while(out1[16..17]:pred[])
// |  condition:
// |   out1[16..17]:pred[] = elementwise compare.lt(out1:s64[], number2:s64[])
// |  body:
// |   out1[16..24]:s64[1,1] = dynamic_slice(const1:s64[66,1], out1:s64[], number1:s64[])
// |   arena[0..20]:s32[5] = dynamic_slice(in0:s32[70], out1[16..24]:s64[])
// |   out0:s32[3] = fusion slice multiply add add(arena[0..20]:s32[5], out0:s32[3])
// |   out1:s64[] = elementwise add(out1:s64[], number3:s64[])
// | arena[0..660]:s32[165] = pad(in0:s32[70], number0:s32[])
// | arena[672..680]:s64[] = broadcast(number1:s64[])
// | out1:s32[7] = copy(const3:s32[7])
// | arena[672..680]:s64[], out1:s32[7] = while(arena[688..689]:pred[])
// |  condition:
// |   arena[688..689]:pred[] = elementwise compare.lt(arena[672..680]:s64[], number4:s64[])
// |  body:
// |   arena[688..696]:s64[1,1] = dynamic_slice(const4:s64[67,1], arena[672..680]:s64[], number1:s64[])
// |   arena[704..828]:s32[31] = dynamic_slice(arena[0..660]:s32[165], arena[688..696]:s64[])
// |   arena[832..863]:pred[31] = dynamic_slice(const2:pred[165], arena[688..696]:s64[])
// |   arena[688..695]:pred[7] = slice(arena[832..863]:pred[31])
// |   out1:s32[7] = fusion slice multiply add add select(arena[704..828]:s32[31], out1:s32[7], arena[688..695]:pred[7])
// |   arena[672..680]:s64[] = elementwise add(arena[672..680]:s64[], number3:s64[])
// | return out0:s32[3], out1:s32[7]
