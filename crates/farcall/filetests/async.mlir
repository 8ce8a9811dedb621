// Asynchronous operations are executed immediately.
func.func @main(%x: tensor<4xf32>, %i: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) {
  %start = "stablehlo.async_start"(%x) ({
    %s = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  %slice = "stablehlo.async_start"(%x, %i) ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<i32>):
    %s = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }) : (tensor<4xf32>, tensor<i32>) -> !stablehlo.future<tensor<2xf32>>
  %gather = "stablehlo.async_start"(%x, %x) ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %s:2 = "stablehlo.all_gather"(%a, %b) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    stablehlo.return %s#0, %s#1 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>, tensor<4xf32>>
  %0 = "stablehlo.async_done"(%start) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %1 = "stablehlo.async_done"(%slice) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %2:2 = "stablehlo.async_done"(%gather) : (!stablehlo.future<tensor<4xf32>, tensor<4xf32>>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0, %1, %2#0, %2#1 : tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>
}

// run: dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> ; dense<1> : tensor<i32>
// = dense<[1.000000e+00, 3.000000e+00]> : tensor<2xf32>
// = dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
