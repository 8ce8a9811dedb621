//! The engine's guarantees for custom calls in whole programs: order and presence of effects, tokens, empty
//! and scalar buffers, tuples, copies of operands that are still live, and the data that a run provides to
//! its handlers.
#![expect(clippy::print_stdout, reason = "prints which versions of the headers were tested, or why none was")]

use std::ffi::{c_char, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use expect_test::{Expect, expect};
use farcall::Registry;
use farcall::custom_call::{EncodedAttrs, RunContext, ThreadPool};
use farcall::ir::{Attribute, DType, Literal, Source, text};
use farcall::registry::{Platform, Target, TargetOrigin, UntypedHandler};
use farcall_ffi::abi::TypeId;
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_testing::engine::compile;
use farcall_testing::engine::load;
use farcall_testing::library::xla_cc;

#[test]
fn effects_happen_all_and_in_order() {
    let _alone = alone();
    let executable = compile(
        "func.func private @two(%n: tensor<i64>) {
  stablehlo.custom_call @note(%n) {has_side_effect = true, mhlo.backend_config = {by = 200 : i64}} : (tensor<i64>) -> ()
  stablehlo.custom_call @note(%n) {has_side_effect = true, mhlo.backend_config = {by = 300 : i64}} : (tensor<i64>) -> ()
  return
}
func.func @main() -> tensor<i64> {
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.constant dense<1> : tensor<i64>
  %3 = stablehlo.constant dense<3> : tensor<i64>
  stablehlo.custom_call @note(%0) {has_side_effect = true, mhlo.backend_config = {by = 1 : i64, later = true}} : (tensor<i64>) -> ()
  %unread = stablehlo.custom_call @noted(%0) {has_side_effect = true, mhlo.backend_config = {by = 2 : i64}} : (tensor<i64>) -> tensor<i64>
  %pure = stablehlo.custom_call @noted(%0) {mhlo.backend_config = {by = 999 : i64}} : (tensor<i64>) -> tensor<i64>
  %t = stablehlo.create_token : !stablehlo.token
  %u = stablehlo.custom_call @note_token(%t) {has_side_effect = true, api_version = 3 : i32, backend_config = \"\\03\"} : (!stablehlo.token) -> !stablehlo.token
  stablehlo.custom_call @note(%0) {has_side_effect = true, mhlo.backend_config = {by = 4 : i64, later = true}} : (tensor<i64>) -> ()
  %v = stablehlo.after_all %u, %t : !stablehlo.token
  %w = stablehlo.custom_call @note_token(%v) {has_side_effect = true, api_version = 3 : i32, backend_config = \"\\05\"} : (!stablehlo.token) -> !stablehlo.token
  %end = stablehlo.while(%i = %0) : tensor<i64>
  cond {
    %p = stablehlo.compare LT, %i, %3 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.custom_call @note(%i) {has_side_effect = true, mhlo.backend_config = {by = 100 : i64, later = true}} : (tensor<i64>) -> ()
    func.call @two(%i) : (tensor<i64>) -> ()
    %j = stablehlo.add %i, %1 : tensor<i64>
    stablehlo.return %j : tensor<i64>
  }
  \"stablehlo.case\"(%index) ({
    stablehlo.custom_call @note(%0) {has_side_effect = true, mhlo.backend_config = {by = 6 : i64}} : (tensor<i64>) -> ()
    stablehlo.return
  }, {
    stablehlo.custom_call @note(%0) {has_side_effect = true, mhlo.backend_config = {by = 7 : i64}} : (tensor<i64>) -> ()
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return %0 : tensor<i64>
}"
        .replace("(%index)", "(%which)")
        .replace("  %3 = ", "  %which = stablehlo.constant dense<1> : tensor<i32>\n  %3 = ")
        .as_str(),
        &rust_ops(),
    );
    for _ in 0..3 {
        NOTES.lock().unwrap().clear();
        executable.run(&[]).unwrap();
        let notes = std::mem::take(&mut *NOTES.lock().unwrap());
        assert_eq!(notes, [1, 2, 3, 4, 5, 100, 200, 300, 101, 201, 301, 102, 202, 302, 7]);
    }
}

#[test]
fn buffers_without_elements_and_scalars() {
    let registry = rust_ops();
    let executable = compile(
        "func.func @main(%x: tensor<0x3xf32>, %s: tensor<f32>, %c: tensor<3xcomplex<f64>>) -> (tensor<6xi64>, tensor<3x0xf32>) {
  %y = stablehlo.add %x, %x : tensor<0x3xf32>
  %0:2 = stablehlo.custom_call @shapes(%y, %s, %c) {mhlo.backend_config = {}} : (tensor<0x3xf32>, tensor<f32>, tensor<3xcomplex<f64>>) -> (tensor<6xi64>, tensor<3x0xf32>)
  %1 = stablehlo.custom_call @same(%0#1) {mhlo.backend_config = {}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<3x0xf32>) -> tensor<3x0xf32>
  return %0#0, %1 : tensor<6xi64>, tensor<3x0xf32>
}",
        &registry,
    );
    let inputs = [
        Literal::zeros(DType::F32, [0, 3]),
        Literal::zeros(DType::F32, []),
        Literal::zeros(DType::C128, [3]),
    ];
    let out = executable.run(&inputs).unwrap();
    // The number of bytes and the rank of each operand.
    assert_eq!(out[0].as_slice::<i64>(), [0, 2, 4, 0, 48, 1]);
    assert_eq!(out[1], Literal::zeros(DType::F32, [3, 0]));
}

#[test]
fn a_call_for_empty_tensors_alone_is_not_made() {
    let _alone = alone();
    let executable = compile(
        "func.func @main() -> tensor<0xi64> {
  %0 = stablehlo.constant dense<0> : tensor<i64>
  %1 = stablehlo.custom_call @noted(%0) {mhlo.backend_config = {by = 999 : i64}} : (tensor<i64>) -> tensor<i64>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i64>) -> tensor<0xi64>
  return %2 : tensor<0xi64>
}",
        &rust_ops(),
    );
    assert_eq!(executable.stats().thunks.get("custom_call"), None);
    assert!(executable.run(&[]).unwrap()[0].is_empty());
}

