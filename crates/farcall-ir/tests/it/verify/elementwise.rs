//! Every unary and binary operation: the element types that it accepts, its result type, and the diagnostics
//! for a result of another shape.

use expect_test::expect_file;
use farcall_ir::op::{Binary, Unary};

use super::{diagnose, in_folder};

const TYPES: [&str; 8] = [
    "i1",
    "i32",
    "ui32",
    "f16",
    "f32",
    "complex<f32>",
    "!quant.uniform<i8:f32, 0.5>",
    "!quant.uniform<i8:f32:0, {0.5, 0.25}>",
];

fn program(name: &str, operands: usize, element: &str, result: &str) -> String {
    let ty = format!("tensor<2x{element}>");
    let types = vec![ty.clone(); operands].join(", ");
    let args = ["%a, %a", "%a"][usize::from(operands == 1)];
    format!("func.func @f(%a: {ty}) {{\n  %r = \"{name}\"({args}) : ({types}) -> {result}\n  return\n}}\n")
}

/// The codes of the diagnostics, or `ok`.
fn codes(program: &str) -> String {
    let said = diagnose(program);
    let codes: Vec<&str> = said.lines().filter_map(|l| l.strip_prefix('[')?.split(']').next()).collect();
    if codes.is_empty() { "ok".to_owned() } else { codes.join(" ") }
}

/// The name of an operation, and a line for each operand type: the accepted result types, or the codes of the
/// diagnostics.
fn describe(name: &str, operands: usize) -> String {
    let mut lines = format!("{name}\n");
    for element in TYPES {
        let results: Vec<&str> = TYPES
            .into_iter()
            .filter(|r| codes(&program(name, operands, element, &format!("tensor<2x{r}>"))) == "ok")
            .collect();
        let said = if results.is_empty() {
            codes(&program(name, operands, element, &format!("tensor<2x{element}>")))
        } else {
            let shape = codes(&program(name, operands, element, &format!("tensor<3x{}>", results[0])));
            format!("-> {} (another shape: {shape})", results.join(" or "))
        };
        lines += &format!("  {element} {said}\n");
    }
    lines
}

#[test]
fn element_types() {
    let unary = Unary::VARIANTS.iter().map(|op| describe(op.name(), 1));
    let binary = Binary::VARIANTS.iter().map(|op| describe(op.name(), 2));
    let all: String = unary.chain(binary).collect();
    expect_file![in_folder("elementwise.txt")].assert_eq(&all);
}

#[test]
fn operands_of_different_types() {
    let mut all = String::new();
    for op in Binary::VARIANTS {
        let name = op.name();
        for (lhs, rhs) in [("2xf32", "2xf16"), ("2xi32", "2xui32"), ("2xf32", "3xf32"), ("2xi32", "3xi32")] {
            let said = codes(&format!(
                "func.func @f(%a: tensor<{lhs}>, %b: tensor<{rhs}>) {{\n  %r = \"{name}\"(%a, %b) : \
                 (tensor<{lhs}>, tensor<{rhs}>) -> tensor<{lhs}>\n  return\n}}\n"
            ));
            assert_ne!(said, "ok", "{name} accepts {lhs} and {rhs}");
            all += &format!("{name} {lhs} {rhs}: {said}\n");
        }
    }
    expect_file![in_folder("binary.txt")].assert_eq(&all);
}
