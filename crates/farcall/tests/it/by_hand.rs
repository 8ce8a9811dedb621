//! Ops with handwritten shape and batching functions: calls in the engine, vmapped calls, and functions that
//! misbehave.

use expect_test::{Expect, expect};
use farcall::ir::{DType, Literal, Source, TensorType, text};
use farcall::registry::{Platform, Target};
use farcall::{CompileOptions, Executable, Registry, op_program};
use farcall_ffi::prelude::{Batch, BatchCall, Buffer, Error, Result, ShapeCall, handler};
use farcall_sig::AttrValues;
use farcall_sig::signature::{Batching, OperandType};
use farcall_testing::engine;

use crate::plugin::by_hand::{stack, transpose, transpose_bwd, transpose_jvp};

fn registry() -> Registry {
    engine::registry(farcall_ffi::ops![transpose, transpose_jvp, transpose_bwd, stack, wrong, alone])
}

fn target(op: &str) -> std::sync::Arc<Target> {
    registry().lookup(op, &Platform::Host).unwrap()
}

fn perm(perm: &[i64]) -> AttrValues {
    AttrValues::from_iter([("perm", perm.into())])
}

/// Infers the results of a call with these f32 operands.
fn infer(op: &str, operands: &[&[i64]], attrs: &AttrValues) -> String {
    let types: Vec<_> = operands.iter().map(|dims| OperandType { dtype: DType::F32, dims }).collect();
    match target(op).declaration().unwrap().infer(&types, attrs) {
        Ok(inference) => inference
            .results
            .iter()
            .map(|r| format!("{}{:?}", r.dtype, r.dims))
            .collect::<Vec<_>>()
            .join(", "),
        Err(mismatch) => mismatch.in_op(op),
    }
}

/// Returns the batching of a call. Operands with `true` have the mapped axis as their first dimension.
fn batch(op: &str, operands: &[(&[i64], bool)], attrs: &AttrValues) -> String {
    let types: Vec<_> = operands.iter().map(|(dims, _)| OperandType { dtype: DType::F32, dims }).collect();
    let batched: Vec<bool> = operands.iter().map(|(_, batched)| *batched).collect();
    match target(op).declaration().unwrap().batch_rule(&types, &batched, attrs) {
        Ok(Batching::Custom { operands, attrs, results }) => {
            let attrs: Vec<String> = attrs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("{operands:?} -> {results:?} {{{}}}", attrs.join(", "))
        }
        Ok(other) => format!("{other:?}"),
        Err(mismatch) => mismatch.in_op(op),
    }
}

/// An op that cannot be batched. (A real op of this kind sees only the part of the data that its process
/// has.)
#[handler(name = "alone")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[batch(none)]
fn alone(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    y.copy_from_slice(x);
    Ok(())
}

