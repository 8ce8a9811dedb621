// A tensor without elements has no lines to transform, so every length is valid.
func.func @main(%x: tensor<0x1x0xcomplex<f32>>) -> tensor<0x1x0xcomplex<f32>> {
  %0 = "stablehlo.fft"(%x) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1, 1>}> : (tensor<0x1x0xcomplex<f32>>) -> tensor<0x1x0xcomplex<f32>>
  return %0 : tensor<0x1x0xcomplex<f32>>
}

// run: dense<> : tensor<0x1x0xcomplex<f32>>
// = dense<> : tensor<0x1x0xcomplex<f32>>
