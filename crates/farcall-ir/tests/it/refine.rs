//! Programs with dynamic dimensions, and their refinement for inputs of known types.

use expect_test::{Expect, expect};
use farcall_ir::eval::{self, Denormals, NoHost, eval};
use farcall_ir::types::Type;
use farcall_ir::verify::{Verified, verify_owned};
use farcall_ir::{DType, Literal, Module, ProgramError, Scalar, Source, TensorType, refine, text};

fn parse(program: &str) -> Verified<'static> {
    let module = text::parse(&Source::new("t.mlir", program)).unwrap_or_else(|e| panic!("{e}"));
    verify_owned(module).unwrap_or_else(|e| panic!("{e}"))
}

/// Refines a program for inputs of these types, which are written as in programs.
fn refined(program: &str, inputs: &[&str]) -> Result<Module, ProgramError> {
    refined_for(program, inputs, &[])
}

/// Refines a program like `refined`, with known elements of inputs.
fn refined_for(program: &str, inputs: &[&str], known: &[Option<Literal>]) -> Result<Module, ProgramError> {
    let module = parse(program);
    let inputs: Vec<TensorType> =
        inputs.iter().map(|t| t.parse::<Type>().unwrap().tensor().unwrap().clone()).collect();
    let inputs = (!inputs.is_empty()).then_some(inputs.as_slice());
    let refined = refine::refine(&module, module.entry().unwrap(), inputs, known)?;
    Ok(Module::clone(&*refined.into_static()?))
}

/// Checks the text of the refined program.
fn check(program: &str, inputs: &[&str], expect: Expect) {
    let refined = refined(program, inputs).unwrap_or_else(|e| panic!("{e}"));
    let printed = text::print(&refined);
    let body = printed
        .strip_prefix("module {\n")
        .and_then(|p| p.strip_suffix("}\n"))
        .expect("the program is printed as a module");
    let lines: Vec<&str> = body.lines().map(|l| l.strip_prefix("  ").unwrap_or(l)).collect();
    expect.assert_eq(&lines.join("\n"));
}

/// Checks the error for a program that cannot be refined.
fn refused(program: &str, inputs: &[&str], expect: Expect) {
    let e = refined(program, inputs).expect_err("the program cannot be refined");
    expect.assert_eq(&e.to_string());
}

#[test]
fn shapes_that_are_computed_become_attributes() {
    check(
        "func.func @main(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<2x?x4xf32>, tensor<?xi32>) {
            %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
            %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
            %two = stablehlo.constant dense<2> : tensor<1xi32>
            %four = stablehlo.constant dense<4> : tensor<1xi32>
            %2 = stablehlo.multiply %1, %two : tensor<1xi32>
            %3 = stablehlo.concatenate %2, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %4 = stablehlo.dynamic_reshape %x, %3 : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x2xf32>
            %5 = stablehlo.concatenate %two, %1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
            %6 = stablehlo.dynamic_broadcast_in_dim %x, %5, dims = [1, 2] : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<2x?x4xf32>
            %7 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
            return %4, %6, %7 : tensor<?x2xf32>, tensor<2x?x4xf32>, tensor<?xi32>
        }",
        &["tensor<50x4xf32>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<50x4xf32>) -> (tensor<100x2xf32>, tensor<2x50x4xf32>, tensor<100xi32>) {
              %0 = stablehlo.reshape %arg0 : (tensor<50x4xf32>) -> tensor<100x2xf32>
              %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<50x4xf32>) -> tensor<2x50x4xf32>
              %2 = stablehlo.iota dim = 0 : tensor<100xi32>
              return %0, %1, %2 : tensor<100x2xf32>, tensor<2x50x4xf32>, tensor<100xi32>
            }"#]],
    );
}

