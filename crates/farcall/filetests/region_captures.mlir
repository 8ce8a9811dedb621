// A region may capture an operand of its own instruction.
func.func @main(%x: tensor<3xi32>, %init: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<3xi32>, tensor<2xi32>) {
  %1:2 = stablehlo.reduce(%x init: %init), (%x init: %init) across dimensions = [0] : (tensor<3xi32>, tensor<3xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %s = stablehlo.add %a, %c : tensor<i32>
    %t = stablehlo.maximum %b, %init : tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }
  %2 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.slice %x [2:3] : (tensor<3xi32>) -> tensor<1xi32>
    %r = stablehlo.reshape %s : (tensor<1xi32>) -> tensor<i32>
    %p = stablehlo.remainder %a, %r : tensor<i32>
    %q = stablehlo.remainder %b, %r : tensor<i32>
    %c = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3xi32>) -> tensor<3xi32>
  %3 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    %t = stablehlo.subtract %s, %init : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  return %1#0, %1#1, %2, %3 : tensor<i32>, tensor<i32>, tensor<3xi32>, tensor<2xi32>
}
// run: dense<[5, 6, 4]> : tensor<3xi32> ; dense<1> : tensor<i32>
// = dense<16> : tensor<i32>
// = dense<1> : tensor<i32>
// = dense<[4, 5, 6]> : tensor<3xi32>
// = dense<[10, 9]> : tensor<2xi32>
