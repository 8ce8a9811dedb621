//! Runs on several devices: collectives, exchanges, mismatches and failures, on the engine and the evaluator.

use std::sync::Arc;
use std::time::Duration;

use farcall::devices::{Grid, eval_on_devices};
use farcall::ffi::prelude::*;
use farcall::interpreter::{InterpreterHost, Programs};
use farcall::ir::eval::{Denormals, EvalHost, EvalValue, HostCall, HostError, NoHost};
use farcall::ir::verify::verify;
use farcall::ir::{DType, Literal, Module, Source, text};
use farcall::{CompileOptions, Executable, Plan, Registry};

fn grid(replicas: usize, partitions: usize) -> Grid {
    Grid { replicas, partitions }
}

fn parse(program: &str) -> Module {
    text::parse(&Source::new("p.mlir", program)).unwrap()
}

fn numbers(of: &[f32]) -> Literal {
    Literal::from_slice(DType::F32, [of.len()], of)
}

fn compile(module: &Module, grid: Grid) -> Executable {
    Executable::compile(module, &Registry::new(), &CompileOptions::new().grid(grid)).unwrap()
}

/// Runs a program on the engine, on a plan read from a file, and on the evaluator. All must agree.
fn run(program: &str, grid: Grid, inputs: &[Vec<Literal>]) -> Result<Vec<Vec<Literal>>, String> {
    let module = parse(program);
    let executable = compile(&module, grid);
    let results = executable.run_on_devices(inputs).map_err(|e| e.to_string());
    let file = executable.plan().to_bytes().unwrap();
    let read = Executable::from_plan(Plan::from_bytes(&file).unwrap(), &Registry::new()).unwrap();
    assert_eq!(read.run_on_devices(inputs).map_err(|e| e.to_string()), results, "the plan from a file");
    let verified = verify(&module).unwrap();
    let values: Vec<Vec<EvalValue>> =
        inputs.iter().map(|inputs| inputs.iter().cloned().map(EvalValue::Tensor).collect()).collect();
    let func = verified.entry().unwrap();
    let evaluated = eval_on_devices(&verified, func, grid, &values, |_| NoHost, Denormals::Ieee);
    match (&results, evaluated) {
        (Ok(results), Ok(evaluated)) => {
            let evaluated: Vec<Vec<Literal>> =
                evaluated.iter().map(|of| farcall::ir::eval::tensors(of)).collect();
            assert_eq!(*results, evaluated, "the evaluator's results");
        }
        (Err(_), Err(_)) => {}
        (results, evaluated) => panic!("the engine: {results:?}, the evaluator: {evaluated:?}"),
    }
    results
}

const ADD: &str = "({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  })";

fn all_reduce(groups: &str, more: &str) -> String {
    format!(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = \"stablehlo.all_reduce\"(%x) {ADD} {{replica_groups = {groups}{more}}} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
    )
}

/// Inputs of one tensor: device `i` has `[10^i, 2 * 10^i]`.
fn powers(count: usize) -> Vec<Vec<Literal>> {
    let power = |i: usize| 10f32.powi(i32::try_from(i).unwrap());
    (0..count).map(|i| vec![numbers(&[power(i), 2.0 * power(i)])]).collect()
}

/// The first element of the first result of each device.
fn firsts(results: &[Vec<Literal>]) -> Vec<f32> {
    results.iter().map(|of| of[0].as_slice::<f32>()[0]).collect()
}

#[test]
fn replicas_are_summed() {
    let program = all_reduce("dense<[[0, 1]]> : tensor<1x2xi64>", "");
    let results = run(&program, grid(2, 1), &powers(2)).unwrap();
    assert_eq!(results, vec![vec![numbers(&[11.0, 22.0])]; 2]);
}

#[test]
fn groups_name_replicas_partitions_or_processes() {
    let channel = ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>";
    let two_by_two =
        |groups: &str, more: &str| firsts(&run(&all_reduce(groups, more), grid(2, 2), &powers(4)).unwrap());
    let both = "dense<[[0, 1]]> : tensor<1x2xi64>";
    // cross_replica: devices 0 and 2, devices 1 and 3.
    assert_eq!(two_by_two(both, ""), [101.0, 1010.0, 101.0, 1010.0]);
    // cross_replica_and_partition
    assert_eq!(two_by_two(both, channel), [1111.0; 4]);
    let each = "dense<[[0], [1]]> : tensor<2x1xi64>";
    assert_eq!(two_by_two(each, channel), [11.0, 11.0, 1100.0, 1100.0]);
    // flattened_ids
    let global = format!("{channel}, use_global_device_ids");
    let pairs = "dense<[[0, 3], [2, 1]]> : tensor<2x2xi64>";
    assert_eq!(two_by_two(pairs, &global), [1001.0, 110.0, 110.0, 1001.0]);
    // No groups: all replicas.
    assert_eq!(two_by_two("dense<> : tensor<0x0xi64>", ""), [101.0, 1010.0, 101.0, 1010.0]);
    // Groups of different sizes.
    let ragged = "dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>";
    assert_eq!(firsts(&run(&all_reduce(ragged, ""), grid(3, 1), &powers(3)).unwrap()), [11.0, 11.0, 100.0]);
}

