// Generators with blocks of two and of four words: even and odd sizes, scalars, and elements of all sizes.
func.func @main(%s: tensor<2xui64>, %t: tensor<3xui64>) -> (tensor<2xui64>, tensor<3x5xui32>, tensor<3x4x2xui16>, tensor<3xui64>, tensor<ui8>, tensor<3xui64>, tensor<7xi32>, tensor<5xf64>, tensor<0xui32>) {
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  %1:2 = stablehlo.rng_bit_generator %0#0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x4x2xui16>)
  %2:2 = stablehlo.rng_bit_generator %1#0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui64>)
  %3:2 = stablehlo.rng_bit_generator %2#0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<ui8>)
  %4:2 = stablehlo.rng_bit_generator %t, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<7xi32>)
  %5:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xf64>)
  %6:2 = stablehlo.rng_bit_generator %3#0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<0xui32>)
  return %6#0, %0#1, %1#1, %2#1, %3#1, %4#0, %4#1, %5#1, %6#1 : tensor<2xui64>, tensor<3x5xui32>, tensor<3x4x2xui16>, tensor<3xui64>, tensor<ui8>, tensor<3xui64>, tensor<7xi32>, tensor<5xf64>, tensor<0xui32>
}
// run: dense<[1311768467463790320, 18446744073709551614]> : tensor<2xui64> ; dense<[7, 18446744073709551615, 3]> : tensor<3xui64>
// = dense<[1311768467463790320, 23]> : tensor<2xui64>
// = dense<[[1010520186, 1888741164, 2754706343, 569486026, 1593802813], [961273596, 1692389550, 1379882886, 1076419981, 1430061416], [523829269, 4191198393, 2165775106, 1106935068, 2207507590]]> : tensor<3x5xui32>
// = dense<[[[41097, 62266], [29943, 32954], [2449, 32655], [50124, 3286]], [[62664, 33358], [6108, 8625], [26730, 14431], [3918, 38372]], [[30333, 2781], [16999, 15350], [12265, 11631], [49555, 63411]]]> : tensor<3x4x2xui16>
// = dense<[11169701365436418745, 17395380134316129533, 588098126372134817]> : tensor<3xui64>
// = dense<91> : tensor<ui8>
// = dense<[7, 1, 4]> : tensor<3xui64>
// = dense<[-1709871685, 872755499, 942374094, -2037044571, -1290207271, -1312490415, 1015416266]> : tensor<7xi32>
// = dense<[-6.265072896427967E-41, -7.313140419160564E-72, -1.7018605485623458E-59, 9.521781283653514, 3.5165083687723676E-154]> : tensor<5xf64>
// = dense<> : tensor<0xui32>
// plan
// | plan: arena 16 bytes, denormals ieee
// | in0: tensor<2xui64>
// | in1: tensor<3xui64>
// | const0: tensor<0xui32> =
// | out3:u64[2], out1:u32[3,5] = rng_bit_generator three_fry(in0:u64[2])
// | out5:u64[2], out2:u16[3,4,2] = rng_bit_generator three_fry(out3:u64[2])
// | out6:u64[2], out3:u64[3] = rng_bit_generator three_fry(out5:u64[2])
// | arena[0..16]:u64[2], out4:u8[] = rng_bit_generator three_fry(out6:u64[2])
// | out5:u64[3], out6:s32[7] = rng_bit_generator philox(in1:u64[3])
// | out0:u64[2], out7:f64[5] = rng_bit_generator default(in0:u64[2])
// | out0:u64[2], arena[0..0]:u32[0] = rng_bit_generator three_fry(arena[0..16]:u64[2])
// | return out0:u64[2], out1:u32[3,5], out2:u16[3,4,2], out3:u64[3], out4:u8[], out5:u64[3], out6:s32[7], out7:f64[5], const0:u32[0]
