// Tokens are neither inputs nor results of a run.
func.func @main(%before: !stablehlo.token, %x: tensor<2xi32>) -> (!stablehlo.token, tensor<2xi32>) {
  %0 = stablehlo.after_all %before : !stablehlo.token
  return %0, %x : !stablehlo.token, tensor<2xi32>
}

// run: dense<[1, 2]> : tensor<2xi32>
// = dense<[1, 2]> : tensor<2xi32>
