// passes: negative_indices, dce
// The code that JAX writes, for a gather and a scatter with the same indices.
func.func @main(%x: tensor<5x3xf32>, %i: tensor<4xi32>) -> tensor<5x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<i32>) -> tensor<4xi32>
  %below = stablehlo.compare LT, %i, %zeros, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %size = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<4xi32>
  %sum = stablehlo.add %i, %size : tensor<4xi32>
  %j = stablehlo.select %below, %sum, %i : tensor<4xi1>, tensor<4xi32>
  %k = stablehlo.broadcast_in_dim %j, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %r = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  %s = "stablehlo.scatter"(%x, %k, %r) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
  return %s : tensor<5x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5x3xf32>, %arg1: tensor<4xi32>) -> tensor<5x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %1 = "farcall.wrapping_gather"(%arg0, %0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, wrap = array<i64: 5>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
    %2 = "farcall.wrapping_scatter"(%arg0, %0, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, wrap = array<i64: 5>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
    return %2 : tensor<5x3xf32>
  }
}
// -----
// passes: negative_indices, dce
// Equivalent code in a loop: the comparison `0 <= i` with exchanged branches, and the comparison `-1 >= i`.
func.func @main(%x: tensor<5xf32>, %i: tensor<2x1xi8>) -> (tensor<2xf32>, tensor<2x1xi8>) {
  %done = stablehlo.constant dense<false> : tensor<i1>
  %all = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r:2 = stablehlo.while(%sum = %all, %at = %i) : tensor<2xf32>, tensor<2x1xi8>
  cond {
    %most = stablehlo.constant dense<1.0> : tensor<2xf32>
    %less = stablehlo.compare LT, %sum, %most : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %any = stablehlo.reduce(%less init: %done) applies stablehlo.and across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %any : tensor<i1>
  } do {
    %zeros = stablehlo.constant dense<0> : tensor<2x1xi8>
    %size = stablehlo.constant dense<5> : tensor<2x1xi8>
    %there = stablehlo.compare LE, %zeros, %at : (tensor<2x1xi8>, tensor<2x1xi8>) -> tensor<2x1xi1>
    %shifted = stablehlo.add %size, %at : tensor<2x1xi8>
    %j = stablehlo.select %there, %at, %shifted : tensor<2x1xi1>, tensor<2x1xi8>
    %y = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi8>) -> tensor<2xf32>
    %ones = stablehlo.constant dense<-1> : tensor<2x1xi8>
    %below = stablehlo.compare GE, %ones, %at : (tensor<2x1xi8>, tensor<2x1xi8>) -> tensor<2x1xi1>
    %k = stablehlo.select %below, %shifted, %at : tensor<2x1xi1>, tensor<2x1xi8>
    %z = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi8>) -> tensor<2xf32>
    %added = stablehlo.add %y, %z : tensor<2xf32>
    %next = stablehlo.add %added, %sum : tensor<2xf32>
    %one = stablehlo.constant dense<1> : tensor<2x1xi8>
    %later = stablehlo.add %at, %one : tensor<2x1xi8>
    stablehlo.return %next, %later : tensor<2xf32>, tensor<2x1xi8>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2x1xi8>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<2x1xi8>) -> (tensor<2xf32>, tensor<2x1xi8>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %0:2 = "stablehlo.while"(%cst, %arg1, %arg0) ({
    ^bb0(%iterArg: tensor<2xf32>, %iterArg_0: tensor<2x1xi8>, %iterArg_1: tensor<5xf32>):
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<2xf32>
      %1 = stablehlo.compare LT, %iterArg, %cst_2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
      %c = stablehlo.constant dense<false> : tensor<i1>
      %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.and across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<2xf32>, %iterArg_0: tensor<2x1xi8>, %iterArg_1: tensor<5xf32>):
      %1 = "farcall.wrapping_gather"(%iterArg_1, %iterArg_0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 5>}> : (tensor<5xf32>, tensor<2x1xi8>) -> tensor<2xf32>
      %2 = "farcall.wrapping_gather"(%iterArg_1, %iterArg_0) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 5>}> : (tensor<5xf32>, tensor<2x1xi8>) -> tensor<2xf32>
      %3 = stablehlo.add %1, %2 : tensor<2xf32>
      %4 = stablehlo.add %3, %iterArg : tensor<2xf32>
      %c = stablehlo.constant dense<1> : tensor<2x1xi8>
      %5 = stablehlo.add %iterArg_0, %c : tensor<2x1xi8>
      stablehlo.return %4, %5 : tensor<2xf32>, tensor<2x1xi8>
    }) {farcall.captures = 1 : i64} : (tensor<2xf32>, tensor<2x1xi8>, tensor<5xf32>) -> (tensor<2xf32>, tensor<2x1xi8>)
    return %0#0, %0#1 : tensor<2xf32>, tensor<2x1xi8>
  }
}
// -----
// passes: negative_indices, dce
// Index vectors of two entries that are also compared, and a single index that is broadcast.
func.func @main(%x: tensor<5x5xf32>, %i: tensor<2x4xi64>, %n: tensor<i64>) -> (tensor<4xf32>, tensor<2x4xi1>, tensor<3x5xf32>) {
  %zeros = stablehlo.constant dense<0> : tensor<2x4xi64>
  %size = stablehlo.constant dense<5> : tensor<2x4xi64>
  %below = stablehlo.compare LT, %i, %zeros : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
  %sum = stablehlo.add %i, %size : tensor<2x4xi64>
  %j = stablehlo.select %below, %sum, %i : tensor<2x4xi1>, tensor<2x4xi64>
  %k = stablehlo.transpose %j, dims = [1, 0] : (tensor<2x4xi64>) -> tensor<4x2xi64>
  %r = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x5xf32>, tensor<4x2xi64>) -> tensor<4xf32>
  %inside = stablehlo.compare LT, %j, %size : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
  %none = stablehlo.constant dense<0> : tensor<i64>
  %five = stablehlo.constant dense<5> : tensor<i64>
  %early = stablehlo.compare LT, %n, %none : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %later = stablehlo.add %n, %five : tensor<i64>
  %at = stablehlo.select %early, %later, %n : tensor<i1>, tensor<i64>
  %all = stablehlo.broadcast_in_dim %at, dims = [] : (tensor<i64>) -> tensor<3x1xi64>
  %s = "stablehlo.gather"(%x, %all) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<5x5xf32>, tensor<3x1xi64>) -> tensor<3x5xf32>
  return %r, %inside, %s : tensor<4xf32>, tensor<2x4xi1>, tensor<3x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5x5xf32>, %arg1: tensor<2x4xi64>, %arg2: tensor<i64>) -> (tensor<4xf32>, tensor<2x4xi1>, tensor<3x5xf32>) {
    %c = stablehlo.constant dense<0> : tensor<2x4xi64>
    %c_0 = stablehlo.constant dense<5> : tensor<2x4xi64>
    %0 = stablehlo.compare LT, %arg1, %c : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
    %1 = stablehlo.add %arg1, %c_0 : tensor<2x4xi64>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<2x4xi1>, tensor<2x4xi64>
    %3 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<2x4xi64>) -> tensor<4x2xi64>
    %4 = "farcall.wrapping_gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, wrap = array<i64: 5, 5>}> : (tensor<5x5xf32>, tensor<4x2xi64>) -> tensor<4xf32>
    %5 = stablehlo.compare LT, %2, %c_0 : (tensor<2x4xi64>, tensor<2x4xi64>) -> tensor<2x4xi1>
    %6 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i64>) -> tensor<3x1xi64>
    %7 = "farcall.wrapping_gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>, wrap = array<i64: 5>}> : (tensor<5x5xf32>, tensor<3x1xi64>) -> tensor<3x5xf32>
    return %4, %5, %7 : tensor<4xf32>, tensor<2x4xi1>, tensor<3x5xf32>
  }
}
// -----
// passes: negative_indices, dce
// Concatenated indices, one of which is not wrapped. Not applied if the index vectors are along another
// dimension.
func.func @main(%x: tensor<5x7xf32>, %i: tensor<2xi32>, %j: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zeros = stablehlo.constant dense<0> : tensor<2xi32>
  %five = stablehlo.constant dense<5> : tensor<2xi32>
  %seven = stablehlo.constant dense<7> : tensor<2xi32>
  %i_below = stablehlo.compare LT, %i, %zeros : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %i_sum = stablehlo.add %i, %five : tensor<2xi32>
  %rows = stablehlo.select %i_below, %i_sum, %i : tensor<2xi1>, tensor<2xi32>
  %j_below = stablehlo.compare LT, %j, %zeros : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %j_sum = stablehlo.add %j, %seven : tensor<2xi32>
  %columns = stablehlo.select %j_below, %j_sum, %j : tensor<2xi1>, tensor<2xi32>
  %r = stablehlo.reshape %rows : (tensor<2xi32>) -> tensor<2x1xi32>
  %c = stablehlo.reshape %columns : (tensor<2xi32>) -> tensor<2x1xi32>
  %n = stablehlo.reshape %j : (tensor<2xi32>) -> tensor<2x1xi32>
  %both = stablehlo.concatenate %r, %c, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %one = stablehlo.concatenate %r, %n, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
  %a = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  %b = "stablehlo.gather"(%x, %one) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  %d = "stablehlo.gather"(%x, %both) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
  return %a, %b, %d : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5x7xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %c_0 = stablehlo.constant dense<5> : tensor<2xi32>
    %c_1 = stablehlo.constant dense<7> : tensor<2xi32>
    %0 = stablehlo.compare LT, %arg1, %c : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %1 = stablehlo.add %arg1, %c_0 : tensor<2xi32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<2xi1>, tensor<2xi32>
    %3 = stablehlo.compare LT, %arg2, %c : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %4 = stablehlo.add %arg2, %c_1 : tensor<2xi32>
    %5 = stablehlo.select %3, %4, %arg2 : tensor<2xi1>, tensor<2xi32>
    %6 = stablehlo.reshape %2 : (tensor<2xi32>) -> tensor<2x1xi32>
    %7 = stablehlo.reshape %5 : (tensor<2xi32>) -> tensor<2x1xi32>
    %8 = stablehlo.reshape %arg2 : (tensor<2xi32>) -> tensor<2x1xi32>
    %9 = stablehlo.concatenate %6, %7, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %10 = stablehlo.reshape %arg1 : (tensor<2xi32>) -> tensor<2x1xi32>
    %11 = stablehlo.reshape %arg2 : (tensor<2xi32>) -> tensor<2x1xi32>
    %12 = stablehlo.concatenate %10, %11, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %13 = "farcall.wrapping_gather"(%arg0, %12) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, wrap = array<i64: 5, 7>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
    %14 = stablehlo.reshape %arg1 : (tensor<2xi32>) -> tensor<2x1xi32>
    %15 = stablehlo.concatenate %14, %8, dim = 1 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
    %16 = "farcall.wrapping_gather"(%arg0, %15) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, wrap = array<i64: 5, 0>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
    %17 = "stablehlo.gather"(%arg0, %9) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1]>, slice_sizes = array<i64: 1, 1>}> : (tensor<5x7xf32>, tensor<2x2xi32>) -> tensor<2xf32>
    return %13, %16, %17 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
