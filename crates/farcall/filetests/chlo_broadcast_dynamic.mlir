// Operands with dynamic shapes, which are broadcast once the shapes are known.
func.func @main(%x: tensor<?xf32>, %y: tensor<?x?xf32>, %p: tensor<?xi1>) -> (tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?xf32>) {
  %sum = chlo.broadcast_add %x, %y : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %less = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction GE>, compare_type = #chlo<comparison_type FLOAT>} : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xi1>
  %choice = chlo.broadcast_select %p, %x, %y : (tensor<?xi1>, tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %like = "chlo.constant_like"(%x) <{value = 1.000000e+00 : f32}> : (tensor<?xf32>) -> tensor<?xf32>
  return %sum, %less, %choice, %like : tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?xf32>
}

// run: dense<[1.000000000e+00, 2.000000000e+00, 3.000000000e+00]> : tensor<3xf32> ; dense<[[1.000000000e+00], [5.000000000e+00]]> : tensor<2x1xf32> ; dense<[true]> : tensor<1xi1>
// = dense<[[2.000000000e+00, 3.000000000e+00, 4.000000000e+00], [6.000000000e+00, 7.000000000e+00, 8.000000000e+00]]> : tensor<2x3xf32>
// = dense<[[true, true, true], [false, false, false]]> : tensor<2x3xi1>
// = dense<[[1.000000000e+00, 2.000000000e+00, 3.000000000e+00], [1.000000000e+00, 2.000000000e+00, 3.000000000e+00]]> : tensor<2x3xf32>
// = dense<[1.000000000e+00, 1.000000000e+00, 1.000000000e+00]> : tensor<3xf32>

// run: dense<[1.000000000e+00]> : tensor<1xf32> ; dense<[[1.000000000e+00, 2.000000000e+00]]> : tensor<1x2xf32> ; dense<[true, false]> : tensor<2xi1>
// = dense<[[2.000000000e+00, 3.000000000e+00]]> : tensor<1x2xf32>
// = dense<[[true, false]]> : tensor<1x2xi1>
// = dense<[[1.000000000e+00, 2.000000000e+00]]> : tensor<1x2xf32>
// = dense<[1.000000000e+00]> : tensor<1xf32>

// run: dense<[1.000000000e+00, 2.000000000e+00, 3.000000000e+00]> : tensor<3xf32> ; dense<[[1.000000000e+00, 2.000000000e+00]]> : tensor<1x2xf32> ; dense<[true]> : tensor<1xi1>
// fails: sizes must be equal or 1
