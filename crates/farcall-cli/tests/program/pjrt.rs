//! `farcall run --engine pjrt:PATH`, with farcall's own plugin.

use std::path::PathBuf;
use std::sync::LazyLock;

use expect_test::expect;
use farcall_testing::library::{build, profile_folder};

use crate::folder::Folder;

/// Path of farcall's plugin.
static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| {
    build(&["--package", "farcall-pjrt-library", "--lib"]);
    profile_folder().join("libfarcall_pjrt.so")
});

const PROGRAM: &str = "\
func.func @main(%x: tensor<?x3xf32>) -> (tensor<?x3xf32> {jax.result_info = \"twice\"}, tensor<?x3xi1>) {
  %0 = stablehlo.add %x, %x : tensor<?x3xf32>
  %1 = stablehlo.compare GT, %0, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xi1>
  return %0, %1 : tensor<?x3xf32>, tensor<?x3xi1>
}
";

/// A call of an op of the library with test handlers.
const CALL: &str = "\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @CALLEE(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
";

/// A folder with the plugin, as `plugin.so`.
fn folder() -> Folder {
    let folder = Folder::new().with("p.mlir", PROGRAM);
    std::os::unix::fs::symlink(&*PLUGIN, folder.path("plugin.so")).unwrap();
    folder
}

#[test]
fn results_are_printed_like_those_of_the_engine() {
    let folder = folder();
    let args = ["run", "p.mlir", "--input", "iota:f32[2,3]"];
    let expected = folder.farcall(args);
    assert_eq!((expected.code, expected.stderr.as_str()), (0, ""));
    let on_plugin = [&args[..], &["--engine", "pjrt:plugin.so", "--engine-option", "num_devices=2"]].concat();
    folder.prints(
        &on_plugin,
        expect![[r#"
            out0  f32[2,3]  twice
            [[ 0.0,  2.0,  4.0],
             [ 6.0,  8.0, 10.0]]
            out1  pred[2,3]
            [[false,  true,  true],
             [ true,  true,  true]]
        "#]],
    );
    assert_eq!(folder.farcall(on_plugin).stdout, expected.stdout);
    assert_eq!(folder.farcall([&args[..], &["--engine", "farcall"]].concat()).stdout, expected.stdout);
}

/// A plugin runs programs for one device.
#[test]
fn options_and_programs_for_several_devices_are_refused() {
    let sum = "module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = \"stablehlo.all_reduce\"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
";
    let folder = folder().with("sum.mlir", sum);
    folder.fails(
        &["run", "sum.mlir", "--fill", "iota", "--engine", "pjrt:plugin.so", "--devices", "2"],
        expect![[r#"
            error: --devices is an option of farcall's engine; a plugin has no such option
        "#]],
    );
    folder.fails(
        &["run", "sum.mlir", "--fill", "iota", "--engine", "pjrt:plugin.so"],
        expect![[r#"
            error: the program is for 2 replicas × 1 partition; a plugin runs programs for one device
        "#]],
    );
    let alone = folder.farcall(["run", "sum.mlir", "--fill", "iota", "--replicas", "1"]);
    assert_eq!(alone.stdout, "out0  f32[3]\n[0.0, 1.0, 2.0]\n");
    assert!(
        alone.stderr.starts_with("warning: collectives of the program name several devices"),
        "{}",
        alone.stderr
    );
}

#[test]
fn errors_keep_the_text_of_the_plugin() {
    let folder = folder().with("call.mlir", CALL.replace("CALLEE", "nobody"));
    folder.fails(&["run", "call.mlir", "--fill", "iota", "--engine", "pjrt:plugin.so"], expect![[r#"
            error: PJRT_Client_Compile: error: [missing_target] no target `nobody` is registered for the platform Host
             |
             = note: register it for the platform `cpu` (in JAX: jax.ffi.register_ffi_target("nobody", …)), or load the library that has it (in Python: farcall.load(LIB); with the command: --load LIB) (NOT_FOUND)
        "#]]);
    folder.fails(
        &["run", "p.mlir", "--fill", "iota", "--engine", "pjrt:plugin.so", "--engine-option", "speed=2"],
        expect![[r#"
            error: PJRT_Client_Create: farcall has no option `speed`; its only option is `num_devices` (INVALID_ARGUMENT)
        "#]],
    );
    folder.fails(
        &["run", "p.mlir", "--engine", "pjrt:p.mlir"],
        expect![[r#"
            error: p.mlir cannot be loaded: dlopen failed: FOLDER/p.mlir: invalid ELF header
        "#]],
    );
}

#[test]
fn engines_and_their_options_are_checked() {
    let folder = folder();
    let ended = folder.farcall(["run", "p.mlir", "--engine", "prjt:plugin.so"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("there is no engine `prjt`; did you mean pjrt:PATH?"), "{}", ended.stderr);
    folder.fails(
        &["run", "p.mlir", "--engine", "pjrt:plugin.so", "--passes", "needed"],
        expect![[r#"
            error: --passes is an option of farcall's engine; a plugin has no such option
        "#]],
    );
    folder.fails(
        &["run", "p.mlir", "--engine", "farcall", "--engine-option", "a=1"],
        expect![[r#"
            error: --engine-option needs a plugin: --engine pjrt:PATH
        "#]],
    );
    folder.fails(
        &["run", "p.mlir", "-i", "iota:f32[2,3]", "--engine", "pjrt:plugin.so", "--dump", "plan"],
        expect![[r#"
            error: with a plugin, --dump shows the stages text, verified and refined; the others are of farcall's engine
        "#]],
    );
}
