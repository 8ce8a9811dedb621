//! Ops called on arrays, through programs that are made from the ops' signatures.

use expect_test::{Expect, expect};
use farcall::ir::types::Dim;
use farcall::ir::{DType, Literal, TensorType, text};
use farcall::registry::Platform;
use farcall::{CompileOptions, Executable, Registry, op_program};
use farcall_ffi::prelude::*;
use farcall_sig::{AttrValue, AttrValues, ScalarType};
use farcall_testing::engine;

/// `x` times `by`.
#[handler(name = "scaled")]
#[signature((x: f32[*, n], by: f32 = 2.0) -> (y: f32[*, n]))]
fn scaled(x: &Buffer<f32>, by: f32, y: &mut Buffer<f32>) -> Result<()> {
    ensure!(by != 0.0, "by is zero");
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = by * x);
    Ok(())
}

/// Adds `x` to a sum, and returns the number of elements.
#[handler(name = "accumulate")]
#[signature((sum: f32[n], x: f32[n]) -> (out: f32[n] aliases sum, count: s32[]) where side_effect)]
fn accumulate(sum: &mut InOut<Buffer<f32>>, x: &Buffer<f32>, count: &mut Buffer<i32>) -> Result<()> {
    sum.iter_mut().zip(x.iter()).for_each(|(sum, x)| *sum += x);
    count.fill(x.len() as i32);
    Ok(())
}

/// Returns the elements in memory order.
#[handler(name = "in_memory")]
#[signature((x: f32[*, m, n] column_major) -> (y: f32[*, m, n]))]
fn in_memory(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = *x);
    Ok(())
}

/// Returns a matrix of ones, and twice each vector.
#[handler(name = "ones")]
#[signature((xs: f32[n...]..., rows: i64) -> (all: f32[rows, sum(n)], ys: f32[n...]...))]
fn ones(
    xs: &RestOperands<Buffer<f32>>,
    rows: i64,
    all: &mut Buffer<f32>,
    ys: &mut RestResults<Buffer<f32>>,
) -> Result<()> {
    ensure!(all.dims()[0] as i64 == rows, "{all:?} does not have {rows} rows");
    all.fill(1.0);
    for (x, y) in xs.iter().zip(ys.iter_mut()) {
        y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = 2.0 * x);
    }
    Ok(())
}

/// An op without a signature.
#[handler(name = "mute")]
fn mute() -> Result<()> {
    Ok(())
}

fn registry() -> Registry {
    engine::registry(farcall_ffi::ops![scaled, accumulate, in_memory, ones, mute])
}

fn f32s(dims: &[usize], values: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, dims.to_vec(), values)
}

/// Calls an op, and returns its results or its error.
fn call(op: &str, inputs: &[Literal], attrs: &[(&str, AttrValue)]) -> Result<Vec<Literal>, String> {
    let registry = registry();
    let target = registry.lookup(op, &Platform::Host).ok_or("no such op")?;
    let types: Vec<TensorType> = inputs.iter().map(Literal::ty).collect();
    let attrs: AttrValues = attrs.iter().cloned().collect();
    let module = op_program(&target, &types, &attrs).map_err(|e| e.to_string())?;
    let executable =
        Executable::compile(&module, &registry, &CompileOptions::new()).map_err(|e| e.to_string())?;
    executable.run(inputs).map_err(|e| e.to_string())
}

fn fails(op: &str, inputs: &[Literal], attrs: &[(&str, AttrValue)], message: Expect) {
    let error = call(op, inputs, attrs).unwrap_err();
    // The amount of memory differs between machines.
    let (said, _) = error.split_once(", but only").unwrap_or((&error, ""));
    message.assert_eq(said);
}

#[test]
fn defaults_conversions_and_batches() {
    let x = f32s(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]);
    let y = call("scaled", std::slice::from_ref(&x), &[]).unwrap();
    assert_eq!(y, [f32s(&[2, 1, 2], &[2.0, 4.0, 6.0, 8.0])]);
    let by = ("by", AttrValue::Float(0.5, ScalarType::F64));
    assert_eq!(call("scaled", &[x], &[by]).unwrap(), [f32s(&[2, 1, 2], &[0.5, 1.0, 1.5, 2.0])]);
}

#[test]
fn aliases_leave_the_caller_s_array_as_it_is() {
    let (sum, x) = (f32s(&[2], &[1.0, 2.0]), f32s(&[2], &[10.0, 20.0]));
    let results = call("accumulate", &[sum.clone(), x], &[]).unwrap();
    assert_eq!(results[0].as_slice::<f32>(), [11.0, 22.0]);
    assert_eq!(results[1].as_slice::<i32>(), [2]);
    assert_eq!(sum.as_slice::<f32>(), [1.0, 2.0]);
}