#[test]
fn an_operand_that_is_changed_in_place_is_copied_once_if_it_lives_on() {
    let registry = rust_ops();
    let program = |rest: &str| {
        format!(
            "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %a = stablehlo.add %x, %x : tensor<4xf32>
  %b = stablehlo.custom_call @same(%a) {{mhlo.backend_config = {{}}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}} : (tensor<4xf32>) -> tensor<4xf32>
  {rest}
}}"
        )
    };
    let plan = |rest: &str, expected: Expect| {
        let executable = compile(&program(rest), &registry);
        let x = Literal::from_slice(DType::F32, [4], &[1f32, 2.0, 3.0, 4.0]);
        let out = executable.run(std::slice::from_ref(&x)).unwrap();
        assert_eq!(out[0].as_slice::<f32>(), [2.0, 4.0, 6.0, 8.0]);
        let text = executable.plan().to_string();
        let thunks: Vec<&str> = text.lines().filter(|l| l.contains(" = ")).collect();
        expected.assert_eq(&thunks.join("\n"));
    };
    plan(
        "return %b, %b : tensor<4xf32>, tensor<4xf32>",
        expect![[r#"
            out0:f32[4] = elementwise add(in0:f32[4], in0:f32[4])
            out0:f32[4] = custom_call @same out0=in0(out0:f32[4])"#]],
    );
    plan(
        "return %a, %b : tensor<4xf32>, tensor<4xf32>",
        expect![[r#"
            out0:f32[4] = elementwise add(in0:f32[4], in0:f32[4])
            out1:f32[4] = copy(out0:f32[4])
            out1:f32[4] = custom_call @same out0=in0(out1:f32[4])"#]],
    );
}

#[test]
fn computations_that_a_call_names_are_the_programs() {
    let registry = rust_ops();
    let program = |name: &str| {
        format!(
            "func.func private @f(%x: tensor<f32>) -> tensor<f32> {{ return %x : tensor<f32> }}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.custom_call @same(%x) {{called_computations = [@{name}], mhlo.backend_config = {{}}}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}}"
        )
    };
    let x = Literal::from_slice(DType::F32, [4], &[1f32, 2.0, 3.0, 4.0]);
    let out = compile(&program("f"), &registry).run(std::slice::from_ref(&x)).unwrap();
    assert_eq!(out, [x]);
    let error = text::parse(&Source::new("test.mlir", program("g"))).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("@g"), "{error}");
}

#[test]
fn data_of_a_run_for_its_handlers() {
    each_version(|path, registry, minor| {
        let program = "func.func @main() -> (tensor<2xi64>, tensor<i64>, tensor<3xi64>) {
  %0 = stablehlo.custom_call @where() {mhlo.backend_config = {}} : () -> tensor<2xi64>
  %1 = stablehlo.custom_call @user_data() {mhlo.backend_config = {}} : () -> tensor<i64>
  %c = stablehlo.constant dense<0> : tensor<3xi64>
  %2 = \"stablehlo.map\"(%c) ({
  ^bb0(%a: tensor<i64>):
    %n = stablehlo.custom_call @user_data() {mhlo.backend_config = {}} : () -> tensor<i64>
    stablehlo.return %n : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<3xi64>) -> tensor<3xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<i64>, tensor<3xi64>
}";
        let executable = compile(program, registry);
        let e = executable.run(&[]).unwrap_err().to_string();
        assert!(e.contains("the run has no user data of `state of user_data`"), "{e}");
        let mut value = 123i64;
        let mut run = RunContext::new().with_device_ordinal(2);
        // SAFETY: the symbol is a function that returns the type's id; the value outlives the run.
        unsafe {
            let id: extern "C" fn() -> *const TypeId = std::mem::transmute(symbol(path, c"EmbedderTypeId"));
            run.set_user_data(*id(), (&raw mut value).cast());
        }
        for _ in 0..2 {
            let out = executable.execute_with(Vec::<Literal>::new(), &run).unwrap();
            assert_eq!(out[0].host().unwrap().as_slice::<i64>(), [run.run_id(), 2]);
            assert_eq!(
                (out[1].host().unwrap().as_slice::<i64>(), out[2].host().unwrap().as_slice::<i64>()),
                (&[123][..], &[123; 3][..])
            );
        }
        // The data belonged to the earlier runs only, so a run without data fails.
        assert!(executable.run(&[]).is_err());

        if minor >= 5 {
            load(registry, path, &["options=Options".parse().unwrap()]).unwrap();
            let program = "func.func @main() -> tensor<i64> {
  %0 = stablehlo.custom_call @options() {mhlo.backend_config = {}} : () -> tensor<i64>
  return %0 : tensor<i64>
}";
            let executable = compile(program, registry);
            let options = [("limit".to_owned(), Attribute::i64(11))].into();
            let run = RunContext::new().with_options(EncodedAttrs::new(&options).unwrap());
            assert_eq!(
                executable.execute_with(Vec::<Literal>::new(), &run).unwrap()[0]
                    .host()
                    .unwrap()
                    .as_slice::<i64>(),
                [11]
            );
            assert!(executable.run(&[]).is_err());
        }
    });
}

