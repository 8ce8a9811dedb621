// Windows: pooling with padding on both sides, strides and both dilations; sums that grow from the beginning
// or the end; windows of more than 64 elements; windows that cover nothing.
func.func @main(%x: tensor<1x4x4x2xf32>, %v: tensor<9xf32>, %k: tensor<70xi32>, %w: tensor<3x80xf32>) -> (tensor<1x2x2x2xf32>, tensor<9xf32>, tensor<9xf32>, tensor<5xf32>, tensor<70xi32>, tensor<3x80xf32>, tensor<3x40xf32>, tensor<4xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %pool = "stablehlo.reduce_window"(%x, %low) <{padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<1x4x4x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %growing = "stablehlo.reduce_window"(%v, %zero) <{padding = dense<[[8, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 9>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
  %shrinking = "stablehlo.reduce_window"(%v, %zero) <{padding = dense<[[0, 8]]> : tensor<1x2xi64>, window_dimensions = array<i64: 9>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.minimum %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<9xf32>
  %dilated = "stablehlo.reduce_window"(%v, %zero) <{base_dilations = array<i64: 2>, window_dilations = array<i64: 3>, padding = dense<[[1, 2]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>, window_strides = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<9xf32>, tensor<f32>) -> tensor<5xf32>
  %count = "stablehlo.reduce_window"(%k, %one) <{padding = dense<[[69, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 70>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %r = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<70xi32>, tensor<i32>) -> tensor<70xi32>
  %large = "stablehlo.reduce_window"(%w, %low) <{padding = dense<[[1, 1], [12, 12]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 25>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x80xf32>, tensor<f32>) -> tensor<3x80xf32>
  %sums = "stablehlo.reduce_window"(%w, %zero) <{padding = dense<[[0, 0], [69, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 70>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<3x80xf32>, tensor<f32>) -> tensor<3x40xf32>
  %few = stablehlo.slice %k [0:2] : (tensor<70xi32>) -> tensor<2xi32>
  %nothing = "stablehlo.reduce_window"(%few, %one) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %r = stablehlo.multiply %a, %b : tensor<i32>
    stablehlo.return %r : tensor<i32>
  }) : (tensor<2xi32>, tensor<i32>) -> tensor<4xi32>
  return %pool, %growing, %shrinking, %dilated, %count, %large, %sums, %nothing : tensor<1x2x2x2xf32>, tensor<9xf32>, tensor<9xf32>, tensor<5xf32>, tensor<70xi32>, tensor<3x80xf32>, tensor<3x40xf32>, tensor<4xi32>
}
// run: dense<[[[[1.0, -1.0], [2.0, -2.0], [3.0, -0.0], [4.0, 0.0]], [[5.0, 0x7FC00000], [1.0, 1.0], [0x7F800000, 2.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [[9.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 8.0]]]]> : tensor<1x4x4x2xf32> ; dense<[1.0, 2.0, 3.0, -0.0, 5.0, 0.5, 7.0, 8.0, 9.0]> : tensor<9xf32> ; dense<3> : tensor<70xi32> ; dense<2.5> : tensor<3x80xf32>
// = dense<[[[[0x7F800000, 0x7FC00000], [0x7F800000, 2.000000e+00]], [[9.000000e+00, 1.000000e+00], [1.000000e+00, 8.000000e+00]]]]> : tensor<1x2x2x2xf32>
// = dense<[1.000000e+00, 3.000000e+00, 6.000000e+00, 6.000000e+00, 1.100000e+01, 1.150000e+01, 1.850000e+01, 2.650000e+01, 3.550000e+01]> : tensor<9xf32>
// = dense<[-0.000000e+00, -0.000000e+00, -0.000000e+00, -0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00, 0.000000e+00]> : tensor<9xf32>
// = dense<[2.000000e+00, 7.000000e+00, 5.000000e+00, 1.300000e+01, 8.000000e+00]> : tensor<5xf32>
// = dense<[4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52, 55, 58, 61, 64, 67, 70, 73, 76, 79, 82, 85, 88, 91, 94, 97, 100, 103, 106, 109, 112, 115, 118, 121, 124, 127, 130, 133, 136, 139, 142, 145, 148, 151, 154, 157, 160, 163, 166, 169, 172, 175, 178, 181, 184, 187, 190, 193, 196, 199, 202, 205, 208, 211]> : tensor<70xi32>
// = dense<2.500000e+00> : tensor<3x80xf32>
// = dense<"0x000020400000F0400000484100008C410000B4410000DC41000002420000164200002A4200003E42000052420000664200007A42000087420000914200009B420000A5420000AF420000B9420000C3420000CD420000D7420000E1420000EB420000F5420000FF42008004430080094300800E43008013430080184300801D43008022430080274300802C4300002F4300002F4300002F4300002F4300002F43000020400000F0400000484100008C410000B4410000DC41000002420000164200002A4200003E42000052420000664200007A42000087420000914200009B420000A5420000AF420000B9420000C3420000CD420000D7420000E1420000EB420000F5420000FF42008004430080094300800E43008013430080184300801D43008022430080274300802C4300002F4300002F4300002F4300002F4300002F43000020400000F0400000484100008C410000B4410000DC41000002420000164200002A4200003E42000052420000664200007A42000087420000914200009B420000A5420000AF420000B9420000C3420000CD420000D7420000E1420000EB420000F5420000FF42008004430080094300800E43008013430080184300801D43008022430080274300802C4300002F4300002F4300002F4300002F4300002F43"> : tensor<3x40xf32>
// = dense<[1, 1, 3, 3]> : tensor<4xi32>
// plan
// | plan: arena 0 bytes, denormals ieee
// | in0: tensor<1x4x4x2xf32>
// | in1: tensor<9xf32>
// | in2: tensor<70xi32>
// | in3: tensor<3x80xf32>
// | number0: tensor<f32> = -inf
// | number1: tensor<f32> = 0.0
// | number2: tensor<i32> = 1
// | out0:f32[1,2,2,2] = reduce_window maximum 1x3x3x1(in0:f32[1,4,4,2], number0:f32[])
// | out1:f32[9] = reduce_window add 9(in1:f32[9], number1:f32[])
// | out2:f32[9] = reduce_window minimum 9(in1:f32[9], number1:f32[])
// | out3:f32[5] = reduce_window add 3(in1:f32[9], number1:f32[])
// | out7:s32[4] = reduce_window multiply 1(in2:s32[2], number2:s32[])
// | out4:s32[70] = reduce_window add 70(in2:s32[70], number2:s32[]) scratch stack[0..1]
// | out5:f32[3,80] = reduce_window maximum 3x25(in3:f32[3,80], number0:f32[]) scratch stack[0..2240]
// | out6:f32[3,40] = reduce_window add 1x70(in3:f32[3,80], number1:f32[]) scratch stack[0..640]
// | return out0:f32[1,2,2,2], out1:f32[9], out2:f32[9], out3:f32[5], out4:s32[70], out5:f32[3,80], out6:f32[3,40], out7:s32[4]
