// The first elements along a dimension, for a size that is known before the run, and for a computed size.
func.func @main(%x: tensor<2x3xf32>, %n: tensor<i32>) -> (tensor<2x2xf32>, tensor<0x3xf32>, tensor<2x3xf32>) {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %columns = stablehlo.set_dimension_size %x, %two, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x2xf32>
  %none = "stablehlo.set_dimension_size"(%x, %zero) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<i32>) -> tensor<0x3xf32>
  %all = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x3xf32>
  return %columns, %none, %all : tensor<2x2xf32>, tensor<0x3xf32>, tensor<2x3xf32>
}

// run: dense<[[0.000000000e+00, 1.000000000e+00, 2.000000000e+00], [3.000000000e+00, 4.000000000e+00, 5.000000000e+00]]> : tensor<2x3xf32> ; dense<3> : tensor<i32>
// = dense<[[0.000000000e+00, 1.000000000e+00], [3.000000000e+00, 4.000000000e+00]]> : tensor<2x2xf32>
// = dense<> : tensor<0x3xf32>
// = dense<[[0.000000000e+00, 1.000000000e+00, 2.000000000e+00], [3.000000000e+00, 4.000000000e+00, 5.000000000e+00]]> : tensor<2x3xf32>

// run: dense<[[0.000000000e+00, 1.000000000e+00, 2.000000000e+00], [3.000000000e+00, 4.000000000e+00, 5.000000000e+00]]> : tensor<2x3xf32> ; dense<2> : tensor<i32>
// fails: the size of dimension 1 can be 3, as is declared, but it is set to 2
