//! Programs in other dialects, in several modules, and with attributes in places where JAX does not write
//! them.

use expect_test::{Expect, expect};
use farcall_ir::{Module, Source, text, verify};

fn parse(program: &str) -> Module {
    text::parse(&Source::new("t.mlir", program)).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

fn error(program: &str) -> String {
    let source = Source::new("t.mlir", program);
    let module = match text::parse(&source) {
        Err(e) => return e.render(false),
        Ok(module) => module,
    };
    verify::verify(&module)
        .and_then(|module| verify::entry(&module, None).map(drop))
        .expect_err("the program has a mistake")
        .render(false)
}

#[track_caller]
fn prints(program: &str, expected: Expect) {
    let module = parse(program);
    let printed = text::print(&module);
    assert_eq!(parse(&printed), module, "{printed}");
    expected.assert_eq(&printed);
}

#[test]
fn modules_of_one_text_become_one() {
    let module = |name: &str, func: &str| {
        format!(
            "module {name} attributes {{mhlo.num_partitions = 1 : i32}} {{
  func.func @{func}(%x: tensor<f32>) -> tensor<f32> {{
    %0 = call @help(%x) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }}
  func.func private @help(%x: tensor<f32>) -> tensor<f32> {{
    return %x : tensor<f32>
  }}
}}
"
        )
    };
    prints(
        &(module("@a", "main") + &module("@b", "other")),
        expect![[r#"
        module @a attributes {mhlo.num_partitions = 1 : i32} {
          func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
            %0 = call @a.help(%arg0) : (tensor<f32>) -> tensor<f32>
            return %0 : tensor<f32>
          }
          func.func private @a.help(%arg0: tensor<f32>) -> tensor<f32> {
            return %arg0 : tensor<f32>
          }
          func.func public @other(%arg0: tensor<f32>) -> tensor<f32> {
            %0 = call @b.help(%arg0) : (tensor<f32>) -> tensor<f32>
            return %0 : tensor<f32>
          }
          func.func private @b.help(%arg0: tensor<f32>) -> tensor<f32> {
            return %arg0 : tensor<f32>
          }
        }
    "#]],
    );
    let nested = format!("module @outer {{\n{}{}}}", module("@a", "f"), module("", "f"));
    let joined = parse(&nested);
    let names: Vec<&str> = joined.funcs().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["a.f", "a.help", "module1.f", "module1.help"]);
    expect![[r#"
        error: [no-entry] there is no @main: choose a function (--entry NAME)
         |
         = note: the functions are @a.f, @module1.f"#]]
    .assert_eq(&error(&nested));
}

#[test]
fn a_declaration_is_an_error_where_it_is_called() {
    let main = "func.func @main() {\n  return\n}\n";
    assert_eq!(parse(&format!("func.func private @f(tensor<f32>)\n{main}")).funcs().len(), 1);
    let call = "func.func private @f()\nfunc.func @main() {\n  call @f() : () -> ()\n  return\n}";
    expect![[r#"
        error: [no-body] function @f has no body
         --> t.mlir:1:19
          |
        1 | func.func private @f()
          |                   ^^"#]]
    .assert_eq(&error(call));
}

#[test]
fn operations_of_other_dialects_are_named() {
    let body = |line: &str| {
        format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n  {line}\n  return %x : tensor<4xf32>\n}}"
        )
    };
    for (line, message) in [
        (
            "%0 = mhlo.bitcast %x : (tensor<4xf32>) -> tensor<4xi32>",
            expect![[r#"
            error: [unknown-op] unknown operation mhlo.bitcast
             --> t.mlir:2:8
              |
            2 |   %0 = mhlo.bitcast %x : (tensor<4xf32>) -> tensor<4xi32>
              |        ^^^^^^^^^^^^"#]],
        ),
        (
            "%0 = \"mhlo.stochastic_convert\"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>",
            expect![[r#"
            error: [unknown-op] unknown operation mhlo.stochastic_convert
             --> t.mlir:2:8
              |
            2 |   %0 = "mhlo.stochastic_convert"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xbf16>
              |        ^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
        ),
        (
            "%0 = tensor.dim %x, %x : tensor<4xf32>",
            expect![[r#"
            error: [unsupported] tensor.dim: the dimension must be a constant
             --> t.mlir:2:8
              |
            2 |   %0 = tensor.dim %x, %x : tensor<4xf32>
              |        ^^^^^^^^^^"#]],
        ),
        (
            "%0 = linalg.add ins(%x : tensor<4xf32>) -> tensor<4xf32>",
            expect![[r#"
            error: [unknown-op] unknown operation linalg.add
             --> t.mlir:2:8
              |
            2 |   %0 = linalg.add ins(%x : tensor<4xf32>) -> tensor<4xf32>
              |        ^^^^^^^^^^"#]],
        ),
    ] {
        message.assert_eq(&error(&body(line)));
    }
}

#[test]
fn elided_constants_are_kept() {
    prints(
        "func.func @main() -> (tensor<2xf32>, tensor<2xf32>, tensor<3xi32>) {
  %0 = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>
  %1 = mhlo.constant opaque<\"elided_large_const\", \"0xDEADBEEF\"> : tensor<2xf32>
  %2 = arith.constant dense_resource<torch_tensor_3_torch.int32> : tensor<3xi32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<3xi32>
}",
        expect![[r#"
            module {
              func.func public @main() -> (tensor<2xf32>, tensor<2xf32>, tensor<3xi32>) {
                %cst = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>
                %cst_0 = stablehlo.constant dense_resource<__elided__> : tensor<2xf32>
                %c = stablehlo.constant dense_resource<__elided__> : tensor<3xi32>
                return %cst, %cst_0, %c : tensor<2xf32>, tensor<2xf32>, tensor<3xi32>
              }
            }
        "#]],
    );
}

#[test]
fn attributes_are_printed_where_mlir_reads_them() {
    prints(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  stablehlo.optimization_barrier {a}()
  %0 = stablehlo.optimization_barrier {a = 1 : i64} %x : tensor<4xf32>
  return {b} %0 : tensor<4xf32>
}",
        expect![[r#"
            module {
              func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
                stablehlo.optimization_barrier {a}()
                %0 = stablehlo.optimization_barrier {a = 1 : i64} %arg0 : tensor<4xf32>
                return {b} %0 : tensor<4xf32>
              }
            }
        "#]],
    );
}

#[test]
fn the_smallest_elements_are_the_call_that_xla_makes() {
    let program = "func.func @main(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0:2 = mhlo.topk(%x, k = 2, largest = false) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0 : tensor<2xf32>
}";
    let printed = text::print(&parse(program));
    let call = "stablehlo.custom_call @mhlo.topk(%arg0) {mhlo.attributes = {k = 2 : i64, largest = false}}";
    assert!(printed.contains(call), "{printed}");
}

/// Reads forms of IREE's tests: checks in parentheses, constants that are not folded, dimension numbers on
/// several lines.
#[test]
fn programs_of_iree_are_read() {
    let program = "func.func @main() {
  %0 = util.unfoldable_constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = \"stablehlo.add\"(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  check.expect_almost_eq_const(%1, dense<[2.0, 4.0]> : tensor<2xf32>) : tensor<2xf32>
  check.expect_almost_eq(%1, %1, atol 1.0e-04) : tensor<2xf32>
  return
}";
    let printed = text::print(&parse(program));
    assert!(printed.contains("check.expect_almost_eq %0, %0, tolerance = 1.000000e-04"), "{printed}");
    let dims = "#stablehlo.conv<raw
        input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2],
        kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1],
        output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>";
    let program = format!(
        "func.func @main(%x: tensor<1x4x5x2xf32>, %y: tensor<3x2x2x1xf32>) -> tensor<1x2x4x1xf32> {{
  %0 = \"stablehlo.convolution\"(%x, %y) {{batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = {dims}}} : (tensor<1x4x5x2xf32>, tensor<3x2x2x1xf32>) -> tensor<1x2x4x1xf32>
  return %0 : tensor<1x2x4x1xf32>
}}"
    );
    verify::verify(&parse(&program)).unwrap();
}

/// jaxlib turns `chlo.scan` into a composite whose body is a region, and JAX passes futures to custom calls.
#[test]
fn composites_with_regions_and_calls_with_futures() {
    let program = r#"
        func.func @main(%x: tensor<6xf32>, %y: tensor<f32>) -> tensor<6xf32> {
          %0:2 = "stablehlo.composite"(%x, %y) <{composite_attributes = {dimension = 0 : i64}, decomposition = @scan, name = "chlo.scan"}> ({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %1 = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %1, %1 : tensor<f32>, tensor<f32>
          }) : (tensor<6xf32>, tensor<f32>) -> (tensor<6xf32>, tensor<f32>)
          %2 = "stablehlo.async_start"(%0#0) ({
          ^bb0(%a: tensor<6xf32>):
            %5 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
            stablehlo.return %5 : tensor<6xf32>
          }) : (tensor<6xf32>) -> !stablehlo.future<tensor<6xf32>>
          %3 = stablehlo.custom_call @control_dep(%0#0, %2) {operand_layouts = [dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<6xf32>, !stablehlo.future<tensor<6xf32>>) -> tensor<6xf32>
          %4 = "stablehlo.async_done"(%2) : (!stablehlo.future<tensor<6xf32>>) -> tensor<6xf32>
          %5 = stablehlo.add %3, %4 : tensor<6xf32>
          return %5 : tensor<6xf32>
        }
        func.func private @scan(%x: tensor<6xf32>, %y: tensor<f32>) -> (tensor<6xf32>, tensor<f32>) {
          return %x, %y : tensor<6xf32>, tensor<f32>
        }"#;
    let module = parse(program);
    verify::verify(&module).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let printed = text::print(&module);
    assert_eq!(parse(&printed), module, "{printed}");
}
