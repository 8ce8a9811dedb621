// chlo.scan along several dimensions, forwards and backwards; the results are NumPy's cumulative sums.
func.func @main(%x: tensor<2x3x4xi32>, %y: tensor<2x3x4xi32>, %init: tensor<2x4xi32>) -> (tensor<2x3x4xi32>, tensor<2x4xi32>, tensor<2x3x4xi32>, tensor<2x4xi32>, tensor<2x3x4xi32>, tensor<2x3xi32>, tensor<2x4xi32>, tensor<5xi32>, tensor<i32>, tensor<0xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sum:2 = chlo.scan(%x) inits (%init) dimension = 1 {
  ^bb0(%slice: tensor<2x4xi32>, %carry: tensor<2x4xi32>):
    %s = stablehlo.add %slice, %carry : tensor<2x4xi32>
    stablehlo.return %s, %s : tensor<2x4xi32>, tensor<2x4xi32>
  } : (tensor<2x3x4xi32>, tensor<2x4xi32>) -> (tensor<2x3x4xi32>, tensor<2x4xi32>)
  %back:2 = "chlo.scan"(%x, %init) <{dimension = 1 : i64, is_associative = true, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>, scan_dim_size = 3 : i64}> ({
  ^bb0(%slice: tensor<2x4xi32>, %carry: tensor<2x4xi32>):
    %s = stablehlo.add %slice, %carry : tensor<2x4xi32>
    stablehlo.return %s, %s : tensor<2x4xi32>, tensor<2x4xi32>
  }) : (tensor<2x3x4xi32>, tensor<2x4xi32>) -> (tensor<2x3x4xi32>, tensor<2x4xi32>)
  %several:3 = chlo.scan(%x, %y) inits (%init) dimension = 1 {
  ^bb0(%a: tensor<2x4xi32>, %b: tensor<2x4xi32>, %carry: tensor<2x4xi32>):
    %s = stablehlo.add %a, %carry : tensor<2x4xi32>
    %o = stablehlo.add %s, %b : tensor<2x4xi32>
    %t = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x4xi32>, tensor<i32>) -> tensor<2xi32>
    stablehlo.return %o, %t, %s : tensor<2x4xi32>, tensor<2xi32>, tensor<2x4xi32>
  } : (tensor<2x3x4xi32>, tensor<2x3x4xi32>, tensor<2x4xi32>) -> (tensor<2x3x4xi32>, tensor<2x3xi32>, tensor<2x4xi32>)
  %count:2 = chlo.scan() inits (%zero) dimension = 0 attributes {scan_dim_size = 5 : i64} {
  ^bb0(%carry: tensor<i32>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %s = stablehlo.add %carry, %one : tensor<i32>
    stablehlo.return %carry, %s : tensor<i32>, tensor<i32>
  } : (tensor<i32>) -> (tensor<5xi32>, tensor<i32>)
  %none = stablehlo.constant dense<> : tensor<0xi32>
  %empty:2 = chlo.scan(%none) inits (%zero) dimension = 0 {
  ^bb0(%slice: tensor<i32>, %carry: tensor<i32>):
    stablehlo.return %slice, %carry : tensor<i32>, tensor<i32>
  } : (tensor<0xi32>, tensor<i32>) -> (tensor<0xi32>, tensor<i32>)
  return %sum#0, %sum#1, %back#0, %back#1, %several#0, %several#1, %several#2, %count#0, %count#1, %empty#0, %empty#1 : tensor<2x3x4xi32>, tensor<2x4xi32>, tensor<2x3x4xi32>, tensor<2x4xi32>, tensor<2x3x4xi32>, tensor<2x3xi32>, tensor<2x4xi32>, tensor<5xi32>, tensor<i32>, tensor<0xi32>, tensor<i32>
}

// run: dense<[[[6, -5, -8, -4], [-2, 5, -1, -8], [-3, 1, 5, 4]], [[8, -6, 6, -9], [1, -5, -6, 2], [-4, 1, -5, -7]]]> : tensor<2x3x4xi32> ; dense<[[[7, 8, 6, 3], [-3, -2, -9, -6], [-4, -3, 1, 0]], [[3, 7, 6, 4], [8, -4, 7, 7], [-5, -1, 1, 3]]]> : tensor<2x3x4xi32> ; dense<[[4, -2, 3, 3], [8, -2, -6, 2]]> : tensor<2x4xi32>
// = dense<[[[10, -7, -5, -1], [8, -2, -6, -9], [5, -1, -1, -5]], [[16, -8, 0, -7], [17, -13, -6, -5], [13, -12, -11, -12]]]> : tensor<2x3x4xi32>
// = dense<[[5, -1, -1, -5], [13, -12, -11, -12]]> : tensor<2x4xi32>
// = dense<[[[5, -1, -1, -5], [-1, 4, 7, -1], [1, -1, 8, 7]], [[13, -12, -11, -12], [5, -6, -17, -3], [4, -1, -11, -5]]]> : tensor<2x3x4xi32>
// = dense<[[5, -1, -1, -5], [13, -12, -11, -12]]> : tensor<2x4xi32>
// = dense<[[[17, 1, 1, 2], [5, -4, -15, -15], [1, -4, 0, -5]], [[19, -1, 6, -3], [25, -17, 1, 2], [8, -13, -10, -9]]]> : tensor<2x3x4xi32>
// = dense<[[-3, -9, -2], [1, -7, -22]]> : tensor<2x3xi32>
// = dense<[[5, -1, -1, -5], [13, -12, -11, -12]]> : tensor<2x4xi32>
// = dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
// = dense<5> : tensor<i32>
// = dense<> : tensor<0xi32>
// = dense<0> : tensor<i32>
