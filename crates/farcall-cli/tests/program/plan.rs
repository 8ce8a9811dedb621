//! `farcall compile`, plans in place of programs, and `--dump` of the middle form.

use expect_test::expect;

use crate::folder::{Folder, LIBRARY};

const AFFINE: &str = "\
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  %2 = stablehlo.add %x, %0 : tensor<2x3xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
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

/// Returns a folder with the program `p.mlir`, compiled to `p.plan`.
fn compiled(program: &str, args: &[&str]) -> Folder {
    let folder = Folder::new().with("p.mlir", program);
    let ended = folder.farcall([&["compile", "p.mlir", "-o", "p.plan"], args].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{}", ended.stderr);
    folder
}

#[test]
fn a_plan_runs_as_its_program_does() {
    let folder = compiled(AFFINE, &[]);
    let program = folder.farcall(["run", "p.mlir", "-i", "iota"]);
    let plan = folder.farcall(["run", "p.plan", "-i", "iota", "-o", "results"]);
    assert_eq!(program.stdout, plan.stdout, "{}", plan.stderr);
    assert!(folder.path("results/out0.npy").exists());
    let dumps = ["p.mlir", "p.plan"].map(|p| folder.farcall(["run", p, "--dump", "plan"]).stdout);
    assert_eq!(dumps[0], dumps[1]);
    assert!(dumps[0].starts_with("plan: arena"), "{}", dumps[0]);
    let stats = folder.farcall(["run", "p.plan", "--fill", "rand", "--stats", "--quiet"]);
    assert!(stats.stdout.contains("bind") && stats.stdout.contains("fusion thunks"), "{}", stats.stdout);
    // No other files remain beside the plan.
    let mut names: Vec<_> =
        std::fs::read_dir(folder.0.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["p.mlir", "p.plan", "results"]);
}

#[test]
fn a_plan_is_inspected() {
    let folder = compiled(AFFINE, &["--denormals", "flush"]);
    folder.prints(
        &["inspect", "p.plan"],
        expect![[r#"
            plan p.plan, of p.mlir
              in0   f32[2,3]
              out0  f32[2,3]

            ┌───────────────┬───────┐
            │ plan          ┆       │
            ╞═══════════════╪═══════╡
            │ platform      ┆  Host │
            │ arena         ┆   0 B │
            │ constants     ┆   0 B │
            │ denormals     ┆ flush │
            │ semantics     ┆   xla │
            │ fusion thunks ┆     1 │
            └───────────────┴───────┘

            no custom calls
        "#]],
    );
    let json = folder.farcall(["inspect", "p.plan", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["denormals"], "flush");
    assert_eq!(json["program"], "p.mlir");
    assert_eq!(json["inputs"][0]["shape"], serde_json::json!([2, 3]));
}

#[test]
fn libraries_are_loaded_for_a_plan_again() {
    let library = LIBRARY.to_str().unwrap();
    let folder = compiled(&calling("test.triple"), &["--load", library]);
    let program = folder.farcall(["run", "p.mlir", "-i", "ones", "--load", library]);
    let plan = folder.farcall(["run", "p.plan", "-i", "ones", "--load", library]);
    assert_eq!((program.code, program.stdout), (0, plan.stdout), "{}", plan.stderr);
    folder.fails(&["run", "p.plan", "-i", "ones"], expect![[r#"
        error: [missing_target] no target `test.triple` is registered for the platform Host
         --> p.mlir:2:8
          |
        2 |   %0 = stablehlo.custom_call @test.triple(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>
          |        ^^^^^^^^^^^^^^^^^^^^^
          |
          = note: load the library that has it: --load LIB; if the library does not register it, --load LIB --target test.triple=SYMBOL; see: farcall guide running-programs
    "#]]);
    let shown = folder.farcall(["inspect", "p.plan"]).stdout;
    assert!(shown.contains("1 custom call") && shown.contains("not found"), "{shown}");
}

#[test]
fn sizes_are_those_of_the_inputs_at_compile_time() {
    let program = "\
func.func @main(%x: tensor<?x2xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
";
    let folder = compiled(program, &["-i", "zeros:f32[1,2]"]);
    folder.prints(
        &["run", "p.plan", "-i", "ones"],
        expect![[r#"
        out0  f32[1,4]
        [[1.0, 1.0, 1.0, 1.0]]
    "#]],
    );
    folder.fails(
        &["run", "p.plan", "-i", "ones:f32[3,2]"],
        expect![[r#"
        error: argument 0 of p.plan: it is f32[3,2], but f32[1,2] is expected
    "#]],
    );
    folder.fails(
        &["run", "p.plan"],
        expect![[r#"
        error: p.plan takes 1 argument (f32[1,2]), 0 given
        Give a .npy file for each with --input FILE, or make the missing ones with --fill rand
    "#]],
    );
}

#[test]
fn a_missing_target_of_a_program_without_text_has_a_place() {
    let library = LIBRARY.to_str().unwrap();
    let program = "\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = call @f(%0) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @test.triple(%x) {api_version = 4 : i32, backend_config = {}}
    : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
";
    let folder = Folder::new().with("p.mlir", program);
    let converted = folder.farcall(["convert", "p.mlir", "--to", "artifact", "-o", "p.mlirbc"]);
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    let compiled = folder.farcall(["compile", "p.mlirbc", "-o", "p.plan", "--load", library]);
    assert_eq!(compiled.code, 0, "{}", compiled.stderr);
    // A call in a function that is inlined twice is reported once.
    for file in ["p.mlirbc", "p.plan"] {
        let ended = folder.farcall(["run", file, "-i", "ones"]);
        assert_eq!((ended.code, ended.stderr.matches("no target `test.triple`").count()), (1, 1), "{file}");
    }
    let exported = concat!(env!("CARGO_MANIFEST_DIR"), "/../farcall-ir/tests/artifacts/calls.bin");
    folder.fails(&["run", exported], expect![[r#"
        error: [missing_target] no target `my_target` is registered for the platform Host
        --> jit(calls)/ffi_call at make.py:54:66
         = note: load the library that has it: --load LIB; if the library does not register it, --load LIB --target my_target=SYMBOL; see: farcall guide running-programs
    "#]]);
}

#[test]
fn what_cannot_be_asked_of_a_plan_is_an_error() {
    let folder = compiled(AFFINE, &[]).with("old.plan", b"\x89FCPLAN\n\x63\0\0\0\x05\0\0\09.9.9rest");
    folder.fails(&["run", "p.plan", "--entry", "main", "--passes", "cse"], expect![[r#"
        error: p.plan is a compiled plan: --entry or --passes has an effect only when a program is compiled (`farcall compile`)
    "#]]);
    folder.fails(
        &["run", "p.plan", "--evaluator"],
        expect![[r#"
        error: p.plan is a compiled plan, which the evaluator cannot run; give the program instead
    "#]],
    );
    folder.fails(
        &["run", "p.plan", "--dump", "form"],
        expect![[r#"
        error: p.plan is a compiled plan: only `--dump plan` can show it; `--dump form` needs the original program
    "#]],
    );
    folder.fails(
        &["inspect", "p.plan", "--entry", "main"],
        expect![[r#"
        error: p.plan is a compiled plan of one function: --entry has no effect
    "#]],
    );
    folder.fails(
        &["inspect", "p.plan", "--passes", "needed"],
        expect![[r#"
            error: --passes is for --why and --plan, which compile the program
        "#]],
    );
    folder.fails(
        &["compile", "p.plan", "-o", "q.plan"],
        expect![[r#"
        error: p.plan is a compiled plan already
    "#]],
    );
    folder.fails(&["run", "old.plan"], expect![[r#"
        error: old.plan: the plan has format 99 (written by farcall 9.9.9), but farcall 0.1.0 reads format 11; compile the program again
    "#]]);
    let bytes = std::fs::read(folder.path("p.plan")).unwrap();
    let folder = folder.with("cut.plan", &bytes[..bytes.len() / 2]);
    let ended = folder.farcall(["run", "cut.plan"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.starts_with("error: cut.plan: the plan is incomplete: it ends at byte "));
    let ended = folder.farcall(["test", "p.plan"]);
    assert_ne!(ended.code, 0);
}

#[test]
fn a_failure_leaves_the_old_plan() {
    let folder = compiled(AFFINE, &[]).with("bad.mlir", calling("nowhere"));
    let before = std::fs::read(folder.path("p.plan")).unwrap();
    assert_eq!(folder.farcall(["compile", "bad.mlir", "-o", "p.plan"]).code, 1);
    assert_eq!(std::fs::read(folder.path("p.plan")).unwrap(), before);
    folder.fails(
        &["compile", "p.mlir", "-o", "no/where.plan"],
        expect![[r#"
        error: cannot write no/where.plan: there is no folder no
    "#]],
    );
    folder.fails(
        &["compile", "p.mlir", "-o", "."],
        expect![[r#"
        error: cannot write .: it is a folder
    "#]],
    );
    assert_eq!(folder.farcall(["compile", "p.mlir"]).code, 2);
}

#[test]
fn the_middle_form_is_shown() {
    let folder = Folder::new().with("p.mlir", AFFINE);
    folder.prints(
        &["run", "p.mlir", "--dump", "build"],
        expect![[r#"
        module {
          func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
            %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
            %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
            %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
            %2 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
            %3 = stablehlo.multiply %1, %2 : tensor<2x3xf32>
            return %3 : tensor<2x3xf32>
          }
        }
    "#]],
    );
    folder.prints(
        &["compile", "p.mlir", "--dump", "cse"],
        expect![[r#"
            // after cse, pass 14 of 32
            module {
              func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<2x3xf32>
                %0 = stablehlo.add %arg0, %cst_0 : tensor<2x3xf32>
                %1 = stablehlo.multiply %0, %0 : tensor<2x3xf32>
                return %1 : tensor<2x3xf32>
              }
            }

            // after cse, pass 18 of 32
            module {
              func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<2x3xf32>
                %0 = stablehlo.add %arg0, %cst : tensor<2x3xf32>
                %1 = stablehlo.multiply %0, %0 : tensor<2x3xf32>
                return %1 : tensor<2x3xf32>
              }
            }
        "#]],
    );
    folder.prints(
        &["run", "p.mlir", "--dump", "cse", "--passes", "cse, dce"],
        expect![[r#"
            // after cse, pass 1 of 7
            module {
              func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
                %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
                %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
                %1 = stablehlo.add %arg0, %0 : tensor<2x3xf32>
                %2 = stablehlo.multiply %1, %1 : tensor<2x3xf32>
                return %2 : tensor<2x3xf32>
              }
            }
        "#]],
    );
    let form = folder.farcall(["run", "p.mlir", "--dump", "form"]).stdout;
    assert_eq!(form.matches("stablehlo.add").count(), 1, "{form}");
    let form = folder.farcall(["run", "p.mlir", "--dump", "form", "--passes", "needed"]).stdout;
    assert_eq!(form.matches("stablehlo.add").count(), 2, "{form}");
    // The passes that always run show the memory locations of values.
    folder.prints(&["run", "p.mlir", "--dump", "assign", "--passes", "dce"], expect![[r#"
        // after assign, pass 6 of 6
        module {
          func.func public @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
            %cst = stablehlo.constant {farcall.places = ["number0"]} dense<1.000000e+00> : tensor<f32>
            %0 = stablehlo.broadcast_in_dim %cst, dims = [] {farcall.places = ["arena[0..24]"]} : (tensor<f32>) -> tensor<2x3xf32>
            %1 = stablehlo.add %arg0, %0 {farcall.places = ["out0"]} : tensor<2x3xf32>
            %2 = stablehlo.add %arg0, %0 {farcall.places = ["arena[0..24]"]} : tensor<2x3xf32>
            %3 = stablehlo.multiply %1, %2 {farcall.places = ["out0"]} : tensor<2x3xf32>
            return %3 : tensor<2x3xf32>
          }
        }
    "#]]);
    // A dumped form is a valid program only if it has no operations of the middle form.
    let form = folder.farcall(["run", "p.mlir", "--dump", "form"]).stdout;
    let folder = folder.with("fused.mlir", form);
    let refused = folder.farcall(["run", "fused.mlir", "-i", "iota"]).stderr;
    assert!(refused.contains("farcall.fusion is an operation of the middle form"), "{refused}");
    let form = folder.farcall(["run", "p.mlir", "--dump", "form", "--passes", "needed"]).stdout;
    let folder = folder.with("form.mlir", form);
    let results = ["p.mlir", "form.mlir"].map(|p| folder.farcall(["run", p, "-i", "iota"]).stdout);
    assert_eq!(results[0], results[1]);
}

#[test]
fn passes_are_listed_and_named() {
    let folder = Folder::new().with("p.mlir", AFFINE);
    folder.prints(
        &["passes"],
        expect![[r#"
            ┌───────────────────┬─────────────────────────────────────────────────────────────────────┐
            │ pass              ┆ what it does                                                        │
            ╞═══════════════════╪═════════════════════════════════════════════════════════════════════╡
            │ buffer_fills      ┆ fills buffers that are written to instead of copying constants      │
            │ canonicalize      ┆ moves constants to the right, drops operations that change nothing  │
            │ constant_folding  ┆ computes small operations on constants                              │
            │ cse               ┆ merges equal operations on equal operands                           │
            │ dce               ┆ drops instructions, carried values and captures that are never read │
            │ double_buffering  ┆ runs two iterations at once to save a copy in each                  │
            │ excess_precision  ┆ keeps bf16 results in f32 if they are only widened, as XLA does     │
            │ expand            ┆ replaces operations that simpler ones define                        │
            │ fuse              ┆ computes operations on corresponding elements together              │
            │ if_conversion     ┆ turns branches of reducers into selects, computes sort keys once    │
            │ licm              ┆ moves loop-invariant computations out of loops                      │
            │ movement_fusion   ┆ fuses chains of broadcasts, reshapes and concatenations             │
            │ negative_indices  ┆ lets gathers and scatters wrap negative indices                     │
            │ outer_products    ┆ computes products of a single term elementwise                      │
            │ product_fusion    ┆ fuses products with their users, by blocks of rows                  │
            │ region_loops      ┆ turns reductions by arbitrary regions into loops over tensors       │
            │ rematerialization ┆ recomputes values where that is cheaper than storing them           │
            │ scatter_updates   ┆ turns scatters of one window into updates of a part                 │
            │ simplify          ┆ applies algebraic rewrite rules                                     │
            │ sink              ┆ moves the creation of large values to just before their users       │
            │ slices            ┆ computes only the parts of values that slices use                   │
            │ transpose_folding ┆ lets products read and write transposed tensors                     │
            │ unroll            ┆ unrolls loops of a few iterations                                   │
            │ widen             ┆ computes element types without kernels in wider ones                │
            │ layouts           ┆ transposes operands and results of calls with other layouts         │
            │ copies            ┆ inserts copies where values must share memory                       │
            │ coalesce          ┆ lets loops and branches write directly to their results             │
            │ donate            ┆ marks inputs whose memory results may take over                     │
            │ assign            ┆ gives every value a place                                           │
            └───────────────────┴─────────────────────────────────────────────────────────────────────┘

            run by default  expand,excess_precision,widen,canonicalize,if_conversion,region_loops,unroll,constant_folding,simplify,scatter_updates,transpose_folding,outer_products,negative_indices,cse,licm,dce,slices,cse,dce,double_buffering,rematerialization,fuse,dce,product_fusion,movement_fusion,buffer_fills,sink
            needed          expand,excess_precision,dce
            always last     layouts,copies,coalesce,donate,assign
        "#]],
    );
    for (args, message) in [
        (["--passes", "cse,licn"], "there is no pass \"licn\"; did you mean licm?"),
        (["--passes", "default,-sinc"], "there is no pass \"sinc\"; did you mean sink?"),
        (["--passes", "defalt"], "there is no pass \"defalt\"; did you mean default?"),
        (
            ["--passes", "cse,copies"],
            "the pass copies cannot be chosen: it always runs, after the chosen passes",
        ),
        (["--dump", "asign"], "there is no stage or pass `asign`; did you mean assign?"),
        (["--dump", "verifed"], "there is no stage or pass `verifed`; did you mean verified?"),
        (["--dump", "nothing"], "expected one of text, verified, refined, build, form, plan,"),
    ] {
        let ended = folder.farcall([&["run", "p.mlir"], &args[..]].concat());
        assert_eq!(ended.code, 2);
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
    folder.fails(
        &["run", "p.mlir", "--dump", "cse", "--passes", "default,-cse,-fuse"],
        expect![[r#"
            error: the pass cse does not run; the passes that run are expand,excess_precision,widen,canonicalize,if_conversion,region_loops,unroll,constant_folding,simplify,scatter_updates,transpose_folding,outer_products,negative_indices,licm,dce,slices,dce,double_buffering,rematerialization,dce,product_fusion,movement_fusion,buffer_fills,sink
        "#]],
    );
    folder.fails(
        &["run", "p.mlir", "--dump", "licm", "--passes", "needed"],
        expect![[r#"
            error: the pass licm does not run; the passes that run are expand,excess_precision,dce
        "#]],
    );
}

/// Checks that a call whose result is never used needs no target.
#[test]
fn a_dead_call_needs_no_target() {
    let folder = Folder::new().with(
        "p.mlir",
        "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @nowhere(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>
  return %x : tensor<3xf32>
}
",
    );
    let ended = folder.farcall(["run", "p.mlir", "-i", "ones", "--quiet"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}
