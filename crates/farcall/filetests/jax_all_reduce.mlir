// A program that JAX's compilation_cache_test.py compiles (CompilationCacheTest.test_pmap), with XLA's results.
module @jit__fun attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}]}}
  func.func public @main(%arg0: tensor<1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) -> (tensor<1xi32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<1xi32>) -> tensor<i32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %4 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %4 : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.subtract %0, %1 : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    return %3 : tensor<1xi32>
  }
}
// run: dense<[0]> : tensor<1xi32>
// = dense<[0]> : tensor<1xi32>