#[test]
fn foreign_handlers_in_control_flow_from_several_threads() {
    each_version(|_, registry, _| {
        let executable = compile(
            "func.func private @bump(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @add_one(%x) {mhlo.backend_config = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c0, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %c1 : tensor<i32>
    %z = \"stablehlo.case\"(%i) ({
      %a = func.call @bump(%y) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      %a = stablehlo.custom_call @later(%y) {mhlo.backend_config = {fail = false}} : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %a : tensor<4xf32>
    }, {
      %a:2 = stablehlo.custom_call @pool(%y) {mhlo.backend_config = {}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i64>)
      stablehlo.return %a#0 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  %s = stablehlo.custom_call @counter() {mhlo.backend_config = {start = 0 : i64}} : () -> tensor<i64>
  return %0#1, %s : tensor<4xf32>, tensor<i64>
}",
            registry,
        );
        let one = Arc::new(ThreadPool::new(1));
        let mut counts: Vec<i64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4u8)
                .map(|t| {
                    let (executable, one) = (&executable, &one);
                    scope.spawn(move || {
                        let x = Literal::from_slice(DType::F32, [4], &[f32::from(t); 4]);
                        // The handler's tasks wait for nested tasks, with a single thread for all runs.
                        let run = RunContext::new().with_pool(Arc::clone(one));
                        let counts = (0..3).map(|_| {
                            let out = executable.execute_with(vec![x.clone()], &run).unwrap();
                            assert_eq!(
                                out[0].host().unwrap().as_slice::<f32>(),
                                [2.0 * (f32::from(t) + 1.0); 4]
                            );
                            out[1].host().unwrap().as_slice::<i64>()[0]
                        });
                        counts.collect::<Vec<i64>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        // All runs share one state.
        counts.sort_unstable();
        assert_eq!(counts, (0..12).collect::<Vec<i64>>());
    });
}

// ---- Handlers --------------------------------------------------------------------------------

static NOTES: Mutex<Vec<i64>> = Mutex::new(Vec::new());

/// Records a number, optionally after the handler has returned.
#[handler(name = "note")]
fn note(n: Kept<Buffer<i64, 0>>, by: i64, later: Option<bool>, host: &Context) -> Result<()> {
    let work = move || NOTES.lock().unwrap_or_else(PoisonError::into_inner).push(n[0] + by);
    if later.unwrap_or(false) {
        return host.spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            work();
        });
    }
    work();
    Ok(())
}

