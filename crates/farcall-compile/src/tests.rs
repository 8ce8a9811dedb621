//! Tests of the passes that decide where values are stored, on programs as text: `filetests/passes/*.mlir`.
//!
//! The files have the same form as the filetests of `farcall-ir`'s passes: programs separated by lines
//! `// -----`, each with a line `// passes: copies, coalesce`, and the expected result of these passes after
//! a line `// =>`. A program in the middle form is used unchanged; other programs are converted to the middle
//! form. The result must be in the middle form, and must compute the same bits as the original program. The
//! printed result must parse as the same program. If [`check`] finds a wrong place, the expected result is
//! the error message of [`check`]. `UPDATE_EXPECT=1` writes the results into the files.

use farcall_ir::eval::{EvalValue, NoHost, Numerics, eval_form};
use farcall_ir::{Literal, Scalar, Source, text};

use farcall_host::registry::Platform;
use farcall_ir::middle::passes::{PassOptions, layouts};
use farcall_ir::middle::{self, pipeline};
use farcall_ir::{FuncId, Module};
use farcall_testing::pass_files;

use crate::choices::Choice;
use crate::options::Options;
use crate::storage::{Sharing, Storage};
use crate::{MEMORY_PASSES, assign, check, choose, coalesce, copies, donate, order};

fn form(source: &str) -> Module {
    let module = text::parse(&Source::new("test.mlir", source)).unwrap_or_else(|e| panic!("{e}"));
    if middle::verify(&module).is_ok() {
        return module;
    }
    let module = farcall_ir::verify::verify(&module).and_then(|module| module.into_static());
    let module = module.unwrap_or_else(|e| panic!("{e}"));
    middle::build(&module, module.entry().unwrap()).unwrap_or_else(|e| panic!("{e:?}"))
}

/// Evaluates a form on small numbers. `None` if the evaluation fails, as for a form with custom calls.
fn results(form: &Module) -> Option<Vec<EvalValue>> {
    let func = &form.funcs()[0];
    let tensors = func.params().iter().filter_map(|p| func.tensor(*p));
    let number = |n: usize, i: usize| Scalar::Signed(((i * 7 + n * 3) % 5) as i64);
    let inputs = tensors.enumerate().map(|(n, ty)| {
        EvalValue::Tensor(Literal::from_fn(ty.dtype, ty.sizes(), |i| number(n, i).round_to(ty.dtype)))
    });
    eval_form(form, func, &inputs.collect::<Vec<_>>(), &NoHost, Numerics::default()).ok()
}

/// Runs passes over a form. The error describes a value that is in a wrong place.
fn run(form: &mut Module, names: &[&str]) -> Result<(), String> {
    let options =
        Options { platform: &Platform::Host, numerics: Numerics::default(), partitions: false, passes: &[] };
    let entry = form.funcs()[0].clone();
    if names.contains(&"layouts") {
        pipeline::run(form, &[&layouts::PASS], &PassOptions::new(options.numerics), &mut |_, _| {});
    }
    let choices = choose::choose(form, &entry, &options, &|_| unreachable!("no nested calls"))
        .unwrap_or_else(|e| panic!("{e:?}"));
    for name in names.iter().filter(|n| **n != "layouts") {
        let func = form.func_mut(FuncId::new(0));
        let storage = Storage::new(func, &choices, Sharing::Joined);
        match *name {
            "copies" => copies::insert(func, &choices),
            "coalesce" => coalesce::coalesce(func, &choices),
            "donate" => donate::donate(func, &entry, &storage).unwrap_or_else(|e| panic!("{e:?}")),
            "assign" => {
                let events = order::events(func, &choices);
                let places = assign::assign(func, &events, &choices, &storage);
                check::check(func, &events, &choices, &places)?;
                places.annotate(func);
            }
            other => panic!("there is no pass {other}"),
        }
    }
    Ok(())
}

fn left(test: &str, place: &str) -> String {
    let source = pass_files::program(test);
    let names = source.lines().find_map(|l| l.strip_prefix("// passes: "));
    let names: Vec<&str> =
        names.unwrap_or_else(|| panic!("{place}: the line `// passes:` is missing")).split(", ").collect();
    let before = form(source);
    let mut after = before.clone();
    if let Err(error) = run(&mut after, &names) {
        return format!("// {error}\n");
    }
    middle::verify(&after).unwrap_or_else(|e| panic!("{place}: {e}\n{}", text::print(&after)));
    let printed = text::print(&after);
    let again = text::parse(&Source::new("printed", &printed)).unwrap_or_else(|e| panic!("{place}: {e}"));
    assert!(again == after, "{place}: the printed result parses as another program\n{printed}");
    let (expected, found) = (results(&before), results(&after));
    let calls = printed.contains("custom_call");
    assert!(calls || expected.is_some(), "{place}: the evaluator cannot run the original program\n{printed}");
    assert!(expected == found, "{place}: the results changed from {expected:?} to {found:?}\n{printed}");
    printed
}

#[test]
fn filetests() {
    pass_files::check(env!("CARGO_MANIFEST_DIR"), left);
}

/// Checks that the evaluator is chosen for a fusion that no kernel supports, and that its results are right.
/// The fusion has a result of one element, and a larger result for which an operand is broadcast.
#[test]
fn the_evaluator_runs_fusions_without_a_kernel() {
    let form = form(
        r#"func.func @main(%x: tensor<2x3xf32>, %b: tensor<3xf32>, %s: tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>) {
  %r:2 = "farcall.fusion"(%x, %b, %s) ({
  ^bb0(%a: tensor<2x3xf32>, %c: tensor<3xf32>, %d: tensor<f32>):
    %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
    %f = stablehlo.add %a, %e : tensor<2x3xf32>
    %h = stablehlo.add %d, %d : tensor<f32>
    "stablehlo.return"(%f, %h) : (tensor<2x3xf32>, tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<2x3xf32>, tensor<f32>)
  return %r#0, %r#1 : tensor<2x3xf32>, tensor<f32>
}"#,
    );
    let options =
        Options { platform: &Platform::Host, numerics: Numerics::default(), partitions: false, passes: &[] };
    let func = &form.funcs()[0];
    let choices = choose::choose(&form, func, &options, &|_| unreachable!("no nested calls"))
        .unwrap_or_else(|e| panic!("{e:?}"));
    let fusion = func.body().first().unwrap();
    assert!(matches!(choices.of(fusion.id()), Choice::Reference(_)));
    let [EvalValue::Tensor(many), EvalValue::Tensor(one)] = &results(&form).unwrap()[..] else {
        panic!("the fusion must have two tensors as results")
    };
    let numbers = |l: &Literal| l.iter().map(|n| n.as_f64()).collect::<Vec<_>>();
    assert_eq!(numbers(many), [3.0, 2.0, 6.0, 4.0, 3.0, 2.0]);
    assert_eq!(numbers(one), [2.0]);
}

#[test]
fn every_pass_has_its_file() {
    let passes = MEMORY_PASSES.iter().map(|pass| pass.name).filter(|name| *name != layouts::PASS.name);
    pass_files::require(env!("CARGO_MANIFEST_DIR"), passes);
}
