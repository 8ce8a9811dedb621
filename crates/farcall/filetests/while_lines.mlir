// Loops over small tensors run as one line, whatever they contain: loops, branches, windows at clamped
// indices, swapped elements, comparisons of vectors, and kernels that are not straight-line programs.
func.func @main(%x: tensor<5xf32>, %table: tensor<3x5xf32>, %keys: tensor<6xi32>, %n: tensor<i32>) -> (tensor<5xf32>, tensor<6x5xf32>, tensor<5xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %limit = stablehlo.constant dense<1.000000e+01> : tensor<5xf32>
  %half = stablehlo.constant dense<5.000000e-01> : tensor<5xf32>
  %rows = stablehlo.constant dense<0.000000e+00> : tensor<6x5xf32>
  %none = stablehlo.constant dense<0> : tensor<5xi32>
  %r:5 = stablehlo.while(%i = %zero, %s = %x, %out = %rows, %over = %none, %steps = %zero) : tensor<i32>, tensor<5xf32>, tensor<6x5xf32>, tensor<5xi32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %k1 = stablehlo.dynamic_slice %keys, %i, sizes = [1] : (tensor<6xi32>, tensor<i32>) -> tensor<1xi32>
    %k = stablehlo.reshape %k1 : (tensor<1xi32>) -> tensor<i32>
    %row1 = stablehlo.dynamic_slice %table, %k, %zero, sizes = [1, 5] : (tensor<3x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
    %row = stablehlo.reshape %row1 : (tensor<1x5xf32>) -> tensor<5xf32>
    %a = "stablehlo.case"(%k) ({
      %m = stablehlo.multiply %s, %half : tensor<5xf32>
      stablehlo.return %m : tensor<5xf32>
    }, {
      %m = stablehlo.add %s, %row : tensor<5xf32>
      stablehlo.return %m : tensor<5xf32>
    }, {
      %m = stablehlo.reverse %s, dims = [0] : tensor<5xf32>
      stablehlo.return %m : tensor<5xf32>
    }) : (tensor<i32>) -> tensor<5xf32>
    %in:2 = stablehlo.while(%j = %zero, %v = %a) : tensor<i32>, tensor<5xf32>
    cond {
      %c = stablehlo.compare LE, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %l = stablehlo.slice %v [1:5] : (tensor<5xf32>) -> tensor<4xf32>
      %f = stablehlo.slice %v [0:1] : (tensor<5xf32>) -> tensor<1xf32>
      %w = stablehlo.concatenate %l, %f, dim = 0 : (tensor<4xf32>, tensor<1xf32>) -> tensor<5xf32>
      %p = stablehlo.multiply %w, %half : tensor<5xf32>
      %q = stablehlo.add %p, %v : tensor<5xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %q : tensor<i32>, tensor<5xf32>
    }
    %sorted = "stablehlo.sort"(%in#1) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<5xf32>) -> tensor<5xf32>
    %far = stablehlo.compare GT, %sorted, %limit : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
    %near = stablehlo.select %far, %limit, %sorted : tensor<5xi1>, tensor<5xf32>
    %count = stablehlo.convert %far : (tensor<5xi1>) -> tensor<5xi32>
    %more = stablehlo.add %over, %count : tensor<5xi32>
    %u = stablehlo.reshape %near : (tensor<5xf32>) -> tensor<1x5xf32>
    %o = stablehlo.dynamic_update_slice %out, %u, %i, %zero : (tensor<6x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<6x5xf32>
    %t = stablehlo.add %steps, %in#0 : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %near, %o, %more, %t : tensor<i32>, tensor<5xf32>, tensor<6x5xf32>, tensor<5xi32>, tensor<i32>
  }
  return %r#1, %r#2, %r#3, %r#4 : tensor<5xf32>, tensor<6x5xf32>, tensor<5xi32>, tensor<i32>
}
// run: dense<[1.0, 2.0, -3.0, 4.0, 0.5]> : tensor<5xf32> ; dense<[[1.0, 1.0, 1.0, 1.0, 1.0], [0.25, 0.5, 0.75, 1.0, 1.25], [2.0, 4.0, 6.0, 8.0, 10.0]]> : tensor<3x5xf32> ; dense<[0, 1, 2, -1, 7, 1]> : tensor<6xi32> ; dense<6> : tensor<i32>
// = dense<1.000000e+01> : tensor<5xf32>
// = dense<[[-5.000000e-01, 2.500000e-01, 5.000000e-01, 1.000000e+00, 2.125000e+00], [8.125000e-01, 2.500000e+00, 3.312500e+00, 4.093750e+00, 5.312500e+00], [8.214844e+00, 8.3359375, 1.000000e+01, 1.000000e+01, 1.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01], [1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01, 1.000000e+01]]> : tensor<6x5xf32>
// = dense<[3, 3, 4, 4, 4]> : tensor<5xi32>
// = dense<21> : tensor<i32>
// run: dense<[1.0, 2.0, -3.0, 4.0, 0.5]> : tensor<5xf32> ; dense<[[1.0, 1.0, 1.0, 1.0, 1.0], [0.25, 0.5, 0.75, 1.0, 1.25], [2.0, 4.0, 6.0, 8.0, 10.0]]> : tensor<3x5xf32> ; dense<[0, 1, 2, -1, 7, 1]> : tensor<6xi32> ; dense<0> : tensor<i32>
// = dense<[1.000000e+00, 2.000000e+00, -3.000000e+00, 4.000000e+00, 5.000000e-01]> : tensor<5xf32>
// = dense<0.000000e+00> : tensor<6x5xf32>
// = dense<0> : tensor<5xi32>
// = dense<0> : tensor<i32>
