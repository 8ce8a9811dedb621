// Largest and smallest numbers with their indices, as JAX compiles `argmax` and `argmin`: ties, NaNs, zeros
// of both signs, reductions along rows and columns, and reductions of no elements.
func.func @main(%x: tensor<2x5xf32>, %k: tensor<3x2xui8>, %e: tensor<2x0xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<5xf32>, tensor<5xi64>, tensor<2xui8>, tensor<2xi32>, tensor<2xi32>) {
  %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %place = stablehlo.iota dim = 1 : tensor<2x5xi32>
  %rows:2 = stablehlo.reduce(%x init: %init), (%place init: %c) across dimensions = [1] : (tensor<2x5xf32>, tensor<2x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %2 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %5 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.compare LT, %i, %j, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.and %5, %6 : tensor<i1>
    %8 = stablehlo.or %4, %7 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %8, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  // The last of several equal smallest numbers, along columns.
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %d = stablehlo.constant dense<-1> : tensor<i64>
  %row = stablehlo.iota dim = 0 : tensor<2x5xi64>
  %columns:2 = stablehlo.reduce(%x init: %high), (%row init: %d) across dimensions = [0] : (tensor<2x5xf32>, tensor<2x5xi64>, tensor<f32>, tensor<i64>) -> (tensor<5xf32>, tensor<5xi64>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i64>, %j: tensor<i64>)  {
    %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %4, %i, %j : tensor<i1>, tensor<i64>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i64>
  }
  // Integers: the first of several equal largest numbers.
  %zero = stablehlo.constant dense<0> : tensor<ui8>
  %number = stablehlo.iota dim = 0 : tensor<3x2xi32>
  %bytes:2 = stablehlo.reduce(%k init: %zero), (%number init: %c) across dimensions = [0] : (tensor<3x2xui8>, tensor<3x2xi32>, tensor<ui8>, tensor<i32>) -> (tensor<2xui8>, tensor<2xi32>)
   reducer(%a: tensor<ui8>, %b: tensor<ui8>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %0 = stablehlo.compare GE, %a, %b, UNSIGNED : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %b : tensor<i1>, tensor<ui8>
    %2 = stablehlo.select %0, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<ui8>, tensor<i32>
  }
  %none = stablehlo.iota dim = 1 : tensor<2x0xi32>
  %empty:2 = stablehlo.reduce(%e init: %init), (%none init: %c) across dimensions = [1] : (tensor<2x0xf32>, tensor<2x0xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
    %2 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.compare NE, %a, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %4 = stablehlo.or %2, %3 : tensor<i1>
    %9 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %4, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  return %rows#0, %rows#1, %columns#0, %columns#1, %bytes#0, %bytes#1, %empty#1 : tensor<2xf32>, tensor<2xi32>, tensor<5xf32>, tensor<5xi64>, tensor<2xui8>, tensor<2xi32>, tensor<2xi32>
}
// run: dense<[[-0.0, 3.0, 0.0, 3.0, 1.0e-40], [0.0, 0x7FC00000, 5.0, 0xFFC00000, -0.0]]> : tensor<2x5xf32> ; dense<[[7, 0], [255, 0], [255, 0]]> : tensor<3x2xui8> ; dense<> : tensor<2x0xf32>
// = dense<[3.000000e+00, 0x7FC00000]> : tensor<2xf32>
// = dense<1> : tensor<2xi32>
// = dense<[0.000000e+00, 0x7FC00000, 0.000000e+00, 0xFFC00000, -0.000000e+00]> : tensor<5xf32>
// = dense<[1, 1, 0, 1, 1]> : tensor<5xi64>
// = dense<[255, 0]> : tensor<2xui8>
// = dense<[1, 0]> : tensor<2xi32>
// = dense<0> : tensor<2xi32>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<2x5xf32>
// | in1: tensor<3x2xui8>
// | in2: tensor<2x0xf32>
// | number0: tensor<f32> = -inf
// | number1: tensor<i32> = 0
// | number2: tensor<f32> = inf
// | number3: tensor<i64> = -1
// | number4: tensor<ui8> = 0
// | const0: tensor<2x0xi32> =
// | out0:f32[2], out1:s32[2] = arg_reduce largest(in0:f32[2,5], iota(1):s32[2,5], number0:f32[], number1:s32[])
// | out2:f32[5], out3:s64[5] = arg_reduce smallest(in0:f32[2,5], iota(0):s64[2,5], number2:f32[], number3:s64[])
// | out4:u8[2], out5:s32[2] = arg_reduce largest(in1:u8[3,2], iota(0):s32[3,2], number4:u8[], number1:s32[])
// | arena[0..8]:f32[2], out6:s32[2] = arg_reduce largest(in2:f32[2,0], const0:s32[2,0], number0:f32[], number1:s32[])
// | return out0:f32[2], out1:s32[2], out2:f32[5], out3:s64[5], out4:u8[2], out5:s32[2], out6:s32[2]
