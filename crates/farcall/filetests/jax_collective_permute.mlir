// A program that JAX's pmap_test.py compiles (PythonPmapTest.testPpermuteWithZipObject), with XLA's results.
module @jit__fun attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}]}}
  func.func public @main(%arg0: tensor<1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) -> (tensor<1xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<1xf32>) -> tensor<f32>
    %1 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1xf32>
    return %2 : tensor<1xf32>
  }
}
// run: dense<[0.0]> : tensor<1xf32>
// = dense<[0.0]> : tensor<1xf32>
