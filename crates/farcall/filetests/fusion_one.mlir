// A fusion of a program may say that one element is a result beside many, among them a broadcast that repeats.
func.func @main(%x: tensor<2x3xf32>, %b: tensor<3xf32>, %s: tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>) {
  %r:2 = "mhlo.fusion"(%x, %b, %s) ({
  ^bb0(%a: tensor<2x3xf32>, %c: tensor<3xf32>, %d: tensor<f32>):
    %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %f = stablehlo.add %a, %e : tensor<2x3xf32>
    %h = stablehlo.add %d, %d : tensor<f32>
    "stablehlo.return"(%f, %h) : (tensor<2x3xf32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>)
  return %r#0, %r#1 : tensor<2x3xf32>, tensor<f32>
}
// run: dense<[[1.0, 2.0, 0.5], [-4.0, 1.0, 1.0]]> : tensor<2x3xf32> ; dense<[1.0, 5.0, 2.5]> : tensor<3xf32> ; dense<4.0> : tensor<f32>
// = dense<[[2.000000e+00, 7.000000e+00, 3.000000e+00], [-3.000000e+00, 6.000000e+00, 3.500000e+00]]> : tensor<2x3xf32>
// = dense<8.000000e+00> : tensor<f32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<2x3xf32>
// | in1: tensor<3xf32>
// | in2: tensor<f32>
// | out0:f32[2,3], out1:f32[] = reference mhlo.fusion(in0:f32[2,3], in1:f32[3], in2:f32[])
// | return out0:f32[2,3], out1:f32[]
