//! Custom calls in regions that are applied to elements: `map`, reducers, comparators, and the regions of
//! scatters. They run in the engine and in the evaluator, and with C++ handlers if headers are available.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use expect_test::expect;
use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{Denormals, EvalValue, eval};
use farcall::ir::verify::{Verified, verify_owned};
use farcall::ir::{Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_testing::engine::compile;
use farcall_testing::engine::load;
use farcall_testing::library::xla_cc;

#[test]
fn every_operation_that_has_a_region() {
    let registry = rust_ops();
    let mut out = String::new();
    for (body, inputs) in [
        (
            "%0 = \"stablehlo.map\"(%x, %y) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @plus(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
               stablehlo.return %p : tensor<f32>
             }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
             return %0 : tensor<4xf32>",
            "tensor<4xf32>",
        ),
        (
            "%z = stablehlo.constant dense<100.0> : tensor<f32>
             %0 = \"stablehlo.reduce\"(%x, %z) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @plus(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
               stablehlo.return %p : tensor<f32>
             }) {dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
             return %0 : tensor<f32>",
            "tensor<f32>",
        ),
        (
            "%z = stablehlo.constant dense<100.0> : tensor<f32>
             %0 = \"stablehlo.reduce_window\"(%x, %z) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @plus(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
               stablehlo.return %p : tensor<f32>
             }) {window_dimensions = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
             return %0 : tensor<3xf32>",
            "tensor<3xf32>",
        ),
        (
            "%0 = \"stablehlo.sort\"(%x) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = func.call @more(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1>
             }) {dimension = 0 : i64, is_stable = true} : (tensor<4xf32>) -> tensor<4xf32>
             return %0 : tensor<4xf32>",
            "tensor<4xf32>",
        ),
        (
            "%i = stablehlo.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>
             %u = stablehlo.constant dense<[10.0, 20.0, 40.0]> : tensor<3xf32>
             %0 = \"stablehlo.scatter\"(%x, %i, %u) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @plus(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
               stablehlo.return %p : tensor<f32>
             }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<4xf32>
             return %0 : tensor<4xf32>",
            "tensor<4xf32>",
        ),
        (
            "%s = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
             %z = stablehlo.constant dense<0.0> : tensor<f32>
             %0 = \"stablehlo.select_and_scatter\"(%x, %s, %z) ({
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @above(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
               stablehlo.return %p : tensor<i1>
             }, {
             ^bb0(%a: tensor<f32>, %b: tensor<f32>):
               %p = stablehlo.custom_call @plus(%a, %b) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
               stablehlo.return %p : tensor<f32>
             }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
             return %0 : tensor<4xf32>",
            "tensor<4xf32>",
        ),
    ] {
        let program = format!(
            "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> {inputs} {{\n{body}\n}}\n
             func.func private @more(%a: tensor<f32>, %b: tensor<f32>) -> tensor<i1> {{
               %p = stablehlo.custom_call @above(%a, %b) {{mhlo.backend_config = {{}}}} : (tensor<f32>, tensor<f32>) -> tensor<i1>
               return %p : tensor<i1>
             }}"
        );
        let results = both(&program, &registry, &[f32s(&[3.0, 1.0, 2.0, 8.0]), f32s(&[0.5; 4])]).unwrap();
        out += &format!("{:?}\n", results[0]);
    }
    expect![[r#"
        Literal(tensor<4xf32>, [Float(3.5), Float(1.5), Float(2.5), Float(8.5)])
        Literal(tensor<f32>, [Float(114.0)])
        Literal(tensor<3xf32>, [Float(104.0), Float(103.0), Float(110.0)])
        Literal(tensor<4xf32>, [Float(8.0), Float(3.0), Float(2.0), Float(1.0)])
        Literal(tensor<4xf32>, [Float(23.0), Float(1.0), Float(52.0), Float(8.0)])
        Literal(tensor<4xf32>, [Float(1.0), Float(0.0), Float(0.0), Float(2.0)])
    "#]]
    .assert_eq(&out);
}

#[test]
fn a_call_site_is_instantiated_once_and_a_run_has_its_stages_once() {
    let _alone = alone();
    let registry = rust_ops();
    let executable = compile(COUNTING, &registry);
    let seen = |counter: &AtomicUsize| counter.swap(0, Ordering::Relaxed);
    assert_eq!((seen(&INSTANTIATED), seen(&PREPARED)), (1, 0));
    for run in 0..3 {
        let out = executable.run(&[]).unwrap();
        // The state lives as long as the executable.
        let first = 6 * run;
        assert_eq!(out[0].as_slice::<i64>(), [first, first + 1, first + 2, first + 3, first + 4, first + 5]);
        assert_eq!((seen(&INSTANTIATED), seen(&PREPARED)), (0, 1));
    }
    let text = executable.plan().to_string();
    assert!(text.contains("reference map @count_nested("), "{text}");
    // The elements are dead, but the call has a side effect, so it is not removed.
    let unread = COUNTING.replace("%0 : tensor<6xi64>", "%c : tensor<6xi64>");
    compile(&unread, &registry).run(&[]).unwrap();
    assert_eq!(seen(&PREPARED), 1);
    let pure = unread.replace("has_side_effect = true, ", "");
    compile(&pure, &registry).run(&[]).unwrap();
    assert_eq!(seen(&PREPARED), 0);
    // In the evaluator, a call has a single state, too.
    let module = parse(COUNTING);
    seen(&INSTANTIATED);
    let host = RegistryHost::new(&registry, Denormals::Ieee);
    let out = eval(&module, module.entry().unwrap(), &[], &host, Denormals::Ieee).unwrap();
    assert_eq!(out[0].tensor().unwrap().as_slice::<i64>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(seen(&INSTANTIATED), 1);
}

const COUNTING: &str = "func.func @main() -> tensor<6xi64> {
  %c = stablehlo.constant dense<7> : tensor<6xi64>
  %0 = \"stablehlo.map\"(%c) ({
  ^bb0(%a: tensor<i64>):
    %n = stablehlo.custom_call @count_nested() {has_side_effect = true, mhlo.backend_config = {}} : () -> tensor<i64>
    stablehlo.return %n : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<6xi64>) -> tensor<6xi64>
  return %0 : tensor<6xi64>
}";