#[test]
fn layouts_follow_the_signature() {
    let y = call("in_memory", &[f32s(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])], &[]).unwrap();
    assert_eq!(y[0].as_slice::<f32>(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
}

#[test]
fn variadic_operands_and_results_have_numbers() {
    let (registry, rows) = (registry(), ("rows", AttrValue::i64(2)));
    let xs = [f32s(&[1], &[1.0]), f32s(&[2], &[2.0, 3.0])];
    let results = call("ones", &xs, std::slice::from_ref(&rows)).unwrap();
    assert_eq!(results, [f32s(&[2, 3], &[1.0; 6]), f32s(&[1], &[2.0]), f32s(&[2], &[4.0, 6.0])]);
    assert_eq!(call("ones", &[], std::slice::from_ref(&rows)).unwrap(), [f32s(&[2, 0], &[])]);
    let target = registry.lookup("ones", &Platform::Host).unwrap();
    let module = op_program(&target, &xs.map(|x| x.ty()), &[rows].into_iter().collect()).unwrap();
    let main = &module.funcs()[0];
    let names = main.param_attrs().iter().chain(main.result_attrs()).flat_map(|attrs| attrs.values());
    let names: Vec<&str> = names.filter_map(|name| name.as_str()).collect();
    assert_eq!(names, ["xs[0]", "xs[1]", "all", "ys[0]", "ys[1]"]);
}

#[test]
fn sizes_that_cannot_be_are_errors() {
    let x = f32s(&[2], &[1.0, 2.0]);
    let rows = |rows: i64| [("rows", AttrValue::i64(rows))];
    fails(
        "ones",
        std::slice::from_ref(&x),
        &rows(-1),
        expect!["ones: all would have the size rows = -1 (rows = -1)"],
    );
    fails(
        "ones",
        std::slice::from_ref(&x),
        &rows(1 << 50),
        expect![
            "the program's values take 0 bytes, its constants 0, its results the rest: 9007199254741000 bytes of memory are needed"
        ],
    );
    fails(
        "ones",
        std::slice::from_ref(&x),
        &rows(i64::MAX),
        expect![
            "error: [tensor-too-large] result 0 of stablehlo.custom_call, tensor<9223372036854775807x2xf32>, is larger than memory can be"
        ],
    );
}

#[test]
fn sizes_of_operands_must_be_known() {
    let target = registry().lookup("scaled", &Platform::Host).unwrap();
    let ty = TensorType::from_dims(DType::F32, [Dim::Static(2), Dim::UNBOUNDED]);
    let error = op_program(&target, &[ty], &AttrValues::new()).unwrap_err();
    expect!["scaled: x is tensor<2x?xf32>; its sizes must be known"].assert_eq(&error.to_string());
}

#[test]
fn the_module_says_all_of_it() {
    let registry = registry();
    let target = registry.lookup("accumulate", &Platform::Host).unwrap();
    let ty = TensorType::new(DType::F32, [3]);
    let module = op_program(&target, &[ty.clone(), ty], &AttrValues::new()).unwrap();
    expect![[r#"
        module {
          func.func public @main(%arg0: tensor<3xf32> {jax.arg_info = "sum"}, %arg1: tensor<3xf32> {jax.arg_info = "x"}) -> (tensor<3xf32> {jax.result_info = "out"}, tensor<i32> {jax.result_info = "count"}) {
            %0:2 = stablehlo.custom_call @accumulate(%arg0, %arg1) {api_version = 4 : i32, backend_config = {}, has_side_effect = true, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>)
            return %0#0, %0#1 : tensor<3xf32>, tensor<i32>
          }
        }
    "#]].assert_eq(&text::print(&module));
}

#[test]
fn mismatches_are_reported_in_the_op_s_terms() {
    let x = f32s(&[2], &[1.0, 2.0]);
    fails("scaled", &[], &[], expect!["scaled: takes 1 operand (x), but is given 0"]);
    fails("scaled", &[Literal::zeros(DType::F64, [2])], &[], expect!["scaled: x must be f32, but is f64"]);
    fails(
        "scaled",
        std::slice::from_ref(&x),
        &[("bye", AttrValue::f32(1.0))],
        expect!["scaled: there is no attribute bye; did you mean by?"],
    );
    fails(
        "scaled",
        std::slice::from_ref(&x),
        &[("by", AttrValue::Bool(true))],
        expect!["scaled: attribute by must be f32, but is bool"],
    );
    fails(
        "accumulate",
        &[x.clone(), f32s(&[1], &[0.0])],
        &[],
        expect!["accumulate: x has n = 1 but sum has n = 2"],
    );
    fails(
        "mute",
        &[],
        &[],
        expect!["mute: its library declares no signature for it, so its results are unknown"],
    );
    // The handler's own message, without a location, as the call has no program text.
    fails(
        "scaled",
        &[x],
        &[("by", AttrValue::f32(0.0))],
        expect!["custom call `scaled` failed in its execute stage: INVALID_ARGUMENT: by is zero"],
    );
}
