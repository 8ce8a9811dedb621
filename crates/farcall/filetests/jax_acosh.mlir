// A program that JAX's jet_test.py compiles (JetTest.test_acosh), with XLA's results.
module @jit_acosh attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32> {jax.result_info = "result"}) {
    %0 = chlo.acosh %arg0 : tensor<2x3xf32> -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
// run: dense<[[-58.22127151489258, 31.796201705932617, -70.53433227539062], [-73.47776794433594, 30.767629623413086, -41.506954193115234]]> : tensor<2x3xf32>
// = dense<[[0xFFFFFFFF, 4.152246952056885, 0xFFFFFFFF], [0xFFFFFFFF, 4.1193461418151855, 0xFFFFFFFF]]> : tensor<2x3xf32>
