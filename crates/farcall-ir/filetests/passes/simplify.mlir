// passes: simplify
// rule: add_zero applies
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %r = stablehlo.add %a, %z : tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    return %arg0 : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: add_zero does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  // -0 + 0 is 0.
  %z = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r = stablehlo.add %a, %z : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: subtract_zero applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r = stablehlo.subtract %a, %z : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    return %arg0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: subtract_zero does not apply
// denormals: flush
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  // Denormals are flushed.
  %z = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r = stablehlo.subtract %a, %z : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %0 = stablehlo.subtract %arg0, %cst : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: subtract_self applies
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %r = stablehlo.subtract %a, %a : tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    return %0 : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: subtract_self does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  // Infinity minus infinity is NaN.
  %r = stablehlo.subtract %a, %a : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.subtract %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: multiply_one applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %r = stablehlo.multiply %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    return %arg0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: multiply_one does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %o = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.multiply %a, %o : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: multiply_zero applies
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %z = stablehlo.constant dense<0> : tensor<2xi32>
  %r = stablehlo.multiply %a, %z : tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<0> : tensor<2xi32>
    return %c : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: multiply_zero does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  // A product with 0 may be NaN or -0.
  %z = stablehlo.constant dense<0.0> : tensor<2xf32>
  %r = stablehlo.multiply %a, %z : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: divide_one applies
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %r = stablehlo.divide %a, %o : tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    return %arg0 : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: divide_one does not apply
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  // 1 is the dividend, not the divisor.
  %r = stablehlo.divide %o, %a : tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    %0 = stablehlo.divide %c, %arg0 : tensor<2xi32>
    return %0 : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: divide_by_power applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<8.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %r = stablehlo.divide %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %cst_0 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<2xf32>
    return %2 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: divide_by_power does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  // The inverse of ten is rounded.
  %b = stablehlo.constant dense<10.0> : tensor<2xf32>
  %r = stablehlo.divide %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %cst = stablehlo.constant dense<1.000000e+01> : tensor<2xf32>
    %0 = stablehlo.divide %arg0, %cst : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: and_or_xor applies
func.func @main(%a: tensor<2xui8>) -> tensor<2xui8> {
  %o = stablehlo.constant dense<255> : tensor<2xui8>
  %r = stablehlo.and %a, %o : tensor<2xui8>
  return %r : tensor<2xui8>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xui8>) -> tensor<2xui8> {
    %c = stablehlo.constant dense<255> : tensor<2xui8>
    return %arg0 : tensor<2xui8>
  }
}
// -----
// passes: simplify
// rule: and_or_xor does not apply
func.func @main(%a: tensor<2xui8>) -> tensor<2xui8> {
  %o = stablehlo.constant dense<127> : tensor<2xui8>
  %r = stablehlo.and %a, %o : tensor<2xui8>
  return %r : tensor<2xui8>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xui8>) -> tensor<2xui8> {
    %c = stablehlo.constant dense<127> : tensor<2xui8>
    %0 = stablehlo.and %arg0, %c : tensor<2xui8>
    return %0 : tensor<2xui8>
  }
}
// -----
// passes: simplify
// rule: idempotent applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.maximum %a, %a : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: idempotent does not apply
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.maximum %a, %b : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: double_inverse applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %n = stablehlo.negate %a : tensor<2xf32>
  %r = stablehlo.negate %n : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %arg0 : tensor<2xf32>
    return %arg0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: double_inverse does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %n = stablehlo.negate %a : tensor<2xf32>
  %r = stablehlo.abs %n : tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.negate %arg0 : tensor<2xf32>
    %1 = stablehlo.abs %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: compare_self applies
