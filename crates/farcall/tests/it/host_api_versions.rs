//! `api_version` 0 to 4: the parameters of a function, valid configurations of a call, and the errors for
//! calls that do not match their target. The functions are written in C++, the programs are text.

use std::sync::LazyLock;

use expect_test::expect;
use farcall::eval_host::RegistryHost;
use farcall::ir::eval::{Denormals, EvalValue, eval};
use farcall::ir::verify::verify;
use farcall::ir::{DType, Literal, Source, text};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;
use farcall_testing::engine::load;
use farcall_testing::library::plain_cc;

#[test]
fn every_version_of_the_untyped_api() {
    let Some(registry) = registry() else { return };
    for (call, x, wanted) in [
        // API_VERSION_ORIGINAL, which is the default; 0 (API_VERSION_UNSPECIFIED) leaves the version open.
        ("@twice(%x)", 5.0, 10.0),
        ("@twice(%x) {backend_config = \"\"}", 5.0, 10.0),
        ("@twice(%x) {api_version = 0 : i32}", 5.0, 10.0),
        ("@twice(%x) {api_version = 1 : i32}", 5.0, 10.0),
        // A function of the original version does not get the string.
        ("@twice(%x) {api_version = 1 : i32, backend_config = \"text\"}", 5.0, 10.0),
        // API_VERSION_STATUS_RETURNING
        ("@checked(%x) {api_version = 2 : i32}", 5.0, 15.0),
        ("@checked(%x) {api_version = 2 : i32, backend_config = \"text\"}", 0.0, 0.0),
        ("@checked_by_xla(%x) {api_version = 2 : i32}", 5.0, 15.0),
        ("@checked_by_xla(%x) {api_version = 2 : i32}", 0.0, 0.0),
        // API_VERSION_STATUS_RETURNING_UNIFIED
        ("@opaque(%x) {api_version = 3 : i32}", 5.0, 5.0),
        ("@opaque(%x) {api_version = 3 : i32, backend_config = \"\\01\\00\\FF\"}", 5.0, 261.0),
    ] {
        assert_eq!(run(&registry, call, x).unwrap(), wanted, "{call}");
    }
}

#[test]
fn pointers_that_a_function_changes_affect_later_calls() {
    let Some(registry) = registry() else { return };
    // The operand is in the arena, at the same address in every iteration and in every run.
    let program = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %y : tensor<f32>
      %z = stablehlo.custom_call @walks(%s) : (tensor<f32>) -> tensor<f32>
      stablehlo.return %n, %z : tensor<i32>, tensor<f32>
    }
  return %r#1 : tensor<f32>
}";
    let module = text::parse(&Source::new("test.mlir", program)).unwrap();
    let executable = Executable::compile(&module, &registry, &CompileOptions::new()).unwrap();
    let x = Literal::from_slice(DType::F32, [], &[1.0f32]);
    let wanted = (0..3).fold(1.0f32, |y, _| 2.0 * y.sin());
    for _ in 0..3 {
        let out = executable.run(std::slice::from_ref(&x)).unwrap();
        assert!((out[0].as_slice::<f32>()[0] - wanted).abs() < 1e-6);
    }
}

#[test]
fn functions_report_errors() {
    let Some(registry) = registry() else { return };
    let fails = |call: &str, x: f32| run(&registry, call, x).unwrap_err();
    expect!["custom call `checked` at test.mlir:2:8 failed in its execute stage: INTERNAL: x is negative"]
        .assert_eq(&fails("@checked(%x) {api_version = 2 : i32}", -1.0));
    let by_xla = "@checked_by_xla(%x) {api_version = 2 : i32}";
    expect![
        "custom call `checked_by_xla` at test.mlir:2:8 failed in its execute stage: INTERNAL: x is negative"
    ]
    .assert_eq(&fails(by_xla, -1.0));
    expect!["custom call `checked_by_xla` at test.mlir:2:8 failed in its execute stage: INTERNAL: x is negative, and below -2, too"]
        .assert_eq(&fails(by_xla, -2.0));
    expect!["custom call `opaque` at test.mlir:2:8 failed in its execute stage: INTERNAL: no way!"]
        .assert_eq(&fails("@opaque(%x) {api_version = 3 : i32, backend_config = \"no way!\"}", 1.0));
}

