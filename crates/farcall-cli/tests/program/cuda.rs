//! Programs for CUDA, and libraries with handlers for CUDA, on this host.

use std::path::Path;

use expect_test::expect;

use crate::folder::{Folder, example};

/// Functions that `tests/data/export.py` has exported: for CUDA, and for the host and CUDA.
const EXPORTS: [&str; 2] = ["layer-cuda.jax_export", "layer-cpu-cuda.jax_export"];

/// A folder with the library, as `lib.so`.
fn folder() -> Folder {
    Folder::new().with("lib.so", std::fs::read(example("cli_cuda_ops")).unwrap())
}

/// A folder with the library and the exported functions.
fn exports() -> Folder {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    EXPORTS.iter().fold(folder(), |folder, name| folder.with(name, std::fs::read(data.join(name)).unwrap()))
}

/// Returns the table of custom calls that `farcall inspect` prints.
fn calls(folder: &Folder, args: &[&str]) -> String {
    let ended = folder.farcall([&["inspect"], args].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let (_, calls) = ended.stdout.split_once("custom call").unwrap_or_else(|| panic!("{}", ended.stdout));
    calls.split_once('\n').unwrap_or_default().1.to_owned()
}

#[test]
fn calls_are_resolved_for_the_platforms_of_an_export() {
    let folder = exports();
    expect![[r#"
        ┌─────────┬────────────┬─────────────────────────┬───────────────┬───────────────┬──────────────────────────────────────┬─────────────────┐
        │ target  ┆ API        ┆ attributes              ┆ operands      ┆ results       ┆ at                                   ┆ resolved by     │
        ╞═════════╪════════════╪═════════════════════════╪═══════════════╪═══════════════╪══════════════════════════════════════╪═════════════════╡
        │ scaled  ┆ dictionary ┆ by = 3.000000e+00 : f32 ┆ f32[2,3]      ┆ f32[2,3]      ┆ jit(layer)/scaled at layer.py:2:19   ┆ CUDA: not found │
        │ flipped ┆ dictionary ┆                         ┆ f32[2,3]{0,1} ┆ f32[3,2]{0,1} ┆ jit(layer)/ffi_call at layer.py:2:11 ┆ CUDA: not found │
        └─────────┴────────────┴─────────────────────────┴───────────────┴───────────────┴──────────────────────────────────────┴─────────────────┘
    "#]].assert_eq(&calls(&folder, &[EXPORTS[0]]));
    expect![[r#"
        ┌─────────┬────────────┬─────────────────────────┬───────────────┬───────────────┬──────────────────────────────────────┬───────────────────────────────────────────┐
        │ target  ┆ API        ┆ attributes              ┆ operands      ┆ results       ┆ at                                   ┆ resolved by                               │
        ╞═════════╪════════════╪═════════════════════════╪═══════════════╪═══════════════╪══════════════════════════════════════╪═══════════════════════════════════════════╡
        │ scaled  ┆ dictionary ┆ by = 3.000000e+00 : f32 ┆ f32[2,3]      ┆ f32[2,3]      ┆ jit(layer)/scaled at layer.py:2:19   ┆ CUDA: typed 0.1, lib.so (farcall library) │
        │ flipped ┆ dictionary ┆                         ┆ f32[2,3]{0,1} ┆ f32[3,2]{0,1} ┆ jit(layer)/ffi_call at layer.py:2:11 ┆ CUDA: typed 0.1, lib.so (farcall library) │
        └─────────┴────────────┴─────────────────────────┴───────────────┴───────────────┴──────────────────────────────────────┴───────────────────────────────────────────┘
    "#]].assert_eq(&calls(&folder, &[EXPORTS[0], "--load", "lib.so"]));
    expect![[r#"
        ┌─────────┬────────────┬─────────────────────────┬───────────────┬───────────────┬──────────────────────────────────────┬───────────────────────────────────────────┐
        │ target  ┆ API        ┆ attributes              ┆ operands      ┆ results       ┆ at                                   ┆ resolved by                               │
        ╞═════════╪════════════╪═════════════════════════╪═══════════════╪═══════════════╪══════════════════════════════════════╪═══════════════════════════════════════════╡
        │ scaled  ┆ dictionary ┆ by = 3.000000e+00 : f32 ┆ f32[2,3]      ┆ f32[2,3]      ┆ jit(layer)/scaled at layer.py:2:19   ┆ Host: typed 0.1, lib.so (farcall library) │
        │         ┆            ┆                         ┆               ┆               ┆                                      ┆ CUDA: typed 0.1, lib.so (farcall library) │
        │ flipped ┆ dictionary ┆                         ┆ f32[2,3]{0,1} ┆ f32[3,2]{0,1} ┆ jit(layer)/ffi_call at layer.py:2:11 ┆ Host: no handler                          │
        │         ┆            ┆                         ┆               ┆               ┆                                      ┆ CUDA: typed 0.1, lib.so (farcall library) │
        └─────────┴────────────┴─────────────────────────┴───────────────┴───────────────┴──────────────────────────────────────┴───────────────────────────────────────────┘
    "#]].assert_eq(&calls(&folder, &[EXPORTS[1], "--load", "lib.so"]));
    let ended = folder.farcall(["inspect", EXPORTS[1], "--load", "lib.so", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let [scaled, flipped] = &json["custom_calls"].as_array().unwrap()[..] else { panic!("{json:#}") };
    assert_eq!(scaled["handlers"]["Host"]["name"], "scaled");
    assert_eq!(scaled["handlers"]["CUDA"]["traits"][0], "command-buffer-compatible");
    assert_eq!((&flipped["handlers"]["Host"], &flipped["resolved"]), (&().into(), &().into()));
    assert_eq!(flipped["error"], "`flipped` has no handler for Host, only for CUDA");
    assert_eq!((&flipped["operand_layouts"][0][0], &scaled["operand_layouts"][0][0]), (&0.into(), &1.into()));
}

#[test]
fn a_target_for_cuda_only_is_no_missing_library() {
    let program = "\
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.custom_call @flipped(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
";
    let folder = exports().with("p.mlir", program);
    expect![[r#"
        ┌─────────┬───────────────┬────────────┬──────────┬──────────┬─────┬─────────────────────────────────────────────────────┐
        │ target  ┆ API           ┆ attributes ┆ operands ┆ results  ┆ at  ┆ resolved by                                         │
        ╞═════════╪═══════════════╪════════════╪══════════╪══════════╪═════╪═════════════════════════════════════════════════════╡
        │ flipped ┆ 4, dictionary ┆            ┆ f32[2,3] ┆ f32[3,2] ┆ 2:8 ┆ only for CUDA (typed 0.1, lib.so (farcall library)) │
        └─────────┴───────────────┴────────────┴──────────┴──────────┴─────┴─────────────────────────────────────────────────────┘
    "#]].assert_eq(&calls(&folder, &["p.mlir", "--load", "lib.so"]));
    for args in [&["run", "p.mlir"][..], &["run", EXPORTS[1]], &["compile", "p.mlir", "-o", "p.plan"]] {
        let ended = folder.farcall([args, &["--load", "lib.so"]].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""));
        let told: Vec<&str> = ended.stderr.lines().filter(|line| !line.contains('|')).collect();
        assert_eq!(told[0], "error: [missing_target] `flipped` has no handler for Host, only for CUDA");
        let notes = [
            " = note: its handler for CUDA is from FOLDER/lib.so (farcall library)",
            " = note: the engine runs on the CPU: a library with `#[handler(name = \"flipped\")]` adds a handler \
             for it; see: farcall guide cuda",
        ];
        assert!(notes.iter().all(|note| ended.stderr.contains(note)), "{}", ended.stderr);
        assert!(!ended.stderr.contains("--load LIB"), "{}", ended.stderr);
    }
    let ended = folder.farcall(["run", EXPORTS[0], "--load", "lib.so", "--fill", "rand"]);
    assert_eq!(ended.code, 1);
    expect![[r#"
        error: [platform] layer was exported for cuda, not for cpu
         |
         = note: export it for cpu, too: jax.export.export(…, platforms=["cpu", "cuda"])
    "#]]
    .assert_eq(&ended.stderr);
}

#[test]
fn ops_tell_their_platforms() {
    let folder = folder();
    expect![[r#"
        scaled(x, *, by=2.0)
            Multiplies `x` by `by`.
        for CUDA only: flipped

        1 op. farcall op lib.so NAME explains one.
    "#]]
    .assert_eq(&folder.farcall(["op", "lib.so"]).stdout);
    let page = folder.farcall(["op", "lib.so", "scaled"]).stdout;
    assert!(page.contains("\n\nOther handlers, which only --check runs: CUDA.\n"), "{page}");
    let ended = folder.farcall(["op", "lib.so", "flipped"]);
    assert_eq!(ended.code, 1);
    expect![[r#"
        error: flipped of lib.so has no handler for Host, only for CUDA: the engine runs on the CPU; a library with `#[handler(name = "flipped")]` adds a handler for it; see: farcall guide cuda
    "#]].assert_eq(&ended.stderr);
}

#[test]
fn handlers_for_cuda_are_not_checked_even_if_strict() {
    let folder = folder();
    // A file that is no library, in the place of the driver that this machine may have.
    let folder = folder.with("none/libcuda.so.1", "none").with("none/libcuda.so", "none");
    let path = folder.path("none");
    let check = |args: &[&str]| {
        let args = [&["op", "lib.so"], args, &["--check"]].concat();
        folder.farcall_with(args, |command| _ = command.env("LD_LIBRARY_PATH", &path))
    };
    let ended = check(&["--strict"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let told: Vec<&str> = ended.stdout.lines().skip_while(|line| !line.starts_with("not checked")).collect();
    expect![[r#"
        not checked: the handlers for CUDA of scaled, flipped: no GPU: the CUDA driver is not installed: looked for libcuda.so.1, libcuda.so: FOLDER/none/libcuda.so.1: file too short
        8 promises kept; CUDA not checked"#]].assert_eq(&told.join("\n"));
    let ended = check(&["scaled", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["unchecked_platforms"], serde_json::json!({ "CUDA": ["scaled"] }));
    assert_eq!(json["gpu"], serde_json::Value::Null);
}
