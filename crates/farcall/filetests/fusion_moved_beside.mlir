// A reshape that is used directly and by slices is computed before the fusion, so that the evaluator runs no
// step.
func.func @main(%x: tensor<4x8xf32>, %v: tensor<f32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %u = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>
  %a = stablehlo.slice %u [31:32] : (tensor<32xf32>) -> tensor<1xf32>
  %b = stablehlo.slice %u [0:31] : (tensor<32xf32>) -> tensor<31xf32>
  %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<31xf32>) -> tensor<32xf32>
  %d = stablehlo.add %c, %u : tensor<32xf32>
  %e = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<f32>) -> tensor<16xf32>
  %i = stablehlo.iota dim = 0 : tensor<16xf32>
  %f = stablehlo.slice %i [8:16] : (tensor<16xf32>) -> tensor<8xf32>
  %g = stablehlo.slice %i [0:8] : (tensor<16xf32>) -> tensor<8xf32>
  %h = stablehlo.concatenate %f, %g, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %j = stablehlo.multiply %h, %i : tensor<16xf32>
  %k = stablehlo.add %j, %e : tensor<16xf32>
  return %d, %k : tensor<32xf32>, tensor<16xf32>
}
// run: dense<1.0> : tensor<4x8xf32> ; dense<0.5> : tensor<f32>
// = dense<2.000000e+00> : tensor<32xf32>
// = dense<[5.000000e-01, 9.500000e+00, 2.050000e+01, 3.350000e+01, 4.850000e+01, 6.550000e+01, 8.450000e+01, 1.055000e+02, 5.000000e-01, 9.500000e+00, 2.050000e+01, 3.350000e+01, 4.850000e+01, 6.550000e+01, 8.450000e+01, 1.055000e+02]> : tensor<16xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<4x8xf32>
// | in1: tensor<f32>
// | out0:f32[16] = iota dim 0()
// | out1:f32[16] = fusion slice slice concatenate multiply broadcast_in_dim add(out0:f32[16], in1:f32[])
// | out0:f32[32] = fusion slice slice concatenate add(in0:f32[32])
// | return out0:f32[32], out1:f32[16]
