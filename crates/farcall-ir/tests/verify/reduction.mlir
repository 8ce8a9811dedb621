func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_i1] 2:8: input 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [reduce_c6] 2:8: elements of tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>> cannot be promoted to argument 1, tensor<f32>
func.func @f(%a: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c1] 2:10: inputs must have the same shape, found tensor<2x3xf32> and (input 1) tensor<4x3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  %r:2 = "stablehlo.reduce"(%a, %b, %c, %d) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
// -----
// [reduce_c2] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<i32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c2] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<1xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<1xf32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<1xf32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c3] 2:8: operands must be N inputs and N initial values, found 1 operands
func.func @f(%a: tensor<2x3xf32>) {
  %r = "stablehlo.reduce"(%a) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c3] 2:10: 1 results are needed, found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r:2 = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
// -----
// [reduce_c4] 2:8: dimensions must be in [0, 2), found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 2>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c5] 2:8: dimensions must be unique, found [1, 1]
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1, 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: the region must take 2 arguments, found 1
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: the region must return 1 values, found 2
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: the region must return 1 values, found 0
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"() : () -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: elements of tensor<2x3xf32> cannot be promoted to argument 1, tensor<i32>
// [reduce_c2] 2:8: initial value 0 must have rank 0 and a type that tensor<i32> can hold, found tensor<f32>
// [reduce_c8] 2:8: result must be tensor<2xi32>, found tensor<2xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<i32>, %x1: tensor<i32>): "stablehlo.return"(%x0) : (tensor<i32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: returned value 0 must be a tensor of rank 0, found tensor<1xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<1xf32>, %x1: tensor<1xf32>): "stablehlo.return"(%x0) : (tensor<1xf32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
// [reduce_c6] 2:8: argument 0 must have the returned type, tensor<f32>, found tensor<f64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f64>, %x1: tensor<f32>): "stablehlo.return"(%x1) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f64>, %x1: tensor<f64>): "stablehlo.return"(%x0) : (tensor<f64>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf64>
  return
}
// -----
// [reduce_c6] 2:8: elements of tensor<2x3xi32> cannot be promoted to argument 1, tensor<i8>
// [reduce_c2] 2:8: initial value 0 must have rank 0 and a type that tensor<i8> can hold, found tensor<i32>
func.func @f(%a: tensor<2x3xi32>, %b: tensor<i32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<i8>, %x1: tensor<i8>): "stablehlo.return"(%x0) : (tensor<i8>) -> () }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi8>
  return
}
// -----
func.func @f(%a: tensor<2x3xi8>, %b: tensor<i8>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<i32>, %x1: tensor<i32>): "stablehlo.return"(%x0) : (tensor<i32>) -> () }) : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi32>
  return
}
// -----
// [reduce_c7] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_c8] 2:8: result must be tensor<2xf32>, found tensor<2xf64>
func.func @f(%a: tensor<2x3xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf64>
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c1] 2:8: operands must be N inputs and N initial values, found 1 operands
func.func @f(%a: tensor<4xf32>) {
  %r = "stablehlo.reduce_window"(%a) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_i1] 2:8: input 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>