func.func @main(%a: tensor<2xi32>) -> tensor<2xi1> {
  %r = stablehlo.compare LE, %a, %a : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  return %r : tensor<2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi1> {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}
// -----
// passes: simplify
// rule: compare_self does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<2xi1> {
  // NaN is not equal to itself.
  %r = stablehlo.compare EQ, %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %r : tensor<2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xi1> {
    %0 = stablehlo.compare EQ, %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    return %0 : tensor<2xi1>
  }
}
// -----
// passes: simplify
// rule: not_of_compare applies
func.func @main(%a: tensor<2xi32>, %b: tensor<2xi32>) -> tensor<2xi1> {
  %c = stablehlo.compare LT, %a, %b, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %r = stablehlo.not %c : tensor<2xi1>
  return %r : tensor<2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>, %arg1: tensor<2xi32>) -> tensor<2xi1> {
    %0 = stablehlo.compare LT, %arg0, %arg1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %1 = stablehlo.compare GE, %arg0, %arg1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    return %1 : tensor<2xi1>
  }
}
// -----
// passes: simplify
// rule: not_of_compare applies
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xi1>, tensor<2xi1>) {
  // `!(a == b)` is `a != b` even for NaN, and the total order compares NaNs as well.
  %c = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %d = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %r = stablehlo.not %c : tensor<2xi1>
  %s = stablehlo.not %d : tensor<2xi1>
  return %r, %s : tensor<2xi1>, tensor<2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> (tensor<2xi1>, tensor<2xi1>) {
    %0 = stablehlo.compare EQ, %arg0, %arg1, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %1 = stablehlo.compare GT, %arg0, %arg1, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %2 = stablehlo.compare NE, %arg0, %arg1, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %3 = stablehlo.compare LE, %arg0, %arg1, TOTALORDER : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    return %2, %3 : tensor<2xi1>, tensor<2xi1>
  }
}
// -----
// passes: simplify
// rule: not_of_compare does not apply
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xi1> {
  // A NaN is neither less nor greater than a number, nor equal to it.
  %c = stablehlo.compare LT, %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %r = stablehlo.not %c : tensor<2xi1>
  return %r : tensor<2xi1>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xi1> {
    %0 = stablehlo.compare LT, %arg0, %arg1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %1 = stablehlo.not %0 : tensor<2xi1>
    return %1 : tensor<2xi1>
  }
}
// -----
// passes: simplify
// rule: select_constant applies
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %r = stablehlo.select %p, %a, %b : tensor<i1>, tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<false> : tensor<i1>
    return %arg1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: select_constant does not apply
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %p = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %r = stablehlo.select %p, %a, %b : tensor<2xi1>, tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<[false, true]> : tensor<2xi1>
    %0 = stablehlo.select %c, %arg0, %arg1 : tensor<2xi1>, tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: select_same applies
