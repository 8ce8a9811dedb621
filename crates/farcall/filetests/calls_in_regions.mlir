// Functions that regions call: on elements alone, with constants, in each other, and beside captured values.
func.func private @before(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %x = call @key(%a) : (tensor<f32>) -> tensor<f32>
  %y = call @key(%b) : (tensor<f32>) -> tensor<f32>
  %0 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @key(%a: tensor<f32>) -> tensor<f32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.subtract %a, %two : tensor<f32>
  %1 = stablehlo.abs %0 : tensor<f32>
  return %1 : tensor<f32>
}
func.func private @both(%a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0, %a : tensor<f32>, tensor<f32>
}
func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<2xf32>, tensor<2xi32>) {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %0:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %j: tensor<i32>, %k: tensor<i32>):
    %p = func.call @before(%a, %b, %j, %k) : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
  %1 = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %c = stablehlo.multiply %a, %s : tensor<f32>
    %d:2 = func.call @both(%c, %a) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %e = stablehlo.add %d#0, %d#1 : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %cst, %c) {called_computations = [@before], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1, %1, %2#0, %2#1 : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>, tensor<2xf32>, tensor<2xi32>
}
// run: dense<[5.0, 1.0, 3.0, 2.0]> : tensor<4xf32> ; dense<10.0> : tensor<f32>
// = dense<[2.000000e+00, 1.000000e+00, 3.000000e+00, 5.000000e+00]> : tensor<4xf32>
// = dense<[3, 1, 2, 0]> : tensor<4xi32>
// = dense<[1.050000e+02, 2.100000e+01, 6.300000e+01, 4.200000e+01]> : tensor<4xf32>
// = dense<[2.000000e+00, 1.000000e+00]> : tensor<2xf32>
// = dense<[3, 1]> : tensor<2xi32>
