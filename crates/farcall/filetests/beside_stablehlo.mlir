// Operations of other dialects that torch-mlir and IREE mix in: constants, casts, shapes of dynamic tensors.
func.func @main(%arg0: tensor<?x4xf32>, %arg1: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<2xi64>, tensor<i64>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %same = sdy.constant dense<1.0> : tensor<4xf32>
  %sum = stablehlo.add %cst, %same : tensor<4xf32>
  %d0 = tensor.dim %arg0, %c0 : tensor<?x4xf32>
  %i0 = arith.index_cast %d0 : index to i64
  %d1 = tensor.dim %arg0, %c1 : tensor<?x4xf32>
  %i1 = arith.index_cast %d1 : index to i64
  %shape = tensor.from_elements %i0, %i1 : tensor<2xi64>
  %rows = stablehlo.dynamic_broadcast_in_dim %sum, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %0 = stablehlo.add %arg0, %rows : tensor<?x4xf32>
  %s0 = shape.shape_of %arg0 : tensor<?x4xf32> -> tensor<2xindex>
  %s1 = shape.shape_of %arg1 : tensor<4xf32> -> tensor<1xindex>
  %w = shape.cstr_broadcastable %s0, %s1 : tensor<2xindex>, tensor<1xindex>
  %1 = shape.assuming %w -> (tensor<?x4xf32>) {
    %s2 = shape.broadcast %s0, %s1 : tensor<2xindex>, tensor<1xindex> -> tensor<2xindex>
    %2 = "stablehlo.dynamic_broadcast_in_dim"(%arg1, %s2) {broadcast_dimensions = dense<1> : tensor<1xi64>} : (tensor<4xf32>, tensor<2xindex>) -> tensor<?x4xf32>
    %3 = stablehlo.multiply %arg0, %2 : tensor<?x4xf32>
    shape.assuming_yield %3 : tensor<?x4xf32>
  }
  %n = shape.num_elements %s0 : tensor<2xindex> -> index
  %extents = shape.from_extents %n : index
  %flat = stablehlo.dynamic_reshape %arg0, %extents : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<?xf32>
  %row = shape.get_extent %s0, %c0 : tensor<2xindex>, index -> index
  %pair = shape.const_shape [3, 4] : tensor<2xindex>
  %last = tensor.extract %pair[%c1] : tensor<2xindex>
  %total = arith.addi %row, %last : index
  %cast = tensor.cast %1 : tensor<?x4xf32> to tensor<?x4xf32>
  return %0, %cast, %pair, %total, %flat : tensor<?x4xf32>, tensor<?x4xf32>, tensor<2xi64>, tensor<i64>, tensor<?xf32>
}

// run: dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32> ; dense<[1.0, 0.0, 2.0, -1.0]> : tensor<4xf32>
// = dense<[[3.000000e+00, 5.000000e+00, 7.000000e+00, 9.000000e+00], [7.000000e+00, 9.000000e+00, 1.100000e+01, 1.300000e+01]]> : tensor<2x4xf32>
// = dense<[[1.000000e+00, 0.000000e+00, 6.000000e+00, -4.000000e+00], [5.000000e+00, 0.000000e+00, 1.400000e+01, -8.000000e+00]]> : tensor<2x4xf32>
// = dense<[3, 4]> : tensor<2xi64>
// = dense<6> : tensor<i64>
// = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : tensor<8xf32>
