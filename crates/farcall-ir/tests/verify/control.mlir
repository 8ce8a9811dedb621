func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// -----
// [if_i1] 2:8: pred must be tensor<i1>, found tensor<i32>
func.func @f(%a: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [if_i1] 2:8: pred must be tensor<i1>, found tensor<1xi1>
func.func @f(%a: tensor<1xi1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<1xi1>) -> tensor<2xf32>
  return
}
// -----
// [if_c1] 2:8: branch 0 must take no arguments, found 1
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ ^bb0(%x: tensor<2xf32>): "stablehlo.return"(%x) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// -----
// [if_c2] 2:8: branches must return the same types, found (tensor<2xf32>) and (tensor<3xf32>)
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%c) : (tensor<3xf32>) -> () }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// -----
// [if_c2] 2:8: branches must return the same types, found (tensor<2xf32>) and ()
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"() : () -> () }) : (tensor<i1>) -> tensor<2xf32>
  return
}
// -----
// [if_c3] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i1>) -> tensor<3xf32>
  return
}
// -----
// [if_c3] 2:8: result must be tensor<2xf32>, found tensor<2xf64>
func.func @f(%a: tensor<i1>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.if"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i1>) -> tensor<2xf64>
  return
}
// -----
func.func @f(%a: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [case_i1] 2:8: index must be tensor<i32>, found tensor<i64>
func.func @f(%a: tensor<i64>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i64>) -> tensor<2xf32>
  return
}
// -----
// [case_c2] 2:8: branch 0 must take no arguments, found 1
func.func @f(%a: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%a) ({ ^bb0(%x: tensor<2xf32>): "stablehlo.return"(%x) : (tensor<2xf32>) -> () }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [case_c3] 2:8: branches must return the same types, found (tensor<2xf32>) and (tensor<3xf32>)
func.func @f(%a: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%c) : (tensor<3xf32>) -> () }) : (tensor<i32>) -> tensor<2xf32>
  return
}
// -----
// [case_c4] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<i32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  %r = "stablehlo.case"(%a) ({ "stablehlo.return"(%b) : (tensor<2xf32>) -> () }, { "stablehlo.return"(%b) : (tensor<2xf32>) -> () }) : (tensor<i32>) -> tensor<3xf32>
  return
}
// -----
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c1] 2:8: cond must return tensor<i1>, found (tensor<2xf32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c1] 2:8: cond must take the operands' types, (tensor<2xf32>), found (tensor<3xf32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<3xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c2] 2:8: body must take the operands' types, (tensor<2xf32>), found (tensor<3xf32>)
// [while_c2] 2:8: body must return the operands' types, (tensor<2xf32>), found (tensor<3xf32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<3xf32>): "stablehlo.return"(%x0) : (tensor<3xf32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c2] 2:8: body must return the operands' types, (tensor<2xf32>), found ()
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"() : () -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c2] 2:8: body must return the operands' types, (tensor<2xf32>), found (tensor<2xf32>, tensor<2xf32>)
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0, %x0) : (tensor<2xf32>, tensor<2xf32>) -> () }) : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [while_c3] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [while_c3] 2:3: 1 results are needed, found 0
func.func @f(%a: tensor<2xf32>) {
  "stablehlo.while"(%a) ({ ^bb0(%x: tensor<2xf32>): %z = stablehlo.constant dense<true> : tensor<i1> "stablehlo.return"(%z) : (tensor<i1>) -> () }, { ^bb0(%x0: tensor<2xf32>): "stablehlo.return"(%x0) : (tensor<2xf32>) -> () }) : (tensor<2xf32>) -> ()
  return
}
// -----
// [optimization_barrier_c1] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.optimization_barrier"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}
// -----
// [optimization_barrier_c1] 2:3: 1 results are needed, found 0
func.func @f(%a: tensor<2xf32>) {
  "stablehlo.optimization_barrier"(%a) : (tensor<2xf32>) -> ()
  return
}
// -----
// [after_all_o1] 2:8: result must be !stablehlo.token, found tensor<f32>
func.func @f(%a: !stablehlo.token) {
  %r = "stablehlo.after_all"(%a) : (!stablehlo.token) -> tensor<f32>
  return
}
// -----
// [operand-kind] 2:8: operand 0 of stablehlo.after_all must be a token, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.after_all"(%a) : (tensor<2xf32>) -> !stablehlo.token
  return
}
// -----
// [create_token_o1] 2:8: result must be !stablehlo.token, found tensor<f32>
func.func @f() {
  %r = "stablehlo.create_token"() : () -> tensor<f32>
  return
}
// -----
// [tuple_c1] 2:8: result must be tuple<tensor<2xf32>>, found tuple<tensor<3xf32>>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.tuple"(%a) : (tensor<2xf32>) -> tuple<tensor<3xf32>>
  return
}
// -----
// [get_tuple_element_c1] 2:8: index must be in [0, 1), found 1
func.func @f(%a: tuple<tensor<2xf32>>) {
  %r = "stablehlo.get_tuple_element"(%a) <{index = 1 : i32}> : (tuple<tensor<2xf32>>) -> tensor<2xf32>
  return
}
// -----
// [get_tuple_element_c2] 2:8: result must be tensor<2xf32>, found tensor<3xf32>
func.func @f(%a: tuple<tensor<2xf32>>) {
  %r = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tuple<tensor<2xf32>>) -> tensor<3xf32>
  return
}
// -----
// [operand-kind] 2:8: operand 0 of stablehlo.get_tuple_element must be a tuple, found tensor<2xf32>
func.func @f(%a: tensor<2xf32>) {
  %r = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
  return
}
// -----
// [partition_id_o1] 2:8: result must be tensor<ui32>, found tensor<i32>
func.func @f() {
  %r = "stablehlo.partition_id"() : () -> tensor<i32>
  return
}
// -----
// [replica_id_o1] 2:8: result must be tensor<ui32>, found tensor<i32>
func.func @f() {
  %r = "stablehlo.replica_id"() : () -> tensor<i32>
  return
}
