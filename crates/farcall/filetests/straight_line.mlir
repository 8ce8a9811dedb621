// Loops over few elements: movements and computations run as one list of steps.
func.func @main(%x: tensor<2x3xf32>, %dt: tensor<f32>, %k: tensor<i32>) -> (tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<2xf32>, tensor<1x1x2xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %empty = stablehlo.constant dense<0.0> : tensor<4x2x3xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %r:4 = stablehlo.while(%i = %zero, %y = %x, %out = %empty, %s = %none) : tensor<i32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %a = stablehlo.slice %y [0:2, 0:1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %b = stablehlo.slice %y [0:2, 1:2] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %d = stablehlo.slice %y [0:2, 2:3] : (tensor<2x3xf32>) -> tensor<2x1xf32>
    %ba = stablehlo.subtract %b, %a : tensor<2x1xf32>
    %ad = stablehlo.multiply %a, %d : tensor<2x1xf32>
    %ab = stablehlo.multiply %a, %b : tensor<2x1xf32>
    %v = stablehlo.concatenate %ba, %ad, %ab, dim = 1 : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    %t = stablehlo.broadcast_in_dim %dt, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %tv = stablehlo.multiply %t, %v : tensor<2x3xf32>
    %next = stablehlo.add %y, %tv : tensor<2x3xf32>
    %row = stablehlo.reshape %next : (tensor<2x3xf32>) -> tensor<1x2x3xf32>
    %o = stablehlo.dynamic_update_slice %out, %row, %i, %zero, %zero : (tensor<4x2x3xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x2x3xf32>
    %sum = stablehlo.reduce(%next init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %next, %o, %sum : tensor<i32>, tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<f32>
  }
  // The last positions that a window can have.
  %w = stablehlo.dynamic_slice %r#2, %k, %one, %k, sizes = [1, 1, 2] : (tensor<4x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x2xf32>
  %p = stablehlo.pad %r#3, %dt, low = [], high = [], interior = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %two = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<f32>) -> tensor<2xf32>
  return %r#1, %r#2, %two, %w : tensor<2x3xf32>, tensor<4x2x3xf32>, tensor<2xf32>, tensor<1x1x2xf32>
}
// run: dense<[[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]]> : tensor<2x3xf32> ; dense<0.5> : tensor<f32> ; dense<7> : tensor<i32>
// = dense<[[9.640625e+00, 4.796875e+01, 48.007813], [-8.027344e-01, -1.5910492, 2.2367249]]> : tensor<2x3xf32>
// = dense<[[[1.500000e+00, 3.500000e+00, 4.000000e+00], [-2.500000e-01, -5.000000e-01, 1.750000e+00]], [[2.500000e+00, 6.500000e+00, 6.625000e+00], [-3.750000e-01, -7.187500e-01, 1.812500e+00]], [[4.500000e+00, 1.478125e+01, 1.475000e+01], [-5.468750e-01, -1.0585938, 1.9472656]], [[9.640625e+00, 4.796875e+01, 48.007813], [-8.027344e-01, -1.5910492, 2.2367249]]]> : tensor<4x2x3xf32>
// = dense<105.46013> : tensor<2xf32>
// = dense<[[[-1.5910492, 2.2367249]]]> : tensor<1x1x2xf32>
// plan
// | plan: arena 80 bytes, denormals ieee
// | in0: tensor<2x3xf32>
// | in1: tensor<f32>
// | in2: tensor<i32>
// | number0: tensor<i32> = 0
// | number1: tensor<i32> = 1
// | number2: tensor<f32> = 0.0
// | number3: tensor<i32> = 4
// | const0: tensor<4x2x3xf32> = 0.0
// | out3:s32[] = broadcast(number0:s32[])
// | out0:f32[2,3] = copy(in0:f32[2,3])
// | out1:f32[4,2,3] = copy(const0:f32[4,2,3])
// | arena[0..4]:f32[] = broadcast(number2:f32[])
// | out3:s32[], out0:f32[2,3], out1:f32[4,2,3], arena[0..4]:f32[] = while(out2:pred[])
// |  condition:
// |   out2:pred[] = elementwise compare.lt(out3:s32[], number3:s32[])
// |  body:
// |   out2:f32[2,1], arena[16..24]:f32[2,1], arena[32..40]:f32[2,1] = fusion slice slice subtract slice multiply multiply(out0:f32[2,3])
// |   out0:f32[2,3], arena[48..72]:f32[1,2,3], arena[0..4]:f32[] = fusion concatenate broadcast_in_dim multiply add reshape constant reduce(out2:f32[2,1], arena[16..24]:f32[2,1], arena[32..40]:f32[2,1], in1:f32[], out0:f32[2,3])
// |   out1:f32[4,2,3] = dynamic_update_slice(out1:f32[4,2,3], arena[48..72]:f32[1,2,3], out3:s32[], number0:s32[], number0:s32[])
// |   out3:s32[] = elementwise add(out3:s32[], number1:s32[])
// | out3:f32[1,1,2] = dynamic_slice(out1:f32[4,2,3], in2:s32[], number1:s32[], in2:s32[])
// | out2:f32[2] = broadcast(arena[0..4]:f32[])
// | return out0:f32[2,3], out1:f32[4,2,3], out2:f32[2], out3:f32[1,1,2]
