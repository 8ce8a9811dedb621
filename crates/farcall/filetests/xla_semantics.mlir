// Where XLA and the specification differ, XLA is followed: a scatter window that lies partly outside is
// dropped as a whole; padding and holes of a reduce_window contribute nothing.
func.func @main(%x: tensor<6xi32>, %i: tensor<4x1xi32>, %u: tensor<4x2xi32>, %init: tensor<i32>) -> (tensor<6xi32>, tensor<11xi32>, tensor<6xi32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<6xi32>, tensor<4x1xi32>, tensor<4x2xi32>) -> tensor<6xi32>
  %1 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 3>, base_dilations = array<i64: 2>, padding = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<11xi32>
  %2 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  return %0, %1, %2 : tensor<6xi32>, tensor<11xi32>, tensor<6xi32>
}
// run: dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32> ; dense<[[-1], [2], [5], [9]]> : tensor<4x1xi32> ; dense<9> : tensor<4x2xi32> ; dense<100> : tensor<i32>
// = dense<[1, 2, 9, 9, 5, 6]> : tensor<6xi32>
// = dense<[101, 103, 102, 105, 103, 107, 104, 109, 105, 111, 106]> : tensor<11xi32>
// = dense<[101, 103, 106, 110, 115, 121]> : tensor<6xi32>
