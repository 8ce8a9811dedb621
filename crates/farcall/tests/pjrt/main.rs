//! Tests of the client of PJRT plugins, with farcall's own plugin, and with plugins that differ from it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use expect_test::{Expect, expect};
use farcall::ir::{DType, Literal, Scalar};
use farcall::pjrt::{Client, LoadedProgram, PjrtError, Plugin, PluginErrorCode, PluginValue};
use farcall::registry::{Platform, Target, TargetOrigin};
use farcall::{CompileOptions, Executable, Registry};
use farcall_testing::engine::parse;
use farcall_testing::library::{build, library_of, plain_cc, profile_folder};

const DOUBLE: &str = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}";

/// A call of the example `rms-norm`.
const NORM: &str = "func.func @main(%x: tensor<2x3xf32>, %scale: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.custom_call @rms_norm(%x, %scale) {api_version = 4 : i32, backend_config = {eps = 1.0e-5 : f32}}
    : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}";

/// Path of farcall's plugin.
static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| {
    build(&["--package", "farcall-pjrt-library", "--lib"]);
    profile_folder().join("libfarcall_pjrt.so")
});

/// Path of a library of ops, which is not a plugin.
static OPS: LazyLock<PathBuf> = LazyLock::new(|| library_of("rms-norm-ops"));

fn load(path: &Path) -> Result<Plugin, PjrtError> {
    // SAFETY: all plugins of this test follow the interface, or differ from it in ways that are checked.
    unsafe { Plugin::load(path) }
}

fn client() -> Client {
    Client::new(load(&PLUGIN).unwrap(), &[]).unwrap()
}

/// A registry with the ops of the example.
fn registry() -> Registry {
    let registry = Registry::new();
    // SAFETY: the library is an example of this repository.
    unsafe { registry.load(&*OPS) }.unwrap();
    registry
}

/// Builds a plugin with these macros; `None` without a compiler.
fn plugin(name: &str, macros: &[&str]) -> Option<PathBuf> {
    plain_cc("farcall", "pjrt_plugin", name, macros)
}

/// Builds a plugin with these macros that uses the functions of farcall's plugin.
fn wrapper(name: &str, macros: &[&str]) -> Option<PathBuf> {
    let wraps = format!("-DWRAPS=\"{}\"", PLUGIN.display());
    plugin(name, &[&[wraps.as_str()], macros].concat())
}

/// Compares the message of an error, without the folder of the build.
fn message(error: &PjrtError, expected: &Expect) {
    let text = error.to_string();
    let folders = [profile_folder(), farcall_testing::library::scratch_folder()];
    expected.assert_eq(&folders.iter().fold(text, |text, f| text.replace(&format!("{}/", f.display()), "")));
}

fn numbers(dims: &[usize]) -> Literal {
    Literal::from_fn(DType::F32, dims.to_vec(), |i| Scalar::Float(i as f64 * 0.75 - 1.0))
}

#[test]
fn a_program_runs_on_the_plugin() {
    let plugin = load(&PLUGIN).unwrap();
    let client = client();
    assert_eq!(client.plugin().version(), plugin.version());
    assert_eq!(plugin.version().0, 0);
    assert_eq!(plugin.stablehlo_version(), Some(farcall::ir::vhlo::NEWEST));
    assert_eq!((client.devices().len(), client.devices()[0].id()), (1, 0));
    assert!(client.platform_version().starts_with("farcall"), "{}", client.platform_version());
    let double = client.compile(&parse(DOUBLE), &Registry::new()).unwrap();
    let x = numbers(&[2, 3]);
    let results = double.run(std::slice::from_ref(&x)).unwrap();
    let engine = Executable::compile(&parse(DOUBLE), &Registry::new(), &CompileOptions::new()).unwrap();
    assert_eq!(results, engine.run(&[x]).unwrap());
}

