//! Output about the work of compiling and running: profiles, traces, explanations of plans, benchmarks.

use expect_test::expect;
use serde_json::Value;

use crate::folder::{Folder, LIBRARY};

/// A loop whose body is a fusion that runs on several threads. An operation with a location follows the loop.
const LOOP: &str = "\
func.func @main(%x: tensor<300000xf32>, %n: tensor<i32>) -> tensor<300000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<300000xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %t = stablehlo.tanh %y : tensor<300000xf32>
      %u = stablehlo.add %t, %y : tensor<300000xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %u : tensor<i32>, tensor<300000xf32>
    }
  %s = stablehlo.reverse %0#1, dims = [0] : tensor<300000xf32> loc(\"jit(f)/rev\")
  return %s : tensor<300000xf32>
}
";

/// Warning that a debug build prints before the times.
const DEBUG_BUILD: &str = if cfg!(debug_assertions) {
    "warning: this is a debug build: its times are not representative of farcall's speed\n"
} else {
    ""
};

/// A loop of three iterations.
fn looping() -> Folder {
    let three = 3i32.to_le_bytes();
    Folder::new().with("p.mlir", LOOP).with_npy("n.npy", "<i4", "()", &three)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_profile_says_what_each_step_took() {
    let folder = looping();
    let args = ["run", "p.mlir", "-i", "rand", "-i", "n.npy", "--quiet", "--repeat", "2"];
    let ended = folder.farcall(args.iter().chain(&["--profile"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (0, DEBUG_BUILD));
    for word in ["profile of 2 runs", "fusion tanh add", "%u at 10:12", "(jit(f)/rev)", "between steps"] {
        assert!(ended.stdout.contains(word), "no {word} in {}", ended.stdout);
    }
    let ended = folder.farcall(args.iter().chain(&["--profile=json"]));
    let profile = &json(&ended.stdout)["profile"];
    assert_eq!(profile["runs"].as_array().unwrap().len(), 2);
    let thunks = profile["thunks"].as_array().unwrap();
    let named = |kind: &str, detail: &str| {
        let mut found = thunks.iter().filter(|t| t["kind"] == kind && t["detail"] == detail);
        found.next().unwrap_or_else(|| panic!("no {kind} {detail} in {profile:#}"))
    };
    let (around, inside) = (named("while", ""), named("fusion", "tanh add"));
    // Two runs of three iterations.
    assert_eq!((&around["calls"], &inside["calls"]), (&2.into(), &6.into()));
    assert_eq!(inside["parent"], around["thunk"]);
    assert_eq!((&inside["bytes"], &inside["flops"]), (&2_400_000.into(), &600_000.into()));
    assert_eq!(named("reverse", "")["location"], "jit(f)/rev");
    let seconds = |value: &Value, key: &str| value[key].as_f64().unwrap();
    assert!(seconds(around, "total_seconds") >= seconds(inside, "total_seconds"));
    let own: f64 = thunks.iter().map(|t| seconds(t, "own_seconds")).sum();
    let all = own + seconds(profile, "seconds_between_thunks");
    let runs: f64 = profile["runs"].as_array().unwrap().iter().map(|run| run.as_f64().unwrap()).sum();
    assert!(
        (all - runs).abs() < 1e-6 && own > 0.0,
        "steps take {own} s, with the time between them {all} s; the runs take {runs} s"
    );
}

#[test]
fn a_plan_from_a_file_is_profiled_with_its_locations() {
    let folder = looping();
    assert_eq!(folder.farcall(["compile", "p.mlir", "-o", "p.plan"]).code, 0);
    let ended = folder.farcall(["run", "p.plan", "-i", "rand", "-i", "n.npy", "-q", "--profile"]);
    assert!(ended.stdout.contains("%s at 14:8 (jit(f)/rev)"), "{}", ended.stdout);
}

#[test]
fn a_trace_is_in_the_format_that_perfetto_opens() {
    let folder = looping();
    let args = ["run", "p.mlir", "-i", "rand", "-i", "n.npy", "--quiet", "--trace", "trace.json"];
    let ended = folder.farcall(args);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", DEBUG_BUILD));
    let trace = json(&std::fs::read_to_string(folder.path("trace.json")).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |category: &str| -> Vec<&Value> { events.iter().filter(|e| e["cat"] == category).collect() };
    for event in events {
        assert!(event["name"].is_string() && event["pid"].is_number() && event["tid"].is_number(), "{event}");
        match event["ph"].as_str().unwrap() {
            "X" => assert!(event["ts"].is_number() && event["dur"].as_f64().unwrap() >= 0.0, "{event}"),
            "M" => assert!(event["args"].is_object(), "{event}"),
            other => panic!("unexpected phase {other}"),
        }
    }
    let end = |event: &Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
    let within = |inner: &Value, outer: &Value| {
        inner["ts"].as_f64() >= outer["ts"].as_f64() && end(inner) <= end(outer) + 0.001
    };
    let (run, around, fusions, tasks) = (of("run"), of("while"), of("fusion"), of("task"));
    assert_eq!((run.len(), around.len(), fusions.len()), (1, 1, 3));
    assert!(within(around[0], run[0]) && fusions.iter().all(|f| within(f, around[0])));
    assert!(tasks.len() > 3 && tasks.iter().all(|task| within(task, run[0])));
    assert_eq!(fusions[0]["args"]["from"], "%u at 10:12");
    assert_eq!(fusions[0]["args"]["results"][0], "f32[300000]");
    // Every thread with events has a name.
    let named: Vec<&Value> =
        events.iter().filter(|e| e["name"] == "thread_name").map(|e| &e["tid"]).collect();
    assert!(events.iter().all(|e| named.contains(&&e["tid"])), "only these threads have names: {named:?}");
}

#[test]
fn handlers_are_steps_by_their_names() {
    let program = "\
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @test.triple(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
";
    let folder = Folder::new().with("p.mlir", program);
    let library = LIBRARY.display().to_string();
    let args = ["run", "p.mlir", "--load", &library, "-i", "ones", "-q", "--trace", "t.json", "--profile"];
    let ended = folder.farcall(args);
    assert!(ended.stdout.contains("custom_call @test.triple"), "{}{}", ended.stdout, ended.stderr);
    let trace = json(&std::fs::read_to_string(folder.path("t.json")).unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(
        events.iter().any(|e| e["name"] == "custom_call @test.triple" && e["cat"] == "custom_call"),
        "{trace}"
    );
}

/// A program with one unfused operation for each reason that can keep an operation out of fusions in a small
/// program.
const APART: &str = "\
func.func @main(%x: tensor<8xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.sine %x : tensor<8xf32>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %c = stablehlo.divide %a, %b : tensor<8xf32>
  %h = stablehlo.pad %c, %z, low = [0], high = [-4], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  %k = stablehlo.cosine %h : tensor<4xf32>
  %j = stablehlo.constant dense<3.0> : tensor<8xf32>
  %l = chlo.next_after %x, %j : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %m = chlo.next_after %j, %l : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %i = stablehlo.iota dim = 0 : tensor<2xi32>
  return %s, %c, %k, %m, %i : tensor<f32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<2xi32>
}
";

#[test]
fn a_plan_is_explained_for_chosen_passes() {
    let program = "\
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.exponential %x : tensor<8xf32>
  %1 = stablehlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}
";
    let folder = Folder::new().with("p.mlir", program);
    let steps = |passes: &[&str]| {
        let ended = folder.farcall([&["inspect", "p.mlir", "--plan", "--json"], passes].concat());
        let json: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        json["plan"]["steps"].as_array().unwrap().len()
    };
    assert_eq!((steps(&[]), steps(&["--passes", "needed"])), (1, 2));
    folder.fails(
        &["inspect", "p.mlir", "--passes", "needed"],
        expect![[r#"
        error: --passes is for --why and --plan, which compile the program
    "#]],
    );
}

#[test]
fn a_plan_is_explained() {
    let folder = Folder::new().with("p.mlir", APART);
    let ended = folder.farcall(["inspect", "p.mlir", "--plan"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
    let steps = ended.stdout.find(" steps\n").unwrap_or_else(|| panic!("{}", ended.stdout));
    let from = ended.stdout[..steps].rfind('\n').unwrap();
    expect![[r#"

        5 steps
        ┌──────┬───────────┬────────────────────────────────────────────────────────────┬───────────────┬──────────────┬────────────┐
        │ step ┆ runs on   ┆ operation                                                  ┆ results       ┆ places       ┆ from       │
        ╞══════╪═══════════╪════════════════════════════════════════════════════════════╪═══════════════╪══════════════╪════════════╡
        │    0 ┆ fusion    ┆ 5 operations: sine constant reduce broadcast_in_dim divide ┆ f32[], f32[8] ┆ out0, out1   ┆ %c at 6:8  │
        │    1 ┆ fusion    ┆ 3 operations: constant pad cosine                          ┆ f32[4]        ┆ out2         ┆ %k at 8:8  │
        │    2 ┆ evaluator ┆ chlo.next_after                                            ┆ f32[8]        ┆ arena[0..32] ┆ %l at 10:8 │
        │    3 ┆ evaluator ┆ chlo.next_after                                            ┆ f32[8]        ┆ out3         ┆ %m at 11:8 │
        │    4 ┆ iota      ┆ dim 0                                                      ┆ s32[2]        ┆ out4         ┆ %i at 12:8 │
        └──────┴───────────┴────────────────────────────────────────────────────────────┴───────────────┴──────────────┴────────────┘

        2 steps on the reference evaluator
          2  reference chlo.next_after f32[8], %l at 10:8 (the operation has no kernel)
          3  reference chlo.next_after f32[8], %m at 11:8 (the operation has no kernel)

        2 fusions
        ┌──────┬──────────────────┬─────────┬───────────┐
        │ step ┆ members          ┆ results ┆ from      │
        ╞══════╪══════════════════╪═════════╪═══════════╡
        │    0 ┆ sine             ┆ f32[8]  ┆ %a at 3:8 │
        │      ┆ constant         ┆ f32[]   ┆ %z at 2:8 │
        │      ┆ reduce           ┆ f32[]   ┆ %s at 4:8 │
        │      ┆ broadcast_in_dim ┆ f32[8]  ┆ %b at 5:8 │
        │      ┆ divide           ┆ f32[8]  ┆ %c at 6:8 │
        │    1 ┆ constant         ┆ f32[]   ┆ %z at 2:8 │
        │      ┆ pad              ┆ f32[4]  ┆ %h at 7:8 │
        │      ┆ cosine           ┆ f32[4]  ┆ %k at 8:8 │
        └──────┴──────────────────┴─────────┴───────────┘

        3 elementwise operations outside of fusions
        ┌────────────────────────┬────────────┬────────────────────────────────────────────┬────────┐
        │ operation              ┆ from       ┆ why not                                    ┆ beside │
        ╞════════════════════════╪════════════╪════════════════════════════════════════════╪════════╡
        │ chlo.next_after f32[8] ┆ %l at 10:8 ┆ fusions do not have chlo.next_after of f32 ┆        │
        │ chlo.next_after f32[8] ┆ %m at 11:8 ┆ fusions do not have chlo.next_after of f32 ┆        │
        │ iota s32[2]            ┆ %i at 12:8 ┆ it is a result of the program              ┆        │
        └────────────────────────┴────────────┴────────────────────────────────────────────┴────────┘

        fusion boundaries
        ┌───────┬─────────────────────────┬──────────────────────────┬───────────────────────────────────┐
        │ steps ┆ producer                ┆ consumer                 ┆ reason                            │
        ╞═══════╪═════════════════════════╪══════════════════════════╪═══════════════════════════════════╡
        │ 0 → 1 ┆ reduce f32[], %s at 4:8 ┆ cosine f32[4], %k at 8:8 ┆ it has 4 elements, its neighbor 1 │
        └───────┴─────────────────────────┴──────────────────────────┴───────────────────────────────────┘

        peak memory 188 B: inputs 32 B, results 92 B, constants 32 B, arena 32 B (of which at most 32 B are in use at once, in step 2)
        ┌──────────────┬──────┬───────┬────────────────────────────────────┐
        │ place        ┆ size ┆ steps ┆ holds                              │
        ╞══════════════╪══════╪═══════╪════════════════════════════════════╡
        │ arena[0..32] ┆ 32 B ┆   2–3 ┆ chlo.next_after f32[8], %l at 10:8 │
        │ out0         ┆  4 B ┆ 0–end ┆ reduce f32[], %s at 4:8            │
        │ out1         ┆ 32 B ┆ 0–end ┆ divide f32[8], %c at 6:8           │
        │ out2         ┆ 16 B ┆ 1–end ┆ cosine f32[4], %k at 8:8           │
        │ out3         ┆ 32 B ┆ 3–end ┆ chlo.next_after f32[8], %m at 11:8 │
        │ out4         ┆  8 B ┆ 4–end ┆ iota s32[2], %i at 12:8            │
        └──────────────┴──────┴───────┴────────────────────────────────────┘

        no custom calls
    "#]]
    .assert_eq(&ended.stdout[from..]);
}

#[test]
fn an_explanation_is_data_too() {
    let folder = looping();
    let ended = folder.farcall(["inspect", "p.mlir", "--plan", "--json"]);
    let plan = &json(&ended.stdout)["plan"];
    let steps = plan["steps"].as_array().unwrap();
    let fusion = steps.iter().find(|s| s["kind"] == "fusion").unwrap_or_else(|| panic!("{plan:#}"));
    let members: Vec<&Value> = fusion["members"].as_array().unwrap().iter().map(|m| &m["op"]).collect();
    assert_eq!(members, ["tanh", "add"]);
    let around = &steps[fusion["parent"].as_u64().unwrap() as usize];
    assert_eq!((&around["kind"], &around["runs_on"]), (&"while".into(), &"while".into()));
    let number = |value: &Value, key: &str| {
        value[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {value}"))
    };
    assert!(number(plan, "arena_peak_bytes") <= number(plan, "arena_bytes"));
    let parts =
        ["input_bytes", "result_bytes", "constant_bytes", "arena_bytes"].map(|part| number(plan, part));
    assert_eq!(number(plan, "peak_bytes"), parts.iter().sum::<u64>());
    for buffer in plan["buffers"].as_array().unwrap() {
        let (first, last) = (buffer["first_step"].as_u64(), buffer["last_step"].as_u64());
        assert!(last.is_none_or(|last| first <= Some(last)), "{buffer}");
        if buffer["place"]["in"] == "arena" {
            let place = &buffer["place"];
            assert!(
                number(place, "offset") + number(place, "size") <= number(plan, "arena_bytes"),
                "{buffer}"
            );
        }
    }
    assert_eq!(number(plan, "result_bytes"), 1_200_000);
}

#[test]
fn steps_on_the_evaluator_are_named_with_the_reason() {
    let clamp = "\
func.func @main(%x: tensor<9xcomplex<f32>>) -> tensor<9xcomplex<f32>> {
  %0 = stablehlo.clamp %x, %x, %x : tensor<9xcomplex<f32>>
  return %0 : tensor<9xcomplex<f32>>
}
";
    let folder = Folder::new().with("p.mlir", clamp);
    let named = "reference clamp c64[9], %0 at 2:8 (no kernel for c64)";
    let commands: [&[&str]; 2] =
        [&["inspect", "p.mlir", "--plan"], &["run", "p.mlir", "--profile", "--fill", "ones"]];
    for args in commands {
        let ended = folder.farcall(args);
        assert!(ended.stdout.contains("\n1 step on the reference evaluator\n"), "{}", ended.stdout);
        assert!(ended.stdout.contains(named), "{}", ended.stdout);
    }
    let ended = folder.farcall(["inspect", "p.mlir", "--plan", "--json"]);
    assert_eq!(json(&ended.stdout)["plan"]["steps"][0]["no_kernel"], "no kernel for c64");
    // Short runs give no warning.
    let ended = folder.farcall(["run", "p.mlir", "--fill", "ones"]);
    assert_eq!(ended.code, 0);
    assert!(!ended.stderr.contains("reference evaluator"), "{}", ended.stderr);
}

#[test]
fn what_is_compiled_already_is_not_explained() {
    let folder = looping();
    assert_eq!(folder.farcall(["compile", "p.mlir", "-o", "p.plan"]).code, 0);
    folder.fails(&["inspect", "p.plan", "--plan"], expect![[r#"
        error: p.plan is compiled: --plan explains the compilation of a program; `farcall run p.plan --dump plan` shows its steps
    "#]]);
    folder.fails(
        &["inspect", "p.mlir", "--fill", "rand"],
        expect![[r#"
        error: --input and --fill are for --why and --plan, which compile the program for them
    "#]],
    );
}

#[test]
fn a_benchmark_compares_a_program_with_the_machine() {
    let folder = looping();
    let short = ["--warm-up", "0.01", "--runs", "7"];
    let args = ["bench", "p.mlir", "-i", "rand", "-i", "n.npy", "--threads", "1"];
    let ended = folder.farcall(args.iter().chain(&short));
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for word in ["1 thread, 7 runs", "median", "p99", "compile, once", "triad", "f32 FMA", "2.29 MiB"] {
        assert!(ended.stdout.contains(word), "no {word} in {}", ended.stdout);
    }
    let ended = folder.farcall(args.iter().chain(&short).chain(&["--json"]));
    let report = json(&ended.stdout);
    let number = |path: &str| {
        report
            .pointer(path)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("no number {path} in {report:#}"))
    };
    let parts = ["min", "median", "p90", "p99", "max"].map(|part| number(&format!("/run_seconds/{part}")));
    assert!(parts.is_sorted() && parts[0] > 0.0, "times {parts:?}");
    assert_eq!((number("/measurements"), number("/runs_per_measurement")), (7.0, 1.0));
    assert_eq!(number("/working_set_bytes"), 2_400_004.0);
    // Each of the three iterations has a tanh and an addition of tensors, and an addition of scalars. The
    // condition, a comparison, is evaluated four times.
    assert_eq!(number("/flops"), 3.0 * 600_001.0 + 4.0);
    let rate = number("/flops") / number("/run_seconds/median");
    assert!((number("/flops_per_second") / rate - 1.0).abs() < 1e-6);
    assert!(number("/limits/triad_bytes_per_second") > 1e6 && number("/limits/fma_flops_per_second") > 1e6);
    assert!(number("/compile_seconds") > 0.0);
}

#[test]
fn plans_are_measured_too_and_mistakes_are_errors() {
    let folder = looping();
    assert_eq!(folder.farcall(["compile", "p.mlir", "-o", "p.plan"]).code, 0);
    let ended = folder.farcall([
        "bench",
        "p.plan",
        "-i",
        "rand",
        "-i",
        "n.npy",
        "--warm-up",
        "0.01",
        "--time",
        "0.05",
    ]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for (wrong, code, word) in [
        (&["bench", "p.plan", "--entry", "f"][..], 1, "is a compiled plan: --entry"),
        (&["bench", "nowhere.mlir"], 1, "cannot read nowhere.mlir"),
        (&["bench", "p.mlir", "-i", "rand", "-i", "rand", "-i", "rand"], 1, "takes 2 arguments"),
        (&["bench", "p.mlir", "--threads", "0"], 2, "--threads"),
        (&["bench", "p.mlir", "--time", "0"], 2, "more than zero"),
        (&["bench", "p.mlir", "--thread", "2"], 2, "'--threads"),
    ] {
        let ended = folder.farcall(wrong);
        assert_eq!(ended.code, code, "{wrong:?} {}", ended.stderr);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}

#[test]
fn what_cannot_be_shown_is_an_error() {
    let folder = looping();
    let with = |more: &[&'static str]| {
        let args = ["run", "p.mlir", "-i", "rand", "-i", "n.npy", "--quiet"];
        args.into_iter().chain(more.iter().copied()).collect::<Vec<&str>>()
    };
    folder.fails(
        &with(&["--trace", "nowhere/t.json"]),
        expect![[r#"
        error: cannot write nowhere/t.json: there is no folder nowhere
    "#]],
    );
    folder.fails(
        &with(&["--trace", "."]),
        expect![[r#"
        error: cannot write .: it is a folder
    "#]],
    );
    for (wrong, word) in [
        (&["--profile=jsn"][..], "json"),
        (&["--profil"], "--profile"),
        (&["--profile", "--evaluator"], "--evaluator"),
        (&["--trace", "t.json", "--evaluator"], "--evaluator"),
    ] {
        let ended = folder.farcall(with(wrong));
        assert_eq!(ended.code, 2, "{wrong:?}");
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
    }
}
