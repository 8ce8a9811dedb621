//! Plans in files: a written plan is read back unchanged, and a damaged file is rejected.
//!
//! A long run: `FARCALL_FUZZ_ITERATIONS=1000000 cargo test --release -p farcall --test it plan_file`

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use farcall::custom_call::RunContext;
use farcall::ir::{DType, Literal, Source, text};
use farcall::plan::PlanParts;
use farcall::plan::file::{FORMAT, FileError, MAGIC};
use farcall::registry::Rank;
use farcall::{CompileOptions, Executable, Interrupt, Plan, Registry, compile_plan, iterations, memory};
use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::{Block, TargetCall};
use farcall_testing::engine::registry;
use farcall_testing::process::alone;
use farcall_testing::{SplitMix, fuzz};

use crate::plugin::declared::{affine, affine_bwd};
use crate::plugin::ops::{count, panics, scale};

const OPS: &[&OpDescriptor] = farcall_ffi::ops![scale, panics, count, affine, affine_bwd];

fn compiled(name: &str, program: &str) -> Executable {
    let module = text::parse(&Source::new(name, program)).unwrap();
    Executable::compile(&module, &registry(OPS), &CompileOptions::new()).unwrap()
}

/// Returns the plans of the filetests that compile without further options.
fn plans() -> Vec<(String, Plan)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "mlir"));
    paths.sort();
    let registry = registry(OPS);
    let plan = |path: &std::path::PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let program = std::fs::read_to_string(path).ok()?;
        let module = text::parse(&Source::new(name.as_str(), program)).ok()?;
        let executable = Executable::compile(&module, &registry, &CompileOptions::new()).ok()?;
        Some((name, executable.plan().clone()))
    };
    let mut plans: Vec<_> = paths.iter().filter_map(plan).collect();
    let lowers = |block: &Block<'_>| Ok(TargetCall::new(block.option::<&str>("to")?).into());
    registry.register_lowering("test.block", Rank::Application, lowers).unwrap();
    let module = text::parse(&Source::new("blocks.mlir", BLOCKS)).unwrap();
    let blocks = compile_plan(&module, &registry, &CompileOptions::new()).unwrap();
    assert_eq!(blocks.blocks().iter().map(|b| b.skipped.len()).collect::<Vec<_>>(), [0, 1]);
    plans.push(("blocks.mlir".to_owned(), blocks.into_plan()));
    assert!(plans.len() > 30, "only {} programs compile", plans.len());
    plans
}

/// A block that becomes a call, and a block whose target is missing.
const BLOCKS: &str = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.composite \"test.block\" %x {composite_attributes = {to = \"panics\"}, decomposition = @body} : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.composite \"test.block\" %0 {composite_attributes = {to = \"no\"}, decomposition = @body} : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
func.func private @body(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
";

const LOOP: &str = "func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %twelve = stablehlo.constant dense<12> : tensor<i32>
      %c = stablehlo.compare LT, %i, %twelve : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %z = stablehlo.multiply %y, %w : tensor<3xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<3xf32>
    }
  return %0#1, %0#0 : tensor<3xf32>, tensor<i32>
}
";

