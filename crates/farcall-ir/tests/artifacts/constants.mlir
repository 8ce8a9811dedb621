module @constants {
  func.func @main() -> tensor<3xf32> {
    %0 = stablehlo.constant dense<[1.0, -2.5, 0x7FC00000]> : tensor<3xf32>
    %1 = stablehlo.constant dense<0.5> : tensor<100x100xf64>
    %2 = stablehlo.constant dense<[true, false, true, true, false, false, false, true, true, false]> : tensor<10xi1>
    %3 = stablehlo.constant dense<true> : tensor<3x5xi1>
    %4 = stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
    %5 = stablehlo.constant dense<true> : tensor<i1>
    %6 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
    %7 = stablehlo.constant dense<[0, 15]> : tensor<2xui4>
    %8 = stablehlo.constant dense<[(1.0, -2.0), (0.0, 3.0)]> : tensor<2xcomplex<f32>>
    %9 = stablehlo.constant dense<(1.0, -2.0)> : tensor<2xcomplex<f64>>
    %10 = stablehlo.constant dense<[1, -9223372036854775808]> : tensor<2xi64>
    %11 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %12 = stablehlo.constant dense<[1.5, -0.0]> : tensor<2xbf16>
    %13 = stablehlo.constant dense<[1.5, -0.0]> : tensor<2xf16>
    %14 = stablehlo.constant dense<[1.5, -0.0]> : tensor<2xf8E4M3FN>
    %15 = stablehlo.constant dense<> : tensor<0x2xi32>
    %16 = stablehlo.constant dense<[-1, 0]> : tensor<2xi8>
    %17 = stablehlo.constant dense<false> : tensor<9xi1>
    return %0 : tensor<3xf32>
  }
}
