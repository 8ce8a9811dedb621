// passes: region_loops
// A reducer of two operands becomes a loop over the elements.
func.func @main(%x: tensor<5xi32>, %y: tensor<5xi32>, %i: tensor<i32>, %j: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %r:2 = "stablehlo.reduce"(%x, %y, %i, %j) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %s = stablehlo.add %a, %c : tensor<i32>
    %t = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }) : (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xi32>, %arg1: tensor<5xi32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<5xi32>) -> tensor<5x1xi32>
    %1 = stablehlo.reshape %arg1 : (tensor<5xi32>) -> tensor<5x1xi32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %4:3 = "stablehlo.while"(%c, %2, %3, %0, %1) ({
    ^bb0(%iterArg: tensor<i64>, %iterArg_0: tensor<1xi32>, %iterArg_1: tensor<1xi32>, %iterArg_2: tensor<5x1xi32>, %iterArg_3: tensor<5x1xi32>):
      %c_4 = stablehlo.constant dense<5> : tensor<i64>
      %7 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i64>, %iterArg_0: tensor<1xi32>, %iterArg_1: tensor<1xi32>, %iterArg_2: tensor<5x1xi32>, %iterArg_3: tensor<5x1xi32>):
      %c_4 = stablehlo.constant dense<0> : tensor<i64>
      %7 = stablehlo.dynamic_slice %iterArg_2, %iterArg, %c_4, sizes = [1, 1] : (tensor<5x1xi32>, tensor<i64>, tensor<i64>) -> tensor<1x1xi32>
      %8 = stablehlo.reshape %7 : (tensor<1x1xi32>) -> tensor<1xi32>
      %9 = stablehlo.dynamic_slice %iterArg_3, %iterArg, %c_4, sizes = [1, 1] : (tensor<5x1xi32>, tensor<i64>, tensor<i64>) -> tensor<1x1xi32>
      %10 = stablehlo.reshape %9 : (tensor<1x1xi32>) -> tensor<1xi32>
      %11 = stablehlo.add %iterArg_0, %8 : tensor<1xi32>
      %12 = stablehlo.add %iterArg_1, %10 : tensor<1xi32>
      %c_5 = stablehlo.constant dense<1> : tensor<i64>
      %13 = stablehlo.add %iterArg, %c_5 : tensor<i64>
      stablehlo.return %13, %11, %12 : tensor<i64>, tensor<1xi32>, tensor<1xi32>
    }) {farcall.captures = 2 : i64} : (tensor<i64>, tensor<1xi32>, tensor<1xi32>, tensor<5x1xi32>, tensor<5x1xi32>) -> (tensor<i64>, tensor<1xi32>, tensor<1xi32>)
    %5 = stablehlo.reshape %4#1 : (tensor<1xi32>) -> tensor<i32>
    %6 = stablehlo.reshape %4#2 : (tensor<1xi32>) -> tensor<i32>
    return %5, %6 : tensor<i32>, tensor<i32>
  }
}
// -----
// passes: region_loops
// Growing windows become one loop over the last dimension. The region contains a constant.
func.func @main(%x: tensor<2x3xi32>, %i: tensor<i32>) -> tensor<2x3xi32> {
  %r = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.constant dense<7> : tensor<i32>
    %s = stablehlo.add %a, %b : tensor<i32>
    %t = stablehlo.and %s, %c : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xi32>, %arg1: tensor<i32>) -> tensor<2x3xi32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %2:3 = "stablehlo.while"(%c, %0, %1, %arg0) ({
    ^bb0(%iterArg: tensor<i64>, %iterArg_1: tensor<2xi32>, %iterArg_2: tensor<2x3xi32>, %iterArg_3: tensor<2x3xi32>):
      %c_4 = stablehlo.constant dense<3> : tensor<i64>
      %3 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i64>, %iterArg_1: tensor<2xi32>, %iterArg_2: tensor<2x3xi32>, %iterArg_3: tensor<2x3xi32>):
      %c_4 = stablehlo.constant dense<0> : tensor<i64>
      %3 = stablehlo.dynamic_slice %iterArg_3, %c_4, %iterArg, sizes = [2, 1] : (tensor<2x3xi32>, tensor<i64>, tensor<i64>) -> tensor<2x1xi32>
      %4 = stablehlo.reshape %3 : (tensor<2x1xi32>) -> tensor<2xi32>
      %c_5 = stablehlo.constant dense<7> : tensor<i32>
      %5 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<2xi32>
      %6 = stablehlo.add %iterArg_1, %4 : tensor<2xi32>
      %7 = stablehlo.and %6, %5 : tensor<2xi32>
      %c_6 = stablehlo.constant dense<1> : tensor<i64>
      %8 = stablehlo.add %iterArg, %c_6 : tensor<i64>
      %9 = stablehlo.reshape %7 : (tensor<2xi32>) -> tensor<2x1xi32>
      %10 = stablehlo.dynamic_update_slice %iterArg_2, %9, %c_4, %iterArg : (tensor<2x3xi32>, tensor<2x1xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
      stablehlo.return %8, %7, %10 : tensor<i64>, tensor<2xi32>, tensor<2x3xi32>
    }) {farcall.captures = 1 : i64} : (tensor<i64>, tensor<2xi32>, tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<i64>, tensor<2xi32>, tensor<2x3xi32>)
    return %2#2 : tensor<2x3xi32>
  }
}
// -----
// passes: region_loops
// Windows are combined one position after the other. The region is not associative.
func.func @main(%x: tensor<6xi32>, %i: tensor<i32>) -> tensor<2xi32> {
  %r = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 3>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %s = stablehlo.maximum %a, %c : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<6xi32>, tensor<i32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<6xi32>, %arg1: tensor<i32>) -> tensor<2xi32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %1 = stablehlo.slice %arg0 [0:4:3] : (tensor<6xi32>) -> tensor<2xi32>
    %2 = stablehlo.abs %1 : tensor<2xi32>
    %3 = stablehlo.maximum %0, %2 : tensor<2xi32>
    %4 = stablehlo.slice %arg0 [1:5:3] : (tensor<6xi32>) -> tensor<2xi32>
    %5 = stablehlo.abs %4 : tensor<2xi32>
    %6 = stablehlo.maximum %3, %5 : tensor<2xi32>
    %7 = stablehlo.slice %arg0 [2:6:3] : (tensor<6xi32>) -> tensor<2xi32>
    %8 = stablehlo.abs %7 : tensor<2xi32>
    %9 = stablehlo.maximum %6, %8 : tensor<2xi32>
    return %9 : tensor<2xi32>
  }
}
// -----
// passes: region_loops
// Elements in the padding are left out.
func.func @main(%x: tensor<3xi32>, %i: tensor<i32>) -> tensor<3xi32> {
  %r = "stablehlo.reduce_window"(%x, %i) <{padding = dense<[[1, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.subtract %b, %a : tensor<i32>
    %s = stablehlo.maximum %a, %c : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  return %r : tensor<3xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xi32>, %arg1: tensor<i32>) -> tensor<3xi32> {
    %0 = stablehlo.pad %arg0, %arg1, low = [1], high = [0], interior = [0] : (tensor<3xi32>, tensor<i32>) -> tensor<4xi32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %2 = stablehlo.pad %1, %c_0, low = [1], high = [0], interior = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<4xi1>
    %3 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %4 = stablehlo.slice %0 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %5 = stablehlo.slice %2 [0:3] : (tensor<4xi1>) -> tensor<3xi1>
    %6 = stablehlo.subtract %4, %3 : tensor<3xi32>
    %7 = stablehlo.maximum %3, %6 : tensor<3xi32>
    %8 = stablehlo.select %5, %7, %3 : tensor<3xi1>, tensor<3xi32>
    %9 = stablehlo.slice %0 [1:4] : (tensor<4xi32>) -> tensor<3xi32>
    %10 = stablehlo.slice %2 [1:4] : (tensor<4xi1>) -> tensor<3xi1>
    %11 = stablehlo.subtract %9, %8 : tensor<3xi32>
    %12 = stablehlo.maximum %8, %11 : tensor<3xi32>
    %13 = stablehlo.select %10, %12, %8 : tensor<3xi1>, tensor<3xi32>
    return %13 : tensor<3xi32>
  }
}
// -----
// passes: region_loops
// A reduction of a middle dimension. The region captures a value.
func.func @main(%x: tensor<2x3x2xi32>, %i: tensor<i32>, %n: tensor<i32>) -> tensor<2x2xi32> {
  %r = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.multiply %b, %n : tensor<i32>
    %s = stablehlo.add %a, %c : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<2x3x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x2xi32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<2x2xi32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<2x3x2xi32>) -> tensor<3x2x2xi32>
    %1 = stablehlo.reshape %0 : (tensor<3x2x2xi32>) -> tensor<3x4xi32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %3:2 = "stablehlo.while"(%c, %2, %1, %arg2) ({
    ^bb0(%iterArg: tensor<i64>, %iterArg_0: tensor<4xi32>, %iterArg_1: tensor<3x4xi32>, %iterArg_2: tensor<i32>):
      %c_3 = stablehlo.constant dense<3> : tensor<i64>
      %5 = stablehlo.compare LT, %iterArg, %c_3 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i64>, %iterArg_0: tensor<4xi32>, %iterArg_1: tensor<3x4xi32>, %iterArg_2: tensor<i32>):
      %c_3 = stablehlo.constant dense<0> : tensor<i64>
      %5 = stablehlo.dynamic_slice %iterArg_1, %iterArg, %c_3, sizes = [1, 4] : (tensor<3x4xi32>, tensor<i64>, tensor<i64>) -> tensor<1x4xi32>
      %6 = stablehlo.reshape %5 : (tensor<1x4xi32>) -> tensor<4xi32>
      %7 = stablehlo.broadcast_in_dim %iterArg_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
      %8 = stablehlo.multiply %6, %7 : tensor<4xi32>
      %9 = stablehlo.add %iterArg_0, %8 : tensor<4xi32>
      %c_4 = stablehlo.constant dense<1> : tensor<i64>
      %10 = stablehlo.add %iterArg, %c_4 : tensor<i64>
      stablehlo.return %10, %9 : tensor<i64>, tensor<4xi32>
    }) {farcall.captures = 2 : i64} : (tensor<i64>, tensor<4xi32>, tensor<3x4xi32>, tensor<i32>) -> (tensor<i64>, tensor<4xi32>)
    %4 = stablehlo.reshape %3#1 : (tensor<4xi32>) -> tensor<2x2xi32>
    return %4 : tensor<2x2xi32>
  }
}
// -----
// passes: region_loops
func.func @main(%x: tensor<4xi32>, %y: tensor<4xi32>) -> tensor<4xi32> {
  %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.multiply %a, %b : tensor<i32>
    %t = stablehlo.subtract %s, %a : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  return %r : tensor<4xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<4xi32>) -> tensor<4xi32> {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<4xi32>
    %1 = stablehlo.subtract %0, %arg0 : tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
// -----
// passes: region_loops
// Not applied to a reduction that the host has a kernel for, or to a tensor without elements.
func.func @main(%x: tensor<4xi32>, %y: tensor<0xi32>, %i: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  %s = "stablehlo.reduce"(%y, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.abs %b : tensor<i32>
    %d = stablehlo.maximum %a, %c : tensor<i32>
    stablehlo.return %d : tensor<i32>
  }) : (tensor<0xi32>, tensor<i32>) -> tensor<i32>
  return %r, %s : tensor<i32>, tensor<i32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi32>, %arg1: tensor<0xi32>, %arg2: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
    %1 = stablehlo.reduce(%arg1 init: %arg2) across dimensions = [0] : (tensor<0xi32>, tensor<i32>) -> tensor<i32>
     reducer(%arg3: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.abs %arg4 : tensor<i32>
      %3 = stablehlo.maximum %arg3, %2 : tensor<i32>
      stablehlo.return %3 : tensor<i32>
    }
    return %0, %1 : tensor<i32>, tensor<i32>
  }
}
// -----
// passes: region_loops
// A `select_and_scatter` becomes a window reduction and a scatter. (The host has no kernels for the region.)
func.func @main(%x: tensor<4xi1>, %y: tensor<2xi1>, %i: tensor<i1>) -> tensor<4xi1> {
  %r = "stablehlo.select_and_scatter"(%x, %y, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %s = stablehlo.xor %a, %b : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %s = stablehlo.xor %a, %b : tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4xi1>, tensor<2xi1>, tensor<i1>) -> tensor<4xi1>
  return %r : tensor<4xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xi1>, %arg1: tensor<2xi1>, %arg2: tensor<i1>) -> tensor<4xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.reshape %0 : (tensor<4xi32>) -> tensor<4xi32>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %c_0 = stablehlo.constant dense<-1> : tensor<i32>
    %2:2 = "stablehlo.reduce_window"(%arg0, %1, %c, %c_0) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
    ^bb0(%arg3: tensor<i1>, %arg4: tensor<i32>, %arg5: tensor<i1>, %arg6: tensor<i32>):
      %8 = stablehlo.xor %arg3, %arg5 : tensor<i1>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %9 = stablehlo.compare GE, %arg4, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %10 = stablehlo.compare GE, %arg6, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %11 = stablehlo.not %10 : tensor<i1>
      %12 = stablehlo.or %11, %8 : tensor<i1>
      %13 = stablehlo.and %9, %12 : tensor<i1>
      %14 = stablehlo.select %13, %arg3, %arg5 : tensor<i1>, tensor<i1>
      %15 = stablehlo.select %13, %arg4, %arg6 : tensor<i1>, tensor<i32>
      stablehlo.return %14, %15 : tensor<i1>, tensor<i32>
    }) : (tensor<4xi1>, tensor<4xi32>, tensor<i1>, tensor<i32>) -> (tensor<2xi1>, tensor<2xi32>)
    %3 = stablehlo.reshape %2#1 : (tensor<2xi32>) -> tensor<2xi32>
    %4 = stablehlo.reshape %arg1 : (tensor<2xi1>) -> tensor<2xi1>
    %5 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i1>) -> tensor<4xi1>
    %6 = "stablehlo.scatter"(%5, %3, %4) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg3: tensor<i1>, %arg4: tensor<i1>):
      %8 = stablehlo.xor %arg3, %arg4 : tensor<i1>
      stablehlo.return %8 : tensor<i1>
    }) : (tensor<4xi1>, tensor<2xi32>, tensor<2xi1>) -> tensor<4xi1>
    %7 = stablehlo.reshape %6 : (tensor<4xi1>) -> tensor<4xi1>
    return %7 : tensor<4xi1>
  }
}
