// [call-arity] 2:8: @helper has 1 operands, found 2
func.func @main(%a: tensor<2xf32>) {
  %0 = call @helper(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
func.func @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
// -----
// [call-arity] 2:3: @helper has 1 results, found 0
func.func @main(%a: tensor<2xf32>) {
  call @helper(%a) : (tensor<2xf32>) -> ()
  return
}
func.func @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
// -----
// [call-type] 2:8: operand 0 of @helper is tensor<2xf32>, found tensor<3xf32>
// [call-type] 2:8: result 0 of @helper is tensor<2xf32>, found tensor<2xi32>
func.func @main(%a: tensor<3xf32>) {
  %0 = call @helper(%a) : (tensor<3xf32>) -> tensor<2xi32>
  return
}
func.func @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
// -----
// [recursive-call] 2:8: @main calls itself
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = call @main(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
// -----
// [recursive-call] 3:18: functions call each other: @b → @c → @b
func.func @a() { call @b() : () -> () return }
func.func @b() { call @c() : () -> () return }
func.func @c() { call @b() : () -> () return }
// -----
// [composite_c1] 2:8: the name must be a namespace and a name, as in "my.op", found "mine"
func.func @main(%a: tensor<2xf32>) {
  %0 = stablehlo.composite "mine" %a {decomposition = @impl} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
func.func private @impl(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
// -----
// [composite_c3] 2:8: operand 0 of @impl is tensor<3xf32>, found tensor<2xf32>
// [composite_c4] 2:8: result 0 of @impl is tensor<3xf32>, found tensor<2xf32>
func.func @main(%a: tensor<2xf32>) {
  %0 = stablehlo.composite "my.op" %a {decomposition = @impl} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
func.func private @impl(%a: tensor<3xf32>) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}
// -----
// [composite_c3] 2:10: @impl has 1 operands, found 2
// [composite_c4] 2:10: @impl has 1 results, found 2
func.func @main(%a: tensor<2xf32>) {
  %0:2 = "stablehlo.composite"(%a, %a) {name = "my.op", decomposition = @impl} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}
func.func private @impl(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
