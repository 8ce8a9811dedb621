// A program that JAX's shard_map_test.py compiles (ShardMapSystematicTest.test_jit_against_ref3), with XLA's results.
module @jit_scatter attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf32>, %arg1: tensor<0xi32>, %arg2: tensor<2x2xf32>) -> (tensor<2x2xf32> {jax.result_info = "result"}) {
    %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<2x2xf32>, tensor<0xi32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}
// run: dense<[[0.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32> ; dense<> : tensor<0xi32> ; dense<[[0.27003419399261475, 0.34816259145736694], [0.643892228603363, 0.8446458578109741]]> : tensor<2x2xf32>
// = dense<[[0.27003419399261475, 0.34816259145736694], [0.643892228603363, 0.8446458578109741]]> : tensor<2x2xf32>