#[test]
fn operands_become_attributes() {
    check(
        "func.func @main(%x: tensor<?x4xf32>, %i: tensor<3x1xi32>, %v: tensor<f32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<3x?xf32>) {
            %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
            %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
            %zero = stablehlo.constant dense<0> : tensor<1xi32>
            %one = stablehlo.constant dense<1> : tensor<1xi32>
            %low = stablehlo.constant dense<0> : tensor<2xi32>
            %ones = stablehlo.constant dense<1> : tensor<2xi32>
            %high = stablehlo.concatenate %1, %zero, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %2 = stablehlo.dynamic_pad %x, %v, %low, %high, %low : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
            %3 = stablehlo.concatenate %1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %4 = stablehlo.real_dynamic_slice %2, %ones, %3, %ones : (tensor<?x?xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>
            %5 = stablehlo.concatenate %one, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %6 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
            %7 = \"stablehlo.dynamic_gather\"(%6, %i, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<4x?xf32>, tensor<3x1xi32>, tensor<2xi32>) -> tensor<3x?xf32>
            return %2, %4, %7 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<3x?xf32>
        }",
        &["tensor<2x4xf32>", "tensor<3x1xi32>", "tensor<f32>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<3x1xi32>, %arg2: tensor<f32>) -> (tensor<4x4xf32>, tensor<1x0xf32>, tensor<3x2xf32>) {
              %0 = stablehlo.pad %arg0, %arg2, low = [0, 0], high = [2, 0], interior = [0, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x4xf32>
              %1 = stablehlo.slice %0 [1:2, 1:1] : (tensor<4x4xf32>) -> tensor<1x0xf32>
              %2 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
              %3 = "stablehlo.gather"(%2, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
              return %0, %1, %3 : tensor<4x4xf32>, tensor<1x0xf32>, tensor<3x2xf32>
            }"#]],
    );
}

#[test]
fn a_slice_of_known_size_may_begin_anywhere() {
    check(
        "func.func @main(%x: tensor<?xf32>, %start: tensor<1xi32>) -> tensor<?xf32> {
            %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
            %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
            %one = stablehlo.constant dense<1> : tensor<1xi32>
            %size = stablehlo.subtract %1, %one : tensor<1xi32>
            %limit = stablehlo.add %start, %size : tensor<1xi32>
            %2 = stablehlo.real_dynamic_slice %x, %start, %limit, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
            return %2 : tensor<?xf32>
        }",
        &["tensor<7xf32>", "tensor<1xi32>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<7xf32>, %arg1: tensor<1xi32>) -> tensor<6xf32> {
              %c = stablehlo.constant dense<6> : tensor<1xi32>
              %0 = stablehlo.add %arg1, %c : tensor<1xi32>
              %1 = stablehlo.slice %arg1 [0:1] : (tensor<1xi32>) -> tensor<1xi32>
              %2 = stablehlo.reshape %1 : (tensor<1xi32>) -> tensor<i32>
              %3 = stablehlo.dynamic_slice %arg0, %2, sizes = [6] : (tensor<7xf32>, tensor<i32>) -> tensor<6xf32>
              return %3 : tensor<6xf32>
            }"#]],
    );
}

#[test]
fn what_is_computed_anew_is_the_same() {
    check(
        "func.func @main(%x: tensor<?x4xf32>, %i: tensor<i32>, %w: tensor<4x4x4xf32>) -> (tensor<?x2xf32>, tensor<1x?x4xf32>) {
            %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
            %one = stablehlo.constant dense<1> : tensor<2xi32>
            %two = stablehlo.constant dense<2> : tensor<1xi32>
            %0 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
            %start = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %1 = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
            %again = stablehlo.concatenate %1, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %2 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
            %sizes = stablehlo.concatenate %2, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %limit = stablehlo.add %again, %sizes : tensor<2xi32>
            %3 = stablehlo.real_dynamic_slice %x, %start, %limit, %one : (tensor<?x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x2xf32>
            %4 = stablehlo.constant dense<1> : tensor<1xi32>
            %5 = stablehlo.constant dense<4> : tensor<1xi32>
            %6 = stablehlo.concatenate %4, %2, %5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
            %7 = stablehlo.dynamic_reshape %x, %6 : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<1x?x4xf32>
            %8 = stablehlo.reshape %2 : (tensor<1xi32>) -> tensor<1x1xi32>
            %9 = stablehlo.concatenate %8, %8, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
            %10 = \"stablehlo.dynamic_conv\"(%7, %w, %9) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>}> : (tensor<1x?x4xf32>, tensor<4x4x4xf32>, tensor<1x2xi32>) -> tensor<1x?x4xf32>
            return %3, %10 : tensor<?x2xf32>, tensor<1x?x4xf32>
        }",
        &["tensor<3x4xf32>", "tensor<i32>", "tensor<4x4x4xf32>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<i32>, %arg2: tensor<4x4x4xf32>) -> (tensor<3x2xf32>, tensor<1x3x4xf32>) {
              %0 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
              %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
              %c = stablehlo.constant dense<[3, 2]> : tensor<2xi32>
              %2 = stablehlo.add %1, %c : tensor<2xi32>
              %3 = stablehlo.slice %1 [0:1] : (tensor<2xi32>) -> tensor<1xi32>
              %4 = stablehlo.reshape %3 : (tensor<1xi32>) -> tensor<i32>
              %5 = stablehlo.slice %1 [1:2] : (tensor<2xi32>) -> tensor<1xi32>
              %6 = stablehlo.reshape %5 : (tensor<1xi32>) -> tensor<i32>
              %7 = stablehlo.dynamic_slice %arg0, %4, %6, sizes = [3, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
              %8 = stablehlo.reshape %arg0 : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
              %9 = stablehlo.convolution(%8, %arg2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x4xf32>, tensor<4x4x4xf32>) -> tensor<1x3x4xf32>
              return %7, %9 : tensor<3x2xf32>, tensor<1x3x4xf32>
            }"#]],
    );
}

const HALF: &str = "
    func.func private @half(%n: tensor<i32>) -> tensor<i32> {
        %two = stablehlo.constant dense<2> : tensor<i32>
        %0 = stablehlo.divide %n, %two : tensor<i32>
        return %0 : tensor<i32>
    }";

#[test]
fn functions_are_made_for_types_and_known_arguments() {
    let program = format!(
        "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {{
            %0 = call @cut(%x) : (tensor<?xf32>) -> tensor<?xf32>
            %1 = call @cut(%y) : (tensor<?xf32>) -> tensor<?xf32>
            %2 = call @cut(%x) : (tensor<?xf32>) -> tensor<?xf32>
            return %0, %1, %2 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
        }}
        func.func private @cut(%x: tensor<?xf32>) -> tensor<?xf32> {{
            %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
            %0 = call @half(%n) : (tensor<i32>) -> tensor<i32>
            %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
            %zero = stablehlo.constant dense<0> : tensor<1xi32>
            %one = stablehlo.constant dense<1> : tensor<1xi32>
            %2 = stablehlo.real_dynamic_slice %x, %zero, %1, %one : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
            return %2 : tensor<?xf32>
        }}{HALF}"
    );
    check(
        &program,
        &["tensor<9xf32>", "tensor<4xf32>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<9xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
              %0 = call @cut(%arg0) : (tensor<9xf32>) -> tensor<4xf32>
              %1 = call @cut_0(%arg1) : (tensor<4xf32>) -> tensor<2xf32>
              %2 = call @cut(%arg0) : (tensor<9xf32>) -> tensor<4xf32>
              return %0, %1, %2 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
            }
            func.func private @cut(%arg0: tensor<9xf32>) -> tensor<4xf32> {
              %0 = stablehlo.slice %arg0 [0:4] : (tensor<9xf32>) -> tensor<4xf32>
              return %0 : tensor<4xf32>
            }
            func.func private @cut_0(%arg0: tensor<4xf32>) -> tensor<2xf32> {
              %0 = stablehlo.slice %arg0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
              return %0 : tensor<2xf32>
            }"#]],
    );
}

