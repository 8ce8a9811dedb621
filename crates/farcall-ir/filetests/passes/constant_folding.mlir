// passes: constant_folding, dce
func.func @main() -> (tensor<2xi32>, tensor<3x2xf32>) {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<3> : tensor<2xi32>
  %2 = stablehlo.multiply %0, %1 : tensor<2xi32>
  %3 = stablehlo.convert %2 : (tensor<2xi32>) -> tensor<2xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
  return %2, %4 : tensor<2xi32>, tensor<3x2xf32>
}
// =>
module {
  func.func public @main() -> (tensor<2xi32>, tensor<3x2xf32>) {
    %c = stablehlo.constant dense<[3, 6]> : tensor<2xi32>
    %cst = stablehlo.constant dense<[[3.000000e+00, 6.000000e+00], [3.000000e+00, 6.000000e+00], [3.000000e+00, 6.000000e+00]]> : tensor<3x2xf32>
    return %c, %cst : tensor<2xi32>, tensor<3x2xf32>
  }
}
// -----
// passes: constant_folding, dce
// Large results are not folded, and neither are functions that kernels may round differently.
func.func @main() -> (tensor<2000xi32>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<2000xi32>
  %2 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %3 = stablehlo.tanh %2 : tensor<2xf32>
  return %1, %3 : tensor<2000xi32>, tensor<2xf32>
}
// =>
module {
  func.func public @main() -> (tensor<2000xi32>, tensor<2xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2000xi32>
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %1 = stablehlo.tanh %cst : tensor<2xf32>
    return %0, %1 : tensor<2000xi32>, tensor<2xf32>
  }
}
