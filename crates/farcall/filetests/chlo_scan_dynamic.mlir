// A scan over a dynamic dimension of the input.
func.func @main(%x: tensor<?x?xf32>, %init: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
  %max:2 = chlo.scan(%x) inits (%init) dimension = 0 {
  ^bb0(%slice: tensor<?xf32>, %carry: tensor<?xf32>):
    %m = stablehlo.maximum %slice, %carry : tensor<?xf32>
    stablehlo.return %m, %m : tensor<?xf32>, tensor<?xf32>
  } : (tensor<?x?xf32>, tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>)
  return %max#0, %max#1 : tensor<?x?xf32>, tensor<?xf32>
}

// run: dense<[[1.000000000e+00, 5.000000000e+00], [3.000000000e+00, 2.000000000e+00], [2.000000000e+00, 9.000000000e+00]]> : tensor<3x2xf32> ; dense<[0.000000000e+00, 6.000000000e+00]> : tensor<2xf32>
// = dense<[[1.000000000e+00, 6.000000000e+00], [3.000000000e+00, 6.000000000e+00], [3.000000000e+00, 9.000000000e+00]]> : tensor<3x2xf32>
// = dense<[3.000000000e+00, 9.000000000e+00]> : tensor<2xf32>
