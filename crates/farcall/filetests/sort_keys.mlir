// Comparators that compute a key from each side's elements: from the bits, by a captured modulus, of complex
// numbers, and of several operands.
func.func @main(%x: tensor<2x5xf32>, %i: tensor<6xi32>, %m: tensor<i32>, %c: tensor<5xcomplex<f32>>) -> (tensor<2x5xf32>, tensor<2x5xf32>, tensor<6xi32>, tensor<5xcomplex<f32>>, tensor<6xi32>, tensor<6xi32>) {
  %abs = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.abs %a : tensor<f32>
    %q = stablehlo.abs %b : tensor<f32>
    %r = stablehlo.compare LT, %p, %q, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %bits = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %max = stablehlo.constant dense<2147483647> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %as = stablehlo.bitcast_convert %a : (tensor<f32>) -> tensor<i32>
    %af = stablehlo.xor %max, %as : tensor<i32>
    %an = stablehlo.compare LT, %as, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %ac = stablehlo.select %an, %af, %as : tensor<i1>, tensor<i32>
    %bs = stablehlo.bitcast_convert %b : (tensor<f32>) -> tensor<i32>
    %bf = stablehlo.xor %max, %bs : tensor<i32>
    %bn = stablehlo.compare LT, %bs, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %bc = stablehlo.select %bn, %bf, %bs : tensor<i1>, tensor<i32>
    %lt = stablehlo.compare LT, %ac, %bc : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %mod = "stablehlo.sort"(%i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.remainder %a, %m : tensor<i32>
    %q = stablehlo.remainder %b, %m : tensor<i32>
    %r = stablehlo.compare GT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<6xi32>) -> tensor<6xi32>
  %complex = "stablehlo.sort"(%c) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %ar = stablehlo.real %a : (tensor<complex<f32>>) -> tensor<f32>
    %ai = stablehlo.imag %a : (tensor<complex<f32>>) -> tensor<f32>
    %br = stablehlo.real %b : (tensor<complex<f32>>) -> tensor<f32>
    %bi = stablehlo.imag %b : (tensor<complex<f32>>) -> tensor<f32>
    %less = stablehlo.compare LT, %ar, %br, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %same = stablehlo.compare EQ, %ar, %br, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %next = stablehlo.compare LT, %ai, %bi, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %both = stablehlo.and %same, %next : tensor<i1>
    %r = stablehlo.or %less, %both : tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<5xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  %reversed = stablehlo.reverse %i, dims = [0] : tensor<6xi32>
  %pairs:2 = "stablehlo.sort"(%i, %reversed) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c0: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.multiply %a, %c0 : tensor<i32>
    %q = stablehlo.multiply %b, %d : tensor<i32>
    %r = stablehlo.compare LT, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  return %abs, %bits, %mod, %complex, %pairs#0, %pairs#1 : tensor<2x5xf32>, tensor<2x5xf32>, tensor<6xi32>, tensor<5xcomplex<f32>>, tensor<6xi32>, tensor<6xi32>
}
// run: dense<[[-2.0, 1.0, -0.0, 0.0, -1.0], [0x7F800001, -3.0, 0xFFC00000, 0.5, -0.5]]> : tensor<2x5xf32> ; dense<[12, -7, 30, 21, 4, 33]> : tensor<6xi32> ; dense<10> : tensor<i32> ; dense<[(2.0, 1.0), (1.0, 3.0), (-0.0, 1.0), (1.0, -2.0), (0.0, 0.0)]> : tensor<5xcomplex<f32>>
// = dense<[[-0.000000e+00, 0.000000e+00, 1.000000e+00, -1.000000e+00, -2.000000e+00], [5.000000e-01, -5.000000e-01, -3.000000e+00, 0x7F800001, 0xFFC00000]]> : tensor<2x5xf32>
// = dense<[[-2.000000e+00, -1.000000e+00, -0.000000e+00, 0.000000e+00, 1.000000e+00], [0xFFC00000, -3.000000e+00, -5.000000e-01, 5.000000e-01, 0x7F800001]]> : tensor<2x5xf32>
// = dense<[4, 33, 12, 21, 30, -7]> : tensor<6xi32>
// = dense<[(-0.000000e+00,1.000000e+00), (0.000000e+00,0.000000e+00), (1.000000e+00,-2.000000e+00), (1.000000e+00,3.000000e+00), (2.000000e+00,1.000000e+00)]> : tensor<5xcomplex<f32>>
// = dense<[-7, 4, 12, 33, 30, 21]> : tensor<6xi32>
// = dense<[4, -7, 33, 12, 21, 30]> : tensor<6xi32>
// plan
// | plan: arena 64 bytes, denormals ieee
// | in0: tensor<2x5xf32>
// | in1: tensor<6xi32>
// | in2: tensor<i32>
// | in3: tensor<5xcomplex<f32>>
// | out1:f32[2,5], out3:s32[2,5] = fusion abs constant bitcast_convert xor constant compare select(in0:f32[2,5])
// | out0:f32[2,5], out1:f32[2,5] = sort(in0:f32[2,5], out1:f32[2,5]) scratch stack[0..128]
// | out1:f32[2,5], out3:s32[2,5] = sort(in0:f32[2,5], out3:s32[2,5]) scratch stack[0..128]
// | out5:s32[6] = reverse(in1:s32[6])
// | out3:s32[6], arena[0..24]:s32[6] = fusion broadcast_in_dim remainder multiply(in2:s32[], in1:s32[6], out5:s32[6])
// | out2:s32[6], out3:s32[6] = sort(in1:s32[6], out3:s32[6]) scratch stack[0..128]
// | out4:f32[5], arena[32..52]:f32[5] = fusion imag real(in3:c64[5])
// | out3:c64[5], out4:f32[5], arena[32..52]:f32[5] = sort(in3:c64[5], out4:f32[5], arena[32..52]:f32[5]) scratch stack[0..256]
// | out4:s32[6], out5:s32[6], arena[0..24]:s32[6] = sort(in1:s32[6], out5:s32[6], arena[0..24]:s32[6]) scratch stack[0..128]
// | return out0:f32[2,5], out1:f32[2,5], out2:s32[6], out3:c64[5], out4:s32[6], out5:s32[6]