#[test]
fn mistakes_are_found_when_the_program_is_compiled_and_failures_have_a_place() {
    let registry = rust_ops();
    let program = |target: &str| {
        format!(
            "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = \"stablehlo.map\"(%x) ({{
  ^bb0(%a: tensor<f32>):
    %p = stablehlo.custom_call @{target}(%a) {{mhlo.backend_config = {{}}}} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %p : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"
        )
    };
    let module = parse(&program("picki"));
    let error = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap_err();
    expect![[r#"
        error: [missing_target] no target `picki` is registered for the platform Host
         --> test.mlir:4:10
          |
        4 |     %p = stablehlo.custom_call @picki(%a) {mhlo.backend_config = {}} : (tensor<f32>) -> tensor<f32>
          |          ^^^^^^^^^^^^^^^^^^^^^
          |
          = note: close names that are: picky
          = note: load the library that has it: Registry::load; if the library does not register it, Registry::load_symbols with picki=SYMBOL; see: farcall guide embedding"#]].assert_eq(&error.to_string());

    let executable = compile(&program("picky"), &registry);
    for _ in 0..2 {
        let error = executable.run(&[f32s(&[1.0, 2.0, -3.0, 4.0])]).unwrap_err();
        expect!["custom call `picky` at test.mlir:4:10 failed in its execute stage: INVALID_ARGUMENT: -3 is negative"].assert_eq(&error.to_string());
        expect![[r#"
            error: [custom_call] custom call `picky` failed in its execute stage: INVALID_ARGUMENT: -3 is negative
             --> test.mlir:4:10
              |
            4 |     %p = stablehlo.custom_call @picki(%a) {mhlo.backend_config = {}} : (tensor<f32>) -> tensor<f32>
              |          ^^^^^^^^^^^^^^^^^^^^^"#]].assert_eq(&error.diagnostic().unwrap().render(&module.source, false));
        let out = executable.run(&[f32s(&[1.0, 2.0, 3.0, 4.0])]).unwrap();
        assert_eq!(out, [f32s(&[1.0, 2.0, 3.0, 4.0])]);
    }
}

#[test]
fn calls_in_regions_of_runs_at_once() {
    let registry = rust_ops();
    let executable = compile(
        "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = \"stablehlo.map\"(%x) ({
  ^bb0(%a: tensor<f32>):
    %p = stablehlo.custom_call @plus(%a, %a) {mhlo.backend_config = {}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}",
        &registry,
    );
    std::thread::scope(|scope| {
        for t in 0..4u8 {
            let executable = &executable;
            scope.spawn(move || {
                for _ in 0..20 {
                    let out = executable.run(&[f32s(&[f32::from(t); 64])]).unwrap();
                    assert_eq!(out, [f32s(&[2.0 * f32::from(t); 64])]);
                }
            });
        }
    });
}

/// Checks handlers that are built against XLA's headers and called in regions: an in-place result, a function
/// of the untyped API, state, and an error.
#[test]
fn foreign_handlers() {
    let Some((path, _)) = xla_cc("regions", &[], 1).pop() else { return };
    let registry = Registry::new();
    let specs = [
        "counter=instantiate:CounterNew,execute:CounterRun,type:CounterTypeId/CounterTypeInfo",
        "fail=Fail",
        "add_one=AddOne",
        "old_add=untyped:OldAdd",
    ];
    load(&registry, &path, &specs.map(|s| s.parse().unwrap())).unwrap();
    let map = |body: &str| {
        format!(
            "func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {{
  %0 = \"stablehlo.map\"(%x) ({{
  ^bb0(%a: tensor<f32>):
    {body}
    stablehlo.return %r : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : (tensor<5xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}}"
        )
    };
    let x = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let in_place = map(
        "%r = stablehlo.custom_call @add_one(%a) {mhlo.backend_config = {}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<f32>) -> tensor<f32>",
    );
    assert_eq!(
        both(&in_place, &registry, std::slice::from_ref(&x)).unwrap(),
        [f32s(&[2.0, 3.0, 4.0, 5.0, 6.0])]
    );
    let untyped =
        map("%r = stablehlo.custom_call @old_add(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>");
    assert_eq!(
        both(&untyped, &registry, std::slice::from_ref(&x)).unwrap(),
        [f32s(&[2.0, 4.0, 6.0, 8.0, 10.0])]
    );
    let counted = map(
        "%n = stablehlo.custom_call @counter() {mhlo.backend_config = {start = 40 : i64}} : () -> tensor<i64>
    %r = stablehlo.convert %n : (tensor<i64>) -> tensor<f32>",
    );
    assert_eq!(
        both(&counted, &registry, std::slice::from_ref(&x)).unwrap(),
        [f32s(&[40.0, 41.0, 42.0, 43.0, 44.0])]
    );
    let fails = map(
        "stablehlo.custom_call @fail() {has_side_effect = true, mhlo.backend_config = {code = 9 : i32, message = \"not now\"}} : () -> ()
    %r = stablehlo.add %a, %a : tensor<f32>",
    );
    let error = compile(&fails, &registry).run(&[x]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "custom call `fail` at test.mlir:4:5 failed in its execute stage: FAILED_PRECONDITION: not now"
    );
}

// ---- Handlers --------------------------------------------------------------------------------

const OPS: &[&OpDescriptor] = farcall_ffi::ops![plus, above, picky, count_nested];

#[handler(name = "plus")]
fn plus(x: &Buffer<f32, 0>, y: &Buffer<f32, 0>, z: &mut Buffer<f32, 0>) -> Result<()> {
    z[0] = x[0] + y[0];
    Ok(())
}

#[handler(name = "above")]
fn above(x: &Buffer<f32, 0>, y: &Buffer<f32, 0>, z: &mut Buffer<Pred, 0>) -> Result<()> {
    z[0] = (x[0] > y[0]).into();
    Ok(())
}

/// Fails for negative numbers.
#[handler(name = "picky")]
fn picky(x: &Buffer<f32, 0>, y: &mut Buffer<f32, 0>) -> Result<()> {
    ensure!(x[0] >= 0.0, "{} is negative", x[0]);
    y[0] = x[0];
    Ok(())
}

/// Number of instantiated call sites of `count_nested`.
static INSTANTIATED: AtomicUsize = AtomicUsize::new(0);
/// Number of runs that prepared call sites of `count_nested`.
static PREPARED: AtomicUsize = AtomicUsize::new(0);

struct Count(AtomicUsize);

#[stage(instantiate)]
fn count_new() -> Result<Count> {
    INSTANTIATED.fetch_add(1, Ordering::Relaxed);
    Ok(Count(AtomicUsize::new(0)))
}

#[stage(prepare)]
fn count_prepare() -> Result<()> {
    PREPARED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Returns the number of previous runs of this call site.
#[handler(name = "count_nested", instantiate = count_new, prepare = count_prepare)]
fn count_nested(state: &State<Count>, n: &mut Buffer<i64, 0>) -> Result<()> {
    n[0] = i64::try_from(state.0.fetch_add(1, Ordering::Relaxed))?;
    Ok(())
}

// ---- Helpers ---------------------------------------------------------------------------------

fn rust_ops() -> Registry {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    registry
}

/// Lock for the counters, which only one test at a time may use.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parse(program: &str) -> Verified<'static> {
    verify_owned(text::parse(&Source::new("test.mlir", program)).unwrap()).unwrap()
}

/// Returns the engine's results, after a check that the evaluator has the same results.
fn both(program: &str, registry: &Registry, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let module = parse(program);
    let found = compile(program, registry).run(inputs).map_err(|e| e.to_string())?;
    let host = RegistryHost::new(registry, Denormals::Ieee);
    let inputs: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    let wanted = eval(&module, module.entry().unwrap(), &inputs, &host, Denormals::Ieee);
    let wanted: Vec<Literal> = wanted.unwrap().iter().map(|v| v.tensor().unwrap().clone()).collect();
    assert_eq!(found, wanted);
    Ok(found)
}

fn f32s(values: &[f32]) -> Literal {
    Literal::from_slice(farcall::ir::DType::F32, [values.len()], values)
}