#[test]
fn loops_and_branches() {
    check(
        "func.func @main(%x: tensor<?xf32>, %p: tensor<i1>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
            %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
            %zero = stablehlo.constant dense<0> : tensor<i32>
            %0:3 = stablehlo.while(%i = %zero, %a = %x, %m = %n) : tensor<i32>, tensor<?xf32>, tensor<i32>
            cond {
              %1 = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %1 : tensor<i1>
            } do {
              %1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
              %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
              %3 = stablehlo.add %a, %2 : tensor<?xf32>
              %one = stablehlo.constant dense<1> : tensor<i32>
              %4 = stablehlo.add %i, %one : tensor<i32>
              stablehlo.return %4, %3, %m : tensor<i32>, tensor<?xf32>, tensor<i32>
            }
            %5 = \"stablehlo.if\"(%p) ({
              %6 = stablehlo.abs %x : tensor<?xf32>
              stablehlo.return %6 : tensor<?xf32>
            }, {
              stablehlo.return %x : tensor<?xf32>
            }) : (tensor<i1>) -> tensor<?xf32>
            // Only one branch can run; the other has a different shape.
            %three = stablehlo.constant dense<3> : tensor<i32>
            %large = stablehlo.compare GT, %n, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            %7 = \"stablehlo.if\"(%large) ({
              %8 = stablehlo.negate %x : tensor<?xf32>
              stablehlo.return %8 : tensor<?xf32>
            }, {
              %9 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
              stablehlo.return %9 : tensor<?xf32>
            }) : (tensor<i1>) -> tensor<?xf32>
            return %0#1, %5, %7 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
        }",
        &["tensor<5xf32>", "tensor<i1>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<i1>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
              %c = stablehlo.constant dense<5> : tensor<i32>
              %c_0 = stablehlo.constant dense<0> : tensor<i32>
              %0:3 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %arg0, %iterArg_2 = %c) : tensor<i32>, tensor<5xf32>, tensor<i32>
              cond {
                %3 = stablehlo.compare LT, %iterArg, %iterArg_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %3 : tensor<i1>
              } do {
                %3 = stablehlo.iota dim = 0 : tensor<5xf32>
                %4 = stablehlo.add %iterArg_1, %3 : tensor<5xf32>
                %c_3 = stablehlo.constant dense<1> : tensor<i32>
                %5 = stablehlo.add %iterArg, %c_3 : tensor<i32>
                stablehlo.return %5, %4, %iterArg_2 : tensor<i32>, tensor<5xf32>, tensor<i32>
              }
              %1 = "stablehlo.if"(%arg1) ({
                %3 = stablehlo.abs %arg0 : tensor<5xf32>
                stablehlo.return %3 : tensor<5xf32>
              }, {
                stablehlo.return %arg0 : tensor<5xf32>
              }) : (tensor<i1>) -> tensor<5xf32>
              %2 = stablehlo.negate %arg0 : tensor<5xf32>
              return %0#1, %1, %2 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
            }"#]],
    );
}

