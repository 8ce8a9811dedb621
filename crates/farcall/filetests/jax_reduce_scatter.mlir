// A program that JAX's pmap_test.py compiles (PythonPmapTest.testGradOfReduceScatter), with XLA's results.
module @jit__fun attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x1xf32>) -> (tensor<1xf32> {jax.result_info = ""}) {
    %0 = stablehlo.reshape %arg0 : (tensor<1x1xf32>) -> tensor<1xf32>
    %1 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<1xf32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1xf32>
    return %3 : tensor<1xf32>
  }
}
// run: dense<[[0.0]]> : tensor<1x1xf32>
// = dense<[0.0]> : tensor<1xf32>
