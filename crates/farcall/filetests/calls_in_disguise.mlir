// Custom calls that have no effect in a program for one device.
func.func @main(%x: tensor<2xf32>, %y: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<i32>, tensor<2xi32>) {
  %shape = stablehlo.constant dense<2> : tensor<1xi32>
  %0 = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %shape) {indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<2xf32>, tensor<1xi32>) -> tensor<2xf32>
  %1:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%0, %y) {has_side_effect = true} : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
  %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1#0) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = stablehlo.custom_call @AllocateBuffer() : () -> tensor<2xi32>
  return %0, %2, %1#1, %3 : tensor<2xf32>, tensor<2xf32>, tensor<i32>, tensor<2xi32>
}

// run: dense<[1.0, 2.0]> : tensor<2xf32> ; dense<7> : tensor<i32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// = dense<7> : tensor<i32>
// = dense<0> : tensor<2xi32>