#[test]
fn calls_that_stand_for_operations() {
    check(
        "func.func @main(%x: tensor<?xf32>, %s: tensor<2xui64>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xi32>, tensor<?xui32>) {
            %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
            %1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
            %one = stablehlo.constant dense<1> : tensor<1xi32>
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %none = stablehlo.constant dense<0> : tensor<1x1xi32>
            %before = stablehlo.subtract %1, %one : tensor<1xi32>
            %2 = stablehlo.reshape %before : (tensor<1xi32>) -> tensor<1x1xi32>
            %pad = stablehlo.concatenate %2, %none, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
            %3 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %1, %one, %one, %one, %pad) {api_version = 2 : i32, called_computations = [@add]} : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
            %k = stablehlo.reshape %before : (tensor<1xi32>) -> tensor<i32>
            %4:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) {api_version = 2 : i32} : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
            %5:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%s, %1) {api_version = 2 : i32, rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)
            return %3, %4#0, %4#1, %5#1 : tensor<?xf32>, tensor<?xf32>, tensor<?xi32>, tensor<?xui32>
        }
        func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
            %0 = stablehlo.add %a, %b : tensor<f32>
            return %0 : tensor<f32>
        }",
        &["tensor<4xf32>", "tensor<2xui64>"],
        expect![[r#"
            func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<2xui64>) -> (tensor<4xf32>, tensor<3xf32>, tensor<3xi32>, tensor<4xui32>) {
              %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
              %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 4>}> ({
              ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
                %3 = stablehlo.add %arg2, %arg3 : tensor<f32>
                stablehlo.return %3 : tensor<f32>
              }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
              %1:2 = chlo.top_k(%arg0, k = 3) : tensor<4xf32> -> (tensor<3xf32>, tensor<3xi32>)
              %2:2 = stablehlo.rng_bit_generator %arg1, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
              return %0, %1#0, %1#1, %2#1 : tensor<4xf32>, tensor<3xf32>, tensor<3xi32>, tensor<4xui32>
            }"#]],
    );
}

