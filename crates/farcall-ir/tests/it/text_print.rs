//! The printed form of every operation, which must be read as the same module.

use expect_test::{Expect, expect};
use farcall_ir::{Module, Source, text};

fn parse(text: &str) -> Module {
    text::parse(&Source::new("t", text)).unwrap_or_else(|e| panic!("{e}"))
}

/// Checks the printed functions of `program`.
fn check(program: &str, expect: Expect) {
    let module = parse(program);
    let printed = text::print(&module);
    assert!(parse(&printed) == module, "the printed text is read as a different module\n{printed}");
    let body = printed.strip_prefix("module {\n").and_then(|p| p.strip_suffix("}\n"));
    let body = body.expect("the module has no name and no attributes");
    let lines: Vec<&str> = body.lines().map(|l| l.strip_prefix("  ").unwrap_or(l)).collect();
    expect.assert_eq(&lines.join("\n"));
}

#[test]
fn every_operation_is_printed_here() {
    let this = include_str!("text_print.rs");
    // The tests of this file must contain the full name of each operation, or a string literal with its name
    // without the dialect and `broadcast_` (in a list of operations).
    let printed = |name: &str| {
        let short = name.split('.').next_back().unwrap_or(name);
        let short = short.strip_prefix("broadcast_").unwrap_or(short);
        [format!("{name} "), format!("{name}("), format!("\"{name}\""), format!("\"{short}\"")]
            .iter()
            .any(|text| this.contains(text))
    };
    let missing: Vec<&str> = text::op_names().into_iter().filter(|n| !printed(n)).collect();
    assert!(missing.is_empty(), "not printed by any test: {missing:?}");
}

#[test]
fn unary() {
    let real: String = [
        "abs",
        "cbrt",
        "ceil",
        "cosine",
        "exponential",
        "exponential_minus_one",
        "floor",
        "log",
        "log_plus_one",
        "logistic",
        "negate",
        "round_nearest_afz",
        "round_nearest_even",
        "rsqrt",
        "sign",
        "sine",
        "sqrt",
        "tan",
        "tanh",
    ]
    .iter()
    .map(|op| format!("stablehlo.{op} %x : tensor<2xf32>\n"))
    .collect();
    let chlo: String = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "bessel_i1e",
        "conj",
        "cosh",
        "digamma",
        "erf",
        "erf_inv",
        "erfc",
        "lgamma",
        "sinh",
        "square",
        "tan",
    ]
    .iter()
    .map(|op| format!("chlo.{op} %x : tensor<2xf32> -> tensor<2xf32>\n"))
    .collect();
    let module = parse(&format!("func.func @f(%x: tensor<2xf32>) {{\n{real}{chlo}return\n}}"));
    let printed = text::print(&module);
    for line in real.lines().chain(chlo.lines()) {
        assert!(printed.contains(&line.replace("%x", "%arg0")), "not printed: {line}");
    }
    check(
        r#"func.func @f(%x: tensor<2xf32>, %i: tensor<3xui8>, %c: tensor<2xcomplex<f32>>) {
            %0 = stablehlo.count_leading_zeros %i : tensor<3xui8>
            %1 = "stablehlo.popcnt"(%i) : (tensor<3xui8>) -> tensor<3xui8>
            %2 = stablehlo.not %i : tensor<3xui8>
            %3 = stablehlo.is_finite %x : (tensor<2xf32>) -> tensor<2xi1>
            %4 = stablehlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
            %5 = "stablehlo.imag"(%c) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
            %6 = chlo.is_inf %x : tensor<2xf32> -> tensor<2xi1>
            %7 = chlo.is_neg_inf %x : tensor<2xf32> -> tensor<2xi1>
            %8 = chlo.is_pos_inf %x : tensor<2xf32> -> tensor<2xi1>
            %9 = stablehlo.log %x {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
            %10 = "stablehlo.log"(%x) {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : (tensor<2xf32>) -> tensor<2xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2xf32>, %arg1: tensor<3xui8>, %arg2: tensor<2xcomplex<f32>>) {
              %0 = stablehlo.count_leading_zeros %arg1 : tensor<3xui8>
              %1 = stablehlo.popcnt %arg1 : tensor<3xui8>
              %2 = stablehlo.not %arg1 : tensor<3xui8>
              %3 = stablehlo.is_finite %arg0 : (tensor<2xf32>) -> tensor<2xi1>
              %4 = stablehlo.real %arg2 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
              %5 = stablehlo.imag %arg2 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
              %6 = chlo.is_inf %arg0 : tensor<2xf32> -> tensor<2xi1>
              %7 = chlo.is_neg_inf %arg0 : tensor<2xf32> -> tensor<2xi1>
              %8 = chlo.is_pos_inf %arg0 : tensor<2xf32> -> tensor<2xi1>
              %9 = stablehlo.log %arg0 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>
              %10 = stablehlo.log %arg0 : tensor<2xf32>
              return
            }"#]],
    );
}

#[test]
fn binary() {
    let lines: String = [
        "add",
        "and",
        "atan2",
        "divide",
        "maximum",
        "minimum",
        "multiply",
        "or",
        "power",
        "remainder",
        "shift_left",
        "shift_right_arithmetic",
        "shift_right_logical",
        "subtract",
        "xor",
    ]
    .iter()
    .map(|op| format!("stablehlo.{op} %x, %x : tensor<2xi32>\n"))
    .collect();
    let module = parse(&format!("func.func @f(%x: tensor<2xi32>) {{\n{lines}return\n}}"));
    let printed = text::print(&module);
    for line in lines.lines() {
        assert!(printed.contains(&line.replace("%x", "%arg0")), "not printed: {line}");
    }
    check(
        r#"func.func @f(%x: tensor<2xf32>, %q: tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, %n: tensor<2xui32>) {
            %0 = stablehlo.complex %x, %x : tensor<2xcomplex<f32>>
            %1 = "stablehlo.complex"(%x, %x) {a} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
            %2 = chlo.next_after %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
            %3 = chlo.polygamma %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
            %4 = chlo.zeta %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
            %5 = stablehlo.add %q, %q : (tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, tensor<2x!quant.uniform<i8:f32, 0.1:-30>>) -> tensor<2x!quant.uniform<i32:f32, 0.01>>
            %6 = chlo.mulhi %n, %n : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2xf32>, %arg1: tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, %arg2: tensor<2xui32>) {
              %0 = stablehlo.complex %arg0, %arg0 : tensor<2xcomplex<f32>>
              %1 = stablehlo.complex %arg0, %arg0 {a} : tensor<2xcomplex<f32>>
              %2 = chlo.next_after %arg0, %arg0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
              %3 = chlo.polygamma %arg0, %arg0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
              %4 = chlo.zeta %arg0, %arg0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
              %5 = stablehlo.add %arg1, %arg1 : (tensor<2x!quant.uniform<i8:f32, 0.1:-30>>, tensor<2x!quant.uniform<i8:f32, 0.1:-30>>) -> tensor<2x!quant.uniform<i32:f32, 0.01>>
              %6 = chlo.mulhi %arg2, %arg2 : tensor<2xui32>, tensor<2xui32> -> tensor<2xui32>
              return
            }"#]],
    );
}