#[test]
fn contributions_are_combined_in_the_order_of_the_group() {
    let program = |groups: &str| {
        format!(
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = \"stablehlo.all_reduce\"(%x) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %d = stablehlo.multiply %a, %c : tensor<f32>
    %s = stablehlo.add %d, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) {{replica_groups = dense<{groups}> : tensor<1x3xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
        )
    };
    let of = |groups| firsts(&run(&program(groups), grid(3, 1), &powers(3)).unwrap());
    assert_eq!(of("[[0, 1, 2]]"), [(1.0 * 2.0 + 10.0) * 2.0 + 100.0; 3]);
    assert_eq!(of("[[2, 0, 1]]"), [(100.0 * 2.0 + 1.0) * 2.0 + 10.0; 3]);
}

#[test]
fn devices_know_their_numbers() {
    let program = "func.func @main() -> (tensor<ui32>, tensor<ui32>) {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.partition_id : tensor<ui32>
  return %0, %1 : tensor<ui32>, tensor<ui32>
}";
    let results = run(program, grid(2, 3), &vec![Vec::new(); 6]).unwrap();
    for (number, of) in results.iter().enumerate() {
        let ids: Vec<i64> = of.iter().map(|id| id.get(0).as_i64()).collect();
        assert_eq!(ids, [number as i64 / 3, number as i64 % 3]);
    }
}

#[test]
fn devices_that_wait_in_vain_are_an_error() {
    // Device 0 leaves the loop after one round, the others after two.
    let program = format!(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %one = stablehlo.constant dense<1> : tensor<ui32>
  %id = stablehlo.replica_id : tensor<ui32>
  %min = stablehlo.minimum %id, %one : tensor<ui32>
  %limit = stablehlo.add %min, %one : tensor<ui32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<ui32>, tensor<2xf32>
  cond {{
    %c = stablehlo.compare LT, %i, %limit : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %1 = \"stablehlo.all_reduce\"(%y) {ADD} {{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
    %j = stablehlo.add %i, %one : tensor<ui32>
    stablehlo.return %j, %1 : tensor<ui32>, tensor<2xf32>
  }}
  return %0#1 : tensor<2xf32>
}}"
    );
    let error = run(&program, grid(3, 1), &powers(3)).unwrap_err();
    expect_test::expect!["the devices wait for each other: device 1 waits for device 0 in stablehlo.all_reduce at p.mlir:12:10 (channel 0, group 0, 1, 2); device 2 waits for device 0 in stablehlo.all_reduce at p.mlir:12:10 (channel 0, group 0, 1, 2); device 0 has finished"].assert_eq(&error);
}

#[test]
fn devices_at_different_operations_are_an_error() {
    let program = format!(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %id = stablehlo.replica_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %first = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %0 = \"stablehlo.if\"(%first) ({{
    %1 = \"stablehlo.all_reduce\"(%x) {ADD} {{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }}, {{
    %1 = \"stablehlo.collective_permute\"(%x) {{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }}) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
    );
    let error = run(&program, grid(2, 1), &powers(2)).unwrap_err();
    expect_test::expect!["the devices wait for each other: device 0 waits for device 1 in stablehlo.all_reduce at p.mlir:6:10 (channel 0, group 0, 1); device 1 waits for device 0 in stablehlo.collective_permute at p.mlir:13:10 (channel 0, group 0, 1)"].assert_eq(&error);
}

