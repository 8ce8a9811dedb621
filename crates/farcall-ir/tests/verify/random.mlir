func.func @f(%a: tensor<2xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xf32>)
  return
}
// -----
// [rng_bit_generator_i2] 2:10: initial_state must be a 1-dimensional tensor of ui64, found tensor<2xi64>
func.func @f(%a: tensor<2xi64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xi64>) -> (tensor<2xi64>, tensor<2xf32>)
  return
}
// -----
// [rng_bit_generator_c1] 2:10: result 0 must be tensor<2xui64>, found tensor<3xui64>
func.func @f(%a: tensor<2xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<3xui64>, tensor<2xf32>)
  return
}
// -----
// [rng_bit_generator_c2] 2:10: initial_state of THREE_FRY must have 2 elements, found tensor<3xui64>
func.func @f(%a: tensor<3xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2xf32>)
  return
}
// -----
// [rng_bit_generator_c2] 2:10: initial_state of PHILOX must have 2 or 3 elements, found tensor<4xui64>
func.func @f(%a: tensor<4xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<4xui64>) -> (tensor<4xui64>, tensor<2xf32>)
  return
}
// -----
// [rng_bit_generator_o2] 2:10: output must be a tensor of integer or floating-point type, found tensor<2xi1>
func.func @f(%a: tensor<2xui64>) {
  %r:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xi1>)
  return
}
// -----
func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [rng_i1] 2:8: a must be a tensor of boolean, integer or floating-point type, found tensor<complex<f32>>
// [rng_c1] 2:8: a and b must have the same element type, found tensor<complex<f32>> and tensor<f32>
// [rng_c1] 2:8: result must be tensor<?xcomplex<f32>>, found tensor<?xf32>
func.func @f(%a: tensor<complex<f32>>, %b: tensor<f32>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<complex<f32>>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [rng_i2] 2:8: b must have rank 0, found tensor<2xf32>
func.func @f(%a: tensor<f32>, %b: tensor<2xf32>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<2xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [rng_c1] 2:8: a and b must have the same element type, found tensor<f32> and tensor<f64>
func.func @f(%a: tensor<f32>, %b: tensor<f64>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// [rng_c2] 2:8: a normal distribution needs floating-point parameters, found tensor<i32>
func.func @f(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
  return
}
// -----
// [rng_i3] 2:8: shape must be a 1-dimensional tensor of integer type, found tensor<1xf32>
func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<1xf32>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xf32>) -> tensor<?xf32>
  return
}
// -----
// [rng_c3] 2:8: shape must have one element per dimension of tensor<?xf32>, found tensor<2xi64>
func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<2xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?xf32>
  return
}
// -----
// [rng_c1] 2:8: result must be tensor<?xf32>, found tensor<?xf64>
func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<1xi64>) {
  %r = "stablehlo.rng"(%a, %b, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf64>
  return
}
// -----
// [rng_c3] 3:8: result must be tensor<4xf32>, found tensor<3xf32>
func.func @f(%a: tensor<f32>) {
  %s = stablehlo.constant dense<4> : tensor<1xi64>
  %r = "stablehlo.rng"(%a, %a, %s) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
  return
}