// -----
// passes: negative_indices, dce
// The wrapped indices are also a result, so they are computed anyway.
func.func @main(%x: tensor<5xf32>, %i: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2x1xi32>) {
  %zeros = stablehlo.constant dense<0> : tensor<2x1xi32>
  %size = stablehlo.constant dense<5> : tensor<2x1xi32>
  %below = stablehlo.compare LT, %i, %zeros : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
  %sum = stablehlo.add %i, %size : tensor<2x1xi32>
  %j = stablehlo.select %below, %sum, %i : tensor<2x1xi1>, tensor<2x1xi32>
  %r = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return %r, %j : tensor<2xf32>, tensor<2x1xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<2x1xi32>
    %c_0 = stablehlo.constant dense<5> : tensor<2x1xi32>
    %0 = stablehlo.compare LT, %arg1, %c : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
    %1 = stablehlo.add %arg1, %c_0 : tensor<2x1xi32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %3 = "stablehlo.gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    return %3, %2 : tensor<2xf32>, tensor<2x1xi32>
  }
}
// -----
// passes: negative_indices, dce
// Indices that are wrapped twice: only the outer wrapping becomes part of the gather. Not applied to unsigned
// indices, to other comparisons, to a negative summand, or if the select uses other indices than the
// comparison.
func.func @main(%x: tensor<5xf32>, %i: tensor<2x1xi32>, %u: tensor<2x1xui32>, %o: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %zeros = stablehlo.constant dense<0> : tensor<2x1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2x1xi32>
  %size = stablehlo.constant dense<5> : tensor<2x1xi32>
  %less = stablehlo.constant dense<-5> : tensor<2x1xi32>
  %below = stablehlo.compare LT, %i, %zeros : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
  %sum = stablehlo.add %i, %size : tensor<2x1xi32>
  %once = stablehlo.select %below, %sum, %i : tensor<2x1xi1>, tensor<2x1xi32>
  %still = stablehlo.compare LT, %once, %zeros : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
  %more = stablehlo.add %once, %size : tensor<2x1xi32>
  %twice = stablehlo.select %still, %more, %once : tensor<2x1xi1>, tensor<2x1xi32>
  %a = "stablehlo.gather"(%x, %twice) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %none = stablehlo.constant dense<0> : tensor<2x1xui32>
  %five = stablehlo.constant dense<5> : tensor<2x1xui32>
  %never = stablehlo.compare LT, %u, %none : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x1xi1>
  %unsigned = stablehlo.add %u, %five : tensor<2x1xui32>
  %same = stablehlo.select %never, %unsigned, %u : tensor<2x1xi1>, tensor<2x1xui32>
  %b = "stablehlo.gather"(%x, %same) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xui32>) -> tensor<2xf32>
  %first = stablehlo.compare LT, %i, %ones : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
  %j = stablehlo.select %first, %sum, %i : tensor<2x1xi1>, tensor<2x1xi32>
  %c = "stablehlo.gather"(%x, %j) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %lower = stablehlo.add %i, %less : tensor<2x1xi32>
  %k = stablehlo.select %below, %lower, %i : tensor<2x1xi1>, tensor<2x1xi32>
  %d = "stablehlo.gather"(%x, %k) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %l = stablehlo.select %below, %sum, %o : tensor<2x1xi1>, tensor<2x1xi32>
  %e = "stablehlo.gather"(%x, %l) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  %other = stablehlo.add %o, %size : tensor<2x1xi32>
  %m = stablehlo.select %below, %other, %i : tensor<2x1xi1>, tensor<2x1xi32>
  %f = "stablehlo.gather"(%x, %m) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return %a, %b, %c, %d, %e, %f : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<2x1xi32>, %arg2: tensor<2x1xui32>, %arg3: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %c = stablehlo.constant dense<0> : tensor<2x1xi32>
    %c_0 = stablehlo.constant dense<1> : tensor<2x1xi32>
    %c_1 = stablehlo.constant dense<5> : tensor<2x1xi32>
    %c_2 = stablehlo.constant dense<-5> : tensor<2x1xi32>
    %0 = stablehlo.compare LT, %arg1, %c : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
    %1 = stablehlo.add %arg1, %c_1 : tensor<2x1xi32>
    %2 = stablehlo.select %0, %1, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %3 = "farcall.wrapping_gather"(%arg0, %2) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 5>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<2x1xui32>
    %c_4 = stablehlo.constant dense<5> : tensor<2x1xui32>
    %4 = stablehlo.compare LT, %arg2, %c_3 : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x1xi1>
    %5 = stablehlo.add %arg2, %c_4 : tensor<2x1xui32>
    %6 = stablehlo.select %4, %5, %arg2 : tensor<2x1xi1>, tensor<2x1xui32>
    %7 = "stablehlo.gather"(%arg0, %6) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xui32>) -> tensor<2xf32>
    %8 = stablehlo.compare LT, %arg1, %c_0 : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
    %9 = stablehlo.select %8, %1, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %10 = "stablehlo.gather"(%arg0, %9) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    %11 = stablehlo.add %arg1, %c_2 : tensor<2x1xi32>
    %12 = stablehlo.select %0, %11, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %13 = "stablehlo.gather"(%arg0, %12) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    %14 = stablehlo.select %0, %1, %arg3 : tensor<2x1xi1>, tensor<2x1xi32>
    %15 = "stablehlo.gather"(%arg0, %14) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    %16 = stablehlo.add %arg3, %c_1 : tensor<2x1xi32>
    %17 = stablehlo.select %0, %16, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %18 = "stablehlo.gather"(%arg0, %17) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<5xf32>, tensor<2x1xi32>) -> tensor<2xf32>
    return %3, %7, %10, %13, %15, %18 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
