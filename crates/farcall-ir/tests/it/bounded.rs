//! Bounded dimensions whose sizes are computed at run time. The lowered program computes on tensors padded to
//! the bounds. It must return the same results as the original program, which the evaluator runs on tensors
//! of the exact sizes.

use farcall_ir::eval::{self, Denormals, EvalValue, NoHost, eval};
use farcall_ir::{DType, Literal, Module, Scalar, Source, bounded, refine, text, verify};

/// Inputs of every program: the numbers 0 to 23 as `4x6`, and two sizes.
fn inputs(n: i64, m: i64) -> Vec<Literal> {
    // The elements are unordered, so that sorts have work.
    let table = Literal::from_fn(DType::F32, [4, 6], |i| Scalar::Float(((i * 7 + 3) % 24) as f64));
    let size = |n: i64| Literal::scalar(DType::S32, Scalar::Signed(n));
    vec![table, size(n), size(m)]
}

fn module(body: &str, result: &str) -> Module {
    let program = format!(
        "func.func @main(%x: tensor<4x6xf32>, %n: tensor<i32>, %m: tensor<i32>) -> {result} {{
  %rows = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<4, ?>>
  %columns = stablehlo.set_dimension_size %x, %m, dim = 1 : (tensor<4x6xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 6>>
  %both = stablehlo.set_dimension_size %rows, %m, dim = 1 : (tensor<?x6xf32, #stablehlo.bounds<4, ?>>, tensor<i32>) -> tensor<?x?xf32, #stablehlo.bounds<4, 6>>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
{body}
}}"
    );
    let module = text::parse(&Source::new("bounded.mlir", program)).unwrap();
    verify::verify(&module).unwrap();
    module
}

fn run(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let module = &verify::verify(module).unwrap();
    let entry = module.entry().unwrap();
    let values: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    let results = eval(module, entry, &values, &NoHost, Denormals::Ieee).map_err(|e| e.to_string())?;
    bounded::cut(&bounded::cuts(entry), eval::tensors(&results)).map_err(|e| e.to_string())
}

fn lowered(module: &Module) -> Module {
    let module = verify::verify(module).unwrap();
    let refined = refine::refine(&module, module.entry().unwrap(), None, &[]);
    Module::clone(&refined.unwrap_or_else(|e| panic!("{e}")))
}

/// Checks that the lowered program returns the same results as the original program, for all sizes.
fn check(body: &str, result: &str) {
    let module = module(body, result);
    let lowered = lowered(&module);
    for n in 0..=4 {
        for m in 0..=6 {
            let inputs = inputs(n, m);
            let expected = run(&module, &inputs).unwrap_or_else(|e| panic!("sizes {n} and {m}: {e}"));
            let found = run(&lowered, &inputs).unwrap_or_else(|e| panic!("sizes {n} and {m}: {e}"));
            assert_eq!(
                found,
                expected,
                "results for the sizes {n} and {m} of\n{body}\nlowered to\n{}",
                text::print(&lowered)
            );
        }
    }
}

const ROWS: &str = "tensor<?x6xf32, #stablehlo.bounds<4, ?>>";
const COLUMNS: &str = "tensor<4x?xf32, #stablehlo.bounds<?, 6>>";
const BOTH: &str = "tensor<?x?xf32, #stablehlo.bounds<4, 6>>";

#[test]
fn elements_are_computed_one_by_one() {
    check(
        &format!(
            "  %two = stablehlo.add %both, %both : {BOTH}
  %sign = stablehlo.negate %two : {BOTH}
  return %sign : {BOTH}"
        ),
        BOTH,
    );
}

#[test]
fn reductions_ignore_padding() {
    for (op, init) in [("add", "1.0"), ("maximum", "-5.0"), ("minimum", "3.0"), ("multiply", "2.0")] {
        check(
            &format!(
                "  %init = stablehlo.constant dense<{init}> : tensor<f32>
  %all = stablehlo.reduce(%both init: %init) applies stablehlo.{op} across dimensions = [0, 1] : ({BOTH}, tensor<f32>) -> tensor<f32>
  %some = stablehlo.reduce(%both init: %init) applies stablehlo.{op} across dimensions = [0] : ({BOTH}, tensor<f32>) -> tensor<?xf32, #stablehlo.bounds<6>>
  return %all, %some : tensor<f32>, tensor<?xf32, #stablehlo.bounds<6>>"
            ),
            "(tensor<f32>, tensor<?xf32, #stablehlo.bounds<6>>)",
        );
    }
}