/// Records a number at once, and returns it.
#[handler(name = "noted")]
fn noted(n: &Buffer<i64, 0>, by: i64, out: &mut Buffer<i64, 0>) -> Result<()> {
    out[0] = n[0] + by;
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).push(out[0]);
    Ok(())
}

/// Records a number. A function of the untyped API that takes and returns a token; the number is a byte of
/// the call's configuration.
unsafe extern "C" fn note_token(
    _after: *mut c_void,
    _before: *const *const c_void,
    opaque: *const c_char,
    _len: usize,
    _status: *mut c_void,
) {
    // SAFETY: the programs of this file pass a configuration of one byte.
    let by = unsafe { *opaque };
    NOTES.lock().unwrap_or_else(PoisonError::into_inner).push(by.into());
}

/// Returns the number of bytes and the rank of each operand.
#[handler(name = "shapes")]
fn shapes(operands: &RestOperands, out: &mut Buffer<i64>, _empty: &mut Buffer<f32>) -> Result<()> {
    for (i, x) in operands.iter().enumerate() {
        out[2 * i] = i64::try_from(x.bytes().len())?;
        out[2 * i + 1] = i64::try_from(x.dims().len())?;
    }
    Ok(())
}

/// Returns its operand.
#[handler(name = "same")]
fn same(x: &mut InOut<AnyBuffer>) -> Result<()> {
    let _unchanged = x;
    Ok(())
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![note, noted, shapes, same];

// ---- Helpers ---------------------------------------------------------------------------------

fn rust_ops() -> Registry {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    // SAFETY: all function pointers have the same size, and the function has the parameters of `api_version`
    // 3.
    let function = unsafe { std::mem::transmute::<*const (), UntypedHandler>(note_token as *const ()) };
    // SAFETY: the function has the parameters of `api_version` 3, and functions of this program are never
    // unloaded.
    let target = unsafe { Target::untyped("note_token", Platform::Host, function, TargetOrigin::program()) };
    registry.register(target.unwrap()).unwrap();
    registry
}

/// Lock for the notes, which only one test at a time may use.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test for `handlers.cc` with each version of the headers.
fn each_version(test: impl Fn(&Path, &Registry, i32)) {
    for (path, minor) in xla_cc("programs", &[], usize::MAX) {
        println!("XLA FFI 0.{minor}");
        let registry = Registry::new();
        let specs = [
            "add_one=AddOne",
            "counter=instantiate:CounterNew,execute:CounterRun,type:CounterTypeId/CounterTypeInfo",
            "pool=Pool",
            "later=Later",
            "where=Where",
            "user_data=execute:UserData,type:EmbedderTypeId/EmbedderTypeInfo",
        ];
        load(&registry, &path, &specs.map(|s| s.parse().unwrap())).unwrap();
        test(&path, &registry, minor);
    }
}

fn symbol(path: &Path, name: &std::ffi::CStr) -> *mut c_void {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: the library is already open; this call only finds it.
    let symbol = unsafe { libc::dlsym(libc::dlopen(path.as_ptr(), libc::RTLD_NOW), name.as_ptr()) };
    assert!(!symbol.is_null());
    symbol
}
