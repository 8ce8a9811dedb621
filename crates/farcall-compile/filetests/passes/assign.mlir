// passes: assign
// In place where the kernel allows it, results in their own memory.
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.sine %x : tensor<4x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.cosine %1 : tensor<4x4xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.sine %arg0 {farcall.places = ["out0"]} : tensor<4x4xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] {farcall.places = ["arena[0..64]"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.cosine %1 {farcall.places = ["arena[0..64]"]} : tensor<4x4xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] {farcall.places = ["out0"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
}
// -----
// passes: assign
// Views lie where their operand lies, equal constants are one, kernels get scratch memory.
func.func @main(%x: tensor<4x4xi64>) -> (tensor<16xi64>, tensor<4xi64>) {
  %c = stablehlo.constant dense<2> : tensor<16xi64>
  %d = stablehlo.constant dense<2> : tensor<16xi64>
  %0 = stablehlo.reshape %x : (tensor<4x4xi64>) -> tensor<16xi64>
  %1 = stablehlo.multiply %0, %c : tensor<16xi64>
  %2 = stablehlo.add %1, %d : tensor<16xi64>
  %3 = "stablehlo.sort"(%2) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %4 = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<16xi64>) -> tensor<16xi64>
  %5 = stablehlo.slice %3 [0:4] : (tensor<16xi64>) -> tensor<4xi64>
  return %1, %5 : tensor<16xi64>, tensor<4xi64>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x4xi64>) -> (tensor<16xi64>, tensor<4xi64>) {
    %c = stablehlo.constant {farcall.places = ["const0"]} dense<2> : tensor<16xi64>
    %c_0 = stablehlo.constant {farcall.places = ["const0"]} dense<2> : tensor<16xi64>
    %0 = stablehlo.reshape %arg0 {farcall.places = ["in0"]} : (tensor<4x4xi64>) -> tensor<16xi64>
    %1 = stablehlo.multiply %0, %c {farcall.places = ["out0"]} : tensor<16xi64>
    %2 = stablehlo.add %1, %c_0 {farcall.places = ["arena[0..128]"]} : tensor<16xi64>
    %3 = "stablehlo.sort"(%2) <{dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
      %5 = stablehlo.compare LT, %arg1, %arg2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) {farcall.places = ["arena[0..128]"], farcall.scratch = "stack[0..256]"} : (tensor<16xi64>) -> tensor<16xi64>
    %4 = stablehlo.slice %3 [0:4] {farcall.places = ["out1"]} : (tensor<16xi64>) -> tensor<4xi64>
    return %1, %4 : tensor<16xi64>, tensor<4xi64>
  }
}
// -----
// passes: donate, assign
// A donated input is overwritten by the last instruction that reads it.
func.func @main(%x: tensor<4xf32> {jax.buffer_donor = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32> {farcall.donated = array<i64: 0>, jax.buffer_donor = true}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.multiply %arg0, %arg1 {farcall.places = ["arena[0..16]"]} : tensor<4xf32>
    %1 = stablehlo.add %0, %arg0 {farcall.places = ["in0"]} : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
// -----
// passes: donate, assign
// A donated input that is read after its result is written keeps its memory.
func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.add %0, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32> {farcall.donated = array<i64: 0>, tf.aliasing_output = 0 : i32}) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.sine %arg0 {farcall.places = ["out0"]} : tensor<4xf32>
    %1 = stablehlo.add %0, %arg0 {farcall.places = ["out1"]} : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce, donate, assign
// A loop in the memory of its donated input, which is copied to where it lies already. What it needs from before lives as long as it does.
func.func @main(%n: tensor<i32>, %x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.sine %y : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %1 = stablehlo.add %i, %one : tensor<i32>
      %2 = stablehlo.add %a, %s : tensor<4xf32>
      %3 = stablehlo.reverse %2, dims = [0] : tensor<4xf32>
      stablehlo.return %1, %3 : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4xf32> {farcall.donated = array<i64: 0>, tf.aliasing_output = 0 : i32}, %arg2: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant {farcall.places = ["number0"]} dense<0> : tensor<i32>
    %0 = stablehlo.sine %arg2 {farcall.places = ["arena[0..16]"]} : tensor<4xf32>
    %1 = farcall.copy %c {farcall.places = ["arena[16..20]"]} : tensor<i32>
    %2 = farcall.copy %arg1 {farcall.places = ["in1"]} : tensor<4xf32>
    %3:2 = "stablehlo.while"(%1, %2, %arg0, %0) ({
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<4xf32>):
      %4 = stablehlo.compare LT, %iterArg, %iterArg_1 {farcall.places = ["arena[32..33]"]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%iterArg: tensor<i32>, %iterArg_0: tensor<4xf32>, %iterArg_1: tensor<i32>, %iterArg_2: tensor<4xf32>):
      %c_3 = stablehlo.constant {farcall.places = ["number1"]} dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_3 {farcall.places = ["arena[16..20]"]} : tensor<i32>
      %5 = stablehlo.add %iterArg_0, %iterArg_2 {farcall.places = ["arena[32..48]"]} : tensor<4xf32>
      %6 = stablehlo.reverse %5, dims = [0] {farcall.places = ["in1"]} : tensor<4xf32>
      stablehlo.return %4, %6 : tensor<i32>, tensor<4xf32>
    }) {farcall.captures = 2 : i64, farcall.places = ["arena[16..20]", "in1"]} : (tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    return %3#1 : tensor<4xf32>
  }
}
// -----
// passes: copies, coalesce, assign
// Branches write the result.
func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "stablehlo.if"(%arg0, %arg1) ({
    ^bb0(%arg2: tensor<4xf32>):
      %1 = stablehlo.sine %arg2 {farcall.places = ["out0"]} : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
    ^bb0(%arg2: tensor<4xf32>):
      %1 = farcall.copy %arg2 {farcall.places = ["out0"]} : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }) {farcall.captures = 1 : i64, farcall.places = ["out0"]} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// -----
