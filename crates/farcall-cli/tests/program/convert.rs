//! Conversions between formats: `farcall convert`, and HLO text as input of all commands.

use std::path::Path;

use expect_test::expect;

use crate::folder::Folder;

const DOUBLE: &str = "\
HloModule jit_double, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}

ENTRY main.3 {
  x.1 = f32[2,3]{1,0} parameter(0)
  ROOT add.2 = f32[2,3]{1,0} add(x.1, x.1), metadata={op_name=\"jit(double)/add\"}
}
";

#[test]
fn hlo_text_is_a_program() {
    let folder = Folder::new().with("double.hlo", DOUBLE);
    folder.prints(
        &["run", "double.hlo", "--fill", "iota"],
        expect![[r#"
        out0  f32[2,3]
        [[ 0.0,  2.0,  4.0],
         [ 6.0,  8.0, 10.0]]
    "#]],
    );
    folder.prints(
        &["inspect", "double.hlo"],
        expect![[r#"
        @main in double.hlo
          in0   f32[2,3]
          out0  f32[2,3]

        1 function
        ┌──────────────────┬───────┐
        │ operation        ┆ count │
        ╞══════════════════╪═══════╡
        │ stablehlo.add    ┆     1 │
        │ stablehlo.return ┆     1 │
        └──────────────────┴───────┘

        no custom calls
    "#]],
    );
    folder.prints(&["compile", "double.hlo", "-o", "double.plan"], expect![[""]]);
    folder.prints(
        &["run", "double.plan", "--fill", "ones"],
        expect![[r#"
        out0  f32[2,3]
        [[2.0, 2.0, 2.0],
         [2.0, 2.0, 2.0]]
    "#]],
    );
}

#[test]
fn a_program_has_many_texts() {
    let folder = Folder::new().with("double.hlo", DOUBLE);
    folder.prints(
        &["convert", "double.hlo", "--to", "stablehlo"],
        expect![[r#"
        module @jit_double {
          func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
            %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
            return %0 : tensor<2x3xf32>
          }
        }
    "#]],
    );
    folder.prints(
        &["convert", "double.hlo", "--to", "stablehlo-generic"],
        expect![[r#"
        "builtin.module"() <{sym_name = "jit_double"}> ({
          "func.func"() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
          ^bb0(%arg0: tensor<2x3xf32>):
            %0 = "stablehlo.add"(%arg0, %arg0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
            "func.return"(%0) : (tensor<2x3xf32>) -> ()
          }) : () -> ()
        }) : () -> ()
    "#]],
    );
    folder.prints(
        &["convert", "double.hlo", "--to", "hlo"],
        expect![[r#"
            HloModule jit_double, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}

            ENTRY %main {
              %Arg.1 = f32[2,3]{1,0} parameter(0)
              ROOT %add.2 = f32[2,3]{1,0} add(%Arg.1, %Arg.1), metadata={op_name="jit(double)/add"}
            }

        "#]],
    );
    folder.prints(
        &["convert", "double.hlo", "--to", "json"],
        expect![[r#"
        {
          "attributes": {},
          "functions": [
            {
              "attributes": {},
              "body": {
                "arguments": [
                  {
                    "id": 0,
                    "type": {
                      "dtype": "f32",
                      "mlir": "tensor<2x3xf32>",
                      "shape": [
                        2,
                        3
                      ]
                    }
                  }
                ],
                "instructions": [
                  {
                    "attributes": {},
                    "op": "stablehlo.add",
                    "operands": [
                      0,
                      0
                    ],
                    "results": [
                      {
                        "id": 1,
                        "type": {
                          "dtype": "f32",
                          "mlir": "tensor<2x3xf32>",
                          "shape": [
                            2,
                            3
                          ]
                        }
                      }
                    ]
                  },
                  {
                    "attributes": {},
                    "op": "stablehlo.return",
                    "operands": [
                      1
                    ],
                    "results": []
                  }
                ]
              },
              "name": "main",
              "parameter_attributes": [
                {}
              ],
              "public": true,
              "results": [
                {
                  "attributes": {},
                  "type": {
                    "dtype": "f32",
                    "mlir": "tensor<2x3xf32>",
                    "shape": [
                      2,
                      3
                    ]
                  }
                }
              ]
            }
          ],
          "meshes": [],
          "name": "jit_double",
          "version": 1
        }
    "#]],
    );
}

/// Checks that a program stays the same through a sequence of conversions.
#[test]
fn a_chain_of_conversions_changes_nothing() {
    // StableHLO text is written without locations, which are not part of the program.
    let folder = Folder::new().with("0", DOUBLE.replace(", metadata={op_name=\"jit(double)/add\"}", ""));
    let chain = ["hlo", "stablehlo", "hlo", "stablehlo-generic", "hlo", "stablehlo-generic", "stablehlo"];
    for (i, to) in chain.iter().enumerate() {
        let (from, file) = (i.to_string(), (i + 1).to_string());
        let ended = folder.farcall(["convert", &from, "--to", to, "-o", &file]);
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
    }
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("1"), read("3"));
    assert_eq!(read("1"), read("5"));
    assert_eq!(read("2"), read("7"));
    assert_eq!(read("4"), read("6"));
}

#[test]
fn what_cannot_be_converted_is_named() {
    let quantized = "func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
  return %x : tensor<2x!quant.uniform<i8:f32, 0.5>>
}";
    let folder =
        Folder::new().with("quantized.mlir", quantized).with("typo.hlo", DOUBLE.replace("add(", "adt("));
    folder.fails(&["convert", "quantized.mlir", "--to", "hlo"], expect![[r#"
        error: [no-hlo] HLO has no type tensor<2x!quant.uniform<i8:f32, 0.5>>
         --> quantized.mlir:1:11
          |
        1 | func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>> {
          |           ^^^^^
    "#]]);
    folder.fails(
        &["convert", "typo.hlo", "--to", "stablehlo"],
        expect![[r#"
        error: [unknown-op] unknown opcode adt
         --> typo.hlo:5:30
          |
        5 |   ROOT add.2 = f32[2,3]{1,0} adt(x.1, x.1), metadata={op_name="jit(double)/add"}
          |                              ^^^
          |
          = note: did you mean add?
    "#]],
    );
    let ended = folder.farcall(["convert", "typo.hlo", "--to", "stablehl"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("'stablehlo'"), "{}", ended.stderr);
    let ended = folder.farcall(["completions", "bash"]);
    assert!(ended.stdout.contains("stablehlo-generic"));
}

/// Checks that portable artifacts and files of `jax.export` are recognized by their content.
#[test]
fn artifacts_are_programs() {
    let artifacts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../farcall-ir/tests/artifacts");
    let folder = Folder::new().with("cut.mlirbc", b"ML\xefR\x0d");
    for (artifact, text) in [("shapes.1_0_0.mlirbc", "shapes.mlir"), ("calls.bin", "calls.bin.mlir")] {
        let converted = |name: &str| {
            let path = artifacts.join(name);
            let ended =
                folder.farcall(["convert".as_ref(), path.as_os_str(), "--to".as_ref(), "stablehlo".as_ref()]);
            (ended.code, ended.stdout, ended.stderr)
        };
        assert_eq!(converted(artifact), converted(text), "{artifact}");
    }
    folder.fails(
        &["run", "cut.mlirbc"],
        expect![[r#"
        error: [bytecode] at byte 5 of cut.mlirbc, in the header: a text without an end
    "#]],
    );
}

#[test]
fn artifacts_are_written() {
    let folder = Folder::new().with("double.hlo", DOUBLE);
    folder.prints(&["convert", "double.hlo", "--to", "artifact", "-o", "double.mlirbc"], expect![[""]]);
    let bytes = std::fs::read(folder.path("double.mlirbc")).unwrap();
    assert!(bytes.starts_with(b"ML\xefR\x03StableHLO_v1.0.0\0"), "{bytes:x?}");
    let text = |file: &str| folder.farcall(["convert", file, "--to", "stablehlo"]).stdout;
    assert_eq!(text("double.mlirbc"), text("double.hlo"));
    // Other engines read artifacts, so an operation that only farcall supports is rejected.
    let folder = folder.with(
        "wraps.mlir",
        r#"func.func @main(%x: tensor<3xf32>, %i: tensor<2x1xi32>) -> tensor<2xf32> {
  %0 = "farcall.wrapping_gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>, wrap = array<i64: 3>}> : (tensor<3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#,
    );
    folder.fails(&["convert", "wraps.mlir", "--to", "artifact"], expect![[r#"
        error: [form-operation] farcall.wrapping_gather is an operation of the middle form, not of programs
         --> wraps.mlir:2:8
          |
        2 |   %0 = "farcall.wrapping_gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0]
          |        ^^^^^^^^^^^^^^^^^^^^^^^^^
    "#]]);
}

#[test]
fn one_function_of_several_is_converted() {
    let functions = "func.func @a(%x: tensor<f32>) -> tensor<f32> {
  %0 = call @help(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @b(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
func.func private @help(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
";
    let folder = Folder::new().with("two.mlir", functions);
    folder.fails(
        &["run", "two.mlir", "-i", "1"],
        expect![[r#"
        error: [no-entry] there is no @main: choose a function (--entry NAME)
         |
         = note: the functions are @a, @b
    "#]],
    );
    let ended = folder.farcall(["convert", "two.mlir", "--to", "hlo", "--entry", "a", "-o", "a.hlo"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(folder.farcall(["run", "a.hlo", "-i", "-inf"]).stdout, "out0  f32[]\n-inf\n");
    let text = folder.farcall(["convert", "two.mlir", "--to", "stablehlo", "--entry", "a"]).stdout;
    assert!(text.contains("public @a") && text.contains("private @help") && !text.contains("@b"), "{text}");
}

#[test]
fn functions_of_chlo_are_expanded_in_artifacts() {
    let erf = "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
  %0 = chlo.erf %a : tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
";
    let folder = Folder::new().with("erf.mlir", erf).with("open.mlir", erf.replace("<3x", "<?x"));
    let ended = folder.farcall(["convert", "erf.mlir", "--to", "artifact", "-o", "erf.mlirbc"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let input = ["-i", "[-0.25, 1, nan]"];
    let [native, expanded] = ["erf.mlir", "erf.mlirbc"]
        .map(|program| folder.farcall(["run", program].iter().chain(&input)).stdout);
    assert!(
        native.contains("-0.27632") && expanded.contains("-0.27632") && expanded.contains("NaN"),
        "{expanded}"
    );
    folder.fails(&["convert", "open.mlir", "--to", "artifact", "-o", "open.mlirbc"], expect![[r#"
        error: [unsupported] chlo.erf: artifacts have operations of StableHLO only, which can express this one for static shapes and real numbers only
         --> open.mlir:2:8
          |
        2 |   %0 = chlo.erf %a : tensor<?xf32> -> tensor<?xf32>
          |        ^^^^^^^^
    "#]]);
}
