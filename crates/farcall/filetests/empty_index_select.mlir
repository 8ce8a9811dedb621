// A selection from a dimension without elements returns zeros.
func.func @main(%x: tensor<0x3xf32>, %i: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<0x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// run: dense<> : tensor<0x3xf32> ; dense<[0, 1]> : tensor<2xi32>
// = dense<0.000000e+00> : tensor<2x3xf32>
