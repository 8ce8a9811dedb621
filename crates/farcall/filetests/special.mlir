// Special functions have kernels for tiles, alone and in fusions.
func.func @main(%x: tensor<9xf32>, %u: tensor<5xf32>, %d: tensor<3xf64>) -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<5xf32>, tensor<3xf64>, tensor<3xf64>) {
  %0 = chlo.erf %x : tensor<9xf32> -> tensor<9xf32>
  %1 = chlo.erfc %x : tensor<9xf32> -> tensor<9xf32>
  %2 = chlo.lgamma %x : tensor<9xf32> -> tensor<9xf32>
  %3 = chlo.digamma %x : tensor<9xf32> -> tensor<9xf32>
  %4 = chlo.bessel_i1e %x : tensor<9xf32> -> tensor<9xf32>
  %5 = chlo.erf_inv %u : tensor<5xf32> -> tensor<5xf32>
  %6 = chlo.erf %d : tensor<3xf64> -> tensor<3xf64>
  %7 = chlo.polygamma %d, %d : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<5xf32>, tensor<3xf64>, tensor<3xf64>
}
// run: dense<[0.0, 1.0, 2.5, -2.5, 9.0, 1.0e10, 1.0e-20, 0xFF800000, 0x7FC00000]> : tensor<9xf32> ; dense<[0.0, -0.5, 0.999, 1.0, 1.5]> : tensor<5xf32> ; dense<[0.0, 1.0, 2.0]> : tensor<3xf64>
// = dense<[0.000000e+00, 8.427008e-01, 9.995930e-01, -9.995930e-01, 1.000000e+00, 1.000000e+00, 1.1283791E-20, -1.000000e+00, 0x7FC00000]> : tensor<9xf32>
// = dense<[1.000000e+00, 1.572992e-01, 0.00040695202, 1.999593e+00, 4.1370317E-37, 0.000000e+00, 1.000000e+00, 2.000000e+00, 0x7FC00000]> : tensor<9xf32>
// = dense<[0x7F800000, 0.000000e+00, 0.28468287, -0.056243718, 10.604603, 220258520000.0, 4.605170e+01, 0x7F800000, 0x7FC00000]> : tensor<9xf32>
// = dense<[0x7FC00000, -5.772157e-01, 0.70315665, 1.1031567, 2.1406415, 2.302585e+01, -1.000000e+20, 0x7FC00000, 0x7FC00000]> : tensor<9xf32>
// = dense<[0.000000e+00, 0.20791042, 0.20658465, -0.20658465, 0.12722498, 3.989423e-06, 5.000000e-21, -0.000000e+00, 0x7FC00000]> : tensor<9xf32>
// = dense<[0.000000e+00, -0.47693628, 2.3267562, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
// = dense<[0.000000e+00, 0.8427007929497149, 0.9953222650189527]> : tensor<3xf64>
// = dense<[0x7FF8000000000000, 1.6449340668482264, -0.40411380631918853]> : tensor<3xf64>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<9xf32>
// | in1: tensor<5xf32>
// | in2: tensor<3xf64>
// | out5:f32[5] = elementwise chlo.erf_inv(in1:f32[5])
// | out6:f64[3], out7:f64[3] = fusion chlo.erf chlo.polygamma(in2:f64[3])
// | out0:f32[9], out1:f32[9], out2:f32[9], out3:f32[9], out4:f32[9] = fusion chlo.erf chlo.erfc chlo.lgamma chlo.digamma chlo.bessel_i1e(in0:f32[9])
// | return out0:f32[9], out1:f32[9], out2:f32[9], out3:f32[9], out4:f32[9], out5:f32[5], out6:f64[3], out7:f64[3]
