// A product is rounded if other regions widen it, or if it is also a result under another name.
func.func private @twice(%v: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>) {
  %w = stablehlo.convert %v : (tensor<2xbf16>) -> tensor<2xf32>
  return %w, %v : tensor<2xf32>, tensor<2xbf16>
}
func.func @main(%c: tensor<i1>, %x: tensor<2xbf16>, %y: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>) {
  %p = stablehlo.multiply %x, %y : tensor<2xbf16>
  %r = stablehlo.reshape %p : (tensor<2xbf16>) -> tensor<2xbf16>
  %o = "stablehlo.if"(%c) ({
    %a = stablehlo.convert %r : (tensor<2xbf16>) -> tensor<2xf32>
    stablehlo.return %a : tensor<2xf32>
  }, {
    %b = stablehlo.convert %r : (tensor<2xbf16>) -> tensor<2xf32>
    %n = stablehlo.negate %b : tensor<2xf32>
    stablehlo.return %n : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  %q = stablehlo.multiply %x, %y : tensor<2xbf16>
  %t:2 = func.call @twice(%q) : (tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xbf16>)
  return %o, %t#0, %t#1 : tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>
}
// run: dense<true> : tensor<i1> ; dense<[1.3, 3.7]> : tensor<2xbf16> ; dense<[2.3, 1.1]> : tensor<2xbf16>
// = dense<[2.984375e+00, 4.093750e+00]> : tensor<2xf32>
// = dense<[2.984375e+00, 4.093750e+00]> : tensor<2xf32>
// = dense<[2.984375e+00, 4.093750e+00]> : tensor<2xbf16>
// run: dense<false> : tensor<i1> ; dense<[1.3, 3.7]> : tensor<2xbf16> ; dense<[2.3, 1.1]> : tensor<2xbf16>
// = dense<[-2.984375e+00, -4.093750e+00]> : tensor<2xf32>
// = dense<[2.984375e+00, 4.093750e+00]> : tensor<2xf32>
// = dense<[2.984375e+00, 4.093750e+00]> : tensor<2xbf16>
