// A reduction of all elements, and a select and a clamp by the scalar result: no fusion contains both.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.constant dense<3.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %s, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = stablehlo.select %p, %x, %y : tensor<i1>, tensor<2x3xf32>
  %m = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.clamp %m, %y, %most : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}
// run: dense<[[1.0, 2.0, 0.5], [-4.0, 1.0, 1.0]]> : tensor<2x3xf32> ; dense<[[1.0, 5.0, 2.5], [0.0, 1.0, 1.0]]> : tensor<2x3xf32>
// = dense<[[1.000000e+00, 2.000000e+00, 5.000000e-01], [-4.000000e+00, 1.000000e+00, 1.000000e+00]]> : tensor<2x3xf32>
// = dense<[[2.000000e+00, 3.000000e+00, 2.500000e+00], [2.000000e+00, 2.000000e+00, 2.000000e+00]]> : tensor<2x3xf32>
// plan
// | plan: arena 32 bytes, denormals ieee
// | in0: tensor<2x3xf32>
// | in1: tensor<2x3xf32>
// | arena[0..1]:pred[], arena[16..20]:f32[] = fusion constant reduce compare reduce(in0:f32[2,3])
// | out0:f32[2,3], out1:f32[2,3] = fusion select constant clamp(arena[0..1]:pred[], in0:f32[2,3], in1:f32[2,3], arena[16..20]:f32[])
// | return out0:f32[2,3], out1:f32[2,3]
