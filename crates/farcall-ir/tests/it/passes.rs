//! The passes of the middle form, on programs as text: `filetests/passes/*.mlir`.
//!
//! A file contains programs separated by lines `// -----`. Each program begins with comments that specify the
//! test:
//!
//! ```text
//! // passes: canonicalize, cse
//! // rule: add_zero applies            the rule applies, perhaps with others
//! // rule: add_zero does not apply     (instead of the line above) no change, and the rule does not apply
//! // denormals: flush                  (by default, denormals are kept)
//! func.func @main(…) { … }
//! // =>
//! module { … }                         the result, in the middle form
//! ```
//!
//! The program may be any valid program; it is converted to the middle form first. The result has to be in
//! the middle form, has to be the same program when it is printed and read again, and has to compute the same
//! bits as the program.
//! `UPDATE_EXPECT=1` writes the results into the files.

use std::cell::RefCell;
use std::path::Path;

use farcall_ir::eval::{Denormals, EvalValue, NoHost, Numerics, Semantics, eval_form};
use farcall_ir::middle::{self, passes, pipeline};
use farcall_ir::op::FormOp;
use farcall_ir::verify::Verified;
use farcall_ir::{DType, Inst, Literal, Module, Op, Scalar, Source, TensorType, Type, text, verify};
use farcall_testing::pass_files;

thread_local! {
    /// The rules that were applied, in order.
    static APPLIED: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// The value of a `// key: value` line.
fn header<'t>(test: &'t str, key: &str) -> Option<&'t str> {
    let lines = test.lines().filter_map(|l| l.strip_prefix("// "));
    lines.filter_map(|l| l.strip_prefix(key)?.strip_prefix(": ")).next()
}

/// The middle form of a program.
fn form(source: &str) -> Module {
    let module = text::parse(&Source::new("test.mlir", source)).unwrap_or_else(|e| panic!("{e}"));
    if middle::verify(&module).is_ok() && header(source, "form").is_some() {
        return module;
    }
    let module = verify::verify(&module).and_then(Verified::into_static).unwrap_or_else(|e| panic!("{e}"));
    let form = middle::build(&module, module.entry().unwrap()).unwrap_or_else(|e| panic!("{e:?}"));
    middle::verify(&form).unwrap_or_else(|e| panic!("{e}\n{}", text::print(&form)));
    form
}

/// The results of a module for small numbers as inputs; `None` if the evaluation fails, for example at a
/// custom call.
fn results(module: &Module, numerics: Numerics) -> Option<Vec<EvalValue>> {
    let func = &module.funcs()[0];
    let mut inputs = Vec::new();
    for (n, param) in func.params().iter().enumerate() {
        let Type::Tensor(ty) = func.ty(*param) else { return None };
        let number = |i: usize| Scalar::Signed(((i * 7 + n * 3) % 5) as i64 - 2);
        inputs.push(EvalValue::Tensor(Literal::from_fn(ty.dtype, ty.sizes(), |i| {
            convert(number(i), ty.dtype)
        })));
    }
    eval_form(module, func, &inputs, &NoHost, numerics).ok()
}

fn convert(n: Scalar, dtype: farcall_ir::DType) -> Scalar {
    match Scalar::zero(dtype) {
        Scalar::Bool(_) => Scalar::Bool(n.as_i64() > 0),
        Scalar::Signed(_) => n,
        Scalar::Unsigned(_) => Scalar::Unsigned(n.as_i64().unsigned_abs()),
        Scalar::Float(_) => Scalar::Float(n.as_f64() + 0.5),
        Scalar::Complex(_) => Scalar::Complex(n.as_complex()),
    }
}