#[test]
fn the_failure_of_one_device_ends_the_run() {
    #[handler(name = "devices.fails_on_one", crate = farcall::ffi)]
    fn fails_on_one(x: &Buffer<f32>, ctx: &Context, y: &mut Buffer<f32>) -> Result<()> {
        if ctx.device_ordinal()? == 1 {
            return Err(Error::internal("no luck"));
        }
        y.copy_from_slice(x);
        Ok(())
    }
    let program = format!(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %y = stablehlo.custom_call @devices.fails_on_one(%x) {{api_version = 4 : i32}} : (tensor<2xf32>) -> tensor<2xf32>
  %0 = \"stablehlo.all_reduce\"(%y) {ADD} {{replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
    );
    let registry = Registry::new();
    registry.register_ops(farcall::ffi::ops![fails_on_one]).unwrap();
    let options = CompileOptions::new().grid(grid(3, 1));
    let executable = Executable::compile(&parse(&program), &registry, &options).unwrap();
    for _ in 0..20 {
        let error = executable.run_on_devices(&powers(3)).unwrap_err().to_string();
        assert!(error.starts_with("on device 1: ") && error.contains("no luck"), "{error}");
    }
}

#[test]
fn an_interrupt_ends_all_devices() {
    // Endless on all devices but one, which waits for them.
    let program = format!(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %id = stablehlo.replica_id : tensor<ui32>
  %0:2 = stablehlo.while(%i = %id, %y = %x) : tensor<ui32>, tensor<2xf32>
  cond {{
    %c = stablehlo.compare NE, %i, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %z = stablehlo.add %y, %x : tensor<2xf32>
    stablehlo.return %i, %z : tensor<ui32>, tensor<2xf32>
  }}
  %1 = \"stablehlo.all_reduce\"(%0#1) {ADD} {{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}}"
    );
    let executable = compile(&parse(&program), grid(2, 1));
    let stop = Arc::new(farcall::Interrupt::new());
    let raiser = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        raiser.raise();
    });
    let context = farcall::custom_call::RunContext::new().with_interrupt(stop);
    let error = executable.run_on_devices_with(&powers(2), &[context]).unwrap_err();
    assert!(matches!(error, farcall::RunError::Interrupted), "{error}");
    thread.join().unwrap();
}

#[test]
fn the_number_of_devices_must_be_that_of_the_grid() {
    let executable = compile(&parse(&all_reduce("dense<[[0, 1]]> : tensor<1x2xi64>", "")), grid(2, 1));
    let error = executable.run_on_devices(&powers(3)).unwrap_err().to_string();
    assert_eq!(error, "the program is compiled for 2 replicas × 1 partition, but the run has 3");
    let error = executable.run(&powers(1)[0]).unwrap_err().to_string();
    assert_eq!(error, "the program is compiled for 2 replicas × 1 partition, but the run has 1");
}

#[test]
fn participants_must_exist() {
    let error = |groups: &str, grid| {
        let options = CompileOptions::new().grid(grid);
        let module = parse(&all_reduce(groups, ""));
        let error = Executable::compile(&module, &Registry::new(), &options).unwrap_err().to_string();
        error.lines().next().unwrap().to_owned()
    };
    assert_eq!(
        error("dense<[[0, 1, 2]]> : tensor<1x3xi64>", grid(2, 1)),
        "error: [participants] stablehlo.all_reduce takes replica 2, partition 0, but the program is for 2 replicas × 1 partition"
    );
    assert_eq!(
        error("dense<[[0, 1]]> : tensor<1x2xi64>", grid(3, 1)),
        "error: [participants] stablehlo.all_reduce takes all devices (3 replicas × 1 partition), but its groups leave out \
         replica 2, partition 0"
    );
}

/// A host for the self-checking programs of StableHLO's interpreter.
struct Checks<'a>(InterpreterHost<'a>);

impl EvalHost for Checks<'_> {
    fn custom_call(
        &self,
        call: &HostCall<'_>,
        operands: &[EvalValue],
    ) -> std::result::Result<Vec<EvalValue>, HostError> {
        if call.call.target != "check.expect_eq" {
            return self.0.custom_call(call, operands);
        }
        match operands {
            [actual, expected] if actual == expected => Ok(Vec::new()),
            other => Err(format!("{other:?} differ").into()),
        }
    }
}

/// Runs a self-checking program, with the functions of its grids on an engine.
fn run_checked(program: &str, name: &str, programs: Programs<'_>) {
    let module = text::parse(&Source::new(name, program)).unwrap_or_else(|e| panic!("{e}"));
    let verified = verify(&module).unwrap_or_else(|e| panic!("{e}"));
    let registry = Registry::new();
    let host = Checks(InterpreterHost::new(&registry, Denormals::Ieee, programs));
    let func = verified.entry().unwrap();
    if let Err(error) = farcall::ir::eval::eval(&verified, func, &[], &host, Denormals::Ieee) {
        panic!("{programs:?}: {error}");
    }
}

