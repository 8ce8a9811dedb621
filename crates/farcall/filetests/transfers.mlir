// The engine has no queues to and from the host yet; the evaluator asks its host for them.
func.func @main(%t: !stablehlo.token) -> tensor<2xf32> {
  %in:2 = "stablehlo.infeed"(%t) <{infeed_config = "a"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %in#0 : tensor<2xf32>
}

// error
// | error: [unsupported] stablehlo.infeed: the engine has no queues to and from the host
// |  --> transfers.mlir:3:11
// |   |
// | 3 |   %in:2 = "stablehlo.infeed"(%t) <{infeed_config = "a"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.to
// |   |           ^^^^^^^^^^^^^^^^^^
// |   |
// |   = note: the evaluator runs it
