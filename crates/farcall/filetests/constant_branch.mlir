// A branch that a constant excludes is not compiled, so the target that it calls may be missing.
func.func private @choose(%i: tensor<i32>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.case"(%i) ({
    %a = stablehlo.negate %x : tensor<2xf32>
    stablehlo.return %a : tensor<2xf32>
  }, {
    %b = stablehlo.custom_call @no_such_target(%x) {mhlo.backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %b : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %cpu = stablehlo.constant dense<0> : tensor<i32>
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %0 = call @choose(%cpu, %x) : (tensor<i32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.if"(%yes) ({
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %0 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// run: dense<[1.0, 2.0]> : tensor<2xf32>
// = dense<[-1.000000e+00, -2.000000e+00]> : tensor<2xf32>
// = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2xf32>
// | out0:f32[2] = elementwise negate(in0:f32[2])
// | return out0:f32[2], in0:f32[2]