#[test]
fn several_results_and_tuples_are_an_array_of_pointers() {
    let Some(registry) = registry() else { return };
    let x = Literal::from_slice(DType::F32, [], &[4.0f32]);
    let both = "func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0:2 = stablehlo.custom_call @both(%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}";
    let tuple = "func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %t = stablehlo.custom_call @both(%x) : (tensor<f32>) -> tuple<tensor<f32>, tensor<f32>>
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<f32>, tensor<f32>>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}";
    // A tuple of one element stays a tuple, as an operand and within a result.
    let one = "func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %t = stablehlo.tuple %x : tuple<tensor<f32>>
  %u = stablehlo.custom_call @both(%t) : (tuple<tensor<f32>>) -> tuple<tensor<f32>, tuple<tensor<f32>>>
  %v = stablehlo.get_tuple_element %u[1] : (tuple<tensor<f32>, tuple<tensor<f32>>>) -> tuple<tensor<f32>>
  %w = stablehlo.get_tuple_element %v[0] : (tuple<tensor<f32>>) -> tensor<f32>
  return %w : tensor<f32>
}";
    for (program, wanted) in [(both, &[4.0f32, 8.0][..]), (tuple, &[4.0, 8.0]), (one, &[8.0])] {
        let out = run_program(&registry, program, std::slice::from_ref(&x)).unwrap();
        let out: Vec<f32> = out.iter().map(|l| l.as_slice::<f32>()[0]).collect();
        assert_eq!(out, wanted);
    }
}

