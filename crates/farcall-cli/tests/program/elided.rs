//! Constants whose elements are elided from the text.

use expect_test::expect;

use crate::folder::Folder;

const HLO: &str = "HloModule e
ENTRY e {
  x = f32[2,3] parameter(0)
  c = f32[2,3] constant({...})
  ROOT y = f32[2,3] add(x, c)
}
";

/// Two constants of the same type are distinct, because their elements may differ.
const MLIR: &str = "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %a = stablehlo.constant dense_resource<__elided__> : tensor<2x3xf32>
  %b = stablehlo.constant dense_resource<__elided__> : tensor<2x3xf32>
  %0 = stablehlo.subtract %a, %b : tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
";

fn folder() -> Folder {
    Folder::new().with("e.hlo", HLO).with("e.mlir", MLIR)
}

#[test]
fn a_program_without_elements_is_read_printed_and_compiled() {
    let folder = folder();
    for args in [
        &["inspect", "e.hlo"][..],
        &["inspect", "e.mlir", "--plan"],
        &["run", "e.hlo", "--dump", "plan"],
        &["run", "e.mlir", "--dump", "cse"],
        &["convert", "e.hlo", "--to", "json"],
        &["compile", "e.hlo", "-o", "e.plan"],
        &["inspect", "e.plan"],
    ] {
        let ended = folder.farcall(args);
        assert_eq!(ended.code, 0, "{args:?}: {}", ended.stderr);
    }
    let printed = folder.farcall(["convert", "e.hlo", "--to", "stablehlo"]).stdout;
    assert!(printed.contains("stablehlo.constant dense_resource<__elided__> : tensor<2x3xf32>"), "{printed}");
    let printed = folder.farcall(["convert", "e.mlir", "--to", "hlo"]).stdout;
    assert_eq!(printed.matches("constant({...})").count(), 2, "{printed}");
    let dumped = folder.farcall(["run", "e.mlir", "--dump", "form"]).stdout;
    assert_eq!(dumped.matches("__elided__").count(), 2, "{dumped}");
}

#[test]
fn a_run_without_elements_names_the_option() {
    let folder = folder();
    folder.fails(&["run", "e.mlir", "-i", "ones"], expect![[r#"
        error: [elided] the elements of this constant were left out when the program was printed; `farcall run --elided zeros` or `--elided rand` chooses some, to measure times
         --> e.mlir:2:8
          |
        2 |   %a = stablehlo.constant dense_resource<__elided__> : tensor<2x3xf32>
          |        ^^^^^^^^^^^^^^^^^^
          |
          = note: another constant has no elements, either
    "#]]);
    for args in [
        &["run", "e.hlo", "-i", "ones", "--evaluator"][..],
        &["compile", "e.hlo", "-o", "e.plan"],
        &["run", "e.plan", "-i", "ones"],
        &["bench", "e.hlo"],
        &["convert", "e.hlo", "--to", "artifact"],
    ] {
        let ended = folder.farcall(args);
        if args[0] == "compile" {
            assert_eq!(ended.code, 0, "{}", ended.stderr);
        } else {
            assert!(ended.code == 1 && ended.stderr.contains("--elided zeros"), "{args:?}: {}", ended.stderr);
        }
    }
}

#[test]
fn elements_are_chosen_if_asked_for() {
    let folder = folder();
    assert_eq!(folder.farcall(["compile", "e.hlo", "-o", "e.plan"]).code, 0);
    for program in ["e.hlo", "e.plan"] {
        let ended = folder.farcall(["run", program, "-i", "ones", "--elided", "zeros"]);
        assert!(
            ended.code == 0 && ended.stdout.contains("[[1.0, 1.0, 1.0]"),
            "{}{}",
            ended.stdout,
            ended.stderr
        );
        let ended = folder.farcall(["run", program, "-i", "ones", "--elided", "rand"]);
        assert!(
            ended.code == 0 && !ended.stdout.contains("[[1.0, 1.0, 1.0]"),
            "{}{}",
            ended.stdout,
            ended.stderr
        );
    }
    let ended =
        folder.farcall(["convert", "e.hlo", "--to", "artifact", "--elided", "zeros", "-o", "e.mlirbc"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}