#[test]
fn elementwise() {
    check(
        r#"func.func @f(%x: tensor<2xf32>, %p: tensor<2xi1>, %s: tensor<f32>) {
            %0 = stablehlo.compare EQ, %x, %x, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
            %1 = stablehlo.compare LT, %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
            %2 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type TOTALORDER>}> {a = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
            %3 = stablehlo.select %p, %x, %x : tensor<2xi1>, tensor<2xf32>
            %4 = stablehlo.clamp %x, %x, %x : tensor<2xf32>
            %5 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
            %6 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
            %7 = stablehlo.convert %x : tensor<2xf32>
            %8 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x4xui8>
            %9 = stablehlo.reduce_precision %x, format = e5m10 : tensor<2xf32>
            %10 = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8:f32:0, {0.1:3, 0.5}>>
            %11 = stablehlo.uniform_dequantize %10 : (tensor<2x!quant.uniform<u8:f32:0, {0.1:3, 0.5}>>) -> tensor<2xf32>
            %12 = "mhlo.copy"(%x) : (tensor<2xf32>) -> tensor<2xf32>
            %13 = "farcall.fusion"(%x) ({
            ^bb0(%a: tensor<2xf32>):
              stablehlo.return %a : tensor<2xf32>
            }) : (tensor<2xf32>) -> tensor<2xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2xf32>, %arg1: tensor<2xi1>, %arg2: tensor<f32>) {
              %0 = stablehlo.compare EQ, %arg0, %arg0, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
              %1 = stablehlo.compare LT, %arg0, %arg0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
              %2 = stablehlo.compare GE, %arg0, %arg0, TOTALORDER {a = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
              %3 = stablehlo.select %arg1, %arg0, %arg0 : tensor<2xi1>, tensor<2xf32>
              %4 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<2xf32>
              %5 = stablehlo.clamp %arg2, %arg0, %arg2 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
              %6 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
              %7 = stablehlo.convert %arg0 : tensor<2xf32>
              %8 = stablehlo.bitcast_convert %arg0 : (tensor<2xf32>) -> tensor<2x4xui8>
              %9 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<2xf32>
              %10 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<u8:f32:0, {0.1:3, 0.5}>>
              %11 = stablehlo.uniform_dequantize %10 : (tensor<2x!quant.uniform<u8:f32:0, {0.1:3, 0.5}>>) -> tensor<2xf32>
              %12 = mhlo.copy %arg0 : tensor<2xf32>
              %13 = "farcall.fusion"(%arg0) ({
              ^bb0(%arg3: tensor<2xf32>):
                stablehlo.return %arg3 : tensor<2xf32>
              }) : (tensor<2xf32>) -> tensor<2xf32>
              return
            }"#]],
    );
}

#[test]
fn data() {
    check(
        r#"func.func @f(%x: tensor<4x4xf32>, %s: tensor<f32>, %d: tensor<2xi64>) {
            %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
            %1 = stablehlo.dynamic_iota %d, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
            %2 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<3x4x4xf32>
            %3 = "stablehlo.broadcast_in_dim"(%s) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> tensor<3xf32>
            %4 = stablehlo.dynamic_broadcast_in_dim %x, %d, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>} : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
            %5 = stablehlo.reshape %x : (tensor<4x4xf32>) -> tensor<16xf32>
            %6 = stablehlo.dynamic_reshape %x, %d : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
            %7 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %8 = stablehlo.slice %x [0:4, 1:3:2] : (tensor<4x4xf32>) -> tensor<4x1xf32>
            %9 = "stablehlo.slice"(%x) <{start_indices = dense<[0, 1]> : tensor<2xi64>, limit_indices = dense<4> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}> : (tensor<4x4xf32>) -> tensor<4x3xf32>
            %10 = stablehlo.concatenate %x, %x, %x, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
            %11 = stablehlo.pad %x, %s, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<8x3xf32>
            %12 = stablehlo.dynamic_pad %x, %s, %d, %d, %d : (tensor<4x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
            %13 = stablehlo.reverse %x, dims = [0] : tensor<4x4xf32>
            %14 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x4xf32>) -> tensor<i32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4x4xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi64>) {
              %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
              %1 = stablehlo.dynamic_iota %arg2, dim = 0 : (tensor<2xi64>) -> tensor<?x?xf32>
              %2 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<3x4x4xf32>
              %3 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<3xf32>
              %4 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg2, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>} : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
              %5 = stablehlo.reshape %arg0 : (tensor<4x4xf32>) -> tensor<16xf32>
              %6 = stablehlo.dynamic_reshape %arg0, %arg2 : (tensor<4x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
              %7 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
              %8 = stablehlo.slice %arg0 [0:4, 1:3:2] : (tensor<4x4xf32>) -> tensor<4x1xf32>
              %9 = stablehlo.slice %arg0 [0:4, 1:4] : (tensor<4x4xf32>) -> tensor<4x3xf32>
              %10 = stablehlo.concatenate %arg0, %arg0, %arg0, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
              %11 = stablehlo.pad %arg0, %arg1, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<8x3xf32>
              %12 = stablehlo.dynamic_pad %arg0, %arg1, %arg2, %arg2, %arg2 : (tensor<4x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
              %13 = stablehlo.reverse %arg0, dims = [0] : tensor<4x4xf32>
              %14 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<4x4xf32>) -> tensor<i32>
              return
            }"#]],
    );
}

