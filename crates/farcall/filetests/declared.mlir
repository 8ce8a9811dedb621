// Ops with a signature: defaults are filled in, and any number of batch dimensions is accepted.
func.func @main(%x: tensor<2x2xf32>, %scale: tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>) {
  %0 = stablehlo.custom_call @affine(%x, %scale) {api_version = 4 : i32} : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.custom_call @affine(%scale, %scale) {mhlo.backend_config = {offset = 0.0 : f32}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2:2 = stablehlo.custom_call @affine_bwd(%x, %scale, %x) {mhlo.backend_config = {}} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>)
  return %0, %1, %2#0, %2#1 : tensor<2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2xf32>
}
// run: dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> ; dense<[10.0, 100.0]> : tensor<2xf32>
// = dense<[[1.100000e+01, 2.010000e+02], [3.100000e+01, 4.010000e+02]]> : tensor<2x2xf32>
// = dense<[1.000000e+02, 1.000000e+04]> : tensor<2xf32>
// = dense<[[1.000000e+01, 2.000000e+02], [3.000000e+01, 4.000000e+02]]> : tensor<2x2xf32>
// = dense<[1.000000e+01, 2.000000e+01]> : tensor<2xf32>
