// Rotations, swapped halves and strided slices are read in place by the operations that use them.
func.func @main(%s: tensor<f32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %s0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
  %s1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<9x12xf32>
  %i0 = stablehlo.iota dim = 1 : tensor<4x6xf32>
  %i1 = stablehlo.iota dim = 0 : tensor<4x6xf32>
  %i2 = stablehlo.iota dim = 1 : tensor<9x12xf32>
  %i3 = stablehlo.iota dim = 0 : tensor<9x12xf32>
  %x0 = stablehlo.multiply %i1, %s0 : tensor<4x6xf32>
  %x = stablehlo.add %x0, %i0 : tensor<4x6xf32>
  %y0 = stablehlo.multiply %i3, %s1 : tensor<9x12xf32>
  %y = stablehlo.subtract %i2, %y0 : tensor<9x12xf32>
  %0 = stablehlo.slice %x [3:4, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
  %1 = stablehlo.slice %x [0:3, 0:6] : (tensor<4x6xf32>) -> tensor<3x6xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x6xf32>, tensor<3x6xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.slice %x [0:4, 4:6] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %4 = stablehlo.slice %x [0:4, 2:4] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %5 = stablehlo.slice %x [0:4, 0:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %6 = stablehlo.concatenate %3, %4, %5, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  %7 = stablehlo.slice %y [1:8:2, 1:12:2] : (tensor<9x12xf32>) -> tensor<4x6xf32>
  %8 = stablehlo.add %2, %6 : tensor<4x6xf32>
  %9 = stablehlo.multiply %8, %7 : tensor<4x6xf32>
  %10 = stablehlo.subtract %x, %2 : tensor<4x6xf32>
  %11 = stablehlo.slice %y [0:4, 0:3] : (tensor<9x12xf32>) -> tensor<4x3xf32>
  %12 = stablehlo.slice %x [0:4, 0:6:2] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %13 = stablehlo.concatenate %11, %12, dim = 1 : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
  %14 = stablehlo.negate %13 : tensor<4x6xf32>
  return %9, %10, %14 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
// run: dense<10.0> : tensor<f32>
// = dense<[[-3.060000e+02, -2.520000e+02, -1.700000e+02, -1.080000e+02, -3.400000e+01, 3.600000e+01], [-4.060000e+02, -4.320000e+02, -3.500000e+02, -3.680000e+02, -2.940000e+02, -3.040000e+02], [-1.666000e+03, -1.692000e+03, -1.530000e+03, -1.548000e+03, -1.394000e+03, -1.404000e+03], [-3.726000e+03, -3.752000e+03, -3.510000e+03, -3.528000e+03, -3.294000e+03, -3.304000e+03]]> : tensor<4x6xf32>
// = dense<[[-3.000000e+01, -3.000000e+01, -3.000000e+01, -3.000000e+01, -3.000000e+01, -3.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01]]> : tensor<4x6xf32>
// = dense<[[-0.000000e+00, -1.000000e+00, -2.000000e+00, -0.000000e+00, -2.000000e+00, -4.000000e+00], [1.000000e+01, 9.000000e+00, 8.000000e+00, -1.000000e+01, -1.200000e+01, -1.400000e+01], [2.000000e+01, 1.900000e+01, 1.800000e+01, -2.000000e+01, -2.200000e+01, -2.400000e+01], [3.000000e+01, 2.900000e+01, 2.800000e+01, -3.000000e+01, -3.200000e+01, -3.400000e+01]]> : tensor<4x6xf32>
// plan
// | plan: arena 528 bytes, denormals ieee
// | in0: tensor<f32>
// | arena[0..96]:f32[4,6] = fusion broadcast_in_dim iota multiply iota add(in0:f32[])
// | arena[96..528]:f32[9,12] = fusion broadcast_in_dim iota multiply iota subtract(in0:f32[])
// | out0:f32[4,6], out1:f32[4,6], out2:f32[4,6] = fusion slice slice slice concatenate slice slice concatenate add slice multiply subtract slice slice concatenate negate(arena[0..96]:f32[4,6], arena[96..528]:f32[9,12])
// | return out0:f32[4,6], out1:f32[4,6], out2:f32[4,6]