// passes: copies, assign
// The copy that a call changes lies where its operand ends; one whose operand is read later has a place of its own.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.custom_call @f(%0) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @f(%1) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.add %1, %2 : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.sine %arg0 {farcall.places = ["arena[0..16]"]} : tensor<4xf32>
    %1 = farcall.copy %0 {farcall.places = ["arena[0..16]"]} : tensor<4xf32>
    %2 = stablehlo.custom_call @f(%1) {farcall.places = ["arena[0..16]"], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = farcall.copy %2 {farcall.places = ["out0"]} : tensor<4xf32>
    %4 = stablehlo.custom_call @f(%3) {farcall.places = ["out0"], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = stablehlo.add %2, %4 {farcall.places = ["out1"]} : tensor<4xf32>
    return %4, %5 : tensor<4xf32>, tensor<4xf32>
  }
}
// -----
// passes: layouts, copies, assign
// A call with layouts: transposed copies, which are seen as what the call declares.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.custom_call @f(%x) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] {farcall.places = ["out0"]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.reshape %0 {farcall.places = ["out0"]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    %2 = farcall.copy %1 {farcall.places = ["arena[0..24]"]} : tensor<2x3xf32>
    %3 = stablehlo.custom_call @f(%2) {farcall.laid_out, farcall.places = ["arena[0..24]"], operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.reshape %3 {farcall.places = ["arena[0..24]"]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %5 = stablehlo.transpose %4, dims = [1, 0] {farcall.places = ["out0"]} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    return %5 : tensor<2x3xf32>
  }
}
// -----
// passes: assign
// A program without the copies that it needs: the swap overwrites a value before it is read.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = stablehlo.while(%p = %n, %a = %x, %b = %y) : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %f = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %f, %b, %a : tensor<i1>, tensor<4xf32>, tensor<4xf32>
    }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}
