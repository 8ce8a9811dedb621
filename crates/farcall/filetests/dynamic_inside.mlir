// Sizes that are computed from the known sizes of the inputs: a function with a dynamic parameter is called
// with two sizes, and the program computes the size of its result.
func.func @main(%x: tensor<5xf32>, %y: tensor<2xf32>) -> (tensor<10xf32>, tensor<4xf32>, tensor<?xi32>) {
  %n = stablehlo.constant dense<5> : tensor<i32>
  %m = stablehlo.constant dense<2> : tensor<i32>
  %0 = stablehlo.convert %x : (tensor<5xf32>) -> tensor<?xf32>
  %1 = stablehlo.convert %y : (tensor<2xf32>) -> tensor<?xf32>
  %2 = call @twice(%n, %0) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
  %3 = call @twice(%m, %1) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
  %4 = stablehlo.convert %2 : (tensor<?xf32>) -> tensor<10xf32>
  %5 = stablehlo.convert %3 : (tensor<?xf32>) -> tensor<4xf32>
  %6 = stablehlo.get_dimension_size %2, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %7 = stablehlo.reshape %6 : (tensor<i32>) -> tensor<1xi32>
  %8 = stablehlo.dynamic_iota %7, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %4, %5, %8 : tensor<10xf32>, tensor<4xf32>, tensor<?xi32>
}
func.func private @twice(%n: tensor<i32>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.dynamic_iota %0, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %2 = stablehlo.add %x, %1 : tensor<?xf32>
  %3 = stablehlo.concatenate %x, %2, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// run: dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32> ; dense<[10.0, 20.0]> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 1.000000e+00, 3.000000e+00, 5.000000e+00, 7.000000e+00, 9.000000e+00]> : tensor<10xf32>
// = dense<[1.000000e+01, 2.000000e+01, 1.000000e+01, 2.100000e+01]> : tensor<4xf32>
// = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]> : tensor<10xi32>