#[test]
fn the_parts_of_a_tuple_have_layouts() {
    let Some(registry) = registry() else { return };
    let program = "func.func @main() -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %t = stablehlo.custom_call @numbers() {operand_layouts = [], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>]} : () -> tuple<tensor<2x3xf32>, tensor<2x3xf32>>
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2x3xf32>, tensor<2x3xf32>>) -> tensor<2x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
}";
    let out = run_program(&registry, program, &[]).unwrap();
    assert_eq!(out[0].as_slice::<f32>(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    assert_eq!(out[1].as_slice::<f32>(), [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
}

/// y = factor · x
#[handler(name = "scale")]
fn scale(x: &Buffer<f32, 0>, factor: Option<f32>, y: &mut Buffer<f32, 0>) -> Result<()> {
    y[0] = factor.unwrap_or(7.0) * x[0];
    Ok(())
}

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale];

#[test]
fn every_way_to_configure_a_typed_call() {
    let registry = Registry::new();
    registry.register_ops(OPS).unwrap();
    for (call, wanted) in [
        // API_VERSION_TYPED_FFI, with a dictionary, without one, and with the text of one, as in HLO.
        ("@scale(%x) {api_version = 4 : i32, backend_config = {factor = 2.0 : f32}}", 4.0),
        ("@scale(%x) {api_version = 4 : i32}", 14.0),
        ("@scale(%x) {api_version = 4 : i32, backend_config = \"\"}", 14.0),
        ("@scale(%x) {api_version = 4 : i32, backend_config = \"{factor = 3.0 : f32}\"}", 6.0),
        // The configuration as JAX writes it.
        ("@scale(%x) {backend_config = \"\", mhlo.backend_config = {factor = 5.0 : f32}}", 10.0),
        ("@scale(%x) {backend_config = \"\", mhlo.backend_config = {}}", 14.0),
        // These calls do not say that their target is typed; the registered target decides.
        ("@scale(%x)", 14.0),
        ("@scale(%x) {api_version = 0 : i32}", 14.0),
        ("@scale(%x) {api_version = 1 : i32}", 14.0),
    ] {
        assert_eq!(run(&registry, call, 2.0).unwrap(), wanted, "{call}");
    }
}

#[test]
fn calls_that_do_not_fit_their_target() {
    let Some(registry) = registry() else { return };
    let mut words = String::new();
    for call in [
        "@twice(%x) {api_version = 4 : i32}",
        "@twice(%x) {mhlo.backend_config = {}}",
        // Without a string, only a target with a signature may be typed.
        "@scale(%x) {api_version = 2 : i32}",
        "@scale(%x) {api_version = 3 : i32, backend_config = \"\"}",
        "@scale(%x) {api_version = 2 : i32, backend_config = \"text\"}",
        "@scale(%x) {api_version = 3 : i32, backend_config = \"text\"}",
        "@scale(%x) {backend_config = \"text\"}",
        "@scale(%x) {api_version = 4 : i32, backend_config = \"text\"}",
        "@scale(%x) {api_version = 2 : i32, backend_config = {factor = 2.0 : f32}}",
        "@twice(%x) {api_version = 5 : i32}",
    ] {
        let error = run(&registry, call, 2.0).unwrap_err();
        let first = error.lines().next().unwrap_or_default();
        let origin = first.find(" by /").unwrap_or(first.len());
        words += &format!("{}\n", &first[..origin]);
    }
    expect![[r#"
        error: [missing_target] the program calls `twice` through the typed API (api_version = 4), but `twice` is registered for the untyped API,
        error: [missing_target] the program calls `twice` through the typed API (its backend_config is a dictionary), but `twice` is registered for the untyped API,
        error: [missing_target] the program calls `scale` through the untyped API (api_version = 2), but `scale` is registered for the typed API, by this program
        error: [missing_target] the program calls `scale` through the untyped API (api_version = 3), but `scale` is registered for the typed API, by this program
        error: [missing_target] the program calls `scale` through the untyped API (its backend_config is a string), but `scale` is registered for the typed API, by this program
        error: [missing_target] the program calls `scale` through the untyped API (its backend_config is a string), but `scale` is registered for the typed API, by this program
        error: [missing_target] the program calls `scale` through the untyped API (its backend_config is a string), but `scale` is registered for the typed API, by this program
        error: [custom-call-config] backend_config must be a dictionary where api_version is 4, found a string
        error: [custom-call-config] backend_config must be a string where api_version is 2, found a dictionary
        error: [custom-call-version] api_version must be in [0, 4], found 5
    "#]].assert_eq(&words);
}

// ---- Helpers ---------------------------------------------------------------------------------

/// Returns a registry with the functions of `untyped.cc` and the typed op, or `None` without a compiler.
fn registry() -> Option<Registry> {
    static REGISTRY: LazyLock<Option<Registry>> = LazyLock::new(|| {
        let library = plain_cc("farcall", "untyped", "untyped", &[])?;
        let registry = Registry::new();
        let specs = [
            "twice=untyped:Twice",
            "walks=untyped:Walks",
            "both=untyped:Both",
            "checked=untyped:Checked",
            "checked_by_xla=untyped:CheckedByXla",
            "opaque=untyped:Opaque",
            "numbers=untyped:Numbers",
        ];
        load(&registry, &library, &specs.map(|s| s.parse().unwrap())).unwrap();
        registry.register_ops(OPS).unwrap();
        Some(registry)
    });
    REGISTRY.clone()
}

/// Runs a call on one number.
fn run(registry: &Registry, call: &str, x: f32) -> Result<f32, String> {
    let program = format!(
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.custom_call {call} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"
    );
    let x = Literal::from_slice(DType::F32, [], &[x]);
    run_program(registry, &program, &[x]).map(|out| out[0].as_slice::<f32>()[0])
}

/// Runs a program in the engine. The evaluator must have the same outcome.
fn run_program(registry: &Registry, program: &str, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let module = text::parse(&Source::new("test.mlir", program)).map_err(|e| e.to_string())?;
    let executable =
        Executable::compile(&module, registry, &CompileOptions::new()).map_err(|e| e.to_string())?;
    let out = executable.run(inputs).map_err(|e| e.to_string())?;
    let host = RegistryHost::new(registry, Denormals::Ieee);
    let values: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    let module = verify(&module).unwrap();
    let wanted = eval(&module, module.entry().unwrap(), &values, &host, Denormals::Ieee).unwrap();
    let wanted: Vec<Literal> = wanted.iter().filter_map(|v| v.tensor().cloned()).collect();
    assert_eq!(out, wanted);
    Ok(out)
}