/// Runs a test and returns the resulting program.
fn run(test: &str, place: &str) -> String {
    let source = pass_files::program(test);
    let denormals =
        header(test, "denormals").map(|mode| mode.parse().unwrap_or_else(|e| panic!("{place}: {e}")));
    let denormals: Denormals = denormals.unwrap_or_default();
    let numerics = Numerics { denormals, semantics: Semantics::Xla };
    APPLIED.take();
    let on_rule = |name| APPLIED.with_borrow_mut(|applied| applied.push(name));
    // As in the engine, unary and binary operations on the usual element types can be fused.
    let fuses = |op: &Op, operands: &[&TensorType], _: &TensorType| {
        let has_tiles = |d: DType| d.is_bool() || d.bits() >= if d.is_float() { 16 } else { 8 };
        matches!(op, Op::Unary(_) | Op::Binary(_)) && operands.iter().all(|ty| has_tiles(ty.dtype))
    };
    // As in the engine, every fusion recomputes the constants, iotas and broadcasts that it uses, and applies
    // slices, concatenations and pads while it reads its operands.
    let duplicates = |op: &Op, _: &[&TensorType], ty: &TensorType| match op {
        Op::Constant(literal) => literal.is_splat() || ty.elements() == Some(1),
        Op::Iota { .. } => !ty.dtype.is_bool() && !ty.dtype.is_complex(),
        Op::BroadcastInDim { dims } => dims.is_sorted(),
        Op::Slice(_) | Op::Concatenate { .. } => ty.rank() > 0,
        Op::Pad(pad) => pad.low.iter().chain(&pad.interior).all(|n| n.unsigned_abs() <= 1 << 40),
        _ => false,
    };
    let reduces = |op: &Op, _: DType| matches!(op, Op::Binary(_));
    // As in the engine, there are kernels for all fusions, and for sorts by one comparison.
    let computes = |inst: Inst<'_>| match inst.op() {
        Op::Form(FormOp::Fusion) => true,
        sort if sort.is_sort() => {
            let by = inst.region(0).and_then(|region| region.exactly::<2>());
            by.is_some_and(|[compare, _]| matches!(compare.op(), Op::Compare(_)))
        }
        _ => false,
    };
    let cx = passes::PassOptions {
        on_rule,
        fuses,
        duplicates,
        reduces,
        computes,
        fusion_limits: passes::FusionLimits { members: 256, ops: 1024, row_elements: 16_384 },
        ..passes::PassOptions::new(numerics)
    };
    let names = header(test, "passes").unwrap_or_else(|| panic!("{place}: no line `// passes: …`"));
    let list: Vec<_> = names
        .split(", ")
        .filter(|n| *n != "build")
        .map(|n| passes::named(n).unwrap_or_else(|| panic!("{place}: there is no pass {n}")))
        .collect();
    let before = form(source);
    let mut after = before.clone();
    pipeline::run(&mut after, &list, &cx, &mut |_, _| {});
    middle::verify(&after).unwrap_or_else(|e| panic!("{place}: {e}\n{}", text::print(&after)));
    let printed = text::print(&after);
    let again = text::parse(&Source::new("printed", &printed)).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert!(again == after, "{place}: the printed result is read as a different program\n{printed}");
    // Excess precision changes the results on purpose.
    if !names.contains("excess") {
        let (expected, found) = (results(&before, numerics), results(&after, numerics));
        let same = expected.is_none() || expected == found;
        assert!(same, "{place}: the passes changed the results {expected:?} to {found:?}\n{printed}");
    }
    if let Some(rule) = header(test, "rule") {
        let applied = APPLIED.take();
        if let Some(name) = rule.strip_suffix(" does not apply") {
            let left_alone = !applied.contains(&name) && before == after;
            assert!(left_alone, "{place}: expected `{rule}` and no change; applied: {applied:?}\n{printed}");
        } else {
            let name = rule
                .strip_suffix(" applies")
                .unwrap_or_else(|| panic!("{place}: `{rule}` must end with `applies` or `does not apply`"));
            assert!(applied.contains(&name), "{place}: expected `{rule}`; applied: {applied:?}\n{printed}");
        }
    }
    printed
}

#[test]
fn filetests() {
    pass_files::check(env!("CARGO_MANIFEST_DIR"), run);
}

/// Every pass has a file, and every rule has a program that it changes and one that it does not change.
#[test]
fn nothing_is_untested() {
    pass_files::require(env!("CARGO_MANIFEST_DIR"), passes::PASSES.iter().map(|pass| pass.name));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests/passes");
    let text = std::fs::read_to_string(folder.join("simplify.mlir")).unwrap();
    for rule in passes::simplify::rules() {
        for verdict in ["applies", "does not apply"] {
            let line = format!("// rule: {rule} {verdict}\n");
            assert!(text.contains(&line), "simplify.mlir: no program with the line {line}");
        }
    }
}