#[test]
fn written_plans_are_read_back() {
    for (name, plan) in plans() {
        let bytes = plan.to_bytes().unwrap_or_else(|e| panic!("{name}: {e}"));
        let read = Plan::from_bytes(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(plan, *read, "{name}");
        assert_eq!(plan.to_string(), read.to_string(), "{name}");
        assert_eq!(read.to_bytes().unwrap(), bytes, "{name}");
        let streamed = Plan::read_from(&mut &*bytes, None).unwrap();
        assert_eq!(streamed, read, "{name}");
    }
}

#[test]
fn messages_of_a_plan_that_was_read_have_places() {
    let program = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.custom_call @panics(%x) {api_version = 4 : i32, backend_config = {}} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
";
    let executable = compiled("far/away.mlir", program);
    let plan = Plan::from_bytes(&executable.plan().to_bytes().unwrap()).unwrap();
    let missing = Executable::from_plan(plan.clone(), &Registry::new()).unwrap_err().to_string();
    assert!(missing.contains("--> far/away.mlir:2:8"), "{missing}");
    assert!(missing.contains("stablehlo.custom_call @panics(%x)"), "{missing}");
    let loaded = Executable::from_plan(plan, &registry(OPS)).unwrap();
    let input = [Literal::zeros(DType::F32, [3])];
    let messages = [executable, loaded].map(|e| e.run(&input).unwrap_err().to_string());
    assert_eq!(messages[0], messages[1]);
    assert!(messages[1].contains("far/away.mlir:2:8"), "{}", messages[1]);
}

/// A plan stores each instruction for the evaluator as separate text. The errors of these instructions point
/// to the original program.
#[test]
fn evaluated_instructions_keep_their_places() {
    let mut found = 0;
    for (name, plan) in plans() {
        let read = Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap();
        for (a, b) in plan.references().iter().zip(read.references()) {
            let spans = |site: &farcall::plan::ReferenceSite| {
                let mut spans = vec![site.entry().span];
                site.entry().walk(&mut |inst| spans.push(inst.span()));
                spans
            };
            assert_eq!(spans(a), spans(b), "{name}");
            assert_eq!(a.program.source, b.program.source, "{name}");
            found += 1;
        }
    }
    assert!(found > 10);
}

#[test]
fn large_constants_are_read_where_they_stay() {
    let weights = Literal::from_fn(DType::F32, [1000, 300], |i| farcall::ir::Scalar::Float(i as f64));
    let mut parts = compiled("p.mlir", LOOP).plan().clone().into_parts();
    parts.constants.push(weights.clone());
    parts.constants.push(Literal::splat(DType::F64, [1 << 20], farcall::ir::Scalar::Float(f64::NAN)));
    let plan = Plan::from(parts);
    let bytes = plan.to_bytes().unwrap();
    assert!(bytes.len() < weights.byte_len() + 3000, "the plan has {} bytes", bytes.len());
    assert_eq!(*Plan::from_bytes(&bytes).unwrap(), plan);
}

#[test]
fn nesting_is_bounded() {
    let parts = compiled("p.mlir", LOOP).plan().clone().into_parts();
    let template = parts.thunks.iter().find(|t| t.op == farcall::plan::ThunkOp::While).unwrap().clone();
    let before: Vec<_> = parts.thunks.iter().take_while(|t| t.op != template.op).cloned().collect();
    let nested = |depth: usize| {
        let mut thunk = template.clone();
        for _ in 1..depth {
            let mut outer = template.clone();
            outer.bodies[1] = vec![thunk];
            thunk = outer;
        }
        before.iter().cloned().chain([thunk]).collect()
    };
    let plan = Plan::from(PlanParts { thunks: nested(1000), ..parts.clone() });
    let read = Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap();
    assert_eq!(*read, plan);
    assert!(Executable::from_plan(read, &Registry::new()).is_ok());
    let plan = Plan::from(PlanParts { thunks: nested(1010), ..parts });
    let error = Plan::from_bytes(&plan.to_bytes().unwrap()).unwrap_err().to_string();
    assert!(error.contains("thunks are nested deeper than 1000"), "{error}");
}

#[test]
fn other_formats_and_files_are_told_apart() {
    let mut bytes = compiled("p.mlir", LOOP).plan().to_bytes().unwrap();
    assert!(bytes.starts_with(&MAGIC));
    let other = FORMAT + 1;
    bytes[8..12].copy_from_slice(&other.to_le_bytes());
    let version = env!("CARGO_PKG_VERSION");
    let error = Plan::from_bytes(&bytes).unwrap_err();
    assert!(matches!(error, FileError::Version { found, .. } if found == other));
    assert_eq!(
        error.to_string(),
        format!(
            "the plan has format {other} (written by farcall {version}), but farcall {version} reads format {FORMAT}; compile \
             the program again"
        )
    );
    assert!(matches!(Plan::from_bytes(LOOP.as_bytes()), Err(FileError::NotAPlan)));
}

#[test]
fn every_truncation_is_an_error() {
    let bytes = compiled("p.mlir", LOOP).plan().to_bytes().unwrap();
    for n in 0..bytes.len() {
        for error in
            [Plan::from_bytes(&bytes[..n]).unwrap_err(), Plan::read_from(&mut &bytes[..n], None).unwrap_err()]
        {
            assert!(matches!(error, FileError::Truncated { at, .. } if at <= n as u64), "{n}: {error}");
        }
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let error = Plan::from_bytes(&longer).unwrap_err().to_string();
    assert!(error.contains("the file continues after the end of the plan"), "{error}");
}

/// Impossible lengths are rejected before anything is allocated.
#[test]
fn lengths_are_not_believed() {
    let bytes = compiled("p.mlir", LOOP).plan().to_bytes().unwrap();
    for at in 12..bytes.len() - 8 {
        for value in [u64::MAX, 1 << 40, u64::from(u32::MAX)] {
            let mut changed = bytes.clone();
            changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
            if let Ok(plan) = Plan::from_bytes(&changed) {
                assert_eq!(plan.clone().into_plan().validate(), Ok(plan));
            }
        }
    }
}

/// Makes a random change to the bytes of a plan. `others` are the plans whose pieces may be copied into it.
fn change(random: &mut SplitMix, bytes: &mut [u8], others: &[(String, Vec<u8>)]) {
    let at = 12 + random.below(bytes.len() - 12);
    match random.below(8) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes[at] = bytes[at].wrapping_add(1),
        3 => bytes[at] = bytes[at].wrapping_sub(1),
        4 if at + 8 <= bytes.len() => {
            let value = [0, 1, 2, 64, 4096, u64::MAX, 1 << 32, i64::MAX as u64][random.below(8)];
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        5 if at + 4 <= bytes.len() => {
            let value = random.below(40) as u32;
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        6 => {
            // Copy a piece of a plan.
            let from = &others[random.below(others.len())].1;
            let start = random.below(from.len());
            let n = (1 + random.below(32)).min(from.len() - start).min(bytes.len() - at);
            bytes[at..at + n].copy_from_slice(&from[start..start + n]);
        }
        _ => {
            // Write a character that is frequent in the texts of a plan.
            const LETTERS: &[u8] = b"0123456789xifu,<>[]{}:%";
            bytes[at] = LETTERS[random.below(LETTERS.len())];
        }
    }
}

#[test]
fn damaged_plans_load_and_run_or_are_refused() {
    alone("plan_file::damaged_plans_load_and_run_or_are_refused", || {
        memory::set_limit(1 << 30);
        iterations::set_limit(1000);
        let rounds = fuzz::iterations(30_000);
        let seeds: Vec<(String, Vec<u8>)> = plans()
            .into_iter()
            .map(|(name, plan)| {
                // The text of the program is removed: it is most of a small plan, but damage to it has no
                // effect on a run.
                let source = Source::new(name.as_str(), "");
                let plan = Plan::from(PlanParts { source, ..plan.into_parts() });
                (name, plan.to_bytes().unwrap())
            })
            .collect();
        let registry = registry(OPS);
        let mut random = SplitMix::new(fuzz::seed());
        let (mut loaded, mut ran) = (0u64, 0u64);
        for round in 0..rounds {
            let mut bytes = seeds[random.below(seeds.len())].1.clone();
            for _ in 0..=random.below(3) {
                change(&mut random, &mut bytes, &seeds);
            }
            let Ok(plan) = Plan::from_bytes(&bytes) else { continue };
            assert_eq!(plan.clone().into_plan().validate(), Ok(plan.clone()), "{round}");
            drop(plan.to_string());
            let Ok(executable) = Executable::from_plan(plan, &registry) else { continue };
            loaded += 1;
            let inputs: Result<Vec<Literal>, _> =
                executable.inputs().iter().map(|ty| Literal::try_zeros(ty.dtype, ty.sizes())).collect();
            let Ok(inputs) = inputs else { continue };
            let results = [0x55, 0xaa].map(|unwritten| {
                // A run may take long, so it is interrupted.
                let asked = AtomicUsize::new(0);
                let interrupt = Interrupt::asking(move || asked.fetch_add(1, Ordering::Relaxed) > 2);
                let run = RunContext::new().with_interrupt(Arc::new(interrupt)).with_unwritten(unwritten);
                executable.run_with(&inputs, &run).ok()
            });
            ran += u64::from(results[0].is_some());
            // Both runs have the same results, so neither reads memory before writing it. (Programs with
            // calls are left out, since handlers may read more than their operands.)
            if let [Some(first), Some(second)] = &results
                && executable.plan().calls().is_empty()
            {
                let bytes =
                    |results: &[Literal]| results.iter().map(|r| r.bytes().to_vec()).collect::<Vec<_>>();
                assert_eq!(bytes(first), bytes(second), "{round}: {}", executable.plan());
            }
        }
        assert!(
            ran > rounds / 100 && loaded < rounds,
            "{loaded} of {rounds} damaged plans were loaded, and {ran} of them ran"
        );
    });
}
