// Two masks from one comparison of indices, one of them with a late use: each is computed where it is used.
// A mask that is used as a whole tensor, or is repeated, is computed once.
func.func @main(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<2x16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.iota dim = 0 : tensor<16x16xi32>
  %j = stablehlo.iota dim = 1 : tensor<16x16xi32>
  %m = stablehlo.compare EQ, %i, %j : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %eye = stablehlo.convert %m : (tensor<16x16xi1>) -> tensor<16x16xf32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %diagonal = stablehlo.select %m, %x, %zeros : tensor<16x16xi1>, tensor<16x16xf32>
  %y = stablehlo.dot %x, %diagonal : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %z = stablehlo.dot %y, %eye : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %lower = stablehlo.compare GE, %i, %j : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
  %both = stablehlo.broadcast_in_dim %lower, dims = [1, 2] : (tensor<16x16xi1>) -> tensor<2x16x16xi1>
  %zs = stablehlo.broadcast_in_dim %z, dims = [1, 2] : (tensor<16x16xf32>) -> tensor<2x16x16xf32>
  %none = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x16x16xf32>
  %causal = stablehlo.select %both, %zs, %none : tensor<2x16x16xi1>, tensor<2x16x16xf32>
  %sums = stablehlo.reduce(%causal init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x16x16xf32>, tensor<f32>) -> tensor<2x16xf32>
  return %z, %sums : tensor<16x16xf32>, tensor<2x16xf32>
}
// run: dense<1.0> : tensor<16x16xf32>
// = dense<1.000000e+00> : tensor<16x16xf32>
// = dense<[[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01], [1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01]]> : tensor<2x16xf32>
// plan
// | plan: arena 2048 bytes, denormals ieee
// | in0: tensor<16x16xf32>
// | out0:f32[16,16] = fusion constant iota iota compare select(in0:f32[16,16])
// | arena[0..1024]:f32[16,16] = dot 1x[16x16x16](in0:f32[16,16], out0:f32[16,16])
// | arena[1024..2048]:f32[16,16] = fusion iota iota compare convert()
// | out0:f32[16,16] = dot 1x[16x16x16](arena[0..1024]:f32[16,16], arena[1024..2048]:f32[16,16])
// | arena[0..256]:pred[16,16] = fusion iota iota compare()
// | out1:f32[2,16] = fusion constant broadcast_in_dim broadcast_in_dim select constant reduce(out0:f32[16,16], arena[0..256]:pred[16,16])
// | return out0:f32[16,16], out1:f32[2,16]