#[test]
fn buffers_stay_on_the_device_and_outlive_the_client() {
    let client = client();
    let double = client.compile(&parse(DOUBLE), &Registry::new()).unwrap();
    let x = client.buffer(&numbers(&[2, 3]), client.first_device().unwrap()).unwrap();
    assert!(x.is_on_cpu().unwrap());
    let twice = double.execute(&[x]).unwrap();
    let four_times = double.execute(&twice).unwrap();
    drop((client, double, twice));
    let expected: Vec<f32> = numbers(&[2, 3]).as_slice::<f32>().iter().map(|x| x * 4.0).collect();
    assert_eq!(four_times[0].literal().unwrap().as_slice::<f32>(), expected);
}

#[test]
fn elements_of_all_types_arrive() {
    let client = client();
    for dtype in DType::VARIANTS {
        let literal = Literal::from_fn(dtype, [3, 2], |i| Scalar::Float(i.is_multiple_of(2).into()));
        let buffer = client.buffer(&literal, client.first_device().unwrap()).unwrap();
        assert_eq!(*buffer.ty(), literal.ty());
        assert_eq!(buffer.literal().unwrap(), literal, "{dtype}");
    }
    for dims in [vec![], vec![0, 4], vec![1, 1]] {
        let literal = Literal::splat(DType::S32, dims, Scalar::Signed(7));
        let buffer = client.buffer(&literal, client.first_device().unwrap()).unwrap();
        assert_eq!(buffer.literal().unwrap(), literal);
    }
}

#[test]
fn options_reach_the_plugin_and_programs_their_device() {
    let plugin = load(&PLUGIN).unwrap();
    let option = |value| [("num_devices".to_owned(), value)];
    let client = Client::new(plugin, &option(PluginValue::Int(3))).unwrap();
    assert_eq!(client.devices().iter().map(|device| device.id()).collect::<Vec<_>>(), [0, 1, 2]);
    let last = &client.devices()[2];
    let module = farcall::ir::verify::verify_owned(parse(DOUBLE)).unwrap().into_static().unwrap();
    let double = client.compile_for(&module, None, &Registry::new(), last).unwrap();
    assert_eq!(double.run(&[numbers(&[2, 3])]).unwrap().len(), 1);
    let elsewhere = client.buffer(&numbers(&[2, 3]), client.first_device().unwrap()).unwrap();
    let error = double.execute(&[elsewhere]).unwrap_err();
    assert!(error.to_string().contains("is on another device"), "{error}");

    let error = Client::new(plugin, &option(PluginValue::Int(0))).unwrap_err();
    message(
        &error,
        &expect!["PJRT_Client_Create: `num_devices` is 0; it must be between 1 and 4096 (INVALID_ARGUMENT)"],
    );
    let PjrtError::Plugin { code, .. } = error else { panic!("{error}") };
    assert_eq!(code, PluginErrorCode::INVALID_ARGUMENT);

    let other = Client::new(plugin, &[]).unwrap();
    let error = client.buffer(&numbers(&[1]), other.first_device().unwrap()).unwrap_err();
    assert!(error.to_string().contains("belongs to another client"), "{error}");
}

#[test]
fn handlers_are_registered_with_the_plugin() {
    let client = client();
    let inputs = [numbers(&[2, 3]), numbers(&[3])];
    let norm = client.compile(&parse(NORM), &registry()).unwrap();
    let engine = Executable::compile(&parse(NORM), &registry(), &CompileOptions::new()).unwrap();
    assert_eq!(norm.run(&inputs).unwrap(), engine.run(&inputs).unwrap());
    // The error of a handler is that of the run.
    let wrong = NORM.replace("%scale: tensor<3xf32>", "%scale: tensor<5xf32>");
    let wrong = wrong.replace("tensor<2x3xf32>, tensor<3xf32>)", "tensor<2x3xf32>, tensor<5xf32>)");
    let error =
        client.compile(&parse(&wrong), &registry()).and_then(|p| p.run(&[numbers(&[2, 3]), numbers(&[5])]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("scale is f32[5]") && error.contains("f32[2, 3]"), "{error}");
}

#[test]
fn handlers_with_several_stages_are_registered() {
    let registry = Registry::new();
    // SAFETY: the library is an example of this repository.
    unsafe { registry.load(library_of("jax-ffi-ops")) }.unwrap();
    let program = r#"func.func @main() -> tensor<i32> {
  %0 = "stablehlo.custom_call"() {call_target_name = "call_count", has_side_effect = true,
    api_version = 4 : i32, backend_config = {start = 7 : i32}} : () -> tensor<i32>
  return %0 : tensor<i32>
}"#;
    let counter = client().compile(&parse(program), &registry).unwrap();
    // The instantiate stage has made the state.
    let counts = [(); 2].map(|()| counter.run(&[]).unwrap()[0].as_slice::<i32>()[0]);
    assert_eq!(counts, [7, 8]);
}