#[test]
fn indexing() {
    check(
        r#"func.func @f(%x: tensor<4x4xf32>, %i: tensor<i32>, %d: tensor<2xi64>, %n: tensor<3x1xi32>, %u: tensor<3x4xf32>) {
            %0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
            %1 = stablehlo.dynamic_update_slice %x, %0, %i, %i : (tensor<4x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
            %2 = stablehlo.real_dynamic_slice %x, %d, %d, %d : (tensor<4x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
            %3 = "stablehlo.gather"(%x, %n) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
            %4 = "stablehlo.dynamic_gather"(%x, %n, %d) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = true} : (tensor<4x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<?xf32>
            %5 = "stablehlo.scatter"(%x, %n, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %s = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %s : tensor<f32>
            }) : (tensor<4x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<4x4xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4x4xf32>, %arg1: tensor<i32>, %arg2: tensor<2xi64>, %arg3: tensor<3x1xi32>, %arg4: tensor<3x4xf32>) {
              %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 2] : (tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
              %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg1, %arg1 : (tensor<4x4xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
              %2 = stablehlo.real_dynamic_slice %arg0, %arg2, %arg2, %arg2 : (tensor<4x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
              %3 = "stablehlo.gather"(%arg0, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
              %4 = "stablehlo.dynamic_gather"(%arg0, %arg3, %arg2) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1]>, indices_are_sorted = true}> : (tensor<4x4xf32>, tensor<3x1xi32>, tensor<2xi64>) -> tensor<?xf32>
              %5 = "stablehlo.scatter"(%arg0, %arg3, %arg4) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
              ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
                %6 = stablehlo.add %arg5, %arg6 : tensor<f32>
                stablehlo.return %6 : tensor<f32>
              }) : (tensor<4x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<4x4xf32>
              return
            }"#]],
    );
}

#[test]
fn reduction() {
    check(
        r#"func.func @f(%x: tensor<4x4xf32>, %z: tensor<f32>, %i: tensor<4x4xi32>, %zi: tensor<i32>) {
            %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
            %1 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0, 1>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %s = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %s : tensor<f32>
            }) {k = 1 : i32} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
            %2:2 = stablehlo.reduce(%x init: %z), (%i init: %zi) across dimensions = [0] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
             reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)  {
              %s = stablehlo.subtract %c, %a : tensor<f32>
              stablehlo.return %s, %d : tensor<f32>, tensor<i32>
            }
            %3 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              stablehlo.return %a : tensor<f32>
            }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
            %4 = "stablehlo.select_and_scatter"(%x, %x, %z) <{padding = dense<0> : tensor<2x2xi64>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %s = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %s : tensor<i1>
            }, {
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              stablehlo.return %a : tensor<f32>
            }) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
            %5 = "stablehlo.map"(%x) <{dimensions = array<i64: 0, 1>}> ({
            ^bb0(%a: tensor<f32>):
              stablehlo.return %a : tensor<f32>
            }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
            %6:2 = "stablehlo.sort"(%x, %i) <{is_stable = true}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
              %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %s : tensor<i1>
            }) : (tensor<4x4xf32>, tensor<4x4xi32>) -> (tensor<4x4xf32>, tensor<4x4xi32>)
            %v, %w = chlo.top_k(%x, k = 2) : tensor<4x4xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4x4xf32>, %arg1: tensor<f32>, %arg2: tensor<4x4xi32>, %arg3: tensor<i32>) {
              %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
              %1 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0, 1] {k = 1 : i32} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
              %2:2 = stablehlo.reduce(%arg0 init: %arg1), (%arg2 init: %arg3) across dimensions = [0] : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
               reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
                %8 = stablehlo.subtract %arg6, %arg4 : tensor<f32>
                stablehlo.return %8, %arg7 : tensor<f32>, tensor<i32>
              }
              %3 = "stablehlo.reduce_window"(%arg0, %arg1) <{padding = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>}> ({
              ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
                stablehlo.return %arg4 : tensor<f32>
              }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<2x4xf32>
              %4 = "stablehlo.select_and_scatter"(%arg0, %arg0, %arg1) <{window_dimensions = array<i64: 1, 1>}> ({
              ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
                %8 = stablehlo.compare GE, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %8 : tensor<i1>
              }, {
              ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
                stablehlo.return %arg4 : tensor<f32>
              }) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
              %5 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0, 1>}> ({
              ^bb0(%arg4: tensor<f32>):
                stablehlo.return %arg4 : tensor<f32>
              }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
              %6:2 = "stablehlo.sort"(%arg0, %arg2) <{dimension = 1 : i64, is_stable = true}> ({
              ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<i32>, %arg7: tensor<i32>):
                %8 = stablehlo.compare LT, %arg4, %arg5, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %8 : tensor<i1>
              }) : (tensor<4x4xf32>, tensor<4x4xi32>) -> (tensor<4x4xf32>, tensor<4x4xi32>)
              %7:2 = chlo.top_k(%arg0, k = 2) : tensor<4x4xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
              return
            }"#]],
    );
}

#[test]
fn operations_of_the_middle_form() {
    check(
        r#"func.func @f(%x: tensor<4xf32>, %i: tensor<2x1xi32>) {
            %0 = "farcall.copy"(%x) : (tensor<4xf32>) -> tensor<4xf32>
            %1 = "farcall.partial_sort"(%0) <{dimension = 0 : i64, part = array<i64: 1, 3>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %2 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
              stablehlo.return %2 : tensor<i1>
            }) : (tensor<4xf32>) -> tensor<2xf32>
            %3 = "farcall.wrapping_gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 4>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
            %4 = "farcall.wrapping_scatter"(%x, %i, %1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, wrap = array<i64: 4>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              stablehlo.return %b : tensor<f32>
            }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4xf32>, %arg1: tensor<2x1xi32>) {
              %0 = farcall.copy %arg0 : tensor<4xf32>
              %1 = "farcall.partial_sort"(%0) <{dimension = 0 : i64, part = array<i64: 1, 3>}> ({
              ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                %4 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
                stablehlo.return %4 : tensor<i1>
              }) : (tensor<4xf32>) -> tensor<2xf32>
              %2 = "farcall.wrapping_gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 4>}> : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
              %3 = "farcall.wrapping_scatter"(%arg0, %arg1, %1) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, wrap = array<i64: 4>}> ({
              ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                stablehlo.return %arg3 : tensor<f32>
              }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
              return
            }"#]],
    );
}

#[test]
fn contraction() {
    check(
        r#"func.func @f(%x: tensor<2x4x4xf32>, %i: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
            %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
            %1 = "stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, num_primitive_operations = 1>} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4x2x4x4xf32>
            %2 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x4x2x16xf32>
            %3 = "stablehlo.convolution"(%i, %k) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, window_strides = dense<1> : tensor<2xi64>, window_reversal = dense<false> : tensor<2xi1>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
            %4 = "stablehlo.dynamic_conv"(%i, %k, %p) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x4x4xf32>, %arg1: tensor<1x8x8x3xf32>, %arg2: tensor<3x3x3x16xf32>, %arg3: tensor<2x2xi32>) {
              %0 = stablehlo.dot_general %arg0, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
              %1 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [] x [], algorithm = <lhs_precision_type = tf32, num_primitive_operations = 1> : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4x2x4x4xf32>
              %2 = stablehlo.convolution(%arg1, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], rhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x4x2x16xf32>
              %3 = stablehlo.convolution(%arg1, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
              %4 = "stablehlo.dynamic_conv"(%arg1, %arg2, %arg3) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x?x?x16xf32>
              return
            }"#]],
    );
}

#[test]
fn linalg_and_random() {
    check(
        r#"func.func @f(%x: tensor<4x4xf32>, %c: tensor<8xcomplex<f32>>, %u: tensor<2xui64>, %z: tensor<f32>, %d: tensor<2xi64>) {
            %0 = stablehlo.cholesky %x, lower = true : tensor<4x4xf32>
            %1 = stablehlo.cholesky %x : tensor<4x4xf32>
            %2 = "stablehlo.triangular_solve"(%x, %x) <{left_side = true, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose ADJOINT>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
            %3 = stablehlo.fft %c, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
            %4, %5 = stablehlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
            %6 = stablehlo.rng %z, %z, %d, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4x4xf32>, %arg1: tensor<8xcomplex<f32>>, %arg2: tensor<2xui64>, %arg3: tensor<f32>, %arg4: tensor<2xi64>) {
              %0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
              %1 = stablehlo.cholesky %arg0 : tensor<4x4xf32>
              %2 = "stablehlo.triangular_solve"(%arg0, %arg0) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
              %3 = stablehlo.fft %arg1, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
              %4:2 = stablehlo.rng_bit_generator %arg2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
              %5 = stablehlo.rng %arg3, %arg3, %arg4, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
              return
            }"#]],
    );
}

