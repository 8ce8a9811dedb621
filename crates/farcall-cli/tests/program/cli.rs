//! Tests of all commands without a separate test file: outputs, exit codes, messages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use expect_test::expect;

use farcall_testing::library::library_of;

use crate::folder::{Folder, LIBRARY};

const DOUBLE: &str = "\
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0 = stablehlo.add %x, %x : tensor<2x3xf32>
  %1 = stablehlo.multiply %y, %y : tensor<2x3xi32>
  return %0, %1 : tensor<2x3xf32>, tensor<2x3xi32>
}
";

/// A program that calls a target with a vector of three elements.
fn calling(target: &str) -> String {
    format!(
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %0 = stablehlo.custom_call @{target}(%x) {{api_version = 4 : i32, backend_config = {{}}}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}}
"
    )
}

/// A program that checks that 1 + 1 is `sum`.
fn checking(sum: u32) -> String {
    format!(
        "func.func @main() {{
  %0 = stablehlo.constant dense<1> : tensor<2xi32>
  %1 = stablehlo.add %0, %0 : tensor<2xi32>
  check.expect_eq_const %1, dense<{sum}> : tensor<2xi32>
  return
}}
"
    )
}

#[test]
fn a_program_runs_on_made_and_given_inputs() {
    let bytes: Vec<u8> = [1i32, 2, 3, 4, 5, -6].iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = Folder::new().with("p.mlir", DOUBLE).with_npy("y.npy", "<i4", "(2, 3)", &bytes);
    folder.prints(
        &["run", "p.mlir", "--input", "iota", "--input", "y.npy", "--output-dir", "results"],
        expect![[r#"
            out0  f32[2,3]
            [[ 0.0,  2.0,  4.0],
             [ 6.0,  8.0, 10.0]]
            out1  s32[2,3]
            [[ 1,  4,  9],
             [16, 25, 36]]
        "#]],
    );
    let mut written = std::fs::read(folder.path("results/out1.npy")).unwrap();
    let data = written.split_off(written.len() - 24);
    let data: Vec<i32> = data.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect();
    assert_eq!(data, [1, 4, 9, 16, 25, 36]);
    // The written results can be read again.
    let args = ["run", "p.mlir", "-i", "results/out0.npy", "-i", "results/out1.npy", "--evaluator"];
    folder.prints(
        &args,
        expect![[r#"
        out0  f32[2,3]
        [[ 0.0,  4.0,  8.0],
         [12.0, 16.0, 20.0]]
        out1  s32[2,3]
        [[   1,   16,   81],
         [ 256,  625, 1296]]
    "#]],
    );
}

#[test]
fn tokens_are_neither_given_nor_shown() {
    let program = "\
func.func @main(%t: !stablehlo.token, %x: tensor<2xi32>) -> (!stablehlo.token, tensor<2xi32> {jax.result_info = \"y\"}) {
  return %t, %x : !stablehlo.token, tensor<2xi32>
}
";
    let folder = Folder::new().with("p.mlir", program);
    folder.prints(
        &["run", "p.mlir", "--input", "iota"],
        expect![[r#"
            out0  s32[2]  y
            [0, 1]
        "#]],
    );
    folder.prints(
        &["run", "p.mlir", "--input", "iota", "--evaluator"],
        expect![[r#"
            out0  s32[2]  y
            [0, 1]
        "#]],
    );
    folder.prints(
        &["inspect", "p.mlir"],
        expect![[r#"
            @main in p.mlir
              in0   s32[2]
              out0  s32[2]  y

            1 function
            ┌──────────────────┬───────┐
            │ operation        ┆ count │
            ╞══════════════════╪═══════╡
            │ stablehlo.return ┆     1 │
            └──────────────────┴───────┘

            no custom calls
        "#]],
    );
}

#[test]
fn sizes_that_a_program_leaves_open_are_those_of_its_inputs() {
    let program = "\
func.func @main(%x: tensor<?x2xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
";
    let bytes: Vec<u8> = [1f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let folder = Folder::new().with("p.mlir", program).with_npy("x.npy", "<f4", "(1, 2)", &bytes);
    for extra in ["--quiet", "--evaluator"] {
        assert_eq!(folder.farcall(["run", "p.mlir", "-i", "x.npy", extra]).code, 0);
    }
    folder.prints(
        &["run", "p.mlir", "-i", "x.npy"],
        expect![[r#"
        out0  f32[1,4]
        [[1.0, 2.0, 1.0, 2.0]]
    "#]],
    );
    folder.prints(&["run", "p.mlir", "-i", "ones:f32[3,2]", "--dump", "refined"], expect![[r#"
        module {
          func.func public @main(%arg0: tensor<3x2xf32>) -> tensor<3x4xf32> {
            %0 = stablehlo.concatenate %arg0, %arg0, dim = 1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x4xf32>
            return %0 : tensor<3x4xf32>
          }
        }
    "#]]);
    folder.fails(&["run", "p.mlir", "-i", "ones"], expect![[r#"
        error: argument 0 of @main: f32[?,2] has dynamic sizes; give a .npy file, or a type without dynamic sizes, as in rand:f32[4,8]
    "#]]);
    folder.fails(
        &["run", "p.mlir", "-i", "ones:f32[3,3]"],
        expect![[r#"
        error: argument 0 of @main: it is f32[3,3], but f32[?,2] is expected
    "#]],
    );
}

#[test]
fn stages_can_be_printed() {
    let folder = Folder::new().with("p.mlir", DOUBLE);
    folder.prints(&["run", "p.mlir", "--dump", "verified"], expect![[r#"
        module {
          func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
            %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
            %1 = stablehlo.multiply %arg1, %arg1 : tensor<2x3xi32>
            return %0, %1 : tensor<2x3xf32>, tensor<2x3xi32>
          }
        }
    "#]]);
    let plan = folder.farcall(["run", "p.mlir", "--dump", "plan"]);
    assert_eq!(plan.code, 0, "{}", plan.stderr);
    assert!(!plan.stdout.is_empty());
}

#[test]
fn statistics_are_shown() {
    let folder = Folder::new().with("p.mlir", DOUBLE);
    let ended = folder.farcall(["run", "p.mlir", "--fill", "rand", "--stats", "--quiet", "--repeat", "3"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for word in ["compile", "run, median of 3", "arena"] {
        assert!(ended.stdout.contains(word), "{}", ended.stdout);
    }
}

#[test]
fn files_that_are_no_programs_are_refused() {
    let folder = Folder::new().with("empty.mlir", "").with("image.mlir", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    folder.fails(
        &["run", "nowhere.mlir"],
        expect![[r#"
        error: cannot read nowhere.mlir: No such file or directory (os error 2)
    "#]],
    );
    folder.fails(
        &["run", "empty.mlir"],
        expect![[r#"
        error: empty.mlir is empty; it should hold the text of a program
    "#]],
    );
    folder.fails(
        &["run", "image.mlir"],
        expect![[r#"
        error: image.mlir is a PNG image, not the text of a program
    "#]],
    );
    folder.fails(
        &["run", "."],
        expect![[r#"
        error: . is a folder, not a program
    "#]],
    );
    folder.fails(
        &["inspect", "nowhere.mlir"],
        expect![[r#"
        error: cannot read nowhere.mlir: No such file or directory (os error 2)
    "#]],
    );
    folder.fails(
        &["test", "nowhere.mlir"],
        expect![[r#"
        error: cannot read nowhere.mlir: No such file or directory (os error 2)
    "#]],
    );
}

#[test]
fn broken_programs_are_refused() {
    let truncated = &DOUBLE[..DOUBLE.len() - 60];
    let wrong = DOUBLE.replace("stablehlo.multiply", "stablehlo.multipy");
    let folder = Folder::new().with("truncated.mlir", truncated).with("wrong.mlir", wrong);
    folder.fails(
        &["run", "truncated.mlir"],
        expect![[r#"
            error: [parse] expected an element type, found the end of the text
             --> truncated.mlir:3:45
              |
            3 |   %1 = stablehlo.multiply %y, %y : tensor<2x
              |                                             ^
        "#]],
    );
    folder.fails(
        &["run", "wrong.mlir"],
        expect![[r#"
            error: [unknown-op] unknown operation stablehlo.multipy
             --> wrong.mlir:3:8
              |
            3 |   %1 = stablehlo.multipy %y, %y : tensor<2x3xi32>
              |        ^^^^^^^^^^^^^^^^^
              |
              = note: did you mean `stablehlo.multiply`, `stablehlo.clamp` or `stablehlo.map`?
        "#]],
    );
}

#[test]
fn deep_nesting_is_refused() {
    let depth = 20_000;
    let mut program = String::from("func.func @main(%p: tensor<i1>) -> tensor<i1> {\n");
    for i in 0..depth {
        program += &format!("%{i} = \"stablehlo.if\"(%p) ({{\n");
    }
    for i in (0..depth).rev() {
        program += "stablehlo.return %p : tensor<i1>\n}, { stablehlo.return %p : tensor<i1> })";
        program += " : (tensor<i1>) -> tensor<i1>\n";
        let _ = i;
    }
    program += "return %0 : tensor<i1>\n}\n";
    let brackets = format!("func.func @main() attributes {{a = {}}} {{ return }}", "[".repeat(depth));
    let types = format!("func.func @main(%x: {}", "tuple<".repeat(depth));
    let folder =
        Folder::new().with("ops.mlir", program).with("brackets.mlir", brackets).with("types.mlir", types);
    for file in ["ops.mlir", "brackets.mlir", "types.mlir"] {
        for command in ["run", "inspect", "test"] {
            let ended = folder.farcall([command, file]);
            assert_eq!(ended.code, 1, "{command} {file}");
            let text = ended.stdout + &ended.stderr;
            assert!(text.contains("deep") || text.contains("nest"), "{command} {file}: {text:.2000}");
        }
    }
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let folder = Folder::new()
        .with("p.mlir", DOUBLE)
        .with_npy("f64.npy", "<f8", "(2, 3)", &[0; 48])
        .with_npy("shape.npy", "<f4", "(3, 2)", &[0; 24])
        .with_npy("short.npy", "<f4", "(2, 3)", &[0; 23])
        .with("text.npy", "1 2 3");
    let run = |input, message| folder.fails(&["run", "p.mlir", "-i", input, "-i", "zeros"], message);
    run(
        "f64.npy",
        expect![[r#"
            error: argument 0 of @main: cannot use f64.npy: it holds float64, but f32[2,3] is expected as float32
        "#]],
    );
    run(
        "shape.npy",
        expect![[r#"
        error: argument 0 of @main: cannot use shape.npy: its shape is f32[3,2], but f32[2,3] is expected
    "#]],
    );
    run(
        "short.npy",
        expect![[r#"
        error: argument 0 of @main: cannot use short.npy: it is cut off: 23 of 24 bytes of elements are there
    "#]],
    );
    run(
        "text.npy",
        expect![[r#"
            error: argument 0 of @main: cannot use text.npy: it is not a .npy file
        "#]],
    );
    run(
        "none.npy",
        expect![[r#"
        error: argument 0 of @main: cannot read none.npy: No such file or directory (os error 2)
    "#]],
    );
    run(
        "rnad",
        expect![[r#"
            error: argument 0 of @main: cannot read rnad: No such file or directory (os error 2); did you mean `rand`?
        "#]],
    );
    folder.fails(
        &["inspect", "p.mlir", "--plan", "-i", "rand:f32[3,2]", "-i", "rand"],
        expect![[r#"
        error: argument 0 of @main: it is f32[3,2], but f32[2,3] is expected
    "#]],
    );
    folder.fails(
        &["run", "p.mlir", "-i", "rand"],
        expect![[r#"
        error: @main takes 2 arguments (f32[2,3], s32[2,3]), 1 given
        Give a .npy file for each with --input FILE, or make the missing ones with --fill rand
    "#]],
    );
    folder.fails(
        &["run", "p.mlir", "-i", "rand", "-i", "rand", "-i", "rand"],
        expect![[r#"
        error: @main takes 2 arguments (f32[2,3], s32[2,3]), 3 given
    "#]],
    );
    folder.fails(
        &["run", "p.mlir", "--entry", "mian"],
        expect![[r#"
        error: [no-entry] there is no function @mian
         |
         = note: closest: @main
    "#]],
    );
}

#[test]
fn libraries_that_are_none_are_refused() {
    let folder = Folder::new().with("p.mlir", calling("test.triple")).with("lib.so", "not a library");
    folder.fails(
        &["run", "p.mlir", "--load", "nowhere.so"],
        expect![[r#"
        error: library nowhere.so does not exist
    "#]],
    );
    folder.fails(
        &["run", "p.mlir", "--load", "lib.so"],
        expect![[r#"
        error: lib.so is not a shared library: it is a text file
    "#]],
    );
    folder.fails(
        &["test", "p.mlir", "--load", "lib.so"],
        expect![[r#"
        error: lib.so is not a shared library: it is a text file
    "#]],
    );
    let library = LIBRARY.to_str().unwrap();
    let ended = folder.farcall(["targets", "--load", library, "--target", "f=no_such_symbol"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("has no symbol `no_such_symbol`"), "{}", ended.stderr);
}

#[test]
fn handlers_run_and_fail() {
    let library = LIBRARY.to_str().unwrap();
    let folder = Folder::new()
        .with("triple.mlir", calling("test.triple"))
        .with("refuse.mlir", calling("test.refuse"))
        .with("panic.mlir", calling("test.panic"))
        .with("typo.mlir", calling("test.tripel"));
    for engine in [&[][..], &["--evaluator"]] {
        let run = |file| [&["run", file, "-i", "iota", "--load", library], engine].concat();
        let ended = folder.farcall(run("triple.mlir"));
        assert_eq!(ended.stdout, "out0  f32[3]\n[0.0, 3.0, 6.0]\n", "{}", ended.stderr);
        for (file, words) in [
            ("refuse.mlir", "no, I would rather not"),
            ("panic.mlir", "index out of bounds"),
            ("typo.mlir", "test.triple"),
        ] {
            let ended = folder.farcall(run(file));
            assert_eq!(ended.code, 1, "{file}");
            assert!(ended.stderr.contains(words), "{file}: {}", ended.stderr);
            assert!(ended.stderr.contains(&format!("{file}:2:")), "{file}: {}", ended.stderr);
        }
    }
    folder.fails(&["run", "typo.mlir", "-i", "iota", "--load", library], expect![[r#"
        error: [missing_target] no target `test.tripel` is registered for the platform Host
         --> typo.mlir:2:8
          |
        2 |   %0 = stablehlo.custom_call @test.tripel(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>
          |        ^^^^^^^^^^^^^^^^^^^^^
          |
          = note: close names that are: test.triple
          = note: load the library that has it: --load LIB; if the library does not register it, --load LIB --target test.tripel=SYMBOL; see: farcall guide running-programs
    "#]]);
    folder.fails(&["run", "refuse.mlir", "-i", "iota", "--load", library], expect![[r#"
        error: [custom_call] custom call `test.refuse` failed in its execute stage: INVALID_ARGUMENT: no, I would rather not
         --> refuse.mlir:2:8
          |
        2 |   %0 = stablehlo.custom_call @test.refuse(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>
          |        ^^^^^^^^^^^^^^^^^^^^^
    "#]]);
}

#[test]
fn a_program_can_be_inspected() {
    let library = LIBRARY.to_str().unwrap();
    let folder = Folder::new().with("triple.mlir", calling("test.triple"));
    let ended = folder.farcall(["inspect", "triple.mlir", "--load", library]);
    assert!(ended.stdout.contains("LIBRARY (farcall library)"), "{}", ended.stdout);
    folder.prints(
        &["inspect", "triple.mlir"],
        expect![[r#"
        @main in triple.mlir
          in0   f32[3]
          out0  f32[3]

        1 function
        ┌───────────────────────┬───────┐
        │ operation             ┆ count │
        ╞═══════════════════════╪═══════╡
        │ stablehlo.custom_call ┆     1 │
        │ stablehlo.return      ┆     1 │
        └───────────────────────┴───────┘

        1 custom call
        ┌─────────────┬───────────────┬────────────┬──────────┬─────────┬─────┬─────────────┐
        │ target      ┆ API           ┆ attributes ┆ operands ┆ results ┆ at  ┆ resolved by │
        ╞═════════════╪═══════════════╪════════════╪══════════╪═════════╪═════╪═════════════╡
        │ test.triple ┆ 4, dictionary ┆            ┆ f32[3]   ┆ f32[3]  ┆ 2:8 ┆ not found   │
        └─────────────┴───────────────┴────────────┴──────────┴─────────┴─────┴─────────────┘
    "#]],
    );
    let ended = folder.farcall(["inspect", "triple.mlir", "--load", library, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["inputs"][0]["dtype"], "f32");
    assert_eq!(json["inputs"][0]["shape"], serde_json::json!([3]));
    assert_eq!(json["custom_calls"][0]["target"], "test.triple");
    assert_eq!(json["custom_calls"][0]["resolved"]["platform"], "Host");
}

/// A program of one block. The library's handler accepts the block if its elements are f32.
fn thrice(dtype: &str) -> String {
    format!(
        "func.func @main(%x: tensor<3x{dtype}>) -> tensor<3x{dtype}> {{
  %0 = stablehlo.composite \"test.thrice\" %x {{decomposition = @body}} : (tensor<3x{dtype}>) -> tensor<3x{dtype}>
  return %0 : tensor<3x{dtype}>
}}
func.func private @body(%x: tensor<3x{dtype}>) -> tensor<3x{dtype}> {{
  %0 = stablehlo.add %x, %x : tensor<3x{dtype}>
  %1 = stablehlo.add %0, %x : tensor<3x{dtype}>
  return %1 : tensor<3x{dtype}>
}}
"
    )
}

#[test]
fn what_became_of_blocks_is_told() {
    let library = LIBRARY.to_str().unwrap();
    let open = thrice("f32").replace("<3x", "<?x");
    let folder = Folder::new().with("f32.mlir", thrice("f32")).with("i32.mlir", thrice("i32"));
    let folder = folder.with("open.mlir", open);
    // The width of columns depends on the length of paths.
    let why = |args: &[&str]| {
        let ended = folder.farcall([&["inspect", "--why"], args].concat());
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
        let at = ended.stdout.find("\n1 block").unwrap_or_else(|| panic!("{}", ended.stdout));
        let lines = ended.stdout[at + 1..].lines().filter(|line| !line.contains(['═', '─']));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect::<String>()
    };
    expect![[r#"
        1 block
        │ block ┆ operands ┆ results ┆ at ┆ becomes ┆ why │
        │ test.thrice ┆ f32[3] ┆ f32[3] ┆ 2:8 ┆ call of test.triple ┆ library lowering of LIBRARY (farcall library) │
        │ ┆ ┆ ┆ ┆ ┆ test.triple: typed 0.1, LIBRARY (farcall library) │

        1 custom call
        │ target ┆ API ┆ attributes ┆ operands ┆ results ┆ at ┆ resolved by │
        │ test.triple ┆ – ┆ ┆ f32[3] ┆ f32[3] ┆ 2:8 ┆ typed 0.1, LIBRARY (farcall library) │
    "#]].assert_eq(&why(&["f32.mlir", "--load", library]));
    expect![[r#"
        1 block
        │ block ┆ operands ┆ results ┆ at ┆ becomes ┆ why │
        │ test.thrice ┆ s32[3] ┆ s32[3] ┆ 2:8 ┆ default body ┆ library lowering of LIBRARY (farcall library): skipped, test.triple: x must be f32, but is s32 │
        │ ┆ ┆ ┆ ┆ ┆ every lowering for the tag skips it │

        no custom calls
    "#]].assert_eq(&why(&["i32.mlir", "--load", library]));
    expect![[r#"
        1 block
        │ block ┆ operands ┆ results ┆ at ┆ becomes ┆ why │
        │ test.thrice ┆ f32[3] ┆ f32[3] ┆ 2:8 ┆ default body ┆ no lowering is registered for the tag │

        no custom calls
    "#]]
    .assert_eq(&why(&["f32.mlir"]));
    // An artifact has no source lines, but its instructions are numbered.
    let ended = folder.farcall(["convert", "f32.mlir", "--to", "artifact", "-o", "f32.mlirbc"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    expect![[r#"
        1 block
        │ block ┆ operands ┆ results ┆ at ┆ becomes ┆ why │
        │ test.thrice ┆ f32[3] ┆ f32[3] ┆ @main, instruction 0 ┆ default body ┆ no lowering is registered for the tag │

        no custom calls
    "#]].assert_eq(&why(&["f32.mlirbc"]));
    // A plan records the decisions of its compilation.
    let ended = folder.farcall(["compile", "f32.mlir", "--load", library, "-o", "p.plan"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(why(&["p.plan", "--load", library]), why(&["f32.mlir", "--load", library]));
    let ended = folder.farcall(["inspect", "i32.mlir", "--load", library, "--why", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["blocks"][0]["tag"], "test.thrice");
    assert_eq!(json["blocks"][0]["skipped"][0]["rank"], "library");
    assert_eq!(json["blocks"][0]["call"], serde_json::Value::Null);
    // The results are the same with and without the handler, on the engine and on the evaluator.
    for more in [&[][..], &["--load", library], &["--evaluator"]] {
        let ended = folder.farcall([&["run", "f32.mlir", "-i", "iota"], more].concat());
        assert!(ended.stdout.contains("[0.0, 3.0, 6.0]"), "{}{}", ended.stdout, ended.stderr);
    }
    folder.fails(
        &["inspect", "--why", "open.mlir"],
        expect![[r#"
        error: @main takes 1 argument (f32[?]), 0 given
        Give a .npy file for each with --input FILE, or make the missing ones with --fill rand
    "#]],
    );
    // For a program with dynamic sizes, the blocks depend on the inputs.
    let given = ["--input", "zeros:f32[5]", "--load", library];
    expect![[r#"
        1 block
        │ block ┆ operands ┆ results ┆ at ┆ becomes ┆ why │
        │ test.thrice ┆ f32[5] ┆ f32[5] ┆ 2:8 ┆ call of test.triple ┆ library lowering of LIBRARY (farcall library) │
        │ ┆ ┆ ┆ ┆ ┆ test.triple: typed 0.1, LIBRARY (farcall library) │

        1 custom call
        │ target ┆ API ┆ attributes ┆ operands ┆ results ┆ at ┆ resolved by │
        │ test.triple ┆ – ┆ ┆ f32[5] ┆ f32[5] ┆ 2:8 ┆ typed 0.1, LIBRARY (farcall library) │
    "#]].assert_eq(&why(&[&["open.mlir"], &given[..]].concat()));
    folder.fails(
        &["inspect", "open.mlir", "--fill", "ones"],
        expect![[r#"
        error: --input and --fill are for --why and --plan, which compile the program for them
    "#]],
    );
    folder.fails(
        &["inspect", "p.plan", "--why", "--fill", "ones"],
        expect![[r#"
        error: p.plan is compiled: --input and --fill have no effect
    "#]],
    );
}

#[test]
fn targets_are_listed() {
    let library = LIBRARY.to_str().unwrap();
    let folder = Folder::new();
    let ended = folder.farcall(["targets", "--load", library, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let names: Vec<&str> = json.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"test.triple") && names.contains(&"check.expect_eq"), "{names:?}");
    let ended = folder.farcall(["targets", "--load", library]);
    assert!(ended.stdout.contains("│ test.triple"), "{}", ended.stdout);
    let declared = ended.stdout.split("targets\n").nth(1).unwrap_or_default();
    expect![[r#"

        test.power_sum(x: f32[*, n], weight: bf16[n], power: i32, scales: [f32] = [1.0], side: "left" | "right" = "left") -> (sum: f32[*], most: f32[*]) where 1 <= n
          gradient  none
          batching  native, a loop if weight is batched
          sharding  ... n, n -> ..., ...; split ..., whole n

        test.say() -> () where side_effect
          gradient  none
          batching  none
          sharding  () -> ()

        test.triple(x: f32[*]) -> (y: f32[*])
          gradient  jvp test.triple_jvp
          batching  native
          sharding  ... -> ...; split ...

        test.triple_jvp(dx: f32[*]) -> (dy: f32[*])
          gradient  none; it is the tangent op of test.triple
          batching  native
          sharding  ... -> ...; split ...
    "#]]
    .assert_eq(declared);
    let table = folder.farcall(["targets", "--load", library, "--table"]).stdout;
    assert_eq!(marks(&table, "test.triple"), "test.triple Host forward ✓");
    assert_eq!(marks(&table, "test.triple_jvp"), "test.triple_jvp Host ✗ ✓");
    assert_eq!(marks(&table, "test.say"), "test.say Host ✗ ✗");
    assert_eq!(table.lines().count(), json.as_array().unwrap().len() + 4, "{table}");
    let triple = json.as_array().unwrap().iter().find(|t| t["name"] == "test.triple").unwrap();
    assert_eq!(triple["declaration"]["jvp"]["tangent"], "test.triple_jvp");
    assert_eq!(triple["declaration"]["signature"], "(x: f32[*]) -> (y: f32[*])");
}

/// Returns the row of a target in `farcall targets --table`.
fn marks(table: &str, name: &str) -> String {
    let row = table.lines().find(|line| line.contains(&format!("│ {name} "))).unwrap_or_default();
    row.split(&['│', '┆']).map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_lessons_ops_have_the_rules_that_they_declare() {
    let folder = Folder::new();
    let library = library_of("lesson-ops");
    let table = folder.farcall(["targets", "--load", library.to_str().unwrap(), "--table"]).stdout;
    for row in
        ["cublas_gemm Host ✓ ✓", "custom_relu Host ✓ ✓", "sparse_matmul Host ✗ ✗", "nccl_allreduce Host ✓ ✗"]
    {
        assert_eq!(marks(&table, row.split(' ').next().unwrap()), row, "{table}");
    }
}

#[test]
fn self_checking_programs_are_counted_by_file() {
    let both = format!("{}\n// -----\n{}", checking(2), checking(3));
    let folder = Folder::new()
        .with("t/good.mlir", checking(2))
        .with("t/good.hlo", "HloModule m\nENTRY e { ROOT x = f32[2]{0} parameter(0) }")
        .with("t/sub/bad.mlir", both)
        .with("t/sub/nothing_to_check.mlir", DOUBLE)
        .with("t/unknown.mlir", "func.func @main() { stablehlo.frobnicate : () -> ()\n return }")
        .with("t/comment.mlir", "// nothing here\n")
        .with("t/notes.txt", "not a program");
    let ended = folder.farcall(["test", "t", "--json", "results.json"]);
    assert_eq!(ended.code, 1);
    let text = without_time(&ended.stdout);
    expect![[r#"
        SKIP t/comment.mlir: it holds no program
        FAIL t/sub/bad.mlir: program 2: custom call `check.expect_eq` at t/sub/bad.mlir:12:3 failed in its execute stage: FAILED_PRECONDITION: 2 of 2 elements differ; at [0] it is 2, expected 3
        FAIL t/unknown.mlir
            error: [unknown-op] unknown operation stablehlo.frobnicate
             --> t/unknown.mlir:1:21
              |
            1 | func.func @main() { stablehlo.frobnicate : () -> ()
              |                     ^^^^^^^^^^^^^^^^^^^^
              |
              = note: did you mean `stablehlo.broadcast` or `stablehlo.negate`?

        3 passed, 2 failed, 1 skipped
    "#]].assert_eq(&text);
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("results.json")).unwrap()).unwrap();
    assert_eq!((&json["passed"], &json["failed"], &json["skipped"]), (&3.into(), &2.into(), &1.into()));
    let ended = folder.farcall(["test", "t", "--filter", "good", "--verbose"]);
    assert_eq!(ended.code, 0);
    expect![[r#"
        PASS t/good.hlo
        PASS t/good.mlir
        2 passed, 0 failed, 0 skipped
    "#]]
    .assert_eq(&without_time(&ended.stdout));
}

#[test]
fn a_crash_or_hang_costs_one_test() {
    let library = LIBRARY.to_str().unwrap();
    let check = |target| {
        format!(
            "func.func @main() {{
  %x = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.custom_call @{target}(%x) {{api_version = 4 : i32}} : (tensor<3xf32>) -> tensor<3xf32>
  check.expect_eq_const %0, dense<3.0> : tensor<3xf32>
  return
}}
"
        )
    };
    let folder = Folder::new()
        .with("t/abort.mlir", check("test.abort"))
        .with("t/hang.mlir", check("test.hang"))
        .with("t/panic.mlir", check("test.panic"))
        .with("t/triple.mlir", check("test.triple"));
    let ended = folder.farcall(["test", "t", "--load", library, "--jobs", "1", "--timeout", "3"]);
    assert_eq!(ended.code, 1);
    let text = &ended.stdout;
    assert!(text.contains("crashed: signal 6 (abort)"), "{text}");
    assert!(text.contains("not done after 3 s"), "{text}");
    assert!(text.contains("index out of bounds"), "{text}");
    assert!(text.contains("1 passed, 3 failed, 0 skipped"), "{text}");
}

#[test]
fn corpus_cases_are_judged() {
    let f32s = |xs: &[f32]| xs.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let output = |rtol: f64| {
        format!(
            r#"[{{"file": "out0.npy", "dtype": "float32", "shape": [3], "compare": "allclose", "rtol": {rtol}}}]"#
        )
    };
    let input = r#"[{"file": "in0.npy", "dtype": "float32", "shape": [3]}]"#;
    let case = |name: &str, rest: String| {
        format!(r#"{{"name": "{name}", "program": "{name}/program.mlir", "inputs": {input}, {rest}}}"#)
    };
    let cases = [
        case("triple", format!(r#""outputs": {}"#, output(1e-6))),
        case("inexact", format!(r#""outputs": {}"#, output(1e-6))),
        case("refused", r#""outputs": [], "expect_error": "rather not""#.to_owned()),
        case("missing", format!(r#""outputs": {}"#, output(1e-6))),
    ];
    let mut folder = Folder::new().with("c/manifest.json", format!(r#"{{"cases": [{}]}}"#, cases.join(",")));
    for (name, target, expected) in [
        ("triple", "test.triple", [3.0, 6.0, 9.0]),
        ("inexact", "test.triple", [3.0, 6.0, 9.1]),
        ("refused", "test.refuse", [0.0; 3]),
        ("missing", "blas_quuxgraultwa", [0.0; 3]),
    ] {
        folder = folder
            .with(&format!("c/{name}/program.mlir"), calling(target))
            .with_npy(&format!("c/{name}/in0.npy"), "<f4", "(3,)", &f32s(&[1.0, 2.0, 3.0]))
            .with_npy(&format!("c/{name}/out0.npy"), "<f4", "(3,)", &f32s(&expected));
    }
    let library = LIBRARY.to_str().unwrap();
    let ended = folder.farcall(["test", "c", "--load", library]);
    assert_eq!(ended.code, 1);
    let text = without_time(&ended.stdout);
    expect![[r#"
        FAIL inexact: out0: 1 of 3 elements differ; the worst is at [2]: 9.0, expected 9.1 (10989.052 times the tolerance)
        FAIL missing
            error: [missing_target] no target `blas_quuxgraultwa` is registered for the platform Host
             --> c/missing/program.mlir:2:8
              |
            2 |   %0 = stablehlo.custom_call @blas_quuxgraultwa(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<
              |        ^^^^^^^^^^^^^^^^^^^^^
              |
              = note: farcall has no handler of this LAPACK name. jaxlib may have one, in Python: `farcall.register_lapack()` registers jaxlib's LAPACK handlers, all of them, and `farcall.compile` runs the program; see: farcall guide linear-algebra

        2 passed, 2 failed, 0 skipped
    "#]].assert_eq(&text);
    let ended = folder.farcall(["test", "c/manifest.json", "--load", library]);
    assert_eq!(without_time(&ended.stdout), text);
    let ended = folder.farcall(["test", "c/triple", "--load", library]);
    assert_eq!((ended.code, without_time(&ended.stdout).as_str()), (0, "1 passed, 0 failed, 0 skipped\n"));
}

/// Removes the time (` in 0.1 s`) at the end of the text.
fn without_time(text: &str) -> String {
    match text.rsplit_once(" in ") {
        Some((before, after)) if after.ends_with(" s\n") => format!("{before}\n"),
        _ => text.to_owned(),
    }
}

#[test]
fn the_command_line_explains_itself() {
    let folder = Folder::new();
    let pages = ["run", "convert", "inspect", "targets", "op", "test", "bench"]
        .map(|command| vec![command, "--help"]);
    for args in [vec!["--help"], vec!["completions", "bash"]].into_iter().chain(pages) {
        let ended = folder.farcall(args);
        assert_eq!(ended.code, 0);
        assert!(ended.stdout.contains("farcall"), "{}", ended.stdout);
        // The output is not a terminal, so colors are disabled.
        assert!(!ended.stdout.contains('\x1b'));
    }
    let ended = folder.farcall(["inspct", "x"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("'inspect'"), "{}", ended.stderr);
    assert_eq!(folder.farcall(["run"]).code, 2);
    assert_eq!(folder.farcall(["run", "x", "--target", "f"]).code, 2);
}

#[test]
fn the_guide_is_in_the_command() {
    let folder = Folder::new();
    let list = folder.farcall(["guide"]);
    assert!(list.stdout.lines().any(|line| line.starts_with("getting-started ")), "{}", list.stdout);
    let page = folder.farcall(["guide", "signatures"]);
    assert!(page.stdout.starts_with("# Signatures\n"), "{}", page.stdout);
    // Comments in a page tell the guide's tests what to do; they are not printed.
    assert!(!page.stdout.contains("<!--"), "{}", page.stdout);
    let ended = folder.farcall(["guide", "signature"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("a similar value exists: 'signatures'"), "{}", ended.stderr);
}

#[test]
fn colors_are_there_when_asked_for() {
    let folder = Folder::new();
    let ended = folder.farcall(["--color", "always", "run", "nowhere.mlir"]);
    assert!(ended.stderr.contains("\x1b["), "{}", ended.stderr);
}

#[test]
fn paths_need_not_be_utf8() {
    let folder = Folder::new().with("p.mlir", DOUBLE);
    let raw = |name: &[u8]| OsStr::from_bytes(name).to_owned();
    let program = raw(b"\xff.mlir");
    std::fs::rename(folder.path("p.mlir"), folder.0.path().join(&program)).unwrap();
    std::fs::copy(&*LIBRARY, folder.0.path().join(raw(b"lib\xfe.so"))).unwrap();
    let common = [program.clone(), "--load".into(), raw(b"lib\xfe.so")];
    let with = |head: &[&str], tail: &[&OsStr]| {
        let head = head.iter().map(OsString::from).chain(common.clone());
        let ended = folder.farcall(head.chain(tail.iter().map(OsString::from)));
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{}", ended.stdout);
        ended.stdout
    };
    with(&["run", "--fill", "iota"], &["--output-dir".as_ref(), &raw(b"out\xfd")]);
    let input = raw(b"out\xfd/out0.npy");
    with(&["run"], &["--input".as_ref(), &input, "--input".as_ref(), "ones".as_ref()]);
    with(&["inspect"], &[]);
    std::fs::write(folder.0.path().join(&program), checking(2)).unwrap();
    assert!(with(&["test"], &["--jobs".as_ref(), "2".as_ref()]).contains("1 passed"));
}

/// Checks that worker processes have the limits of the process that starts them.
#[test]
fn tests_run_under_the_limits() {
    let folder = Folder::new().with(
        "loop.mlir",
        "func.func @main() {
  %x = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%a = %x) : tensor<i32>
    cond {
      %t = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %o = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %a, %o : tensor<i32>
      stablehlo.return %n : tensor<i32>
    }
  check.expect_eq_const %0, dense<1> : tensor<i32>
  return
}
",
    );
    let ended = folder.farcall(["test", "loop.mlir", "--iteration-limit", "10", "--timeout", "60"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("more than 10 iterations"), "{}", ended.stdout);
}