#[test]
fn programs_of_the_specification_run_in_parallel() {
    let Some(folder) = farcall_testing::programs::shared("stablehlo-suite/tests/interpret") else {
        eprintln!("skipped: there is no shared/stablehlo-suite");
        return;
    };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(file) = std::fs::read_to_string(&path) else { continue };
        for program in file.split("\n// -----").filter(|program| program.contains("interpreter.run_parallel"))
        {
            for programs in [Programs::Evaluated, Programs::Compiled(None)] {
                run_checked(program, &path.to_string_lossy(), programs);
            }
            count += 1;
        }
    }
    assert!(count > 0, "the suite has programs that run in parallel");
}

#[test]
fn values_reach_another_process_through_channels() {
    // The processes of a grid without a host send to each other.
    let program = |more: &str| {
        format!(
            "module {{
  func.func @send(%x: tensor<2xi64>, %t: !stablehlo.token) -> !stablehlo.token {{
    %0 = \"stablehlo.send\"(%x, %t) {{channel_handle = #stablehlo.channel_handle<handle = 1, {more}}} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    return %0 : !stablehlo.token
  }}
  func.func @recv(%t: !stablehlo.token) -> (tensor<2xi64>, !stablehlo.token) {{
    %0:2 = \"stablehlo.recv\"(%t) {{channel_handle = #stablehlo.channel_handle<handle = 1, {more}}} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
    return %0#0, %0#1 : tensor<2xi64>, !stablehlo.token
  }}
  func.func @main() {{
    %x = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %t = stablehlo.create_token : !stablehlo.token
    %0:3 = \"interpreter.run_parallel\"(%x, %t, %t) {{programs = [[@send], [@recv]]}} : (tensor<2xi64>, !stablehlo.token, !stablehlo.token) -> (!stablehlo.token, tensor<2xi64>, !stablehlo.token)
    check.expect_eq_const %0#1, dense<[3, 4]> : tensor<2xi64>
    return
  }}
}}"
        )
    };
    let pairs =
        "type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, is_host_transfer = false";
    for more in ["type = 2>, is_host_transfer = true", pairs] {
        let program = program(more);
        // The kind of a channel to the host differs between its ends.
        let program = match more.contains("true") {
            true => program.replacen(
                "stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2",
                "stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3",
                1,
            ),
            false => program,
        };
        run_checked(&program, "p.mlir", Programs::Evaluated);
        run_checked(&program, "p.mlir", Programs::Compiled(None));
    }
}

/// Four devices have two rows of five each: the third has one row, and the last has only padding.
#[test]
fn uneven_divisions() {
    let program = parse(
        r#"
        sdy.mesh @mesh = <["x"=4]>
        func.func @main(%x: tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
            -> (tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<3xf32>) {
          %0 = stablehlo.exponential %x : tensor<5x3xf32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
            : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
          return %x, %1 : tensor<5x3xf32>, tensor<3xf32>
        }"#,
    );
    let options = CompileOptions::new().grid(grid(1, 4)).partitioned(true);
    let executable = Executable::compile(&program, &Registry::new(), &options).unwrap();
    assert_eq!(executable.inputs()[0].sizes(), [2, 3]);
    let input = |rows: u8| {
        let elements: Vec<f32> = (0..rows * 3).map(|i| f32::from(i) / 8.0).collect();
        Literal::from_slice(DType::F32, [usize::from(rows), 3], &elements)
    };
    let file = executable.plan().to_bytes().unwrap();
    let read = Executable::from_plan(Plan::from_bytes(&file).unwrap(), &Registry::new()).unwrap();
    for executable in [executable, read] {
        let results = executable.run_partitioned(&[input(5)]).unwrap();
        assert_eq!(results[0], input(5));
        for (column, sum) in results[1].as_slice::<f32>().iter().enumerate() {
            let expected: f32 =
                input(5).as_slice::<f32>().iter().skip(column).step_by(3).map(|x| x.exp()).sum();
            assert!((sum - expected).abs() < 1e-5, "{sum} instead of {expected}");
        }
        // Six rows have parts of the same size.
        executable.run_partitioned(&[input(6)]).unwrap_err();
    }
}

#[test]
fn partitioned_programs_without_inputs() {
    let program = parse(
        r#"
        sdy.mesh @mesh = <["x"=2]>
        func.func @main() -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
          %0 = stablehlo.iota dim = 0 : tensor<4xf32>
          return %0 : tensor<4xf32>
        }"#,
    );
    let options = CompileOptions::new().grid(grid(1, 2)).partitioned(true);
    let executable = Executable::compile(&program, &Registry::new(), &options).unwrap();
    assert_eq!(executable.run_partitioned(&[]).unwrap(), [numbers(&[0.0, 1.0, 2.0, 3.0])]);
}
