// passes: buffer_fills
// Initial values that a loop updates. Small values stay constants.
func.func @main(%n: tensor<i32>) -> (tensor<64xf32>, tensor<2xi32>) {
  %zeros = stablehlo.constant dense<-0.0> : tensor<64xf32>
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %r:3 = stablehlo.while(%i = %n, %x = %zeros, %y = %zero) : tensor<i32>, tensor<64xf32>, tensor<2xi32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %e = stablehlo.cosine %x : tensor<64xf32>
    %d = stablehlo.add %y, %y : tensor<2xi32>
    stablehlo.return %next, %e, %d : tensor<i32>, tensor<64xf32>, tensor<2xi32>
  }
  return %r#1, %r#2 : tensor<64xf32>, tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>) -> (tensor<64xf32>, tensor<2xi32>) {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    %cst = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %1:3 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %0, %iterArg_1 = %c) : tensor<i32>, tensor<64xf32>, tensor<2xi32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      %3 = stablehlo.cosine %iterArg_0 : tensor<64xf32>
      %4 = stablehlo.add %iterArg_1, %iterArg_1 : tensor<2xi32>
      stablehlo.return %2, %3, %4 : tensor<i32>, tensor<64xf32>, tensor<2xi32>
    }
    return %1#1, %1#2 : tensor<64xf32>, tensor<2xi32>
  }
}
// -----
// passes: buffer_fills
// An operand that is updated and also read elsewhere, and a constant with different elements.
func.func @main(%x: tensor<2x40xi64>, %i: tensor<i32>) -> (tensor<8x40xi64>, tensor<8x40xi64>, tensor<40xi64>) {
  %ones = stablehlo.constant dense<1> : tensor<8x40xi64>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.dynamic_update_slice %ones, %x, %i, %zero : (tensor<8x40xi64>, tensor<2x40xi64>, tensor<i32>, tensor<i32>) -> tensor<8x40xi64>
  %b = stablehlo.add %ones, %a : tensor<8x40xi64>
  %row = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]> : tensor<40xi64>
  %u = stablehlo.constant dense<7> : tensor<1xi64>
  %c = stablehlo.dynamic_update_slice %row, %u, %i : (tensor<40xi64>, tensor<1xi64>, tensor<i32>) -> tensor<40xi64>
  return %a, %b, %c : tensor<8x40xi64>, tensor<8x40xi64>, tensor<40xi64>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x40xi64>, %arg1: tensor<i32>) -> (tensor<8x40xi64>, tensor<8x40xi64>, tensor<40xi64>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %0 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i64>) -> tensor<8x40xi64>
    %1 = stablehlo.dynamic_update_slice %0, %arg0, %arg1, %c : (tensor<8x40xi64>, tensor<2x40xi64>, tensor<i32>, tensor<i32>) -> tensor<8x40xi64>
    %c_1 = stablehlo.constant dense<1> : tensor<i64>
    %2 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i64>) -> tensor<8x40xi64>
    %3 = stablehlo.add %2, %1 : tensor<8x40xi64>
    %c_2 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]> : tensor<40xi64>
    %c_3 = stablehlo.constant dense<7> : tensor<1xi64>
    %4 = stablehlo.dynamic_update_slice %c_2, %c_3, %arg1 : (tensor<40xi64>, tensor<1xi64>, tensor<i32>) -> tensor<40xi64>
    return %1, %3, %4 : tensor<8x40xi64>, tensor<8x40xi64>, tensor<40xi64>
  }
}
// -----
// passes: buffer_fills
// A scatter writes to its operand, which is filled. It only reads its updates, which stay a constant.
func.func @main(%i: tensor<4x1xi32>) -> tensor<80xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<80xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<4xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %ones) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
  return %s : tensor<80xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x1xi32>) -> tensor<80xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<80xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %cst) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
    return %1 : tensor<80xf32>
  }
}
// -----
// passes: buffer_fills
// An instruction that runs once gets filled operands. Constants stay in a loop.
func.func @main(%x: tensor<64xf32>, %n: tensor<i32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<64xf32>) {
  %ones = stablehlo.constant dense<1.0> : tensor<64xf32>
  %y = stablehlo.concatenate %x, %ones, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
  %r:2 = stablehlo.while(%i = %n, %z = %y) : tensor<i32>, tensor<128xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %twos = stablehlo.constant dense<2.0> : tensor<128xf32>
    %e = stablehlo.multiply %z, %twos : tensor<128xf32>
    stablehlo.return %next, %e : tensor<i32>, tensor<128xf32>
  }
  return %y, %r#1, %ones : tensor<128xf32>, tensor<128xf32>, tensor<64xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<64xf32>, %arg1: tensor<i32>) -> (tensor<128xf32>, tensor<128xf32>, tensor<64xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<64xf32>
    %0 = stablehlo.concatenate %arg0, %cst, dim = 0 : (tensor<64xf32>, tensor<64xf32>) -> tensor<128xf32>
    %1:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %0) : tensor<i32>, tensor<128xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.add %iterArg, %c : tensor<i32>
      %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<128xf32>
      %3 = stablehlo.multiply %iterArg_0, %cst_1 : tensor<128xf32>
      stablehlo.return %2, %3 : tensor<i32>, tensor<128xf32>
    }
    return %0, %1#1, %cst : tensor<128xf32>, tensor<128xf32>, tensor<64xf32>
  }
}
// -----
// passes: buffer_fills
// Two scatters write to the same broadcast, so the broadcast is duplicated.
func.func @main(%i: tensor<4x1xi32>, %x: tensor<4xf32>) -> (tensor<80xf32>, tensor<80xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<80xf32>
  %s = "stablehlo.scatter"(%zeros, %i, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
  %t = "stablehlo.scatter"(%zeros, %i, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
  return %s, %t : tensor<80xf32>, tensor<80xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x1xi32>, %arg1: tensor<4xf32>) -> (tensor<80xf32>, tensor<80xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<80xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<80xf32>
    %2 = "stablehlo.scatter"(%1, %arg0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
    %3 = "stablehlo.scatter"(%0, %arg0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<80xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<80xf32>
    return %2, %3 : tensor<80xf32>, tensor<80xf32>
  }
}
// -----
// passes: buffer_fills
// A broadcast that is the initial value of two carried values.
func.func @main(%n: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %r:3 = stablehlo.while(%i = %n, %x = %zeros, %y = %zeros) : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %e = stablehlo.cosine %y : tensor<64xf32>
    %d = stablehlo.sine %x : tensor<64xf32>
    stablehlo.return %next, %e, %d : tensor<i32>, tensor<64xf32>, tensor<64xf32>
  }
  return %r#1, %r#2 : tensor<64xf32>, tensor<64xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %2:3 = stablehlo.while(%iterArg = %arg0, %iterArg_1 = %0, %iterArg_2 = %1) : tensor<i32>, tensor<64xf32>, tensor<64xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c : tensor<i32>
      %4 = stablehlo.cosine %iterArg_2 : tensor<64xf32>
      %5 = stablehlo.sine %iterArg_1 : tensor<64xf32>
      stablehlo.return %3, %4, %5 : tensor<i32>, tensor<64xf32>, tensor<64xf32>
    }
    return %2#1, %2#2 : tensor<64xf32>, tensor<64xf32>
  }
}