#[test]
fn calls_without_a_handler_are_left_to_the_plugin() {
    let program = "func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0:2 = stablehlo.custom_call @nobody(%a) {api_version = 4 : i32, backend_config = {}}
    : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)
  return %0#0 : tensor<3x3xf32>
}";
    let error = client().compile(&parse(program), &Registry::new()).unwrap_err();
    assert!(error.to_string().contains("no target `nobody` is registered"), "{error}");
}

#[test]
fn handlers_that_plugins_do_not_take_are_refused() {
    unsafe extern "C" fn untyped() {}
    let registry = Registry::new();
    // SAFETY: the function is never called.
    let target = unsafe { Target::untyped("old", Platform::Host, untyped, TargetOrigin::program()) };
    registry.register(target.unwrap()).unwrap();
    let program = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @old(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}";
    let error = client().compile(&parse(program), &registry).unwrap_err();
    message(
        &error,
        &expect![
            "the handler of `old`, from this program, cannot be registered with libfarcall_pjrt.so: it is untyped, and plugins take typed handlers"
        ],
    );
}

#[test]
fn donated_buffers_are_consumed() {
    let client = client();
    let program = DOUBLE.replace("%x: tensor<2x3xf32>)", "%x: tensor<2x3xf32> {jax.buffer_donor = true})");
    let double = client.compile(&parse(&program), &Registry::new()).unwrap();
    let arguments = [client.buffer(&numbers(&[2, 3]), client.first_device().unwrap()).unwrap()];
    assert_eq!(double.execute(&arguments).unwrap().len(), 1);
    let error = arguments[0].literal().unwrap_err();
    assert!(error.to_string().contains("deleted or donated"), "{error}");
    let error = double.execute(&arguments).unwrap_err();
    assert!(error.to_string().contains("deleted or donated"), "{error}");
}

#[test]
fn arguments_are_checked() {
    let double = client().compile(&parse(DOUBLE), &Registry::new()).unwrap();
    message(&double.run(&[]).unwrap_err(), &expect!["the program takes 1 arguments, not 0"]);
    message(
        &double.run(&[numbers(&[3, 2])]).unwrap_err(),
        &expect!["argument 0 must be tensor<2x3xf32>, but is tensor<3x2xf32>"],
    );
    let other = client();
    let buffer = other.buffer(&numbers(&[2, 3]), other.first_device().unwrap()).unwrap();
    message(&double.execute(&[buffer]).unwrap_err(), &expect!["argument 0 belongs to another client"]);
}

#[test]
fn programs_are_verified_and_have_one_entry() {
    let client = client();
    let wrong = DOUBLE.replace("-> tensor<2x3xf32> {", "-> tensor<9xf32> {");
    assert!(matches!(client.compile(&parse(&wrong), &Registry::new()), Err(PjrtError::Program(_))));
    let two = format!(
        "{DOUBLE}\nfunc.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.negate %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
    );
    let module = farcall::ir::verify::verify_owned(parse(&two)).unwrap().into_static().unwrap();
    let of = |name: &str| -> LoadedProgram {
        client.compile_for(&module, Some(name), &Registry::new(), client.first_device().unwrap()).unwrap()
    };
    let x = Literal::from_slice(DType::F32, [2], &[1f32, -2.0]);
    assert_eq!(of("other").run(&[x]).unwrap()[0].as_slice::<f32>(), [-1.0, 2.0]);
    assert_eq!(of("main").inputs()[0].sizes(), [2, 3]);
}

