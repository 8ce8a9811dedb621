// Derived operations on quantized tensors are computed with the dequantized numbers.
func.func @main(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %w: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>) {
  %qx = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  %qv = stablehlo.uniform_quantize %v : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>
  %qw = stablehlo.uniform_quantize %w : (tensor<3xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.25>>
  %sum = chlo.broadcast_maximum %qx, %qv : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  %dot = stablehlo.dot %qx, %qv : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %rows = stablehlo.unary_einsum %qx, config = "ab->a" : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %norm = "stablehlo.batch_norm_inference"(%qx, %qv, %qv, %qv, %qw) <{epsilon = 2.500000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>, tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.5>>, tensor<3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.5>>
  %0 = stablehlo.uniform_dequantize %sum : (tensor<2x3x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x3xf32>
  %1 = stablehlo.uniform_dequantize %dot : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  %2 = stablehlo.uniform_dequantize %rows : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf32>
  %3 = stablehlo.uniform_dequantize %norm : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3xf32>
  return %0, %1, %2, %3 : tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>
}

// run: dense<[[1.000000000e+00, 2.000000000e+00, -3.500000000e+00], [5.000000000e-01, 4.000000000e+00, 2.000000000e+00]]> : tensor<2x3xf32> ; dense<[1.000000000e+00, 2.000000000e+00, 5.000000000e-01]> : tensor<3xf32> ; dense<[3.750000000e+00, 3.750000000e+00, 3.750000000e+00]> : tensor<3xf32>
// = dense<[[1.000000000e+00, 2.000000000e+00, 5.000000000e-01], [1.000000000e+00, 4.000000000e+00, 2.000000000e+00]]> : tensor<2x3xf32>
// = dense<[3.000000000e+00, 9.500000000e+00]> : tensor<2xf32>
// = dense<[-5.000000000e-01, 6.500000000e+00]> : tensor<2xf32>
// = dense<[[1.000000000e+00, 2.000000000e+00, -5.000000000e-01], [1.000000000e+00, 4.000000000e+00, 1.000000000e+00]]> : tensor<2x3xf32>
