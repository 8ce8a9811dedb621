// A step of gradient descent with momentum: results that use rows of a product are written over the inputs.
func.func @main(%w: tensor<64x3xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<64x3xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<32x64xf32>, %g: tensor<32x3xf32>) -> (tensor<64x3xf32>, tensor<64x3xf32>) {
  %rate = stablehlo.constant dense<0.125> : tensor<64x3xf32>
  %d = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x3xf32>) -> tensor<64x3xf32>
  %n = stablehlo.add %m, %d : tensor<64x3xf32>
  %s = stablehlo.multiply %n, %rate : tensor<64x3xf32>
  %v = stablehlo.subtract %w, %s : tensor<64x3xf32>
  return %v, %n : tensor<64x3xf32>, tensor<64x3xf32>
}
// run: dense<0.5> : tensor<64x3xf32> ; dense<0.25> : tensor<64x3xf32> ; dense<2.0> : tensor<32x64xf32> ; dense<-1.5> : tensor<32x3xf32>
// = dense<1.246875e+01> : tensor<64x3xf32>
// = dense<-9.575000e+01> : tensor<64x3xf32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<64x3xf32>, donated
// | in1: tensor<64x3xf32>, donated
// | in2: tensor<32x64xf32>
// | in3: tensor<32x3xf32>
// | in1:f32[64,3], in0:f32[64,3] = fusion dot 1x[64x32x3] add constant multiply subtract(in2:f32[32,64], in3:f32[32,3], in1:f32[64,3], in0:f32[64,3])
// | return in0:f32[64,3], in1:f32[64,3]