// =>
// stablehlo.while reads a tensor<4xf32> at in2, which holds another value by then
// -----
// passes: assign
// And one that reads what a loop carries after the body has written it.
func.func @main(%n: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = farcall.copy %x : tensor<4xf32>
  %0:2 = stablehlo.while(%p = %n, %a = %c) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %p : tensor<i1>
    } do {
      %1 = stablehlo.sine %a : tensor<4xf32>
      %2 = stablehlo.compare LT, %a, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
      %3 = stablehlo.slice %2 [0:1] : (tensor<4xi1>) -> tensor<1xi1>
      %4 = stablehlo.reshape %3 : (tensor<1xi1>) -> tensor<i1>
      stablehlo.return %4, %1 : tensor<i1>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
// =>
// stablehlo.compare reads a tensor<4xf32> at out0, which holds another value by then
// -----
// passes: assign
// And a call that changes an operand that is read later.
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.sine %x : tensor<4xf32>
  %1 = stablehlo.custom_call @f(%0) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
// =>
// stablehlo.add reads a tensor<4xf32> at out0, which holds another value by then
// -----
// passes: copies, coalesce, donate, assign
// What a loop hands through is read to its end, though nothing in it reads it: the donated input is not given away before.
func.func @main(%p: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %q: tensor<i1>) -> (tensor<4xf32>, tensor<i1>) {
  %y = stablehlo.add %p, %p : tensor<4xf32>
  %0:2 = stablehlo.while(%i = %q, %c = %p) : tensor<i1>, tensor<4xf32>
    cond {
      stablehlo.return %i : tensor<i1>
    } do {
      %f = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %f, %c : tensor<i1>, tensor<4xf32>
    }
  return %y, %0#0 : tensor<4xf32>, tensor<i1>
}
// =>
module {
  func.func public @main(%arg0: tensor<4xf32> {farcall.donated = array<i64: 0>, tf.aliasing_output = 0 : i32}, %arg1: tensor<i1>) -> (tensor<4xf32>, tensor<i1>) {
    %0 = stablehlo.add %arg0, %arg0 {farcall.places = ["out0"]} : tensor<4xf32>
    %1 = farcall.copy %arg1 {farcall.places = ["out1"]} : tensor<i1>
    %2:2 = stablehlo.while(%iterArg = %1, %iterArg_0 = %arg0) : tensor<i1>, tensor<4xf32> attributes {farcall.places = ["out1", "in0"]}
    cond {
      stablehlo.return %iterArg : tensor<i1>
    } do {
      %c = stablehlo.constant {farcall.places = ["number0"]} dense<false> : tensor<i1>
      %3 = farcall.copy %c {farcall.places = ["out1"]} : tensor<i1>
      stablehlo.return %3, %iterArg_0 : tensor<i1>, tensor<4xf32>
    }
    return %0, %2#0 : tensor<4xf32>, tensor<i1>
  }
}
// -----
// passes: assign
// In the memory of a result that begins later, as many values lodge as there is room for, one after the other too; what
// is read when the result is written lies elsewhere.
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x16xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.reverse %x, dims = [0] : tensor<4x4xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = stablehlo.dot_general %3, %2, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.reshape %3 : (tensor<4x4xf32>) -> tensor<16xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
  return %4, %6 : tensor<4x4xf32>, tensor<2x16xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<2x16xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] {farcall.places = ["out0"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.reverse %arg0, dims = [0] {farcall.places = ["out1"]} : tensor<4x4xf32>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {farcall.places = ["out1[64..128]"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.transpose %2, dims = [1, 0] {farcall.places = ["arena[0..64]"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.dot_general %3, %2, contracting_dims = [1] x [0] {farcall.places = ["out0"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.reshape %3 {farcall.places = ["arena[0..64]"]} : (tensor<4x4xf32>) -> tensor<16xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1] {farcall.places = ["out1"]} : (tensor<16xf32>) -> tensor<2x16xf32>
    return %4, %6 : tensor<4x4xf32>, tensor<2x16xf32>
  }
}
// -----
// passes: assign
// So they do if the result could be written over an input, which is not the program's to write to.
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4x4xf32>
  %2 = stablehlo.slice %1 [0:4, 0:1] : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %3 = stablehlo.reshape %2 : (tensor<4x1xf32>) -> tensor<4xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.subtract %y, %4 : tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] {farcall.places = ["out0"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.reverse %0, dims = [0] {farcall.places = ["arena[0..64]"]} : tensor<4x4xf32>
    %2 = stablehlo.slice %1 [0:4, 0:1] {farcall.places = ["arena[64..80]"]} : (tensor<4x4xf32>) -> tensor<4x1xf32>
    %3 = stablehlo.reshape %2 {farcall.places = ["arena[64..80]"]} : (tensor<4x1xf32>) -> tensor<4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [1] {farcall.places = ["out0"]} : (tensor<4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.subtract %arg1, %4 {farcall.places = ["out0"]} : tensor<4x4xf32>
    return %5 : tensor<4x4xf32>
  }
}
// -----
// passes: assign
// What a call takes has memory of its own: this part is of an input, but begins where memory is aligned for kernels only.
func.func @main(%x: tensor<4x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %0 = stablehlo.slice %x [1:2, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %1 = stablehlo.slice %x [2:3, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %2 = stablehlo.custom_call @f(%0) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = stablehlo.reverse %1, dims = [1] : tensor<1x4xf32>
  return %2, %3 : tensor<1x4xf32>, tensor<1x4xf32>
}
// =>
module {
  func.func public @main(%arg0: tensor<4x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
    %0 = stablehlo.slice %arg0 [1:2, 0:4] {farcall.places = ["out1"]} : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %1 = stablehlo.slice %arg0 [2:3, 0:4] {farcall.places = ["in0[32..48]"]} : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %2 = stablehlo.custom_call @f(%0) {farcall.places = ["out0"]} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %3 = stablehlo.reverse %1, dims = [1] {farcall.places = ["out1"]} : tensor<1x4xf32>
    return %2, %3 : tensor<1x4xf32>, tensor<1x4xf32>
  }
}
