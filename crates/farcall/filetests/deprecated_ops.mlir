// Operations that StableHLO has deprecated, with results computed in NumPy.
func.func @main(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>, %v: tensor<3xi32>, %square: tensor<3x3xi32>, %cube: tensor<2x3x3xi32>, %l: tensor<2x4x3xi32>, %r: tensor<2x3x5xi32>, %i: tensor<2x2xi32>) -> (tensor<5x1x3xi32>, tensor<2x4xi32>, tensor<2xi32>, tensor<i32>, tensor<4xi32>, tensor<4x2xi32>, tensor<2x5x4xi32>, tensor<3x2xi32>, tensor<i32>, tensor<2xi32>, tensor<3xi32>, tensor<2x3xi32>, tensor<2x2x3xi32>, tensor<2x4x2x2xi32>) {
  %broadcast = stablehlo.broadcast %v, sizes = [5, 1] : (tensor<3xi32>) -> tensor<5x1x3xi32>
  %mm = stablehlo.dot %a, %b, precision = [HIGHEST, DEFAULT] : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  %mv = stablehlo.dot %a, %v : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2xi32>
  %vv = "stablehlo.dot"(%v, %v) : (tensor<3xi32>, tensor<3xi32>) -> tensor<i32>
  %vm = stablehlo.dot %v, %b : (tensor<3xi32>, tensor<3x4xi32>) -> tensor<4xi32>
  %einsum = stablehlo.einsum %a, %b, config = "ab,bc->ca" : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<4x2xi32>
  %batch = stablehlo.einsum %l, %r, config = "bij,bjk->bki" : (tensor<2x4x3xi32>, tensor<2x3x5xi32>) -> tensor<2x5x4xi32>
  %transposed = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->ba"}> : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %trace = stablehlo.unary_einsum %square, config = "aa->" : (tensor<3x3xi32>) -> tensor<i32>
  %sums = stablehlo.unary_einsum %a, config = "ab->a" : (tensor<2x3xi32>) -> tensor<2xi32>
  %diagonal = stablehlo.einsum %square, %v, config = "aa,a->a" : (tensor<3x3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %diagonals = stablehlo.unary_einsum %cube, config = "baa->ba" : (tensor<2x3x3xi32>) -> tensor<2x3xi32>
  %selected = "stablehlo.torch_index_select"(%l, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x4x3xi32>, tensor<2x2xi32>) -> tensor<2x2x3xi32>
  %last = "stablehlo.torch_index_select"(%l, %i) <{dim = -1 : i64, batch_dims = 0 : i64}> : (tensor<2x4x3xi32>, tensor<2x2xi32>) -> tensor<2x4x2x2xi32>
  return %broadcast, %mm, %mv, %vv, %vm, %einsum, %batch, %transposed, %trace, %sums, %diagonal, %diagonals, %selected, %last : tensor<5x1x3xi32>, tensor<2x4xi32>, tensor<2xi32>, tensor<i32>, tensor<4xi32>, tensor<4x2xi32>, tensor<2x5x4xi32>, tensor<3x2xi32>, tensor<i32>, tensor<2xi32>, tensor<3xi32>, tensor<2x3xi32>, tensor<2x2x3xi32>, tensor<2x4x2x2xi32>
}

// run: dense<[[7, -5, 4], [-7, -4, 8]]> : tensor<2x3xi32> ; dense<[[-2, 0, -4, -7], [-2, 2, -1, 4], [-3, 2, 4, 7]]> : tensor<3x4xi32> ; dense<[-2, -9, 3]> : tensor<3xi32> ; dense<[[0, 6, -1], [-3, -8, -1], [2, 4, 6]]> : tensor<3x3xi32> ; dense<[[[-6, 1, 5], [-5, -3, 6], [1, 0, 3]], [[0, 8, 4], [-9, -7, 0], [5, -8, 3]]]> : tensor<2x3x3xi32> ; dense<[[[4, 5, 6], [-6, 0, 5], [-3, -6, -1], [-8, -6, 6]], [[3, 6, 6], [6, -4, -1], [2, -5, 7], [-9, 6, 2]]]> : tensor<2x4x3xi32> ; dense<[[[-5, 3, -2, 6, 8], [-4, -1, -6, 3, 2], [6, 5, 8, 8, 7]], [[-7, -9, -1, -3, 7], [5, -2, 1, 1, 7], [-9, -1, 3, -1, 7]]]> : tensor<2x3x5xi32> ; dense<[[0, 2], [1, 1]]> : tensor<2x2xi32>
// = dense<[[[-2, -9, 3]], [[-2, -9, 3]], [[-2, -9, 3]], [[-2, -9, 3]], [[-2, -9, 3]]]> : tensor<5x1x3xi32>
// = dense<[[-16, -2, -7, -41], [-2, 8, 64, 89]]> : tensor<2x4xi32>
// = dense<[43, 74]> : tensor<2xi32>
// = dense<94> : tensor<i32>
// = dense<[13, -12, 29, -1]> : tensor<4xi32>
// = dense<[[-16, -2], [-2, 8], [-7, 64], [-41, 89]]> : tensor<4x2xi32>
// = dense<[[[-4, 60, 33, 100], [37, 7, -8, 12], [10, 52, 34, 100], [87, 4, -44, -18], [84, -13, -43, -34]], [[-45, -53, -102, 75], [-45, -45, -15, 67], [21, -13, 14, 21], [-9, -21, -18, 31], [105, 7, 28, -7]]]> : tensor<2x5x4xi32>
// = dense<[[7, -7], [-5, -4], [4, 8]]> : tensor<3x2xi32>
// = dense<-2> : tensor<i32>
// = dense<[6, -3]> : tensor<2xi32>
// = dense<[0, 72, 18]> : tensor<3xi32>
// = dense<[[-6, -3, 3], [0, -7, 3]]> : tensor<2x3xi32>
// = dense<[[[4, 5, 6], [-3, -6, -1]], [[6, -4, -1], [6, -4, -1]]]> : tensor<2x2x3xi32>
// = dense<[[[[4, 6], [5, 5]], [[-6, 5], [0, 0]], [[-3, -1], [-6, -6]], [[-8, 6], [-6, -6]]], [[[3, 6], [6, 6]], [[6, -1], [-4, -4]], [[2, 7], [-5, -5]], [[-9, 2], [6, 6]]]]> : tensor<2x4x2x2xi32>