#[test]
fn custom_calls_may_be_told_their_shapes() {
    let program = |attrs: &str| {
        format!(
            "func.func @main(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {{
                %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
                %1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
                %three = stablehlo.constant dense<3> : tensor<1xi32>
                %shape = stablehlo.concatenate %1, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
                %2 = stablehlo.custom_call @swish(%shape, %x) {{{attrs}}} : (tensor<2xi32>, tensor<?x3xf32>) -> tensor<?x3xf32>
                return %2 : tensor<?x3xf32>
            }}"
        )
    };
    let told = "indices_of_shape_operands = dense<0> : tensor<1xi64>, operand_layouts = [dense<0> : tensor<1xindex>, dense<[1, 0]> : tensor<2xindex>], \
                result_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]";
    check(
        &program(told),
        &["tensor<4x3xf32>"],
        expect![[r#"
        func.func public @main(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32> {
          %0 = stablehlo.custom_call @swish(%arg0) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x3xf32>) -> tensor<4x3xf32>
          return %0 : tensor<4x3xf32>
        }"#]],
    );
    refused(
        &program(""),
        &["tensor<4x3xf32>"],
        expect![[r#"
            error: [dynamic-shape] stablehlo.custom_call @swish: the shape of result 0, tensor<?x3xf32>, does not follow from the known inputs
             --> t.mlir:6:22
              |
            6 |                 %2 = stablehlo.custom_call @swish(%shape, %x) {} : (tensor<2xi32>, tensor<?x3xf32>) -> tensor<?x3xf32>
              |                      ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    let wrong = "indices_of_shape_operands = dense<7> : tensor<1xi64>";
    refused(
        &program(wrong),
        &["tensor<4x3xf32>"],
        expect![[r#"
        error: [dynamic-shape] indices_of_shape_operands of @swish must name an operand for each result, found [7]
         --> t.mlir:6:22
          |
        6 |                 %2 = stablehlo.custom_call @swish(%shape, %x) {indices_of_shape_operands = dense<7> : tensor<1xi64>} : (t
          |                      ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

const ASSERTING: &str = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.compare GE, %n, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%0, %n, %three) {api_version = 2 : i32, error_message = \"x has {0} elements, less than {1}\", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    return %x : tensor<?xf32>
}";

#[test]
fn assertions_are_decided() {
    check(
        ASSERTING,
        &["tensor<3xf32>"],
        expect![[r#"
        func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
          return %arg0 : tensor<3xf32>
        }"#]],
    );
    refused(
        ASSERTING,
        &["tensor<2xf32>"],
        expect![[r#"
        error: [shape-assertion] x has 2 elements, less than 3
         --> t.mlir:5:5
          |
        5 |     stablehlo.custom_call @shape_assertion(%0, %n, %three) {api_version = 2 : i32, error_message = "x ha
          |     ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    refused(
        "func.func @main(%p: tensor<i1>) {
            stablehlo.custom_call @shape_assertion(%p) {has_side_effect = true} : (tensor<i1>) -> ()
            return
        }",
        &[],
        expect![[r#"
            error: [dynamic-shape] the known inputs do not decide whether this assertion holds
             --> t.mlir:2:13
              |
            2 |             stablehlo.custom_call @shape_assertion(%p) {has_side_effect = true} : (tensor<i1>) -> ()
              |             ^^^^^^^^^^^^^^^^^^^^^"#]],
    );
}

#[test]
fn inputs_that_do_not_fit() {
    refused(
        ASSERTING,
        &[],
        expect![[r#"
        error: [dynamic-shape] parameter 0 of @main, tensor<?xf32>, has a dynamic dimension
         --> t.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
          |           ^^^^^
          |
          = note: the types of the inputs determine its size"#]],
    );
    refused(
        ASSERTING,
        &["tensor<3xi32>"],
        expect![[r#"
        error: [input-types] input 0 of @main is tensor<3xi32>, but it takes tensor<?xf32>
         --> t.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
          |           ^^^^^"#]],
    );
    refused(
        ASSERTING,
        &["tensor<3x4xf32>"],
        expect![[r#"
        error: [input-types] input 0 of @main is tensor<3x4xf32>, but it takes tensor<?xf32>
         --> t.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
          |           ^^^^^"#]],
    );
    refused(
        ASSERTING,
        &["tensor<3xf32>", "tensor<3xf32>"],
        expect![[r#"
        error: [input-types] @main takes 1 inputs, 2 were given
         --> t.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
          |           ^^^^^"#]],
    );
}

#[test]
fn inputs_stay_within_bounds() {
    let program =
        "func.func @main(%x: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<?xf32, #stablehlo.bounds<4>> {
            return %x : tensor<?xf32, #stablehlo.bounds<4>>
        }";
    assert!(refined(program, &["tensor<4xf32>"]).is_ok());
    refused(
        program,
        &["tensor<5xf32>"],
        expect![[r#"
        error: [input-types] input 0 of @main is tensor<5xf32>, but it takes tensor<?xf32, #stablehlo.bounds<4>>
         --> t.mlir:1:11
          |
        1 | func.func @main(%x: tensor<?xf32, #stablehlo.bounds<4>>) -> tensor<?xf32, #stablehlo.bounds<4>> {
          |           ^^^^^"#]],
    );
}

#[test]
fn elements_of_inputs_may_be_sizes() {
    let program = "func.func @main(%x: tensor<6xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
            %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            return %0 : tensor<?x?xf32>
        }";
    for sizes in [[2, 3], [6, 1]] {
        let known = [None, Some(Literal::from_slice(DType::S32, [2], &sizes))];
        let refined = refined_for(program, &["tensor<6xf32>", "tensor<2xi32>"], &known).unwrap();
        let result = refined.funcs()[0].results()[0].to_string();
        assert_eq!(result, format!("tensor<{}x{}xf32>", sizes[0], sizes[1]));
    }
    // The sizes have to match the number of elements of the operand.
    let known = [None, Some(Literal::from_slice(DType::S32, [2], &[4, 4]))];
    let e = refined_for(program, &["tensor<6xf32>", "tensor<2xi32>"], &known).unwrap_err();
    assert_eq!(e.diagnostics[0].code, "reshape_c2");
}

#[test]
fn shapes_that_do_not_follow() {
    refused(
        "func.func @main(%x: tensor<6xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
            %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
            return %0 : tensor<?x?xf32>
        }",
        &[],
        expect![[r#"
            error: [dynamic-shape] stablehlo.dynamic_reshape: the shape of result 0, tensor<?x?xf32>, does not follow from the known inputs
             --> t.mlir:2:18
              |
            2 |             %0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
              |                  ^^^^^^^^^^^^^^^^^^^^^^^^^"#]],
    );
    // The actual sizes may violate constraints that dynamic sizes do not.
    refused(
        "func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
            %0 = stablehlo.add %x, %y : tensor<?xf32>
            return %0 : tensor<?xf32>
        }",
        &["tensor<3xf32>", "tensor<4xf32>"],
        expect![[r#"
            error: [add_c1] operands must have the same type, found tensor<3xf32> and tensor<4xf32>
             --> t.mlir:2:18
              |
            2 |             %0 = stablehlo.add %x, %y : tensor<?xf32>
              |                  ^^^^^^^^^^^^^"#]],
    );
    refused(
        "func.func @main(%x: tensor<?xf32>) -> tensor<4xf32> {
            %0 = stablehlo.abs %x : (tensor<?xf32>) -> tensor<4xf32>
            return %0 : tensor<4xf32>
        }",
        &["tensor<3xf32>"],
        expect![[r#"
            error: [dynamic-shape] result 0 of stablehlo.abs is tensor<3xf32>, but tensor<4xf32> is declared
             --> t.mlir:2:18
              |
            2 |             %0 = stablehlo.abs %x : (tensor<?xf32>) -> tensor<4xf32>
              |                  ^^^^^^^^^^^^^"#]],
    );
    // The state of a loop must keep its size.
    refused(
        "func.func @main(%x: tensor<?xf32>, %p: tensor<i1>) -> tensor<?xf32> {
            %0 = stablehlo.while(%a = %x) : tensor<?xf32>
            cond {
              stablehlo.return %p : tensor<i1>
            } do {
              %1 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
              stablehlo.return %1 : tensor<?xf32>
            }
            return %0 : tensor<?xf32>
        }",
        &["tensor<3xf32>", "tensor<i1>"],
        expect![[r#"
            error: [while_c2] body must return the operands' types, (tensor<3xf32>), found (tensor<6xf32>)
             --> t.mlir:2:18
              |
            2 |             %0 = stablehlo.while(%a = %x) : tensor<?xf32>
              |                  ^^^^^^^^^^^^^^^"#]],
    );
}

/// A chain of functions. `call(i)` returns the text of a body that calls function `i`.
fn doubling(levels: usize, call: impl Fn(usize) -> String) -> String {
    let mut program = String::new();
    for i in 0..levels {
        let name = if i == 0 { "public @main".to_owned() } else { format!("private @f{i}") };
        program += &format!(
            "func.func {name}(%x: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {{\n{}\n}}\n",
            call(i + 1)
        );
    }
    program
        + &format!(
            "func.func private @f{levels}(%x: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {{\n  return %x : tensor<?xf32>\n}}\n"
        )
}

/// Assertions have no results. A call of `@shape_assertion` that has a result is an ordinary custom call.
#[test]
fn an_assertion_with_a_result_is_a_call() {
    let program = "func.func @main() -> tensor<f32> {
      %c = stablehlo.constant dense<true> : tensor<i1>
      %0 = stablehlo.custom_call @shape_assertion(%c) : (tensor<i1>) -> tensor<f32>
      return %0 : tensor<f32>
    }";
    let found = refined(program, &[]).unwrap();
    assert!(text::print(&found).contains("@shape_assertion"));
}

/// The chosen branch must return the declared types of its instruction.
#[test]
fn a_known_branch_of_another_type_is_an_error() {
    let program = "func.func @main(%x: tensor<?xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<true> : tensor<i1>
      %0 = \"stablehlo.if\"(%c) ({
        stablehlo.return %x : tensor<?xf32>
      }, {
        stablehlo.return %x : tensor<?xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }";
    assert!(refined(program, &["tensor<4xf32>"]).is_ok());
    assert!(
        refined(program, &["tensor<5xf32>"]).unwrap_err().to_string().contains("result 0 of stablehlo.if")
    );
}

#[test]
fn the_work_is_bounded() {
    let ty = "(tensor<?xf32>, tensor<i32>) -> tensor<?xf32>";
    // Functions called often with the same arguments are specialized once.
    let same = doubling(15, |i| {
        format!(
            "  %0 = call @f{i}(%x, %n) : {ty}\n  %1 = call @f{i}(%0, %n) : {ty}\n  return %1 : tensor<?xf32>"
        )
    });
    let found = refined(&same, &["tensor<3xf32>", "tensor<i32>"]).unwrap();
    assert_eq!(found.funcs().len(), 16);
    // Deeply nested calls are an error.
    let deep = doubling(250, |i| format!("  %0 = call @f{i}(%x, %n) : {ty}\n  return %0 : tensor<?xf32>"));
    let e = refined(&deep, &["tensor<3xf32>", "tensor<i32>"]).unwrap_err();
    assert_eq!(e.diagnostics[0].code, "refine-depth");
}

#[test]
#[ignore = "walks half a million instructions, which takes long in a debug build"]
fn functions_for_too_many_arguments() {
    let ty = "(tensor<?xf32>, tensor<i32>) -> tensor<?xf32>";
    let other = doubling(40, |i| {
        format!(
            "  %two = stablehlo.constant dense<2> : tensor<i32>\n  %one = stablehlo.constant dense<1> : tensor<i32>\n  \
             %a = stablehlo.multiply %n, %two : tensor<i32>\n  %b = stablehlo.add %a, %one : tensor<i32>\n  \
             %0 = call @f{i}(%x, %a) : {ty}\n  %1 = call @f{i}(%0, %b) : {ty}\n  return %1 : tensor<?xf32>"
        )
    });
    let other = other.replacen(
        "(%x: tensor<?xf32>, %n: tensor<i32>) -> tensor<?xf32> {\n",
        "(%x: tensor<?xf32>) -> tensor<?xf32> {\n  %n = stablehlo.constant dense<0> : tensor<i32>\n",
        1,
    );
    let e = refined(&other, &["tensor<3xf32>"]).unwrap_err();
    assert_eq!(e.diagnostics[0].code, "refine-size");
}

/// Refines the programs of the suite. They were exported by an older JAX, which passes dimensions as
/// arguments.
#[test]
fn programs_of_the_suite() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = "shared/stablehlo-suite/testdata/dynamic";
    let Some(folder) = here.ancestors().map(|a| a.join(folder)).find(|f| f.is_dir()) else {
        eprintln!("skipped: there is no {folder} above {}", here.display());
        return;
    };
    let mut done = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let module = parse(&std::fs::read_to_string(&path).unwrap());
        let entry = module.entry().unwrap();
        let fill =
            |t: &TensorType| t.with_sizes(t.dims().map(|dim| dim.size().unwrap_or(3)).collect::<Vec<_>>());
        let inputs: Vec<TensorType> =
            entry.params().iter().filter_map(|p| entry.tensor(*p)).map(fill).collect();
        assert!(entry.params().iter().all(|p| matches!(entry.ty(*p), Type::Tensor(_))));
        // Dimensions are passed as arguments: integers of rank 0, which precede the other arguments.
        let is_size = |t: &TensorType| t.dtype.is_integer() && t.rank() == 0;
        let known: Vec<Option<Literal>> =
            inputs.iter().map(|t| is_size(t).then(|| Literal::scalar(t.dtype, Scalar::Signed(3)))).collect();
        let refined = refine::refine(&module, entry, Some(&inputs), &known)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        refined.into_static().unwrap();
        done += 1;
    }
    assert!(done > 200, "only {done} programs were refined");
}

/// A stack to which a loop adds elements, as in XLA's tests. The bound of its size lets the dimension grow.
#[test]
fn bounded_dimensions_grow() {
    let program = "HloModule stack
        body {
          t = (s32[<=4]) parameter(0)
          n = get-dimension-size(t#0), dimensions={0}
          one = s32[] constant(1)
          c = s32[<=4] set-dimension-size(t#0, add(n, one)), dimensions={0}
          ROOT r = tuple(c)
        }
        cond {
          t = (s32[<=4]) parameter(0)
          n = get-dimension-size(t#0), dimensions={0}
          three = s32[] constant(3)
          ROOT p = compare(n, three), direction=LT
        }
        ENTRY e {
          i = s32[4] iota(), iota_dimension=0
          z = s32[] constant(0)
          b = s32[<=4] set-dimension-size(i, z), dimensions={0}
          t = tuple(b)
          w = while(t), condition=cond, body=body
          ROOT n = get-dimension-size(w#0), dimensions={0}
        }";
    let module = farcall_ir::hlo::parse(&Source::new("stack.hlo", program)).unwrap_or_else(|e| panic!("{e}"));
    let module = verify_owned(module).unwrap_or_else(|e| panic!("{e}"));
    let refined = refine::refine(&module, module.entry().unwrap(), None, &[]).unwrap();
    let found = eval(&refined, refined.entry().unwrap(), &[], &NoHost, Denormals::Ieee).unwrap();
    assert_eq!(eval::tensors(&found), [Literal::scalar(DType::S32, Scalar::Signed(3))]);
}

/// The same stack without a bound is an error, because its dimension cannot grow.
#[test]
fn dimensions_do_not_grow() {
    let program = "func.func @main() -> tensor<i32> {
      %i = stablehlo.iota dim = 0 : tensor<4xi32>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %empty = stablehlo.set_dimension_size %i, %zero, dim = 0 : (tensor<4xi32>, tensor<i32>) -> tensor<?xi32>
      %stack = stablehlo.while(%s = %empty) : tensor<?xi32>
      cond {
        %n = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xi32>) -> tensor<i32>
        %three = stablehlo.constant dense<3> : tensor<i32>
        %more = stablehlo.compare LT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %n = stablehlo.get_dimension_size %s, dim = 0 : (tensor<?xi32>) -> tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %next = stablehlo.add %n, %one : tensor<i32>
        %grown = stablehlo.set_dimension_size %s, %next, dim = 0 : (tensor<?xi32>, tensor<i32>) -> tensor<?xi32>
        stablehlo.return %grown : tensor<?xi32>
      }
      %size = stablehlo.get_dimension_size %stack, dim = 0 : (tensor<?xi32>) -> tensor<i32>
      return %size : tensor<i32>
    }";
    let module = parse(program);
    let error = refine::refine(&module, module.entry().unwrap(), None, &[]).unwrap_err().to_string();
    assert!(error.contains("a dynamic dimension does not grow"), "{error}");
}
