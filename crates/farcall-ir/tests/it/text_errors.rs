//! Errors in programs: their messages, and the positions of the carets.

use expect_test::{Expect, expect};
use farcall_ir::{Source, text};

/// Checks the errors of a program.
fn check(program: &str, expect: Expect) {
    let e = text::parse(&Source::new("t.mlir", program)).expect_err("the program has a mistake");
    expect.assert_eq(&e.to_string());
}

/// Checks the errors of a function with these instructions, `%x: tensor<2xf32>` and `%i: tensor<i32>`.
fn body(insts: &str, expect: Expect) {
    check(&format!("func.func @f(%x: tensor<2xf32>, %i: tensor<i32>) {{\n{insts}\nreturn\n}}"), expect);
}

#[test]
fn directions() {
    body(
        "%0 = sdy.propagation_barrier %x allowed_direction=SIDEWAYS : tensor<2xf32>",
        expect![[r#"
        error: [parse] expected one of NONE, FORWARD, BACKWARD, BOTH
         --> t.mlir:2:51
          |
        2 | %0 = sdy.propagation_barrier %x allowed_direction=SIDEWAYS : tensor<2xf32>
          |                                                   ^^^^^^^^"#]],
    );
}

#[test]
fn unknown_operations() {
    body(
        "%0 = stablehlo.ad %x, %x : tensor<2xf32>\n%1 = stablehlo.negate %0 : tensor<2xf32>",
        expect![[r#"
            error: [unknown-op] unknown operation stablehlo.ad
             --> t.mlir:2:6
              |
            2 | %0 = stablehlo.ad %x, %x : tensor<2xf32>
              |      ^^^^^^^^^^^^
              |
              = note: did you mean `stablehlo.add`, `stablehlo.and` or `stablehlo.pad`?"#]],
    );
    body(
        "%init = stablehlo.constant dense<0.0> : tensor<f32>\n\
         %0 = stablehlo.reduce(%x init: %init) applies stablehlo.maximun across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>",
        expect![[r#"
            error: [unknown-op] stablehlo.maximun is not an operation of two operands
             --> t.mlir:3:47
              |
            3 | %0 = stablehlo.reduce(%x init: %init) applies stablehlo.maximun across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
              |                                               ^^^^^^^^^^^^^^^^^
              |
              = note: did you mean `stablehlo.maximum` or `stablehlo.minimum`?"#]],
    );
    body(
        "%0 = chlo.broadcast_mulhi %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>",
        expect![[r#"
            error: [unknown-op] unknown operation chlo.broadcast_mulhi
             --> t.mlir:2:6
              |
            2 | %0 = chlo.broadcast_mulhi %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              |      ^^^^^^^^^^^^^^^^^^^^
              |
              = note: did you mean `chlo.broadcast_multiply`, `chlo.broadcast_add` or `chlo.broadcast_and`?"#]],
    );
    body(
        "%0 = \"my.op\"(%x) ({\n^bb0(%a: tensor<f32>):\n  \"my.end\"(%a) : (tensor<f32>) -> ()\n}) : (tensor<2xf32>) -> tensor<2xf32>\n\
         %1 = stablehlo.negate %0 : tensor<2xf32>\n%2:2 = another.run %1 {\n  a = [1,\n 2]\n} : tensor<2xf32>\n%3 = stablehlo.abs %2#1 : tensor<2xf32>",
        expect![[r#"
            error: [unknown-op] unknown operation my.op
             --> t.mlir:2:6
              |
            2 | %0 = "my.op"(%x) ({
              |      ^^^^^^^

            error: [unknown-op] unknown operation my.end
             --> t.mlir:4:3
              |
            4 |   "my.end"(%a) : (tensor<f32>) -> ()
              |   ^^^^^^^^

            error: [unknown-op] unknown operation another.run
             --> t.mlir:7:8
              |
            7 | %2:2 = another.run %1 {
              |        ^^^^^^^^^^^"#]],
    );
    body(
        "negate %x : tensor<2xf32>",
        expect![[r#"
            error: [unknown-op] unknown operation negate
             --> t.mlir:2:1
              |
            2 | negate %x : tensor<2xf32>
              | ^^^^^^
              |
              = note: an operation's name begins with its dialect, for example `stablehlo.add`"#]],
    );
    body(
        "%0 = stablehlo.sort %x : tensor<2xf32>",
        expect![[r#"
            error: [parse] stablehlo.sort must be written in the generic form
             --> t.mlir:2:6
              |
            2 | %0 = stablehlo.sort %x : tensor<2xf32>
              |      ^^^^^^^^^^^^^^
              |
              = note: "stablehlo.sort"(…) …"#]],
    );
    check(
        "module {\n  func.fun @f() { return }\n  func.func @g() { return }\n}",
        expect![[r#"
            error: [unknown-op] unknown operation func.fun outside of a function
             --> t.mlir:2:3
              |
            2 |   func.fun @f() { return }
              |   ^^^^^^^^
              |
              = note: did you mean `func.func`?"#]],
    );
    check(
        "hello world",
        expect![[r#"
            error: [parse] expected `func.func` or `module`, found `hello`
             --> t.mlir:1:1
              |
            1 | hello world
              | ^^^^^"#]],
    );
}

#[test]
fn values() {
    body(
        "%0 = stablehlo.negate %y : tensor<2xf32>\n%1 = stablehlo.negate %y : tensor<2xf32>",
        expect![[r#"
            error: [undefined-value] %y is not defined here
             --> t.mlir:2:23
              |
            2 | %0 = stablehlo.negate %y : tensor<2xf32>
              |                       ^^
              |
              = note: did you mean `%i` or `%x`?"#]],
    );
    body(
        "%result = stablehlo.negate %x : tensor<2xf32>\n%1 = stablehlo.negate %resutl : tensor<2xf32>",
        expect![[r#"
            error: [undefined-value] %resutl is not defined here
             --> t.mlir:3:23
              |
            3 | %1 = stablehlo.negate %resutl : tensor<2xf32>
              |                       ^^^^^^^
              |
              = note: did you mean `%result`?"#]],
    );
    body(
        "%x = stablehlo.negate %x : tensor<2xf32>",
        expect![[r#"
            error: [redefinition] %x is already defined
             --> t.mlir:2:1
              |
            2 | %x = stablehlo.negate %x : tensor<2xf32>
              | ^^"#]],
    );
    body(
        "%0 = stablehlo.negate %x : tensor<3xf32>",
        expect![[r#"
            error: [type-mismatch] %x is used as tensor<3xf32>, but it is tensor<2xf32>
             --> t.mlir:2:23
              |
            2 | %0 = stablehlo.negate %x : tensor<3xf32>
              |                       ^^"#]],
    );
    body(
        "%0 = stablehlo.add %x, %i : tensor<2xf32>",
        expect![[r#"
            error: [type-mismatch] %i is used as tensor<2xf32>, but it is tensor<i32>
             --> t.mlir:2:24
              |
            2 | %0 = stablehlo.add %x, %i : tensor<2xf32>
              |                        ^^"#]],
    );
    body(
        "%0 = stablehlo.reshape %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x1xf32>",
        expect![[r#"
            error: [type-mismatch] 1 operand, but 2 types
             --> t.mlir:2:6
              |
            2 | %0 = stablehlo.reshape %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2x1xf32>
              |      ^^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0:2 = stablehlo.negate %x : tensor<2xf32>\n%1 = stablehlo.negate %0#1 : tensor<2xf32>",
        expect![[r#"
            error: [result-count] 2 names for 1 result
             --> t.mlir:2:1
              |
            2 | %0:2 = stablehlo.negate %x : tensor<2xf32>
              | ^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0:2 = stablehlo.optimization_barrier %x, %i : tensor<2xf32>, tensor<i32>\n%1 = stablehlo.negate %0 : tensor<2xf32>\n%2 = stablehlo.negate %0#2 : tensor<2xf32>\n%3 = stablehlo.negate %x#1 : tensor<2xf32>",
        expect![[r#"
            error: [undefined-value] %0 is 2 values; write %0#0 for the first
             --> t.mlir:3:23
              |
            3 | %1 = stablehlo.negate %0 : tensor<2xf32>
              |                       ^^

            error: [undefined-value] %0 is 2 values, so it has no result 2
             --> t.mlir:4:23
              |
            4 | %2 = stablehlo.negate %0#2 : tensor<2xf32>
              |                       ^^^^

            error: [undefined-value] %x is one value, so it has no result 1
             --> t.mlir:5:23
              |
            5 | %3 = stablehlo.negate %x#1 : tensor<2xf32>
              |                       ^^^^"#]],
    );
    body(
        "%0 = \"stablehlo.case\"(%i) ({\n  %inner = stablehlo.negate %x : tensor<2xf32>\n  stablehlo.return %inner : tensor<2xf32>\n}) : (tensor<i32>) -> tensor<2xf32>\n%1 = stablehlo.negate %inner : tensor<2xf32>",
        expect![[r#"
            error: [undefined-value] %inner is not defined here
             --> t.mlir:6:23
              |
            6 | %1 = stablehlo.negate %inner : tensor<2xf32>
              |                       ^^^^^^"#]],
    );
}

#[test]
fn attributes() {
    body(
        "%0 = \"stablehlo.iota\"() : () -> tensor<2xi32>",
        expect![[r#"
            error: [attribute] stablehlo.iota: attribute `iota_dimension` is missing
             --> t.mlir:2:6
              |
            2 | %0 = "stablehlo.iota"() : () -> tensor<2xi32>
              |      ^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0 = \"stablehlo.iota\"() {iota_dimension = -1 : i64} : () -> tensor<2xi32>",
        expect![[r#"
            error: [attribute] stablehlo.iota: attribute `iota_dimension` must be an integer that is not negative, not -1 : i64
             --> t.mlir:2:6
              |
            2 | %0 = "stablehlo.iota"() {iota_dimension = -1 : i64} : () -> tensor<2xi32>
              |      ^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0 = stablehlo.compare EG, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>",
        expect![[r#"
            error: [attribute] stablehlo.compare: attribute `comparison_direction` must be one of EQ, NE, GE, GT, LE, LT, not #stablehlo<comparison_direction EG>
             --> t.mlir:2:6
              |
            2 | %0 = stablehlo.compare EG, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
              |      ^^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0 = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset = [1]>, slice_sizes = array<i64: 1>} : (tensor<2xf32>, tensor<i32>) -> tensor<1xf32>",
        expect![[r#"
            error: [attribute] stablehlo.gather: attribute `dimension_numbers` has the unknown parameter `offset`
             --> t.mlir:2:6
              |
            2 | %0 = "stablehlo.gather"(%x, %i) {dimension_numbers = #stablehlo.gather<offset = [1]>, slice_sizes = array
              |      ^^^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0 = stablehlo.custom_call @a() {api_version = \"2\"} : () -> tensor<f32>",
        expect![[r#"
            error: [attribute] stablehlo.custom_call: attribute `api_version` must be a 32-bit integer, not "2"
             --> t.mlir:2:6
              |
            2 | %0 = stablehlo.custom_call @a() {api_version = "2"} : () -> tensor<f32>
              |      ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    body(
        "%0 = stablehlo.custom_call @a() {a = 1 : i64, a = 2 : i64} : () -> tensor<f32>",
        expect![[r#"
            error: [redefinition] attribute `a` is given twice
             --> t.mlir:2:47
              |
            2 | %0 = stablehlo.custom_call @a() {a = 1 : i64, a = 2 : i64} : () -> tensor<f32>
              |                                               ^"#]],
    );
    body(
        "%0 = stablehlo.custom_call @a() {a = 300 : i8} : () -> tensor<f32>",
        expect![[r#"
            error: [parse] 300 does not fit i8
             --> t.mlir:2:38
              |
            2 | %0 = stablehlo.custom_call @a() {a = 300 : i8} : () -> tensor<f32>
              |                                      ^^^"#]],
    );
    body(
        "%0 = stablehlo.custom_call @a() {a = #b} : () -> tensor<f32>",
        expect![[r#"
            error: [undefined-alias] #b is not defined
             --> t.mlir:2:38
              |
            2 | %0 = stablehlo.custom_call @a() {a = #b} : () -> tensor<f32>
              |                                      ^^"#]],
    );
    body(
        "%0 = stablehlo.custom_call @a() {a = \"\\zz\"} : () -> tensor<f32>",
        expect![[r#"
            error: [parse] a backslash in a string starts `\\`, `\"`, `\n`, `\t`, or two hexadecimal digits
             --> t.mlir:2:38
              |
            2 | %0 = stablehlo.custom_call @a() {a = "\zz"} : () -> tensor<f32>
              |                                      ^^^^^"#]],
    );
}

#[test]
fn constants() {
    for (constant, message) in [
        (
            "dense<[1, 2, 3]> : tensor<2xi32>",
            expect![[r#"
                error: [parse] 3 elements along dimension 0, which has size 2
                 --> t.mlir:2:39
                  |
                2 | %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>
                  |                                       ^"#]],
        ),
        (
            "dense<[[1], [2, 3]]> : tensor<2x1xi32>",
            expect![[r#"
                error: [parse] 2 elements along dimension 1, which has size 1
                 --> t.mlir:2:42
                  |
                2 | %0 = stablehlo.constant dense<[[1], [2, 3]]> : tensor<2x1xi32>
                  |                                          ^"#]],
        ),
        (
            "dense<[[1], 2]> : tensor<2x1xi32>",
            expect![[r#"
                error: [parse] expected `[`: the type has 2 dimensions
                 --> t.mlir:2:37
                  |
                2 | %0 = stablehlo.constant dense<[[1], 2]> : tensor<2x1xi32>
                  |                                     ^"#]],
        ),
        (
            "dense<[1, 2.5]> : tensor<2xi32>",
            expect![[r#"
                error: [parse] expected an element of type i32
                 --> t.mlir:2:35
                  |
                2 | %0 = stablehlo.constant dense<[1, 2.5]> : tensor<2xi32>
                  |                                   ^"#]],
        ),
        (
            "dense<[1, 2]> : tensor<2xf32>",
            expect![[r#"
                error: [parse] expected an element of type f32: a float must be written with a decimal point, or as hexadecimal bits
                 --> t.mlir:2:32
                  |
                2 | %0 = stablehlo.constant dense<[1, 2]> : tensor<2xf32>
                  |                                ^"#]],
        ),
        (
            "dense<300> : tensor<i8>",
            expect![[r#"
                error: [parse] 300 does not fit i8
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<300> : tensor<i8>
                  |                               ^^^"#]],
        ),
        (
            "dense<-1> : tensor<ui8>",
            expect![[r#"
                error: [parse] -1 does not fit ui8
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<-1> : tensor<ui8>
                  |                               ^^"#]],
        ),
        (
            "dense<0x1FFFFFFFF> : tensor<f32>",
            expect![[r#"
                error: [parse] expected an element of type f32: these bits do not fit it
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<0x1FFFFFFFF> : tensor<f32>
                  |                               ^^^^^^^^^^^"#]],
        ),
        (
            "dense<1.0> : tensor<complex<f32>>",
            expect![[r#"
                error: [parse] expected `(`: a complex number is written `(re, im)`
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<1.0> : tensor<complex<f32>>
                  |                               ^"#]],
        ),
        (
            "dense<\"0x00\"> : tensor<3xi32>",
            expect![[r#"
                error: [parse] tensor<3xi32> holds 12 bytes of elements, not 1
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<"0x00"> : tensor<3xi32>
                  |                               ^^^^^^"#]],
        ),
        (
            "dense<\"0xZZ\"> : tensor<i8>",
            expect![[r#"
                error: [parse] a string of elements must be `0x` and pairs of hexadecimal digits
                 --> t.mlir:2:31
                  |
                2 | %0 = stablehlo.constant dense<"0xZZ"> : tensor<i8>
                  |                               ^^^^^^"#]],
        ),
        (
            "dense<> : tensor<2xi8>",
            expect![[r#"
                error: [parse] a constant of type tensor<2xi8> needs elements, but has none
                 --> t.mlir:2:25
                  |
                2 | %0 = stablehlo.constant dense<> : tensor<2xi8>
                  |                         ^^^^^^^^^^^^^^^^^^^^^^"#]],
        ),
        (
            "dense<1> : tensor<?xi8>",
            expect![[r#"
                error: [type] a constant needs a static shape, not tensor<?xi8>
                 --> t.mlir:2:36
                  |
                2 | %0 = stablehlo.constant dense<1> : tensor<?xi8>
                  |                                    ^^^^^^^^^^^^"#]],
        ),
        (
            "dense<1> : tensor<2xf23>",
            expect![[r#"
                error: [type] unknown element type `f23`
                 --> t.mlir:2:45
                  |
                2 | %0 = stablehlo.constant dense<1> : tensor<2xf23>
                  |                                             ^^^
                  |
                  = note: did you mean `f32`?"#]],
        ),
        (
            "dense<1.0> : tensor<9000000000000000000xf32>",
            expect![[r#"
                error: [constant-size] tensor<9000000000000000000xf32> has more bytes than can be counted
                 --> t.mlir:2:25
                  |
                2 | %0 = stablehlo.constant dense<1.0> : tensor<9000000000000000000xf32>
                  |                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
        ),
    ] {
        body(&format!("%0 = stablehlo.constant {constant}"), message);
    }
}

#[test]
fn grammar() {
    check("", expect!["error: [empty] the program has no functions"]);
    check(
        "module {\n  func.func @f() {\n    return\n",
        expect![[r#"
            error: [parse] expected an operation or `}`, found the end of the text
             --> t.mlir:4:1
              |
            4 |
              | ^"#]],
    );
    check(
        "func.func @f() {\n  %0 = stablehlo.constant dense<1\n}",
        expect![[r#"
            error: [parse] this `<` is never closed
             --> t.mlir:2:32
              |
            2 |   %0 = stablehlo.constant dense<1
              |                                ^"#]],
    );
    check(
        "func.func @f(%x: tensor<2xf32>) {\n  %0 = stablehlo.custom_call @\"a(%x) : () -> ()\n}",
        expect![[r#"
            error: [parse] expected a name that starts with `@`, found a string without a closing quote
             --> t.mlir:2:30
              |
            2 |   %0 = stablehlo.custom_call @"a(%x) : () -> ()
              |                              ^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "func.func @f(%x: f32) { return }",
        expect![[r#"
            error: [type] a value must be a tensor, a token or a tuple, not of type f32
             --> t.mlir:1:18
              |
            1 | func.func @f(%x: f32) { return }
              |                  ^^^"#]],
    );
    check(
        "func.func @f(%x: tensor<2x3f32>) { return }",
        expect![[r#"
            error: [parse] expected `x` after a dimension, found `f32`
             --> t.mlir:1:28
              |
            1 | func.func @f(%x: tensor<2x3f32>) { return }
              |                            ^^^"#]],
    );
    check(
        "func.func @f(%x: tensor<*xf32>) { return }",
        expect![[r#"
            error: [type] tensors of unknown rank are not supported
             --> t.mlir:1:25
              |
            1 | func.func @f(%x: tensor<*xf32>) { return }
              |                         ^"#]],
    );
    check(
        "func.func private @f(tensor<2xf32>) -> tensor<2xf32>",
        expect![[r#"
            error: [no-body] function @f has no body
             --> t.mlir:1:19
              |
            1 | func.func private @f(tensor<2xf32>) -> tensor<2xf32>
              |                   ^^"#]],
    );
    check(
        "func.func @f() {\n  ^bb0:\n    return\n  ^bb1:\n    return\n}",
        expect![[r#"
            error: [parse] a region has one block; branches are not supported
             --> t.mlir:4:3
              |
            4 |   ^bb1:
              |   ^^^^"#]],
    );
    check(
        "func.func @f() {\n}",
        expect![[r#"
            error: [terminator] this region does not end with a return
             --> t.mlir:2:1
              |
            2 | }
              | ^"#]],
    );
    check(
        "func.func @f() {\n  return\n  %0 = stablehlo.constant dense<1> : tensor<i32>\n  return\n}",
        expect![[r#"
            error: [terminator] nothing can follow the return of a region
             --> t.mlir:3:8
              |
            3 |   %0 = stablehlo.constant dense<1> : tensor<i32>
              |        ^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "func.func @f() { return }\nfunc.func @f() { return }",
        expect![[r#"
            error: [redefinition] function @f is already defined
             --> t.mlir:2:11
              |
            2 | func.func @f() { return }
              |           ^^"#]],
    );
    check(
        "func.func @body() { return }\nfunc.func @f() {\n  call @bodi() : () -> ()\n  return\n}",
        expect![[r#"
            error: [unknown-function] there is no function @bodi
             --> t.mlir:3:3
              |
            3 |   call @bodi() : () -> ()
              |   ^^^^
              |
              = note: did you mean `body`?"#]],
    );
    check("module {}\nmodule {}", expect!["error: [empty] the program has no functions"]);
}

#[test]
fn lines_of_a_part_are_those_of_the_file() {
    let file = "func.func @f() { return }\n// -----\n\nfunc.func @g() {\n  oops\n}\n// -----\n";
    let parts = text::split_programs(file);
    assert_eq!(parts.iter().map(|p| p.0).collect::<Vec<_>>(), [0, 2, 7]);
    let e =
        text::parse(&Source::part("t.mlir", parts[1].1, parts[1].0)).expect_err("the program has a mistake");
    expect![[r#"
        error: [unknown-op] unknown operation oops
         --> t.mlir:5:3
          |
        5 |   oops
          |   ^^^^
          |
          = note: an operation's name begins with its dialect, for example `stablehlo.add`"#]]
    .assert_eq(&e.to_string());
}

#[test]
fn labels_of_bodies() {
    check(
        "func.func @f(tensor<f32>) -> tensor<f32> {\n^bb0(%a: tensor<f32>, %b: tensor<i32>):\n  return %a : tensor<f32>\n}",
        expect![[r#"
            error: [type-mismatch] @f takes (tensor<f32>), but the label of its body has (tensor<f32>, tensor<i32>)
             --> t.mlir:1:11
              |
            1 | func.func @f(tensor<f32>) -> tensor<f32> {
              |           ^^"#]],
    );
    check(
        "func.func @f(%a: tensor<f32>) -> tensor<f32> {\n^bb0(%b: tensor<f32>):\n  return %b : tensor<f32>\n}",
        expect![[r#"
            error: [parse] the arguments of this region have their names already; a label cannot name them again
             --> t.mlir:2:1
              |
            2 | ^bb0(%b: tensor<f32>):
              | ^^^^"#]],
    );
    check(
        "func.func @f(tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.constant dense<1.0> : tensor<f32>\n  return %0 : tensor<f32>\n}",
        expect![[r#"
            error: [type-mismatch] @f takes (tensor<f32>), but the label of its body has ()
             --> t.mlir:1:11
              |
            1 | func.func @f(tensor<f32>) -> tensor<f32> {
              |           ^^"#]],
    );
}