#[test]
fn products_ignore_padding() {
    check(
        &format!(
            "  %inner = stablehlo.dot_general %columns, %columns, contracting_dims = [1] x [1] : ({COLUMNS}, {COLUMNS}) -> tensor<4x4xf32>
  %outer = stablehlo.dot_general %rows, %rows, contracting_dims = [1] x [1] : ({ROWS}, {ROWS}) -> tensor<?x?xf32, #stablehlo.bounds<4, 4>>
  return %inner, %outer : tensor<4x4xf32>, tensor<?x?xf32, #stablehlo.bounds<4, 4>>"
        ),
        "(tensor<4x4xf32>, tensor<?x?xf32, #stablehlo.bounds<4, 4>>)",
    );
}

#[test]
fn data_moves_with_its_size() {
    check(
        &format!(
            "  %t = stablehlo.transpose %both, dims = [1, 0] : ({BOTH}) -> tensor<?x?xf32, #stablehlo.bounds<6, 4>>
  %r = stablehlo.reverse %both, dims = [0, 1] : {BOTH}
  %c = stablehlo.concatenate %rows, %rows, dim = 0 : ({ROWS}, {ROWS}) -> tensor<?x6xf32, #stablehlo.bounds<8, ?>>
  %p = stablehlo.pad %rows, %zero, low = [1, 0], high = [2, 1], interior = [1, 0] : ({ROWS}, tensor<f32>) -> tensor<?x7xf32, #stablehlo.bounds<10, ?>>
  return %t, %r, %c, %p : tensor<?x?xf32, #stablehlo.bounds<6, 4>>, {BOTH}, tensor<?x6xf32, #stablehlo.bounds<8, ?>>, tensor<?x7xf32, #stablehlo.bounds<10, ?>>"
        ),
        &format!("(tensor<?x?xf32, #stablehlo.bounds<6, 4>>, {BOTH}, tensor<?x6xf32, #stablehlo.bounds<8, ?>>, tensor<?x7xf32, #stablehlo.bounds<10, ?>>)"),
    );
}

#[test]
fn padding_is_sorted_last() {
    check(
        &format!(
            r#"  %s = "stablehlo.sort"(%columns) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }}) {{dimension = 1 : i64, is_stable = true}} : ({COLUMNS}) -> {COLUMNS}
  return %s : {COLUMNS}"#
        ),
        COLUMNS,
    );
}

#[test]
fn windows_ignore_padding() {
    for init in [0, 1] {
        check(
            &format!(
                r#"  %init = stablehlo.constant dense<{init}.0> : tensor<f32>
  %w = "stablehlo.reduce_window"(%columns, %init) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }}) {{window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>}} : ({COLUMNS}, tensor<f32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 4>>
  return %w : tensor<4x?xf32, #stablehlo.bounds<?, 4>>"#
            ),
            "tensor<4x?xf32, #stablehlo.bounds<?, 4>>",
        );
    }
}

#[test]
fn loops_and_branches_carry_sizes() {
    check(
        &format!(
            r#"  %one = stablehlo.constant dense<1> : tensor<i32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %i, %acc = stablehlo.while(%k = %c0, %a = %both) : tensor<i32>, {BOTH}
  cond {{
    %go = stablehlo.compare LT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    %next = stablehlo.add %k, %one : tensor<i32>
    %sum = func.call @twice(%a) : ({BOTH}) -> {BOTH}
    stablehlo.return %next, %sum : tensor<i32>, {BOTH}
  }}
  %size = stablehlo.get_dimension_size %acc, dim = 1 : ({BOTH}) -> tensor<i32>
  %few = stablehlo.compare LT, %size, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %chosen = "stablehlo.if"(%few) ({{
    stablehlo.return %acc : {BOTH}
  }}, {{
    %less = stablehlo.set_dimension_size %acc, %one, dim = 1 : ({BOTH}, tensor<i32>) -> {BOTH}
    stablehlo.return %less : {BOTH}
  }}) : (tensor<i1>) -> {BOTH}
  return %size, %chosen : tensor<i32>, {BOTH}
}}
func.func private @twice(%a: {BOTH}) -> {BOTH} {{
  %sum = stablehlo.add %a, %a : {BOTH}
  return %sum : {BOTH}"#
        ),
        &format!("(tensor<i32>, {BOTH})"),
    );
}

