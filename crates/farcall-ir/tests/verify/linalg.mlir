// [cholesky_i1] 2:8: a must be a tensor of floating-point, complex or per-tensor quantized type, found tensor<3x3xi32>
func.func @f(%a: tensor<3x3xi32>) {
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3x3xi32>) -> tensor<3x3xi32>
  return
}
// -----
// [cholesky_c1] 2:8: result must be tensor<3x3xf32>, found tensor<3x4xf32>
func.func @f(%a: tensor<3x3xf32>) {
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3x3xf32>) -> tensor<3x4xf32>
  return
}
// -----
// [cholesky_c2] 2:8: a must have rank at least 2, found tensor<3xf32>
func.func @f(%a: tensor<3xf32>) {
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3xf32>) -> tensor<3xf32>
  return
}
// -----
// [cholesky_c3] 2:8: the last two dimensions of a must have the same size, found tensor<3x4xf32>
func.func @f(%a: tensor<3x4xf32>) {
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [triangular_solve_i1] 2:8: a must be a tensor of floating-point, complex or per-tensor quantized type, found tensor<2x3x3xi32>
// [triangular_solve_i2] 2:8: b must be a tensor of floating-point, complex or per-tensor quantized type, found tensor<2x3x4xi32>
func.func @f(%a: tensor<2x3x3xi32>, %b: tensor<2x3x4xi32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xi32>, tensor<2x3x4xi32>) -> tensor<2x3x4xi32>
  return
}
// -----
// [triangular_solve_c1] 2:8: a and b must have the same element type, found tensor<2x3x3xf32> and tensor<2x3x4xf64>
func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf64>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x4xf64>) -> tensor<2x3x4xf64>
  return
}
// -----
// [triangular_solve_c2] 2:8: a and b must have the same rank, 2 or more, found tensor<2x3x3xf32> and tensor<3x4xf32>
func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
// -----
// [triangular_solve_c2] 2:8: a and b must have the same rank, 2 or more, found tensor<3xf32> and tensor<3xf32>
func.func @f(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
// -----
// [triangular_solve_c3] 2:8: a must be square, with the batch dimensions and the number of rows of b, found tensor<2x3x4xf32> and tensor<2x3x4xf32>
func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<2x3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [triangular_solve_c3] 2:8: a must be square, with the batch dimensions and the number of columns of b, found tensor<2x3x3xf32> and tensor<2x3x4xf32>
func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [triangular_solve_c3] 2:8: a must be square, with the batch dimensions and the number of rows of b, found tensor<5x3x3xf32> and tensor<2x3x4xf32>
func.func @f(%a: tensor<5x3x3xf32>, %b: tensor<2x3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<5x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
// -----
// [triangular_solve_c4] 2:8: result must be tensor<2x3x4xf32>, found tensor<2x3x5xf32>
func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x5xf32>
  return
}
// -----
func.func @f(%a: tensor<4x8xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  return
}
// -----
// [fft_i1] 2:8: operand must be a tensor of floating-point or complex type, found tensor<8xi32>
// [fft_c2] 2:8: operand of FFT must have complex elements, found tensor<8xi32>
func.func @f(%a: tensor<8xi32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}> : (tensor<8xi32>) -> tensor<8xi32>
  return
}
// -----
// [fft_c1] 2:8: fft_length must have at most 1 entries (the rank of the operand), found [4, 8]
func.func @f(%a: tensor<8xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 4, 8>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}
// -----
// [fft_c2] 2:8: operand of FFT must have complex elements, found tensor<8xf32>
func.func @f(%a: tensor<8xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<8xf32>
  return
}
// -----
// [fft_c2] 2:8: operand of RFFT must have f32 or f64 elements, found tensor<8xf16>
// [fft_c2] 2:8: result must be tensor<5xf16>, found tensor<5xcomplex<f32>>
func.func @f(%a: tensor<8xf16>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xf16>) -> tensor<5xcomplex<f32>>
  return
}
// -----
// [fft_c2] 2:8: operand of IRFFT must have complex elements, found tensor<5xf32>
func.func @f(%a: tensor<5xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>}> : (tensor<5xf32>) -> tensor<8xf32>
  return
}
// -----
// [fft_c2] 2:8: result must be tensor<4x8xcomplex<f32>>, found tensor<4x8xcomplex<f64>>
func.func @f(%a: tensor<4x8xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f64>>
  return
}
// -----
// [fft_c3] 2:8: fft_length must have 1 to 3 entries, found []
func.func @f(%a: tensor<4x8xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64>}> : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  return
}
// -----
// [fft_c3] 2:8: fft_length must have 1 to 3 entries, found [1, 1, 1, 1]
func.func @f(%a: tensor<1x1x1x1xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 1, 1, 1, 1>}> : (tensor<1x1x1x1xcomplex<f32>>) -> tensor<1x1x1x1xcomplex<f32>>
  return
}
// -----
// [fft_c4] 2:8: the last dimensions of tensor<8xf32> must be fft_length, [7]
// [fft_c5] 2:8: result must be tensor<4xcomplex<f32>>, found tensor<5xcomplex<f32>>
func.func @f(%a: tensor<8xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 7>}> : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}
// -----
// [fft_c4] 2:8: the dimensions of tensor<4x5xcomplex<f32>> before the last must have the sizes [3, 8]
func.func @f(%a: tensor<4x5xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 3, 8>}> : (tensor<4x5xcomplex<f32>>) -> tensor<4x8xf32>
  return
}
// -----
// [fft_c5] 2:8: the last dimension of tensor<6xcomplex<f32>> must be 5 (half of 8, plus 1)
func.func @f(%a: tensor<6xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 8>}> : (tensor<6xcomplex<f32>>) -> tensor<8xf32>
  return
}
// -----
// [fft_c5] 2:8: result must be tensor<5xcomplex<f32>>, found tensor<8xcomplex<f32>>
func.func @f(%a: tensor<8xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}
// -----
func.func @f(%a: tensor<8xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>}> : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}
// -----
func.func @f(%a: tensor<4x5xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type IRFFT>, fft_length = array<i64: 4, 8>}> : (tensor<4x5xcomplex<f32>>) -> tensor<4x8xf32>
  return
}
// -----
// [fft_c4] 2:8: the last dimensions of tensor<8xcomplex<f32>> must be fft_length, [32]
func.func @f(%a: tensor<8xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 32>}> : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}
