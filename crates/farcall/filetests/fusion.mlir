// Broadcasts of smaller tensors: steps before the fusion compute the tensors; the fusion broadcasts them.
func.func @main(%x: tensor<3x4xf32>, %m: tensor<3x1xf32>) -> tensor<3x4xf32> {
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %j = stablehlo.iota dim = 0 : tensor<4xi32>
  %a = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<3xi32>) -> tensor<3x4xi32>
  %b = stablehlo.broadcast_in_dim %j, dims = [1] : (tensor<4xi32>) -> tensor<3x4xi32>
  %p = stablehlo.compare GE, %a, %b : (tensor<3x4xi32>, tensor<3x4xi32>) -> tensor<3x4xi1>
  %r = stablehlo.reshape %m : (tensor<3x1xf32>) -> tensor<3xf32>
  %s = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<3xf32>) -> tensor<3x4xf32>
  %c = stablehlo.constant dense<-1.0> : tensor<f32>
  %n = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %y = stablehlo.select %p, %x, %n : tensor<3x4xi1>, tensor<3x4xf32>
  %z = stablehlo.add %y, %s : tensor<3x4xf32>
  return %z : tensor<3x4xf32>
}
// run: dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32> ; dense<[[0.5], [0.25], [0.0]]> : tensor<3x1xf32>
// = dense<[[1.500000e+00, -5.000000e-01, -5.000000e-01, -5.000000e-01], [5.250000e+00, 6.250000e+00, -7.500000e-01, -7.500000e-01], [9.000000e+00, 1.000000e+01, 1.100000e+01, -1.000000e+00]]> : tensor<3x4xf32>
// plan
// | plan: arena 32 bytes, denormals ieee
// | in0: tensor<3x4xf32>
// | in1: tensor<3x1xf32>
// | arena[0..12]:s32[3] = iota dim 0()
// | arena[16..32]:s32[4] = iota dim 0()
// | out0:f32[3,4] = fusion broadcast_in_dim broadcast_in_dim compare constant select broadcast_in_dim add(arena[16..32]:s32[4], arena[0..12]:s32[3], in0:f32[3,4], in1:f32[3])
// | return out0:f32[3,4]