#[track_caller]
fn check(lines: &[String], expected: Expect) {
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn shapes_are_asked_for() {
    check(
        &[
            infer("transpose", &[&[2, 3, 4]], &perm(&[2, 0, 1])),
            infer("transpose", &[&[]], &perm(&[])),
            infer("transpose", &[&[2, 3]], &perm(&[0, 0])),
            infer("transpose", &[&[2, 3]], &AttrValues::new()),
            infer("transpose", &[], &perm(&[])),
            infer("transpose_bwd", &[&[4, 2, 3]], &perm(&[2, 0, 1])),
            infer("stack", &[], &AttrValues::new()),
            infer("stack", &[&[5], &[5], &[5]], &AttrValues::new()),
            infer("stack", &[&[5], &[6]], &AttrValues::new()),
        ],
        expect![[r#"
            f32[4, 2, 3]
            f32[]
            transpose: perm [0, 0] does not order 2 dimensions
            transpose: attribute perm is missing; it must be [i64]
            transpose: takes 1 operand (x), but is given 0
            f32[2, 3, 4]
            f32[0]
            f32[3, 5]
            stack: xs[1] has shape [6] but xs[0] has [5]"#]],
    );
}

#[test]
fn batching_is_asked_for() {
    let none = AttrValues::new();
    check(
        &[
            target("transpose").declaration().unwrap().batching().to_string(),
            target("transpose_bwd").declaration().unwrap().batching().to_string(),
            batch("transpose", &[(&[7, 2, 3], true)], &perm(&[1, 0])),
            batch("transpose", &[(&[7, 2, 3], true)], &perm(&[1, 0, 2])),
            batch("transpose", &[(&[2, 3], false)], &perm(&[1, 0])),
            batch("transpose", &[(&[], true)], &perm(&[])),
            batch("stack", &[(&[7, 2], true), (&[2], false)], &none),
            batch("stack", &[(&[7, 2], true), (&[6, 2], true)], &none),
            batch("stack", &[(&[13, 2], true), (&[2], false)], &none),
            batch("stack", &[(&[0, 2], true), (&[2], false)], &none),
            batch("transpose_bwd", &[(&[7, 2, 3], true)], &perm(&[1, 0])),
            target("alone").declaration().unwrap().batching().to_string(),
            target("alone").rules().join(" "),
            batch("alone", &[(&[7, 2], true)], &none),
            batch("alone", &[(&[7, 2], false)], &none),
        ],
        expect![[r#"
            by hand
            loop: dx can have any dimensions
            [Some(0)] -> [0] {perm = [0, 2, 1]}
            transpose: perm [1, 0, 2] does not order 2 dimensions
            Unbatched
            transpose: x is batched, but has no dimension
            [Some(0), Some(0)] -> [1] {}
            stack: xs[1] has 6 entries along the mapped axis but xs[0] has 7
            Loop { reason: "thirteen is too many" }
            [Some(0), Some(0)] -> [1] {}
            Loop { reason: "dx can have any dimensions" }
            none
            infer partition
            alone: it cannot be vmapped: it is declared with #[batch(none)]
            Unbatched"#]],
    );
}

#[test]
fn errors_of_functions_are_reported() {
    let how = |how: &str| AttrValues::from_iter([("how", how.into())]);
    let shapes = [
        "",
        "panics",
        "too few",
        "negative",
        "too many dimensions",
        "no operand",
        "no attribute",
        "another type",
    ];
    let batches = [
        "",
        "batch panics",
        "batch fails",
        "not moved",
        "elsewhere",
        "too far",
        "result too far",
        "operands",
        "results",
        "unknown",
        "type",
        "refused",
    ];
    let without_line = |text: String| match text.split_once(" at crates/") {
        Some((before, after)) => {
            format!("{before} … {}", after.split_once(": ").map_or("", |(_, rest)| rest))
        }
        None => text,
    };
    let lines: Vec<String> = shapes
        .iter()
        .map(|what| format!("{what}: {}", without_line(infer("wrong", &[&[2, 3]], &how(what)))))
        .chain(batches.iter().map(|what| {
            format!("{what}: {}", without_line(batch("wrong", &[(&[7, 2, 3], true)], &how(what))))
        }))
        .collect();
    check(
        &lines,
        expect![[r#"
            : f32[2, 3], f32[2, 3]
            panics: wrong: the shape function: panicked … no shape for you
            too few: wrong: the shape function returns 1 shape, but the call has 2 (y, z)
            negative: wrong: the shape function returns z the shape [-1], with a negative dimension
            too many dimensions: wrong: the shape function returns z 70 dimensions; the maximum is 64
            no operand: wrong: the signature has no operand `w`
            no attribute: wrong: missing attribute w (s64)
            another type: wrong: attribute k: expected s32, found s64
            : [Some(0)] -> [0, 0] {how = "", k = 0}
            batch panics: wrong: the batching function: panicked … no batch for you
            batch fails: wrong: not yet
            not moved: wrong: the batching function is wrong: x is batched, but gets no axis in the one call
            elsewhere: wrong: the batching function is wrong: z of the one call is [7, 2, 3], but 7 of [2, 3] with the axis at 1 are [2, 7, 3]
            too far: wrong: the batching function is wrong: 7 is not a valid axis position in x of shape [2, 3]
            result too far: wrong: the batching function is wrong: z of the one call is [7, 2, 3], but 7 is not a valid axis position in [2, 3]
            operands: wrong: the batching function is wrong: it describes 2 operands, but the call has 1
            results: wrong: the batching function is wrong: it describes 1 results, but the call has 2
            unknown: wrong: the batching function is wrong: the one call does not fit: there is no attribute who; there is how, k
            type: wrong: the batching function is wrong: the one call does not fit: attribute k must be i64, but is f32
            refused: wrong: the batching function is wrong: the one call does not fit: the shape function returns z the shape [-1], with a negative dimension"#]],
    );
}

#[test]
fn programs_are_checked_and_run() {
    let registry = registry();
    let compile = |result: &str| {
        let program = format!(
            "func.func @main(%x: tensor<2x3xf32>) -> tensor<{result}xf32> {{\n  \
             %0 = stablehlo.custom_call @transpose(%x) {{mhlo.backend_config = {{perm = array<i64: 1, 0>}}}} : \
             (tensor<2x3xf32>) -> tensor<{result}xf32>\n  return %0 : tensor<{result}xf32>\n}}"
        );
        let module = text::parse(&Source::new("p.mlir", program)).unwrap();
        Executable::compile(&module, &registry, &CompileOptions::new())
    };
    let x = Literal::from_slice(DType::F32, [2, 3], &[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let y = compile("3x2").unwrap().run(&[x]).unwrap();
    assert_eq!(y, [Literal::from_slice(DType::F32, [3, 2], &[0.0f32, 3.0, 1.0, 4.0, 2.0, 5.0])]);
    let error = compile("2x3").unwrap_err().to_string();
    assert!(error.contains("transpose: y is f32[3, 2], but the call's result is f32[2, 3]"), "{error}");
}

/// Checks that the single call of a batching function has the same results as one call per entry.
#[test]
fn one_call_is_all_of_them() {
    let registry = registry();
    let op = target("transpose");
    let call = |x: &Literal, attrs: &AttrValues| {
        let types: Vec<TensorType> = vec![x.ty()];
        let module = op_program(&op, &types, attrs).unwrap();
        let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
        executable.run(std::slice::from_ref(x)).unwrap().remove(0)
    };
    let all: Vec<f32> = (0..5 * 2 * 3 * 4).map(|i| i as f32).collect();
    let attrs = perm(&[2, 0, 1]);
    let types = [OperandType { dtype: DType::F32, dims: &[5, 2, 3, 4] }];
    let rule = op.declaration().unwrap().batch_rule(&types, &[true], &attrs).unwrap();
    let Batching::Custom { operands, attrs: changed, results } = rule else { panic!("{rule:?}") };
    assert_eq!((operands, results), (vec![Some(0)], vec![0]));
    let whole = call(&Literal::from_slice(DType::F32, [5, 2, 3, 4], &all), &changed);
    let each = all.chunks(24).map(|entry| call(&Literal::from_slice(DType::F32, [2, 3, 4], entry), &attrs));
    assert_eq!(whole.bytes(), each.flat_map(|y| y.bytes().to_vec()).collect::<Vec<u8>>());
}

/// An op whose shape and batching functions misbehave as the attribute `how` requests.
#[handler(name = "wrong")]
#[signature((x: f32[..], how: str, k: i64 = 0) -> (y: f32[..], z: f32[..]))]
#[shape(wrong_shape)]
#[batch(wrong_batch)]
fn wrong(x: &Buffer<f32>, how: &str, k: i64, y: &mut Buffer<f32>, z: &mut Buffer<f32>) -> Result<()> {
    let _ = (x, how, k, y, z);
    Ok(())
}

fn wrong_shape(call: &ShapeCall<'_>) -> Result<Vec<Vec<i64>>> {
    let dims = call.operand("x")?.dims.to_vec();
    match call.attr("how")? {
        "panics" => panic!("no shape for you"),
        "too few" => Ok(vec![dims]),
        "negative" => Ok(vec![dims, vec![-1]]),
        "too many dimensions" => Ok(vec![dims, vec![1; 70]]),
        "no operand" => Ok(vec![call.operand("w")?.dims.to_vec()]),
        "no attribute" => Ok(vec![vec![call.attr("w")?]]),
        "another type" => Ok(vec![vec![i64::from(call.attr::<i32>("k")?)]]),
        _ => Ok(vec![dims.clone(), dims]),
    }
}

fn wrong_batch(call: &BatchCall<'_>) -> Result<Batch> {
    let fine = || Batch::once([Some(0)], [0, 0]);
    Ok(match call.attr("how")? {
        "batch panics" => panic!("no batch for you"),
        "batch fails" => return Err(Error::unimplemented("not yet")),
        "not moved" => Batch::once([None], [0, 0]),
        "elsewhere" => Batch::once([Some(0)], [0, 1]),
        "too far" => Batch::once([Some(7)], [0, 0]),
        "result too far" => Batch::once([Some(0)], [0, 7]),
        "operands" => Batch::once([Some(0), None], [0, 0]),
        "results" => Batch::once([Some(0)], [0]),
        "unknown" => fine().attr("who", 1i64),
        "type" => fine().attr("k", 1.0f32),
        "refused" => fine().attr("how", "negative"),
        _ => fine(),
    })
}