/// The shape of a `dynamic_reshape` is an operand, so the evaluator can reshape tensors of the exact sizes.
#[test]
fn reshapes_close_gaps() {
    check(
        &format!(
            "  %six = stablehlo.constant dense<[6]> : tensor<1xi32>
  %four = stablehlo.constant dense<[4]> : tensor<1xi32>
  %product = stablehlo.multiply %n, %m : tensor<i32>
  %flat_shape = stablehlo.reshape %product : (tensor<i32>) -> tensor<1xi32>
  %flat = stablehlo.dynamic_reshape %both, %flat_shape : ({BOTH}, tensor<1xi32>) -> tensor<?xf32, #stablehlo.bounds<24>>
  %rows_first = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %rows_last = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %rows_first, %rows_last, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %turned = stablehlo.dynamic_reshape %both, %shape : ({BOTH}, tensor<2xi32>) -> tensor<?x?xf32, #stablehlo.bounds<6, 4>>
  return %flat, %turned : tensor<?xf32, #stablehlo.bounds<24>>, tensor<?x?xf32, #stablehlo.bounds<6, 4>>"
        ),
        "(tensor<?xf32, #stablehlo.bounds<24>>, tensor<?x?xf32, #stablehlo.bounds<6, 4>>)",
    );
}

/// `reshape` has no operand for the shape, so the sizes of the result follow from its bounds.
#[test]
fn sizes_follow_from_bounds() {
    let module = module(
        &format!(
            "  %flat = stablehlo.reshape %columns : ({COLUMNS}) -> tensor<?xf32, #stablehlo.bounds<24>>
  %split = stablehlo.reshape %columns : ({COLUMNS}) -> tensor<2x2x?xf32, #stablehlo.bounds<?, ?, 6>>
  return %flat, %split : tensor<?xf32, #stablehlo.bounds<24>>, tensor<2x2x?xf32, #stablehlo.bounds<?, ?, 6>>"
        ),
        "(tensor<?xf32, #stablehlo.bounds<24>>, tensor<2x2x?xf32, #stablehlo.bounds<?, ?, 6>>)",
    );
    let lowered = lowered(&module);
    for m in 0..=6 {
        let inputs = inputs(0, m);
        let found = run(&lowered, &inputs).unwrap();
        let m = m as usize;
        let kept: Vec<Scalar> = (0..24).filter(|i| i % 6 < m).map(|i| inputs[0].get(i)).collect();
        let expected = Literal::from_fn(DType::F32, [4 * m], |i| kept[i]);
        assert_eq!(found, [expected.clone(), expected.reshape([2, 2, m])]);
    }
}

/// If the sizes of two operands differ, the result has the smaller size. An operand of size 1 is broadcast.
#[test]
fn different_sizes_meet_as_in_xla() {
    let module = module(
        &format!(
            "  %other = stablehlo.set_dimension_size %x, %m, dim = 0 : (tensor<4x6xf32>, tensor<i32>) -> {ROWS}
  %sum = stablehlo.add %rows, %other : {ROWS}
  return %sum : {ROWS}"
        ),
        ROWS,
    );
    let lowered = lowered(&module);
    for n in 0..=4_usize {
        for m in 0..=4_usize {
            let inputs = inputs(n as i64, m as i64);
            let rows = if n.min(m) == 1 { n.max(m) } else { n.min(m) };
            let element = |size: usize, i: usize| inputs[0].get(if size == 1 { i % 6 } else { i }).as_f64();
            let expected =
                Literal::from_fn(DType::F32, [rows, 6], |i| Scalar::Float(element(n, i) + element(m, i)));
            assert_eq!(run(&lowered, &inputs).unwrap(), [expected], "sizes {n} and {m}");
        }
    }
}

#[test]
fn sizes_out_of_bounds_are_limited() {
    let module = module(&format!("  return %rows : {ROWS}"), ROWS);
    let lowered = lowered(&module);
    for (size, rows) in [(-3, 0), (9, 4)] {
        assert_eq!(run(&lowered, &inputs(size, 0)).unwrap()[0].dims(), [rows, 6]);
    }
}

#[test]
fn an_operation_without_a_rule_is_named() {
    let module = module(
        &format!(
            "  %l = \"stablehlo.cholesky\"(%both) {{lower = true}} : ({BOTH}) -> {BOTH}\n  return %l : {BOTH}"
        ),
        BOTH,
    );
    let module = verify::verify(&module).unwrap();
    let error = refine::refine(&module, module.entry().unwrap(), None, &[]).unwrap_err().to_string();
    assert!(
        error.contains(
            "stablehlo.cholesky: an operand with a bounded dimension whose size is computed is not supported"
        ),
        "{error}"
    );
}

/// An update with fewer elements than its bound writes only these elements, and leaves the rest of the
/// operand unchanged.
#[test]
fn updates_write_only_their_elements() {
    check(
        &format!(
            "  %one = stablehlo.constant dense<0> : tensor<i32>
  %big = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %double = stablehlo.add %rows, %rows : {ROWS}
  %new = stablehlo.dynamic_update_slice %big, %double, %one, %one : (tensor<8x6xf32>, {ROWS}, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return %new : tensor<8x6xf32>"
        ),
        "tensor<8x6xf32>",
    );
}
