// Fourier transforms of one to three dimensions with batches, complex and real, with exact results.
func.func @main(%x: tensor<2x4xcomplex<f32>>, %r: tensor<2x2x4xf32>, %h: tensor<2x3xcomplex<f64>>, %p: tensor<1x2xcomplex<f64>>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x2x3xcomplex<f32>>, tensor<2x2x3xcomplex<f32>>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<1x1xf64>) {
  %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %1 = stablehlo.fft %x, type = IFFT, length = [2, 4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %2 = stablehlo.fft %r, type = RFFT, length = [4] : (tensor<2x2x4xf32>) -> tensor<2x2x3xcomplex<f32>>
  %3 = stablehlo.fft %r, type = RFFT, length = [2, 2, 4] : (tensor<2x2x4xf32>) -> tensor<2x2x3xcomplex<f32>>
  %4 = stablehlo.fft %h, type = IRFFT, length = [4] : (tensor<2x3xcomplex<f64>>) -> tensor<2x4xf64>
  %5 = stablehlo.fft %h, type = IRFFT, length = [2, 4] : (tensor<2x3xcomplex<f64>>) -> tensor<2x4xf64>
  %one = stablehlo.slice %p [0:1, 0:1] : (tensor<1x2xcomplex<f64>>) -> tensor<1x1xcomplex<f64>>
  %6 = stablehlo.fft %one, type = IRFFT, length = [1] : (tensor<1x1xcomplex<f64>>) -> tensor<1x1xf64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x4xcomplex<f32>>, tensor<2x4xcomplex<f32>>, tensor<2x2x3xcomplex<f32>>, tensor<2x2x3xcomplex<f32>>, tensor<2x4xf64>, tensor<2x4xf64>, tensor<1x1xf64>
}
// run: dense<[[(1.0, 2.0), (-1.0, 0.5), (3.0, 0.0), (0.0, 1.0)], [(2.0, -2.0), (5.0, 0.25), (0.0, 1.0), (4.0, 0.0)]]> : tensor<2x4xcomplex<f32>> ; dense<[[[1.0, 2.0, 3.0, 5.0], [0.5, -1.0, 2.0, 7.0]], [[4.0, 0.0, 1.0, 9.0], [3.0, 2.5, 2.0, 1.0]]]> : tensor<2x2x4xf32> ; dense<[[(1.0, 7.0), (-1.0, 0.5), (3.0, 2.0)], [(2.0, 1.0), (4.0, 3.0), (0.5, -1.0)]]> : tensor<2x3xcomplex<f64>> ; dense<[[(1.0, 2.0), (-1.0, 0.5)]]> : tensor<1x2xcomplex<f64>>
// = dense<[[(3.000000e+00,3.500000e+00), (-2.500000e+00,3.000000e+00), (5.000000e+00,5.000000e-01), (-1.500000e+00,1.000000e+00)], [(1.100000e+01,-7.500000e-01), (2.250000e+00,-4.000000e+00), (-7.000000e+00,-1.250000e+00), (1.750000e+00,-2.000000e+00)]]> : tensor<2x4xcomplex<f32>>
// = dense<[[(1.750000e+00,3.437500e-01), (3.125000e-02,-1.250000e-01), (-2.500000e-01,-9.375000e-02), (-3.125000e-02,-1.250000e-01)], [(-1.000000e+00,5.312500e-01), (-4.062500e-01,3.750000e-01), (1.500000e+00,2.187500e-01), (-5.937500e-01,8.750000e-01)]]> : tensor<2x4xcomplex<f32>>
// = dense<[[[(1.100000e+01,0.000000e+00), (-2.000000e+00,3.000000e+00), (-3.000000e+00,0.000000e+00)], [(8.500000e+00,0.000000e+00), (-1.500000e+00,8.000000e+00), (-3.500000e+00,0.000000e+00)]], [[(1.400000e+01,0.000000e+00), (3.000000e+00,9.000000e+00), (-4.000000e+00,0.000000e+00)], [(8.500000e+00,0.000000e+00), (1.000000e+00,-1.500000e+00), (1.500000e+00,0.000000e+00)]]]> : tensor<2x2x3xcomplex<f32>>
// = dense<[[[(4.200000e+01,0.000000e+00), (5.000000e-01,1.850000e+01), (-9.000000e+00,0.000000e+00)], [(8.000000e+00,0.000000e+00), (1.500000e+00,5.500000e+00), (-5.000000e+00,0.000000e+00)]], [[(-3.000000e+00,0.000000e+00), (-7.500000e+00,3.500000e+00), (-4.000000e+00,0.000000e+00)], [(-3.000000e+00,0.000000e+00), (-2.500000e+00,-1.550000e+01), (6.000000e+00,0.000000e+00)]]]> : tensor<2x2x3xcomplex<f32>>
// = dense<[[5.000000e-01, -7.500000e-01, 1.500000e+00, -2.500000e-01], [2.625000e+00, -1.125000e+00, -1.375000e+00, 1.875000e+00]]> : tensor<2x4xf64>
// = dense<[[1.562500e+00, -9.375000e-01, 6.250000e-02, 8.125000e-01], [-1.062500e+00, 1.875000e-01, 1.437500e+00, -1.062500e+00]]> : tensor<2x4xf64>
// = dense<1.000000e+00> : tensor<1x1xf64>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x4xcomplex<f32>>
// | in1: tensor<2x2x4xf32>
// | in2: tensor<2x3xcomplex<f64>>
// | in3: tensor<1x2xcomplex<f64>>
// | out0:c64[2,4] = fft fft [4](in0:c64[2,4])
// | out1:c64[2,4] = fft ifft [2, 4](in0:c64[2,4])
// | out2:c64[2,2,3] = fft rfft [4](in1:f32[2,2,4])
// | out3:c64[2,2,3] = fft rfft [2, 2, 4](in1:f32[2,2,4])
// | out4:f64[2,4] = fft irfft [4](in2:c128[2,3])
// | out5:f64[2,4] = fft irfft [2, 4](in2:c128[2,3]) scratch stack[0..96]
// | out6:f64[1,1] = fft irfft [1](in3:c128[1,1])
// | return out0:c64[2,4], out1:c64[2,4], out2:c64[2,2,3], out3:c64[2,2,3], out4:f64[2,4], out5:f64[2,4], out6:f64[1,1]
