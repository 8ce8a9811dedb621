// Approximate top-k of an operand with a dynamic size, where a dynamic size also determines `k`.
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%x: tensor<?xf32>, %like: tensor<?xi8>) -> (tensor<?xf32>, tensor<?xi32>, tensor<2xf32>, tensor<2xi32>) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %k = stablehlo.get_dimension_size %like, dim = 0 : (tensor<?xi8>) -> tensor<i32>
  %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %iota = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @stablehlo.dynamic_approx_top_k(%x, %iota, %low, %none, %k) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 9.500000e-01 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64}} : (tensor<?xf32>, tensor<?xi32>, tensor<f32>, tensor<i32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  %1:2 = stablehlo.custom_call @ApproxTopK(%x, %iota, %low, %none) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, recall_target = 9.500000e-01 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<?xf32>, tensor<?xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1, %1#0, %1#1 : tensor<?xf32>, tensor<?xi32>, tensor<2xf32>, tensor<2xi32>
}

// run: dense<[1.0, 5.0, 3.0, 4.0]> : tensor<4xf32> ; dense<[0, 0, 0]> : tensor<3xi8>
// = dense<[5.000000e+00, 4.000000e+00, 3.000000e+00]> : tensor<3xf32>
// = dense<[1, 3, 2]> : tensor<3xi32>
// = dense<[5.000000e+00, 4.000000e+00]> : tensor<2xf32>
// = dense<[1, 3]> : tensor<2xi32>
