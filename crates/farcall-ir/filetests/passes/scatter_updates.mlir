// passes: scatter_updates
// One window at a known position: `x.at[1:-1].set(v)`.
func.func @main(%x: tensor<4x6xf32>, %v: tensor<2x4xf32>) -> tensor<4x6xf32> {
  %i = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = "stablehlo.scatter"(%x, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2xi32>, tensor<2x4xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<2x4xf32>) -> tensor<4x6xf32> {
    %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %c_1 = stablehlo.constant dense<2> : tensor<i64>
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %c_0, %c_1 : (tensor<4x6xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i64>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
// -----
// passes: scatter_updates
// An update that combines a row with its current elements; the window lacks one dimension of the operand.
func.func @main(%x: tensor<4x6xf32>, %v: tensor<6xf32>) -> tensor<4x6xf32> {
  %i = stablehlo.constant dense<3> : tensor<1xi64>
  %r = "stablehlo.scatter"(%x, %i, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<1xi64>, tensor<6xf32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>) -> tensor<4x6xf32> {
    %c = stablehlo.constant dense<3> : tensor<1xi64>
    %0 = stablehlo.reshape %arg1 : (tensor<6xf32>) -> tensor<1x6xf32>
    %1 = stablehlo.slice %arg0 [3:4, 0:6] : (tensor<4x6xf32>) -> tensor<1x6xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<1x6xf32>
    %c_0 = stablehlo.constant dense<3> : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %3 = stablehlo.dynamic_update_slice %arg0, %2, %c_0, %c_1 : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i64>, tensor<i64>) -> tensor<4x6xf32>
    return %3 : tensor<4x6xf32>
  }
}
// -----
// passes: scatter_updates
// Not applied to windows that are partly outside of the operand, or to several windows.
func.func @main(%x: tensor<4xf32>, %v: tensor<2xf32>, %w: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %far = stablehlo.constant dense<3> : tensor<1xi32>
  %r = "stablehlo.scatter"(%x, %far, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<4xf32>
  %negative = stablehlo.constant dense<-1> : tensor<1xi32>
  %s = "stablehlo.scatter"(%x, %negative, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<4xf32>
  %two = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %t = "stablehlo.scatter"(%x, %two, %w) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<4xf32>
  return %r, %s, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<2xf32>, %arg2: tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<3> : tensor<1xi32>
    %0 = "stablehlo.scatter"(%arg0, %c, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<4xf32>
    %c_0 = stablehlo.constant dense<-1> : tensor<1xi32>
    %1 = "stablehlo.scatter"(%arg0, %c_0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<4xf32>
    %c_1 = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
    %2 = "stablehlo.scatter"(%arg0, %c_1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2x2xf32>) -> tensor<4xf32>
    return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