#[test]
fn control() {
    check(
        r#"func.func public @main(%p: tensor<i1>, %i: tensor<i32>, %t: !stablehlo.token) -> (tensor<i32>, tensor<i1>) {
            %0 = "stablehlo.if"(%p) ({
              stablehlo.return %i : tensor<i32>
            }, {
              %1 = func.call @g(%i) : (tensor<i32>) -> tensor<i32>
              stablehlo.return %1 : tensor<i32>
            }) : (tensor<i1>) -> tensor<i32>
            %2:2 = "stablehlo.case"(%i) ({
              stablehlo.return %i, %p : tensor<i32>, tensor<i1>
            }) : (tensor<i32>) -> (tensor<i32>, tensor<i1>)
            %3:2 = stablehlo.while(%a = %2#0, %b = %2#1) : tensor<i32>, tensor<i1> attributes {k = 1 : i64}
            cond {
              stablehlo.return %b : tensor<i1>
            } do {
              %c = stablehlo.constant dense<1> : tensor<i32>
              %4 = stablehlo.while(%d = %a) : tensor<i32>
              cond {
                stablehlo.return %b : tensor<i1>
              } do {
                stablehlo.return %c : tensor<i32>
              }
              stablehlo.return %4, %b : tensor<i32>, tensor<i1>
            }
            %5 = stablehlo.composite "my.op" %i {composite_attributes = {n = 2 : i64}, decomposition = @g, version = 1 : i32} : (tensor<i32>) -> tensor<i32>
            %6:2 = stablehlo.optimization_barrier %i, %p : tensor<i32>, tensor<i1>
            stablehlo.optimization_barrier()
            %7 = stablehlo.after_all %t, %t : !stablehlo.token
            %8 = stablehlo.after_all : !stablehlo.token
            %9 = stablehlo.create_token : !stablehlo.token
            %10 = stablehlo.tuple %i, %p : tuple<tensor<i32>, tensor<i1>>
            %11 = stablehlo.get_tuple_element %10[1] : (tuple<tensor<i32>, tensor<i1>>) -> tensor<i1>
            %12 = stablehlo.partition_id : tensor<ui32>
            %13 = "stablehlo.replica_id"() : () -> tensor<ui32>
            func.return %3#0, %11 : tensor<i32>, tensor<i1>
        }
        func.func private @g(%i: tensor<i32>) -> tensor<i32> {
            %0 = func.call @g(%i) {a} : (tensor<i32>) -> tensor<i32>
            return %0 : tensor<i32>
        }"#,
        expect![[r#"
            func.func public @main(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: !stablehlo.token) -> (tensor<i32>, tensor<i1>) {
              %0 = "stablehlo.if"(%arg0) ({
                stablehlo.return %arg1 : tensor<i32>
              }, {
                %12 = func.call @g(%arg1) : (tensor<i32>) -> tensor<i32>
                stablehlo.return %12 : tensor<i32>
              }) : (tensor<i1>) -> tensor<i32>
              %1:2 = "stablehlo.case"(%arg1) ({
                stablehlo.return %arg1, %arg0 : tensor<i32>, tensor<i1>
              }) : (tensor<i32>) -> (tensor<i32>, tensor<i1>)
              %2:2 = stablehlo.while(%iterArg = %1#0, %iterArg_0 = %1#1) : tensor<i32>, tensor<i1> attributes {k = 1 : i64}
              cond {
                stablehlo.return %iterArg_0 : tensor<i1>
              } do {
                %c = stablehlo.constant dense<1> : tensor<i32>
                %12 = stablehlo.while(%iterArg_1 = %iterArg) : tensor<i32>
                cond {
                  stablehlo.return %iterArg_0 : tensor<i1>
                } do {
                  stablehlo.return %c : tensor<i32>
                }
                stablehlo.return %12, %iterArg_0 : tensor<i32>, tensor<i1>
              }
              %3 = stablehlo.composite "my.op" %arg1 {composite_attributes = {n = 2 : i64}, decomposition = @g, version = 1 : i32} : (tensor<i32>) -> tensor<i32>
              %4:2 = stablehlo.optimization_barrier %arg1, %arg0 : tensor<i32>, tensor<i1>
              stablehlo.optimization_barrier()
              %5 = stablehlo.after_all %arg2, %arg2 : !stablehlo.token
              %6 = stablehlo.after_all  : !stablehlo.token
              %7 = stablehlo.create_token : !stablehlo.token
              %8 = stablehlo.tuple %arg1, %arg0 : tuple<tensor<i32>, tensor<i1>>
              %9 = stablehlo.get_tuple_element %8[1] : (tuple<tensor<i32>, tensor<i1>>) -> tensor<i1>
              %10 = stablehlo.partition_id : tensor<ui32>
              %11 = stablehlo.replica_id : tensor<ui32>
              return %2#0, %9 : tensor<i32>, tensor<i1>
            }
            func.func private @g(%arg0: tensor<i32>) -> tensor<i32> {
              %0 = call @g(%arg0) {a} : (tensor<i32>) -> tensor<i32>
              return %0 : tensor<i32>
            }"#]],
    );
}

#[test]
fn custom_calls() {
    check(
        r#"func.func @f(%x: tensor<2x2xf32>) {
            stablehlo.custom_call @a() : () -> ()
            %0 = stablehlo.custom_call @"b c"(%x, %x) {api_version = 4 : i32, backend_config = {eps = 1.0e-5 : f32}, has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
            %1:2 = "stablehlo.custom_call"(%x) <{call_target_name = "d", api_version = 2 : i32, backend_config = "\01\FF", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>], called_computations = [@f], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>]}> {mhlo.frontend_attributes = {a = "b"}} : (tensor<2x2xf32>) -> (tensor<f32>, tensor<2x2xf32>)
            %2 = stablehlo.custom_call @e(%x) {backend_config = "", mhlo.backend_config = {n = 3 : ui8}} : (tensor<2x2xf32>) -> tensor<2x2xf32>
            %3 = stablehlo.custom_call @f(%x) {backend_config = ""} : (tensor<2x2xf32>) -> tensor<2x2xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x2xf32>) {
              stablehlo.custom_call @a() : () -> ()
              %0 = stablehlo.custom_call @"b c"(%arg0, %arg0) {api_version = 4 : i32, backend_config = {eps = 1.000000e-05 : f32}, has_side_effect = true} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
              %1:2 = stablehlo.custom_call @d(%arg0) {api_version = 2 : i32, backend_config = "\01\FF", called_computations = [@f], mhlo.frontend_attributes = {a = "b"}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<> : tensor<0xindex>, dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x2xf32>) -> (tensor<f32>, tensor<2x2xf32>)
              %2 = stablehlo.custom_call @e(%arg0) {mhlo.backend_config = {n = 3 : ui8}} : (tensor<2x2xf32>) -> tensor<2x2xf32>
              %3 = stablehlo.custom_call @f(%arg0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
              return
            }"#]],
    );
}

#[test]
fn calls_that_stand_for_operations() {
    check(
        r#"sdy.mesh @mesh = <["i"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}]}}
        func.func @more(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
            %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
            return %0 : tensor<i1>
        }
        func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) {
            %0 = sdy.sharding_constraint %x <@mesh, [{"i"}, {}]> : tensor<4x8xf32>
            %1 = "sdy.sharding_constraint"(%0) <{sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %r = sdy.reshard %1 <@mesh, [{}, {"i"}]> : tensor<4x8xf32>
            %p = sdy.propagation_barrier %r allowed_direction=NONE : tensor<4x8xf32>
            %q = "sdy.propagation_barrier"(%p) <{allowed_direction = 2 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
            sdy.sharding_group %1 group_id=4 : tensor<4x8xf32>
            "sdy.sharding_group"(%1) <{group_id = 4 : i64}> : (tensor<4x8xf32>) -> ()
            %2 = stablehlo.custom_call @Sharding(%1) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %4 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
            %5:2 = stablehlo.custom_call @mhlo.topk(%3) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            %6:2 = stablehlo.custom_call @mhlo.topk(%3) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            %7 = stablehlo.custom_call @mhlo.erf(%3) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
            stablehlo.custom_call @control_dep(%7, %3) {backend_config = "", has_side_effect = true, mhlo.backend_config = {}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
            %8 = stablehlo.iota dim = 1 : tensor<4x8xi32>
            %c = stablehlo.constant dense<-1> : tensor<i32>
            %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
            %9:2 = stablehlo.custom_call @ApproxTopK(%3, %8, %cst, %c) {backend_config = "", called_computations = [@more], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
            return
        }"#,
        expect![[r#"
            sdy.mesh @mesh = <["i"=1]> {stablehlo.mesh = {axes = [{name = "i", size = 1 : i64}]}}
            func.func public @more(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i1> {
              %0 = stablehlo.compare GT, %arg0, %arg1 : (tensor<f32>, tensor<f32>) -> tensor<i1>
              return %0 : tensor<i1>
            }
            func.func public @main(%arg0: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) {
              %0 = sdy.sharding_constraint %arg0 <@mesh, [{"i"}, {}]> : tensor<4x8xf32>
              %1 = sdy.sharding_constraint %0 <@mesh, [{"i"}, {}]> : tensor<4x8xf32>
              %2 = sdy.reshard %1 <@mesh, [{}, {"i"}]> : tensor<4x8xf32>
              %3 = sdy.propagation_barrier %2 allowed_direction=NONE : tensor<4x8xf32>
              %4 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<4x8xf32>
              sdy.sharding_group %1 group_id=4 : tensor<4x8xf32>
              sdy.sharding_group %1 group_id=4 : tensor<4x8xf32>
              %5 = stablehlo.custom_call @Sharding(%1) {mhlo.sharding = "{replicated}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %6 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              %7 = stablehlo.custom_call @SPMDFullToShardShape(%5) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<2x8xf32>
              %8:2 = stablehlo.custom_call @mhlo.topk(%6) {mhlo.attributes = {k = 3 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
              %9:2 = stablehlo.custom_call @mhlo.topk(%6) {mhlo.attributes = {k = 3 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
              %10 = stablehlo.custom_call @mhlo.erf(%6) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
              stablehlo.custom_call @control_dep(%10, %6) {has_side_effect = true, mhlo.backend_config = {}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
              %11 = stablehlo.iota dim = 1 : tensor<4x8xi32>
              %c = stablehlo.constant dense<-1> : tensor<i32>
              %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
              %12:2 = stablehlo.custom_call @ApproxTopK(%6, %11, %cst, %c) {called_computations = [@more], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 9.500000e-01 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
              return
            }"#]],
    );
}

#[test]
fn operations_of_the_interpreter() {
    check(
        r#"func.func @one(%x: tensor<2xf32>) -> tensor<2xf32> {
            interpreter.print %x : tensor<2xf32>
            %0 = interpreter.probe %x, probe_id = "a" : tensor<2xf32>
            return %0 : tensor<2xf32>
        }
        func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            "interpreter.print"(%x) : (tensor<2xf32>) -> ()
            %0 = "interpreter.probe"(%x) {probe_id = "b"} : (tensor<2xf32>) -> tensor<2xf32>
            %1 = "interpreter.run_parallel"(%0) {infeed = [], programs = [[@one]]} : (tensor<2xf32>) -> tensor<2xf32>
            return %1 : tensor<2xf32>
        }"#,
        expect![[r#"
            func.func public @one(%arg0: tensor<2xf32>) -> tensor<2xf32> {
              interpreter.print %arg0 : tensor<2xf32>
              %0 = interpreter.probe %arg0, probe_id = "a" : tensor<2xf32>
              return %0 : tensor<2xf32>
            }
            func.func public @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
              interpreter.print %arg0 : tensor<2xf32>
              %0 = interpreter.probe %arg0, probe_id = "b" : tensor<2xf32>
              %1 = "interpreter.run_parallel"(%0) {infeed = [], programs = [[@one]]} : (tensor<2xf32>) -> tensor<2xf32>
              return %1 : tensor<2xf32>
            }"#]],
    );
}

#[test]
fn checks() {
    check(
        r#"func.func @f(%x: tensor<2xf32>) {
            check.expect_eq %x, %x : tensor<2xf32>
            check.expect_eq_const %x, dense<1.0> : tensor<2xf32>
            "check.expect_eq_const"(%x) <{value = dense<2.0> : tensor<2xf32>}> : (tensor<2xf32>) -> ()
            check.expect_almost_eq %x, %x, tolerance = 0.1 : tensor<2xf32>
            check.expect_almost_eq %x, %x {tolerance = 0.1 : f64} : tensor<2xf32>
            check.expect_almost_eq_const %x, dense<1.0> : tensor<2xf32> {tolerance = 0.5 : f64}
            check.expect_close %x, %x, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
            check.expect_close %x, %x, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
            check.expect_close_const %x, dense<1.0> : tensor<2xf32> {max_ulp_difference = 3 : i64}
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2xf32>) {
              check.expect_eq %arg0, %arg0 : tensor<2xf32>
              check.expect_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>
              check.expect_eq_const %arg0, dense<2.000000e+00> : tensor<2xf32>
              check.expect_almost_eq %arg0, %arg0, tolerance = 1.000000e-01 : tensor<2xf32>
              check.expect_almost_eq %arg0, %arg0, tolerance = 1.000000e-01 : tensor<2xf32>
              check.expect_almost_eq_const %arg0, dense<1.000000e+00> : tensor<2xf32>, tolerance = 5.000000e-01
              check.expect_close %arg0, %arg0, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
              check.expect_close %arg0, %arg0, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
              check.expect_close_const %arg0, dense<1.000000e+00> : tensor<2xf32> {max_ulp_difference = 3 : i64}
              return
            }"#]],
    );
}

#[test]
fn constants() {
    check(
        r#"func.func @f() {
            %0 = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
            %1 = stablehlo.constant dense<255> : tensor<i8>
            %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
            %3 = stablehlo.constant dense<> : tensor<0x3xf32>
            %4 = stablehlo.constant dense<[[], []]> : tensor<2x0xui64>
            %5 = stablehlo.constant dense<[0x7FC00001, 0xFF800000, -0.0, 1.0e-45]> : tensor<4xf32>
            %6 = stablehlo.constant dense<[0.1, 3.40282347E+38, 0.333333343, 16777217.0]> : tensor<4xf32>
            %7 = stablehlo.constant dense<[0.1, 1.7976931348623157E+308, 5.0e-324, 123456.789]> : tensor<4xf64>
            %8 = stablehlo.constant dense<[(1.0, 2.0), (0x7FC00000, -3.5)]> : tensor<2xcomplex<f32>>
            %9 = stablehlo.constant dense<(0.1, 0.2)> : tensor<complex<f64>>
            %10 = stablehlo.constant dense<[0.1, 0x7C00, 65504.0]> : tensor<3xf16>
            %11 = stablehlo.constant dense<[0.1, 0x7FC0]> : tensor<2xbf16>
            %12 = stablehlo.constant dense<[1.5, -2.0, 0.5]> : tensor<3xf4E2M1FN>
            %13 = stablehlo.constant dense<[1.5, 0x7F, 448.0]> : tensor<3xf8E4M3FN>
            %14 = stablehlo.constant dense<[-8, 7, 0xF]> : tensor<3xi4>
            %15 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
            %16 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
            %17 = stablehlo.constant dense<"0x0000803F"> : tensor<3x4xf32>
            %18 = stablehlo.constant dense<"0x000100000101"> : tensor<6xi1>
            %19 = stablehlo.constant dense<"0x3501"> : tensor<9xi1>
            %20 = stablehlo.constant dense<"0xFF"> : tensor<5xi1>
            %21 = stablehlo.constant dense<"0x0D0E0F"> : tensor<3xi4>
            %22 = stablehlo.constant dense<"0xED0F"> : tensor<3xi4>
            %23 = stablehlo.constant dense_resource<blob> : tensor<2xi16>
            %24 = stablehlo.constant {a = 1 : i64} dense<1> : tensor<i32>
            %25 = stablehlo.constant() <{value = dense<3> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.1:3>>
            %26 = stablehlo.constant dense<[[[1], [2]], [[3], [4]], [[5], [6]]]> : tensor<3x2x1xi32>
            %27 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
            %28 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
            return
        }
        {-#
          dialect_resources: {
            builtin: {
              blob: "0x0400000001000200"
            }
          }
        #-}"#,
        expect![[r#"
            func.func public @f() {
              %c = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
              %c_0 = stablehlo.constant dense<-1> : tensor<i8>
              %c_1 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
              %cst = stablehlo.constant dense<> : tensor<0x3xf32>
              %c_2 = stablehlo.constant dense<> : tensor<2x0xui64>
              %cst_3 = stablehlo.constant dense<[0x7FC00001, 0xFF800000, -0.000000e+00, 1.401298e-45]> : tensor<4xf32>
              %cst_4 = stablehlo.constant dense<[1.000000e-01, 3.4028235E38, 0.33333334, 16777216.0]> : tensor<4xf32>
              %cst_5 = stablehlo.constant dense<[1.000000e-01, 1.7976931348623157E308, 4.940656e-324, 123456.789]> : tensor<4xf64>
              %cst_6 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (0x7FC00000,-3.500000e+00)]> : tensor<2xcomplex<f32>>
              %cst_7 = stablehlo.constant dense<(1.000000e-01,2.000000e-01)> : tensor<complex<f64>>
              %cst_8 = stablehlo.constant dense<[9.997559e-02, 0x7C00, 6.550400e+04]> : tensor<3xf16>
              %cst_9 = stablehlo.constant dense<[1.000977e-01, 0x7FC0]> : tensor<2xbf16>
              %cst_10 = stablehlo.constant dense<[1.500000e+00, -2.000000e+00, 5.000000e-01]> : tensor<3xf4E2M1FN>
              %cst_11 = stablehlo.constant dense<[1.500000e+00, 0x7F, 4.480000e+02]> : tensor<3xf8E4M3FN>
              %c_12 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
              %c_13 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
              %cst_14 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
              %cst_15 = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf32>
              %c_16 = stablehlo.constant dense<[false, true, false, false, true, true]> : tensor<6xi1>
              %c_17 = stablehlo.constant dense<[true, false, true, false, true, true, false, false, true]> : tensor<9xi1>
              %c_18 = stablehlo.constant dense<true> : tensor<5xi1>
              %c_19 = stablehlo.constant dense<[-3, -2, -1]> : tensor<3xi4>
              %c_20 = stablehlo.constant dense<[-3, -2, -1]> : tensor<3xi4>
              %c_21 = stablehlo.constant dense<[1, 2]> : tensor<2xi16>
              %c_22 = stablehlo.constant {a = 1 : i64} dense<1> : tensor<i32>
              %c_23 = "stablehlo.constant"() <{value = dense<3> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.1:3>>
              %c_24 = stablehlo.constant dense<[[[1], [2]], [[3], [4]], [[5], [6]]]> : tensor<3x2x1xi32>
              %c_25 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
              %c_26 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
              return
            }"#]],
    );
    let list = (0..101).map(|i| (i % 7 - 3).to_string()).collect::<Vec<_>>().join(", ");
    check(
        &format!("func.func @f() {{ %0 = stablehlo.constant dense<[{list}]> : tensor<101xi4> return }}"),
        expect![[r#"
            func.func public @f() {
              %c = stablehlo.constant dense<"0x0D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F000102030D0E0F"> : tensor<101xi4>
              return
            }"#]],
    );
}

#[test]
fn modules_and_attributes() {
    let module = parse(
        r##"
        #map = {z = [1, 2.5, "s\0A\C3\A9\22"], y = @a::@"b c"}
        !t = tensor<?x3xf32, #stablehlo.bounds<8, ?>>
        module @"jit f" attributes {mhlo.num_partitions = 1 : i32, m = #map, "quoted key" = unit, u,
            i = -5 : index, ty = (tensor<2xi1>) -> (), d = #stablehlo<precision HIGH>, e = #sdy.sharding<@m, [{"x"}, {}]>,
            b = array<i1: true, false>, n = array<f32: 1.0, 0x7F800000>, empty = array<i64>, x = dense<[[1], [2]]> : tensor<2x1xindex>,
            f = 0xFF800000 : f32, o = #foo.bar, tok = !stablehlo.token, am = affine_map<(d0) -> (d0)>, q = i37, bb = 1 : i1} {
          sdy.mesh @mesh = <["x"=2, "y"=4]>
          "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "m2"}> : () -> ()
          func.func @"a b"(%x: !t {jax.buffer_donor = true}, %y: tensor<2xcomplex<f64>>) -> (!t {jax.result_info = "out"}) attributes {k} {
            return %x : !t
          }
          func.func private @g() -> !t attributes {l} {
            %0 = stablehlo.custom_call @a() : () -> !t
            return %0 : !t
          }
        }"##,
    );
    let printed = text::print(&module);
    assert!(parse(&printed) == module, "the printed text is read as a different module\n{printed}");
    expect![[r#"
        module @"jit f" attributes {am = affine_map<(d0) -> (d0)>, b = array<i1: true, false>, bb = true, d = #stablehlo<precision HIGH>, e = #sdy.sharding<@m, [{"x"}, {}]>, empty = array<i64>, f = 0xFF800000 : f32, i = -5 : index, m = {y = @a::@"b c", z = [1 : i64, 2.500000e+00 : f64, "s\0A\C3\A9\22"]}, mhlo.num_partitions = 1 : i32, n = array<f32: 1.000000e+00, 0x7F800000>, o = #foo.bar, q = i37, "quoted key", tok = !stablehlo.token, ty = (tensor<2xi1>) -> (), u, x = dense<[[1], [2]]> : tensor<2x1xindex>} {
          sdy.mesh @mesh = <["x"=2, "y"=4]>
          sdy.mesh @m2 = <["x"=2]>
          func.func public @"a b"(%arg0: tensor<?x3xf32, #stablehlo.bounds<8, ?>> {jax.buffer_donor = true}, %arg1: tensor<2xcomplex<f64>>) -> (tensor<?x3xf32, #stablehlo.bounds<8, ?>> {jax.result_info = "out"}) attributes {k} {
            return %arg0 : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
          }
          func.func private @g() -> tensor<?x3xf32, #stablehlo.bounds<8, ?>> attributes {l} {
            %0 = stablehlo.custom_call @a() : () -> tensor<?x3xf32, #stablehlo.bounds<8, ?>>
            return %0 : tensor<?x3xf32, #stablehlo.bounds<8, ?>>
          }
        }
    "#]].assert_eq(&printed);
}

#[test]
fn a_slice_of_rank_0_has_both_commas() {
    check(
        "func.func @f(%x: tensor<i32>) -> tensor<i32> {
            %0 = stablehlo.dynamic_slice %x, , sizes = [] : (tensor<i32>) -> tensor<i32>
            return %0 : tensor<i32>
        }",
        expect![[r#"
            func.func public @f(%arg0: tensor<i32>) -> tensor<i32> {
              %0 = stablehlo.dynamic_slice %arg0, , sizes = [] : (tensor<i32>) -> tensor<i32>
              return %0 : tensor<i32>
            }"#]],
    );
}

#[test]
fn parameters_may_be_named_by_the_label_of_the_body() {
    for head in ["@f()", "@f(tensor<f32>, tensor<2xf32>)"] {
        let program = format!(
            "func.func {head} -> tensor<f32> {{
            ^bb0(%a: tensor<f32>, %b: tensor<2xf32>):
              return %a : tensor<f32>
            }}"
        );
        let module = parse(&program);
        assert_eq!(
            text::print(&module),
            "module {\n  func.func public @f(%arg0: tensor<f32>, %arg1: tensor<2xf32>) -> tensor<f32> {\n    \
             return %arg0 : tensor<f32>\n  }\n}\n"
        );
    }
    // Parameters without names may have attributes, as in a declaration.
    check(
        "func.func @f(tensor<f32> {jax.arg_info = \"x\"}) -> tensor<f32> {
        ^bb0(%a: tensor<f32>):
          return %a : tensor<f32>
        }",
        expect![[r#"
            func.func public @f(%arg0: tensor<f32> {jax.arg_info = "x"}) -> tensor<f32> {
              return %arg0 : tensor<f32>
            }"#]],
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let program = "func.func @f(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}";
    assert!(parse(&format!("\u{feff}{program}")) == parse(program));
}

#[test]
fn collectives() {
    check(
        r#"func.func @f(%x: tensor<2x4xf32>, %i: tensor<1xi32>) {
            %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
            %1:2 = "stablehlo.all_reduce"(%x, %0) ({
              ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                %8 = stablehlo.add %a, %b : tensor<f32>
                stablehlo.return %8 : tensor<f32>
            }) {channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
            %2 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
              ^bb0(%a: tensor<f32>, %b: tensor<f32>):
                %8 = stablehlo.add %a, %b : tensor<f32>
                stablehlo.return %8 : tensor<f32>
            }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
            %3 = "stablehlo.all_to_all"(%x) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
            %4 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
            %5 = "stablehlo.collective_broadcast"(%x, %i) <{has_dynamic_root = true, replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>
            %6 = "stablehlo.collective_permute"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x4xf32>, %arg1: tensor<1xi32>) {
              %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
              %1:2 = "stablehlo.all_reduce"(%arg0, %0) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
              ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                %7 = stablehlo.add %arg2, %arg3 : tensor<f32>
                stablehlo.return %7 : tensor<f32>
              }) : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
              %2 = "stablehlo.reduce_scatter"(%arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
              ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                %7 = stablehlo.add %arg2, %arg3 : tensor<f32>
                stablehlo.return %7 : tensor<f32>
              }) : (tensor<2x4xf32>) -> tensor<2x2xf32>
              %3 = "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
              %4 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
              %5 = "stablehlo.collective_broadcast"(%arg0, %arg1) <{has_dynamic_root, replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>
              %6 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
              return
            }"#]],
    );
}

#[test]
fn broadcasting() {
    let lines: String = [
        "add",
        "atan2",
        "divide",
        "maximum",
        "minimum",
        "multiply",
        "next_after",
        "polygamma",
        "power",
        "remainder",
        "subtract",
        "zeta",
    ]
    .iter()
    .map(|op| format!("chlo.broadcast_{op} %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>\n"))
    .collect();
    let integers: String =
        ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"]
            .iter()
            .map(|op| {
                format!("chlo.broadcast_{op} %i, %i : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>\n")
            })
            .collect();
    let program = format!(
        "func.func @f(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<3xi32>) {{\n{lines}{integers}return\n}}"
    );
    let module = parse(&program);
    let printed = text::print(&module);
    for line in lines.lines().chain(integers.lines()) {
        let line = line.replace("%x", "%arg0").replace("%y", "%arg1").replace("%i", "%arg2");
        assert!(printed.contains(&line), "not printed: {line}");
    }
    assert!(parse(&printed) == module);
    check(
        r#"func.func @f(%x: tensor<2x3xf32>, %y: tensor<2xf32>, %p: tensor<1xi1>, %z: tensor<2xcomplex<f32>>) {
            %0 = "chlo.broadcast_add"(%x, %y) <{broadcast_dimensions = array<i64: 0>}> : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
            %1 = chlo.broadcast_complex %y, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
            %2 = "chlo.broadcast_compare"(%y, %y) <{comparison_direction = #chlo<comparison_direction EQ>, compare_type = #chlo<comparison_type TOTALORDER>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
            %3 = chlo.broadcast_select %p, %y, %y : (tensor<1xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            %4 = "chlo.constant_like"(%x) <{value = 3.2 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
            %5 = "chlo.constant_like"(%z) {value = #complex.number<:f32 1.0, -2.5>} : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
            %6 = chlo.constant dense<[1, 2]> : tensor<2xi32>
            %7 = "chlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
            %8 = chlo._asin_acos_kernel %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x3xf32>, %arg1: tensor<2xf32>, %arg2: tensor<1xi1>, %arg3: tensor<2xcomplex<f32>>) {
              %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
              %1 = chlo.broadcast_complex %arg1, %arg1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
              %2 = chlo.broadcast_compare %arg1, %arg1 {compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction EQ>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
              %3 = chlo.broadcast_select %arg2, %arg1, %arg1 : (tensor<1xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
              %4 = "chlo.constant_like"(%arg0) <{value = 3.200000e+00 : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
              %5 = "chlo.constant_like"(%arg3) <{value = #complex.number<:f32 1.0, -2.5>}> : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
              %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
              %c_0 = stablehlo.constant dense<3> : tensor<i32>
              %6 = chlo._asin_acos_kernel %arg3 : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
              return
            }"#]],
    );
}

#[test]
fn operations_on_their_way_out() {
    check(
        r#"func.func @f(%x: tensor<3x3xf32>, %v: tensor<3xf32>, %i: tensor<2xi32>) {
            %0 = "stablehlo.broadcast"(%v) <{broadcast_sizes = array<i64: 1, 2>}> : (tensor<3xf32>) -> tensor<1x2x3xf32>
            %1 = "stablehlo.dot"(%x, %v) {precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
            %2 = stablehlo.dot %v, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
            %3 = "stablehlo.einsum"(%x, %x) <{einsum_config = "ab,bc->ac"}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
            %4 = stablehlo.unary_einsum %x, config = "ab->a" : (tensor<3x3xf32>) -> tensor<3xf32>
            %5 = "stablehlo.torch_index_select"(%x, %i) {dim = -1 : i64, batch_dims = 0 : i64} : (tensor<3x3xf32>, tensor<2xi32>) -> tensor<3x2xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<3x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<2xi32>) {
              %0 = stablehlo.broadcast %arg1, sizes = [1, 2] : (tensor<3xf32>) -> tensor<1x2x3xf32>
              %1 = stablehlo.dot %arg0, %arg1, precision = [HIGH, DEFAULT] : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3xf32>
              %2 = stablehlo.dot %arg1, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
              %3 = stablehlo.einsum %arg0, %arg0, config = "ab,bc->ac" : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
              %4 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<3x3xf32>) -> tensor<3xf32>
              %5 = "stablehlo.torch_index_select"(%arg0, %arg2) <{batch_dims = 0 : i64, dim = -1 : i64}> : (tensor<3x3xf32>, tensor<2xi32>) -> tensor<3x2xf32>
              return
            }"#]],
    );
}

#[test]
fn batch_norm_and_ragged_dot() {
    check(
        r#"func.func @f(%x: tensor<2x3xf32>, %v: tensor<3xf32>, %r: tensor<4x3x5xf32>, %s: tensor<4xi32>) {
            %0 = "stablehlo.batch_norm_inference"(%x, %v, %v, %v, %v) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
            %1:3 = "stablehlo.batch_norm_training"(%x, %v, %v) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
            %2:3 = "stablehlo.batch_norm_grad"(%x, %v, %v, %v, %x) {epsilon = 0.001 : f32, feature_index = 1 : i64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
            %3 = "chlo.ragged_dot"(%x, %r, %s) {precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<2x3xf32>, tensor<4x3x5xf32>, tensor<4xi32>) -> tensor<2x5xf32>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<4x3x5xf32>, %arg3: tensor<4xi32>) {
              %0 = "stablehlo.batch_norm_inference"(%arg0, %arg1, %arg1, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
              %1:3 = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
              %2:3 = "stablehlo.batch_norm_grad"(%arg0, %arg1, %arg1, %arg1, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
              %3 = "chlo.ragged_dot"(%arg0, %arg2, %arg3) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGH>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<4x3x5xf32>, tensor<4xi32>) -> tensor<2x5xf32>
              return
            }"#]],
    );
}

#[test]
fn scans() {
    check(
        r#"func.func @f(%x: tensor<2x3xf32>, %i: tensor<3xf32>, %n: tensor<i32>) {
            %0:2 = chlo.scan (%x) inits (%i) dimension=0 attributes {is_reverse = true} {
            ^bb0(%slice: tensor<3xf32>, %carry: tensor<3xf32>):
              %3 = stablehlo.add %slice, %carry : tensor<3xf32>
              stablehlo.return %3, %3 : tensor<3xf32>, tensor<3xf32>
            } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
            %1 = "chlo.scan"(%i) <{dimension = 0 : i64, is_associative = false, operandSegmentSizes = array<i32: 0, 1>, resultSegmentSizes = array<i32: 0, 1>, scan_dim_size = 2 : i64}> ({
            ^bb0(%carry: tensor<3xf32>):
              stablehlo.return %carry : tensor<3xf32>
            }) : (tensor<3xf32>) -> tensor<3xf32>
            %2 = "stablehlo.set_dimension_size"(%x, %n) {dimension = 1 : i64} : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>) {
              %0:2 = chlo.scan(%arg0) inits (%arg1) dimension = 0 attributes {is_reverse = true} {
              ^bb0(%arg3: tensor<3xf32>, %arg4: tensor<3xf32>):
                %3 = stablehlo.add %arg3, %arg4 : tensor<3xf32>
                stablehlo.return %3, %3 : tensor<3xf32>, tensor<3xf32>
              } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
              %1 = chlo.scan() inits (%arg1) dimension = 0 attributes {is_associative = false, scan_dim_size = 2 : i64} {
              ^bb0(%arg3: tensor<3xf32>):
                stablehlo.return %arg3 : tensor<3xf32>
              } : (tensor<3xf32>) -> tensor<3xf32>
              %2 = stablehlo.set_dimension_size %arg0, %arg2, dim = 1 : (tensor<2x3xf32>, tensor<i32>) -> tensor<2x?xf32, #stablehlo.bounds<?, 3>>
              return
            }"#]],
    );
}

#[test]
fn groups_that_are_named_by_axes() {
    check(
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
        func.func @f(%x: tensor<2xf32>) {
            %0 = "stablehlo.collective_reduce"(%x) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
            ^bb0(%a: tensor<f32>, %b: tensor<f32>):
              %2 = stablehlo.add %a, %b : tensor<f32>
              stablehlo.return %2 : tensor<f32>
            }) : (tensor<2xf32>) -> tensor<2xf32>
            return
        }"#,
        expect![[r#"
            sdy.mesh @mesh = <["x"=2, "y"=2]>
            func.func public @f(%arg0: tensor<2xf32>) {
              %0 = "stablehlo.collective_reduce"(%arg0) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
              ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
                %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
                stablehlo.return %1 : tensor<f32>
              }) : (tensor<2xf32>) -> tensor<2xf32>
              return
            }"#]],
    );
}

#[test]
fn futures_and_transfers() {
    check(
        r#"func.func @f(%x: tensor<4xf32>, %t: !stablehlo.token) -> !stablehlo.future<tensor<2xf32>> {
            %0 = "stablehlo.async_start"(%x) ({
              %8 = "stablehlo.slice"(%x) {start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
              "stablehlo.return"(%8) : (tensor<2xf32>) -> ()
            }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
            %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
            %2:2 = "stablehlo.infeed"(%t) {infeed_config = "foobar", layout = [[0, 1]]} : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
            %3:1 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (!stablehlo.token)
            %4 = "stablehlo.outfeed"(%x, %t) {outfeed_config = ""} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
            %5 = "stablehlo.outfeed"(%t) {outfeed_config = "a"} : (!stablehlo.token) -> !stablehlo.token
            %6 = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
            %7:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
            return %0 : !stablehlo.future<tensor<2xf32>>
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) -> !stablehlo.future<tensor<2xf32>> {
              %0 = "stablehlo.async_start"(%arg0) ({
                %8 = stablehlo.slice %arg0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
                stablehlo.return %8 : tensor<2xf32>
              }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
              %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
              %2:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "foobar", layout = [[0 : i64, 1 : i64]]}> : (!stablehlo.token) -> (tensor<3x3xi32>, !stablehlo.token)
              %3 = "stablehlo.infeed"(%arg1) : (!stablehlo.token) -> !stablehlo.token
              %4 = "stablehlo.outfeed"(%arg0, %arg1) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
              %5 = "stablehlo.outfeed"(%arg1) <{outfeed_config = "a"}> : (!stablehlo.token) -> !stablehlo.token
              %6 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
              %7:2 = "stablehlo.recv"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
              return %0 : !stablehlo.future<tensor<2xf32>>
            }"#]],
    );
}

#[test]
fn sin_cos() {
    check(
        r#"func.func @f(%x: tensor<2x3xf32>) {
            %0:2 = chlo.sin_cos %x : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x3xf32>)
            %1, %2 = "chlo.sin_cos"(%0#1) : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
            return
        }"#,
        expect![[r#"
            func.func public @f(%arg0: tensor<2x3xf32>) {
              %0:2 = chlo.sin_cos %arg0 : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x3xf32>)
              %1:2 = chlo.sin_cos %0#1 : tensor<2x3xf32> -> (tensor<2x3xf32>, tensor<2x3xf32>)
              return
            }"#]],
    );
}