#[test]
fn runs_on_many_threads_agree() {
    let client = client();
    let double = client.compile(&parse(DOUBLE), &Registry::new()).unwrap();
    let expected = double.run(&[numbers(&[2, 3])]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(double.run(&[numbers(&[2, 3])]).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn other_files_are_not_plugins() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    let error = load(&text).unwrap_err().to_string();
    assert!(error.contains("text.so cannot be loaded: dlopen failed: "), "{error}");
    let error = load(&folder.path().join("none.so")).unwrap_err().to_string();
    assert!(error.ends_with("none.so cannot be loaded: No such file or directory (os error 2)"), "{error}");
    message(
        &load(&OPS).unwrap_err(),
        &expect!["librms_norm_ops.so is not a PJRT plugin: it has no function `GetPjrtApi`"],
    );
}

#[test]
fn other_interfaces_are_refused() {
    let refused = |name: &str, macros: &[&str], expected: Expect| {
        if let Some(path) = plugin(name, macros) {
            message(&load(&path).unwrap_err(), &expected);
        }
    };
    refused(
        "pjrt_major",
        &["-DMAJOR=1", "-DMINOR=2"],
        expect!["libpjrt_major.so has version 1.2 of the PJRT interface; farcall has major version 0"],
    );
    refused(
        "pjrt_old",
        &["-DMINOR=28"],
        expect!["libpjrt_old.so has version 0.28 of the PJRT interface; farcall needs 0.29 or later"],
    );
    refused(
        "pjrt_small",
        &["-DTABLE_BYTES=16"],
        expect!["libpjrt_small.so has a function table of 16 bytes; it must have at least 40"],
    );
    refused(
        "pjrt_no_table",
        &["-DNO_TABLE"],
        expect!["libpjrt_no_table.so is not a PJRT plugin: `GetPjrtApi` returns no function table"],
    );
    refused(
        "pjrt_empty",
        &[],
        expect!["the plugin lacks the function PJRT_Plugin_Initialize, which this needs"],
    );
    refused("pjrt_fails", &["-DFAILS"], expect!["PJRT_Plugin_Initialize: no chip (UNAVAILABLE)"]);
}

#[test]
fn a_plugin_with_a_shorter_table_runs_programs() {
    // The table ends after `PJRT_Client_CreateViewOfDeviceBuffer`; newer functions do not exist.
    let Some(path) = wrapper("pjrt_short", &["-DTABLE_BYTES=800"]) else { return };
    let client = Client::new(load(&path).unwrap(), &[]).unwrap();
    let double = client.compile(&parse(DOUBLE), &Registry::new()).unwrap();
    assert_eq!(double.run(&[numbers(&[2, 3])]).unwrap().len(), 1);
    // Without the function that frees buffers and executes programs, the error names the first one.
    let Some(path) = wrapper("pjrt_shorter", &["-DTABLE_BYTES=120"]) else { return };
    let error = Client::new(load(&path).unwrap(), &[]).unwrap_err();
    message(&error, &expect!["the plugin lacks the function PJRT_Client_Create, which this needs"]);
}

#[test]
fn handlers_need_the_ffi_extension() {
    let Some(path) = wrapper("pjrt_no_ffi", &["-DNO_EXTENSIONS"]) else { return };
    let client = Client::new(load(&path).unwrap(), &[]).unwrap();
    assert!(client.compile(&parse(DOUBLE), &registry()).is_ok());
    message(
        &client.compile(&parse(NORM), &registry()).unwrap_err(),
        &expect![
            "the program has custom calls (`rms_norm`), but libpjrt_no_ffi.so has no FFI extension, through which handlers are registered"
        ],
    );
}

#[test]
fn programs_that_need_a_newer_stablehlo_are_refused() {
    let Some(path) = wrapper("pjrt_stablehlo", &["-DSTABLEHLO=19"]) else { return };
    let client = Client::new(load(&path).unwrap(), &[]).unwrap();
    message(
        &client.compile(&parse(DOUBLE), &Registry::new()).unwrap_err(),
        &expect!["the program needs StableHLO 1.0.0, but libpjrt_stablehlo.so reads versions up to 0.19.0"],
    );
}
