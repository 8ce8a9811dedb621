// Two operations whose attributes MLIR writes before the operands, and a mesh with its attribute's full name.
sdy.mesh @mesh = #sdy.mesh<["x"=1]>
sdy.mesh {stablehlo.note} @other = <["y"=1]>
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.optimization_barrier {mhlo.sharding = "{replicated}"} %arg0 : tensor<4xf32>
  %1 = sdy.sharding_constraint %0 #sdy.sharding<@mesh, [{"x"}]> : tensor<4xf32>
  return {xla.note = 1 : i64} %1 : tensor<4xf32>
}

// run: dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