// [reduce_window_c13] 2:8: elements of tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>> cannot be promoted to argument 1, tensor<f32>
func.func @f(%a: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c2] 2:10: inputs must have the same shape, found tensor<4xf32> and (input 1) tensor<5xf32>
func.func @f(%a: tensor<4xf32>, %b: tensor<5xf32>, %c: tensor<f32>, %d: tensor<f32>) {
  %r:2 = "stablehlo.reduce_window"(%a, %b, %c, %d) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>): "stablehlo.return"(%x0, %x1) : (tensor<f32>, tensor<f32>) -> () }) : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// [reduce_window_c3] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<4xf32>, %b: tensor<i32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c4] 2:8: window_dimensions must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c5] 2:8: window_dimensions must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 0>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c6] 2:8: window_strides must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c7] 2:8: window_strides must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c8] 2:8: base_dilations must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c9] 2:8: base_dilations must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 0>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c10] 2:8: window_dilations must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1, 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c11] 2:8: window_dilations must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 0>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c12] 2:8: padding must have 1 entries (one pair per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<2x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c13] 2:8: the region must take 2 arguments, found 1
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}
// -----
// [reduce_window_c15] 2:8: result must be tensor<3xf32>, found tensor<4xf32>
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [reduce_window_c16] 2:8: result must be tensor<3xf32>, found tensor<3xf64>
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf64>
  return
}
// -----
// [reduce_window_c1] 2:3: 1 results are needed, found 0
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> ()
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 3>, window_dilations = array<i64: 2>, padding = dense<[[1, 2]]> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 9>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<f32>) {
  %r = "stablehlo.reduce_window"(%a, %b) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 1>, window_dilations = array<i64: 1>, padding = dense<-3> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<f32>) -> tensor<0xf32>
  return
}
// -----
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_i1] 2:8: operand must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>
// [select_and_scatter_c1] 2:8: operand and source must have the same element type, found tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>> and tensor<2xf32>
// [select_and_scatter_c9] 2:8: the select region must compare two elements of tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>> and return tensor<i1>, found (tensor<f32>, tensor<f32>) -> (tensor<i1>)
func.func @f(%a: tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5, 0.5}>>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c1] 2:8: operand and source must have the same element type, found tensor<4xf32> and tensor<2xi32>
// [select_and_scatter_c10] 2:8: elements of tensor<i32> cannot be promoted to argument 1, tensor<f32>
func.func @f(%a: tensor<4xf32>, %b: tensor<2xi32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xi32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c2] 2:8: source must have the shape [2] (the number of windows), found tensor<3xf32>
func.func @f(%a: tensor<4xf32>, %b: tensor<3xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c3] 2:8: initial value 0 must have rank 0 and a type that tensor<f32> can hold, found tensor<i32>
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<i32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c4] 2:8: window_dimensions must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c5] 2:8: window_dimensions must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 0>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c6] 2:8: window_strides must have 1 entries (one per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c7] 2:8: window_strides must be positive, found [0]
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c8] 2:8: padding must have 1 entries (one pair per dimension), found 2
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<2x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c9] 2:8: the select region must compare two elements of tensor<4xf32> and return tensor<i1>, found (tensor<f32>, tensor<f32>) -> (tensor<f32>)
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c9] 2:8: the select region must compare two elements of tensor<4xf32> and return tensor<i1>, found (tensor<i32>, tensor<i32>) -> (tensor<i1>)
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<i32>, %y: tensor<i32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c10] 2:8: the region must take 2 arguments, found 1
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
// -----
// [select_and_scatter_c11] 2:8: result must be tensor<4xf32>, found tensor<5xf32>
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  return
}
// -----
// [select_and_scatter_c12] 2:8: result must be tensor<4xf32>, found tensor<4xf64>
func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<f32>) {
  %r = "stablehlo.select_and_scatter"(%a, %b, %c) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<1x2xi64>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf64>
  return
}
// -----
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [map_c1] 2:8: inputs must have the same shape, found tensor<2xf32> and (input 1) tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}
// -----
// [map_c2] 2:8: at least one input is needed, found none
func.func @f() {
  %r = "stablehlo.map"() <{dimensions = array<i64>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : () -> tensor<2xf32>
  return
}
// -----
// [map_c3] 2:8: dimensions must be all of [0, 1) in order, found [1]
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 1>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [map_c4] 2:8: the region must take one element of each input and return one, found (tensor<f32>, tensor<f32>) -> (tensor<f32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [map_c4] 2:8: the region must take one element of each input and return one, found (tensor<f32>, tensor<i32>) -> (tensor<f32>)
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<i32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [map_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [map_c4] 2:8: result must be tensor<2xf32>, found tensor<2xi32>
func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = -1 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [sort_c1] 2:3: at least one input is needed, found none
func.func @f() {
  "stablehlo.sort"() <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : () -> ()
  return
}
// -----
// [sort_i1] 2:8: input 0 must be a tensor of boolean, integer, floating-point, complex or per-tensor quantized type, found tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// [sort_c5] 2:8: the comparator must take two elements of each input and return tensor<i1>, found (tensor<f32>, tensor<f32>) -> (tensor<i1>)
func.func @f(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}
// -----
// [sort_c3] 2:10: inputs must have the same shape, found tensor<2xf32> and (input 1) tensor<3xf32>
func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>, %x2: tensor<f32>, %x3: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>, tensor<3xf32>) -> (tensor<2xf32>, tensor<3xf32>)
  return
}
// -----
// [sort_c2] 2:8: result must be tensor<2xf32>, found tensor<2xf64>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf64>
  return
}
// -----
// [sort_c3] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [sort_c2] 2:10: 1 results are needed, found 2
func.func @f(%a: tensor<2xf32>) {
  %r:2 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
// -----
// [sort_c4] 2:8: dimension must be in [0, 1), found 1
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [sort_part] 2:8: elements 1 to 3 are outside of a line of tensor<2xf32> along dimension 0
func.func @f(%a: tensor<2xf32>) {
  %r = "farcall.partial_sort"(%a) <{dimension = 0 : i64, part = array<i64: 1, 3>}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [sort_c5] 2:8: the comparator must take two elements of each input and return tensor<i1>, found (tensor<f32>) -> (tensor<i1>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [sort_c5] 2:8: the comparator must take two elements of each input and return tensor<i1>, found (tensor<f32>, tensor<i32>) -> (tensor<i1>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<i32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [sort_c5] 2:8: the comparator must take two elements of each input and return tensor<i1>, found (tensor<f32>, tensor<f32>) -> (tensor<f32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({ ^bb0(%x0: tensor<f32>, %x1: tensor<f32>): "stablehlo.return"(%x0) : (tensor<f32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 0 attributes {is_reverse = true, is_associative = false, scan_dim_size = 2 : i64} {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c1] 2:10: 2 inputs and 1 initial values, 1 outputs and the same number of carried values are declared, found 2 operands and 2 results
func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xf32>) {
  %r:2 = "chlo.scan"(%x, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 2, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [attribute] 2:10: chlo.scan: there are 1 initial values, but 2 results for carried values
func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xf32>) {
  %r:2 = "chlo.scan"(%x, %i) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c2] 2:10: dimension of input 0 must be in [0, 2), found 2
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 2 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c3] 2:10: dimension 0 of input 0 must have size 3, found tensor<2x3xf32>
// [chlo_scan_c7] 2:10: result 0 must be tensor<3x3xf32>, found tensor<2x3xf32>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 0 attributes {scan_dim_size = 3 : i64} {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c3] 2:10: dimension 0 of input 1 must have size 2, found tensor<4x3xf32>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x, %y) inits (%i) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c4] 2:10: scan_dim_size is required if there is no input
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan() inits (%i) dimension = 0 {
  ^bb0(%c: tensor<3xf32>):
    stablehlo.return %c, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c5] 2:10: the region must take (tensor<3xf32>), a slice of each input and the carried values, found (tensor<3xf32>, tensor<3xf32>)
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:1 = chlo.scan(%x) inits () dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a : tensor<3xf32>
  } : (tensor<2x3xf32>) -> (tensor<2x3xf32>)
  return
}
// -----
// [chlo_scan_c5] 2:10: the region must take (tensor<3xf32>, tensor<3xi32>), a slice of each input and the carried values, found (tensor<3xf32>, tensor<3xf32>)
// [chlo_scan_c6] 2:10: the region must return 1 slices of outputs and then (tensor<3xi32>), found (tensor<3xf32>, tensor<3xf32>)
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%j) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xi32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c5] 2:10: the region must take (tensor<3xf32>, tensor<2x3xf32>), a slice of each input and the carried values, found (tensor<3xf32>, tensor<3xf32>)
// [chlo_scan_c6] 2:10: the region must return 1 slices of outputs and then (tensor<2x3xf32>), found (tensor<3xf32>, tensor<3xf32>)
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%k) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  return
}
// -----
// [chlo_scan_c6] 2:10: the region must return 1 slices of outputs and then (tensor<3xf32>), found (tensor<3xf32>)
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a : tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
  return
}
// -----
// [chlo_scan_c7] 2:10: result 0 must be tensor<2x3xf32>, found tensor<3x2xf32>
func.func @f(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %i: tensor<3xf32>, %j: tensor<3xi32>, %k: tensor<2x3xf32>) {
  %r:2 = chlo.scan(%x) inits (%i) dimension = 0 {
  ^bb0(%a: tensor<3xf32>, %c: tensor<3xf32>):
    stablehlo.return %a, %c : tensor<3xf32>, tensor<3xf32>
  } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<3x2xf32>, tensor<3xf32>)
  return
}
