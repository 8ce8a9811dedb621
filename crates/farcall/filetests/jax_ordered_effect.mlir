// A program that JAX's jaxpr_effects_test.py compiles (EffectfulJaxprLoweringTest.test_runtime_tokens_should_update_after_running_effectful_function), with XLA's results.
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: !stablehlo.token {jax.token = true}, %arg1: tensor<f32>) -> (!stablehlo.token {jax.token = true}, tensor<f32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.add %arg1, %cst : tensor<f32>
    return %arg0, %0 : !stablehlo.token, tensor<f32>
  }
}
// run: dense<2.0> : tensor<f32>
// = dense<3.0> : tensor<f32>