func.func @main(%a: tensor<2xi1>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.select %a, %b, %b : tensor<2xi1>, tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi1>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
    return %arg1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: select_same does not apply
func.func @main(%a: tensor<2xi1>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> tensor<2xf32> {
  %r = stablehlo.select %a, %b, %c : tensor<2xi1>, tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi1>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<2xi1>, tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: reshape_of_reshape applies
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %x = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  %r = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %1 : tensor<3x2xf32>
  }
}
// -----
// passes: simplify
// rule: reshape_of_reshape does not apply
func.func @main(%a: tensor<2x3xf32>) -> tensor<6xf32> {
  %x = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = stablehlo.reshape %x : (tensor<3x2xf32>) -> tensor<6xf32>
  return %r : tensor<6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<6xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x2xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
// -----
// passes: simplify
// rule: transpose_of_transpose applies
func.func @main(%a: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
  %x = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %r = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<3x4x2xf32>) -> tensor<4x3x2xf32>
  return %r : tensor<4x3x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> tensor<4x3x2xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 2, 0] : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
    %1 = stablehlo.transpose %arg0, dims = [2, 1, 0] : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
    return %1 : tensor<4x3x2xf32>
  }
}
// -----
// passes: simplify
// rule: transpose_of_transpose does not apply
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %x = stablehlo.reverse %a, dims = [0] : tensor<2x3xf32>
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<2x3xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    return %1 : tensor<3x2xf32>
  }
}
// -----
// passes: simplify, dce
// rule: transpose_of_ones applies
func.func @main(%a: tensor<2x3x1x4xf32>) -> tensor<1x2x3x4xf32> {
  // The dimensions other than 1 stay in order, so the transpose is a reshape.
  %r = stablehlo.transpose %a, dims = [2, 0, 1, 3] : (tensor<2x3x1x4xf32>) -> tensor<1x2x3x4xf32>
  return %r : tensor<1x2x3x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x1x4xf32>) -> tensor<1x2x3x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x1x4xf32>) -> tensor<1x2x3x4xf32>
    return %0 : tensor<1x2x3x4xf32>
  }
}
// -----
// passes: simplify, dce
// rule: transpose_of_ones applies
func.func @main(%a: tensor<6x4xf32>) -> tensor<1x4x6xf32> {
  %x = stablehlo.reshape %a : (tensor<6x4xf32>) -> tensor<6x1x4xf32>
  %r = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<6x1x4xf32>) -> tensor<1x4x6xf32>
  return %r : tensor<1x4x6xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<6x4xf32>) -> tensor<1x4x6xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
    return %1 : tensor<1x4x6xf32>
  }
}
// -----
// passes: simplify
// rule: transpose_of_ones does not apply
func.func @main(%a: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %r = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  return %r : tensor<3x2x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
    return %0 : tensor<3x2x4xf32>
  }
}
// -----
// passes: simplify, dce
// rule: product_of_ones applies
func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x1x5x1x4xf32>) -> tensor<2x3x1x5xf32> {
  // The batch, contracting and column dimensions include dimensions of size 1.
  %a = stablehlo.reshape %x : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
  %r = stablehlo.dot_general %a, %y, batching_dims = [0] x [0], contracting_dims = [2, 3] x [3, 4] : (tensor<2x3x1x4xf32>, tensor<2x1x5x1x4xf32>) -> tensor<2x3x1x5xf32>
  return %r : tensor<2x3x1x5xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3x4xf32>, %arg1: tensor<2x1x5x1x4xf32>) -> tensor<2x3x1x5xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<2x1x5x1x4xf32>) -> tensor<2x5x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x3x5xf32>) -> tensor<2x3x1x5xf32>
    return %2 : tensor<2x3x1x5xf32>
  }
}
// -----
// passes: simplify, dce
// rule: product_of_ones applies
func.func @main(%x: tensor<1x1xf32>, %y: tensor<1x4xf32>) -> tensor<1x4xf32> {
  // All dimensions of the left operand have size 1.
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1x1xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %r : tensor<1x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<1x1xf32>, %arg1: tensor<1x4xf32>) -> tensor<1x4xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<1x1xf32>) -> tensor<f32>
    %1 = stablehlo.reshape %arg1 : (tensor<1x4xf32>) -> tensor<4xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [] x [] : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    %3 = stablehlo.reshape %2 : (tensor<4xf32>) -> tensor<1x4xf32>
    return %3 : tensor<1x4xf32>
  }
}
// -----
// passes: simplify
// rule: product_of_ones does not apply
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3x4xf32>) -> tensor<2x4xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>
  }
}
// -----
// passes: simplify
// rule: broadcast_of_broadcast applies
func.func @main(%a: tensor<2xf32>) -> tensor<2x4x3xf32> {
  %x = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
  %r = stablehlo.broadcast_in_dim %x, dims = [2, 0] : (tensor<3x2xf32>) -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2x4x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<2xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<2xf32>) -> tensor<2x4x3xf32>
    return %1 : tensor<2x4x3xf32>
  }
}
// -----
// passes: simplify
// rule: broadcast_of_broadcast does not apply
func.func @main(%a: tensor<2xf32>) -> tensor<3x2xf32> {
  %x = stablehlo.reshape %a : (tensor<2xf32>) -> tensor<1x2xf32>
  %r = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<3x2xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2xf32>) -> tensor<1x2xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x2xf32>) -> tensor<3x2xf32>
    return %1 : tensor<3x2xf32>
  }
}
// -----
// passes: simplify
// rule: slice_of_slice applies
func.func @main(%a: tensor<16xf32>) -> tensor<2xf32> {
  %x = stablehlo.slice %a [2:14:2] : (tensor<16xf32>) -> tensor<6xf32>
  %r = stablehlo.slice %x [1:6:3] : (tensor<6xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<2xf32> {
    %0 = stablehlo.slice %arg0 [2:14:2] : (tensor<16xf32>) -> tensor<6xf32>
    %1 = stablehlo.slice %arg0 [4:11:6] : (tensor<16xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: slice_of_slice does not apply
func.func @main(%a: tensor<16xf32>) -> tensor<2xf32> {
  %x = stablehlo.reverse %a, dims = [0] : tensor<16xf32>
  %r = stablehlo.slice %x [1:6:3] : (tensor<16xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<16xf32>) -> tensor<2xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<16xf32>
    %1 = stablehlo.slice %0 [1:6:3] : (tensor<16xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: slice_of_concatenate applies
func.func @main(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %x = stablehlo.concatenate %a, %b, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  %r = stablehlo.slice %x [4:6] : (tensor<7xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<4xf32>) -> tensor<2xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
    %1 = stablehlo.slice %arg1 [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: slice_of_concatenate does not apply
func.func @main(%a: tensor<3xf32>, %b: tensor<4xf32>) -> tensor<2xf32> {
  %x = stablehlo.concatenate %a, %b, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  %r = stablehlo.slice %x [2:4] : (tensor<7xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3xf32>, %arg1: tensor<4xf32>) -> tensor<2xf32> {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
    %1 = stablehlo.slice %0 [2:4] : (tensor<7xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: convert_of_convert applies
func.func @main(%a: tensor<2xi8>) -> tensor<2xf32> {
  %x = stablehlo.convert %a : (tensor<2xi8>) -> tensor<2xi32>
  %r = stablehlo.convert %x : (tensor<2xi32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi8>) -> tensor<2xf32> {
    %0 = stablehlo.convert %arg0 : (tensor<2xi8>) -> tensor<2xi32>
    %1 = stablehlo.convert %arg0 : (tensor<2xi8>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: convert_of_convert does not apply
func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {
  %x = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi8>
  %r = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xi32>) -> tensor<2xi32> {
    %0 = stablehlo.convert %arg0 : (tensor<2xi32>) -> tensor<2xi8>
    %1 = stablehlo.convert %0 : (tensor<2xi8>) -> tensor<2xi32>
    return %1 : tensor<2xi32>
  }
}
// -----
// passes: simplify
// rule: known_start applies
func.func @main(%a: tensor<5xf32>) -> tensor<2xf32> {
  // The start is clamped so that the slice is within the operand.
  %i = stablehlo.constant dense<4> : tensor<i32>
  %r = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<4> : tensor<i32>
    %0 = stablehlo.slice %arg0 [3:5] : (tensor<5xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: known_start does not apply
func.func @main(%a: tensor<5xf32>, %b: tensor<i32>) -> tensor<2xf32> {
  %r = stablehlo.dynamic_slice %a, %b, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<i32>) -> tensor<2xf32> {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, sizes = [2] : (tensor<5xf32>, tensor<i32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: constant_folding, simplify
// rule: known_branch applies
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %o = stablehlo.constant dense<1> : tensor<2xi32>
  %q = stablehlo.compare EQ, %o, %o : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %h = stablehlo.slice %q [0:1] : (tensor<2xi1>) -> tensor<1xi1>
  %w = stablehlo.reshape %h : (tensor<1xi1>) -> tensor<i1>
  %r = "stablehlo.if"(%w) ({
    %s = stablehlo.add %a, %a : tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %c = stablehlo.constant dense<1> : tensor<2xi32>
    %c_0 = stablehlo.constant dense<true> : tensor<2xi1>
    %c_1 = stablehlo.constant dense<true> : tensor<1xi1>
    %c_2 = stablehlo.constant dense<true> : tensor<i1>
    %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// rule: known_branch does not apply
func.func @main(%a: tensor<2xf32>, %b: tensor<i1>) -> tensor<2xf32> {
  %r = "stablehlo.if"(%b) ({
    %s = stablehlo.add %a, %a : tensor<2xf32>
    stablehlo.return %s : tensor<2xf32>
  }, {
    stablehlo.return %a : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<i1>) -> tensor<2xf32> {
    %0 = "stablehlo.if"(%arg1, %arg0) ({
    ^bb0(%arg2: tensor<2xf32>):
      %1 = stablehlo.add %arg2, %arg2 : tensor<2xf32>
      stablehlo.return %1 : tensor<2xf32>
    }, {
    ^bb0(%arg2: tensor<2xf32>):
      stablehlo.return %arg2 : tensor<2xf32>
    }) {farcall.captures = 1 : i64} : (tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
// -----
// passes: simplify
// An empty slice may begin after the end of its operand.
// rule: slice_of_slice applies
func.func @main(%a: tensor<5xf32>) -> tensor<0xf32> {
  %x = stablehlo.slice %a [4:5:3] : (tensor<5xf32>) -> tensor<1xf32>
  %r = stablehlo.slice %x [1:1] : (tensor<1xf32>) -> tensor<0xf32>
  return %r : tensor<0xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<5xf32>) -> tensor<0xf32> {
    %0 = stablehlo.slice %arg0 [4:5:3] : (tensor<5xf32>) -> tensor<1xf32>
    %1 = stablehlo.slice %arg0 [0:0] : (tensor<5xf32>) -> tensor<0xf32>
    return %1 : tensor<0xf32>
  }
}
// -----
// passes: simplify
// This type has no negative numbers.
// rule: double_inverse does not apply
func.func @main(%a: tensor<2xf8E8M0FNU>) -> tensor<2xf8E8M0FNU> {
  %n = stablehlo.negate %a : tensor<2xf8E8M0FNU>
  %r = stablehlo.negate %n : tensor<2xf8E8M0FNU>
  return %r : tensor<2xf8E8M0FNU>
}
// =>
module {
  func.func public @main(%arg0: tensor<2xf8E8M0FNU>) -> tensor<2xf8E8M0FNU> {
    %0 = stablehlo.negate %arg0 : tensor<2xf8E8M0FNU>
    %1 = stablehlo.negate %0 : tensor<2xf8E8M0FNU>
    return %1 : tensor<2xf8E8M0FNU>
  }
}
// -----
// passes: simplify
// rule: broadcast_is_reshape applies
func.func @main(%a: tensor<2x3xf32>) -> tensor<2x1x3x1xf32> {
  %x = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x1x3x1xf32>
  return %x : tensor<2x1x3x1xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x1x3x1xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<2x1x3x1xf32>
    return %0 : tensor<2x1x3x1xf32>
  }
}
// -----
// passes: simplify
// rule: broadcast_is_reshape does not apply
func.func @main(%a: tensor<2x2xf32>, %b: tensor<2xf32>) -> (tensor<2x2x1xf32>, tensor<2x2xf32>) {
  %x = stablehlo.broadcast_in_dim %a, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
  %y = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
  return %x, %y : tensor<2x2x1xf32>, tensor<2x2xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x2xf32>, %arg1: tensor<2xf32>) -> (tensor<2x2x1xf32>, tensor<2x2xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2x1xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    return %0, %1 : tensor<2x2x1xf32>, tensor<2x2xf32>
  }
}
// -----
// passes: simplify
// rule: reduce_one applies
func.func @main(%a: tensor<3x1xi1>, %b: tensor<1x3xi32>) -> (tensor<3xi1>, tensor<3xi32>) {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %d = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.reduce(%a init: %c) applies stablehlo.and across dimensions = [1] : (tensor<3x1xi1>, tensor<i1>) -> tensor<3xi1>
  %y = stablehlo.reduce(%b init: %d) applies stablehlo.add across dimensions = [0] : (tensor<1x3xi32>, tensor<i32>) -> tensor<3xi32>
  return %x, %y : tensor<3xi1>, tensor<3xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x1xi1>, %arg1: tensor<1x3xi32>) -> (tensor<3xi1>, tensor<3xi32>) {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reshape %arg0 : (tensor<3x1xi1>) -> tensor<3xi1>
    %1 = stablehlo.reshape %arg1 : (tensor<1x3xi32>) -> tensor<3xi32>
    return %0, %1 : tensor<3xi1>, tensor<3xi32>
  }
}
// -----
// passes: simplify
// rule: reduce_one does not apply
func.func @main(%b: tensor<3x2xi32>) -> tensor<3xi32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x2xi32>, tensor<i32>) -> tensor<3xi32>
  return %y : tensor<3xi32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x2xi32>) -> tensor<3xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.reduce(%arg0 init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x2xi32>, tensor<i32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}
// -----
// passes: simplify
// rule: reduce_by_one applies
// Floats: the sum of -0 and 0 is 0.
func.func @main(%a: tensor<3x1xf32>, %i: tensor<f32>) -> tensor<3xf32> {
  %x = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %x : tensor<3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x1xf32>, %arg1: tensor<f32>) -> tensor<3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<3x1xf32>) -> tensor<3xf32>
    %2 = stablehlo.add %0, %1 : tensor<3xf32>
    return %2 : tensor<3xf32>
  }
}
// -----
// passes: simplify
// rule: reduce_by_one does not apply
// Not applied to dimensions of other sizes, or to a subtraction, which does not commute.
func.func @main(%a: tensor<3x2xf32>, %b: tensor<3x1xf32>, %i: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %x = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  %y = stablehlo.reduce(%b init: %i) applies stablehlo.subtract across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %x, %y : tensor<3xf32>, tensor<3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<3x2xf32>, %arg1: tensor<3x1xf32>, %arg2: tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
    %1 = stablehlo.reduce(%arg1 init: %arg2) applies stablehlo.subtract across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
    return %0, %1 : tensor<3xf32>, tensor<3xf32>
  }
}
