// passes: excess_precision, dce
func.func @main(%a: tensor<2xbf16>, %b: tensor<2xbf16>) -> (tensor<2xf32>, tensor<bf16>) {
  %0 = stablehlo.multiply %a, %b : tensor<2xbf16>
  %1 = stablehlo.convert %0 : (tensor<2xbf16>) -> tensor<2xf32>
  %2 = stablehlo.subtract %a, %b : tensor<2xbf16>
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %3 = stablehlo.reduce(%2 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<2xbf16>, tensor<bf16>) -> tensor<bf16>
  return %1, %3 : tensor<2xf32>, tensor<bf16>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xbf16>, %arg1: tensor<2xbf16>) -> (tensor<2xf32>, tensor<bf16>) {
    %0 = stablehlo.convert %arg0 : (tensor<2xbf16>) -> tensor<2xf32>
    %1 = stablehlo.convert %arg1 : (tensor<2xbf16>) -> tensor<2xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %3 = stablehlo.convert %arg0 : (tensor<2xbf16>) -> tensor<2xf32>
    %4 = stablehlo.convert %arg1 : (tensor<2xbf16>) -> tensor<2xf32>
    %5 = stablehlo.subtract %3, %4 : tensor<2xf32>
    %6 = stablehlo.convert %cst : (tensor<bf16>) -> tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %8 = stablehlo.convert %7 : (tensor<f32>) -> tensor<bf16>
    return %2, %8 : tensor<2xf32>, tensor<bf16>
  }
}
// -----
// passes: excess_precision, dce
// A value with several uses is rounded for all of them, and so is a value that the program itself rounds.
func.func @main(%a: tensor<2xbf16>, %b: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>) {
  %0 = stablehlo.multiply %a, %b : tensor<2xbf16>
  %1 = stablehlo.convert %0 : (tensor<2xbf16>) -> tensor<2xf32>
  %2 = stablehlo.reduce_precision %a, format = e8m7 : tensor<2xbf16>
  %3 = stablehlo.convert %2 : (tensor<2xbf16>) -> tensor<2xf32>
  return %1, %0, %3 : tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xbf16>, %arg1: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<2xbf16>
    %1 = stablehlo.convert %0 : (tensor<2xbf16>) -> tensor<2xf32>
    %2 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<2xbf16>
    %3 = stablehlo.convert %2 : (tensor<2xbf16>) -> tensor<2xf32>
    return %1, %0, %3 : tensor<2xf32>, tensor<2xbf16>, tensor<2xf32>
  }
}
