// The gradient of max pooling, with overlapping windows, ties and NaNs; windows along the first dimension;
// integers, of which the smallest is selected.
func.func @main(%x: tensor<1x5x5x2xf32>, %v: tensor<1x2x2x2xf32>, %y: tensor<5xf32>, %u: tensor<4xf32>, %k: tensor<2x4xi16>, %s: tensor<2x2xi16>) -> (tensor<1x5x5x2xf32>, tensor<5xf32>, tensor<2x4xi16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i16>
  %0 = "stablehlo.select_and_scatter"(%x, %v, %zero) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<1x5x5x2xf32>, tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x5x5x2xf32>
  %1 = "stablehlo.select_and_scatter"(%y, %u, %zero) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %b, %a : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<5xf32>, tensor<4xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = "stablehlo.select_and_scatter"(%k, %s, %one) <{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 3>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %c = stablehlo.compare LE, %a, %b, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%a: tensor<i16>, %b: tensor<i16>):
    %c = stablehlo.add %a, %b : tensor<i16>
    stablehlo.return %c : tensor<i16>
  }) : (tensor<2x4xi16>, tensor<2x2xi16>, tensor<i16>) -> tensor<2x4xi16>
  return %0, %1, %2 : tensor<1x5x5x2xf32>, tensor<5xf32>, tensor<2x4xi16>
}
// run: dense<1.5> : tensor<1x5x5x2xf32> ; dense<[[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]> : tensor<1x2x2x2xf32> ; dense<[1.0, 0x7FC00000, 3.0, 3.0, -0.0]> : tensor<5xf32> ; dense<[1.0, 10.0, 100.0, 1000.0]> : tensor<4xf32> ; dense<[[4, 1, 1, 0], [-5, 2, 3, -9]]> : tensor<2x4xi16> ; dense<[[1, 2], [3, 4]]> : tensor<2x2xi16>
// = dense<[[[[1.000000e+00, 2.000000e+00], [0.000000e+00, 0.000000e+00], [3.000000e+00, 4.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]], [[0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]], [[5.000000e+00, 6.000000e+00], [0.000000e+00, 0.000000e+00], [7.000000e+00, 8.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]], [[0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]], [[0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]]]]> : tensor<1x5x5x2xf32>
// = dense<[0.000000e+00, 1.000000e+00, 1.000000e+01, 1.100000e+03, 0.000000e+00]> : tensor<5xf32>
// = dense<[[1, 2, 1, 3], [4, 1, 1, 5]]> : tensor<2x4xi16>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<1x5x5x2xf32>
// | in1: tensor<1x2x2x2xf32>
// | in2: tensor<5xf32>
// | in3: tensor<4xf32>
// | in4: tensor<2x4xi16>
// | in5: tensor<2x2xi16>
// | number0: tensor<f32> = 0.0
// | number1: tensor<i16> = 1
// | out1:f32[5] = select_and_scatter(in2:f32[5], in3:f32[4], number0:f32[])
// | out2:s16[2,4] = select_and_scatter(in4:s16[2,4], in5:s16[2,2], number1:s16[])
// | out0:f32[1,5,5,2] = select_and_scatter(in0:f32[1,5,5,2], in1:f32[1,2,2,2], number0:f32[])
// | return out0:f32[1,5,5,2], out1:f32[5], out2:s16[2,4]
