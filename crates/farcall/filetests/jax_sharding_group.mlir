// A program that JAX's shard_alike_test.py compiles (ShardAlikeTest.test_grad), with XLA's results.
module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<8xf32> {jax.result_info = ""}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    sdy.sharding_group %0 group_id=6 : tensor<8xf32>
    sdy.sharding_group %0 group_id=6 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
// run: dense<1.0> : tensor<f32>
// = dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> : tensor<8xf32>
