//! Nested structures of every kind work in a thread with 512 KiB of stack, or their depth is an error.

use std::fmt::Write;
use std::thread;

use farcall::ir::eval::{self, Denormals, EvalValue, NoHost, eval};
use farcall::ir::{DType, Literal, Module, Scalar, Source, hlo, text, verify, vhlo};
use farcall::{CompileOptions, Executable, Plan, Registry};

const STACK_BYTES: usize = 512 << 10;

/// Runs a function in a thread with a small stack.
fn in_little<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap()
}

/// Returns a program of nested conditionals, `depth` deep, with `%p` as predicate.
fn nested_ifs(depth: usize) -> String {
    let mut program = String::from("func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {\n");
    for i in 0..depth {
        writeln!(program, "%{i} = \"stablehlo.if\"(%p) ({{").unwrap();
    }
    writeln!(program, "%y = stablehlo.negate %x : tensor<f32>\nstablehlo.return %y : tensor<f32>").unwrap();
    for i in (0..depth).rev() {
        program += "}, {\nstablehlo.return %x : tensor<f32>\n}) : (tensor<i1>) -> tensor<f32>\n";
        writeln!(program, "{} %{i} : tensor<f32>", if i == 0 { "return" } else { "stablehlo.return" })
            .unwrap();
    }
    program + "}\n"
}

/// Returns a program in which each function calls the next one in a conditional, so that regions nest once
/// calls are inlined.
fn nested_calls(depth: usize) -> String {
    let mut program = String::from(
        "func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {
           %r = func.call @f0(%p, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>
           return %r : tensor<f32>
         }\n",
    );
    for i in 0..depth {
        let next = match i + 1 < depth {
            true => format!("func.call @f{}(%p, %x) : (tensor<i1>, tensor<f32>) -> tensor<f32>", i + 1),
            false => "stablehlo.negate %x : tensor<f32>".to_owned(),
        };
        writeln!(
            program,
            "func.func private @f{i}(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {{
               %r = \"stablehlo.if\"(%p) ({{
                 %s = {next}
                 stablehlo.return %s : tensor<f32>
               }}, {{
                 stablehlo.return %x : tensor<f32>
               }}) : (tensor<i1>) -> tensor<f32>
               return %r : tensor<f32>
             }}"
        )
        .unwrap();
    }
    program
}

/// Returns a program of nested loops, `depth` deep, each in a function of its own.
fn nested_loops(depth: usize) -> String {
    let mut program = String::new();
    for i in 0..depth {
        let body = match i + 1 < depth {
            true => format!("func.call @f{}(%a) : (tensor<f32>) -> tensor<f32>", i + 1),
            false => "stablehlo.negate %a : tensor<f32>".to_owned(),
        };
        writeln!(
            program,
            "func.func {} @f{i}(%x: tensor<f32>) -> tensor<f32> {{
               %t = stablehlo.constant dense<true> : tensor<i1>
               %u = stablehlo.constant dense<false> : tensor<i1>
               %r:2 = stablehlo.while(%p = %t, %a = %x) : tensor<i1>, tensor<f32>
                 cond {{
                   stablehlo.return %p : tensor<i1>
                 }} do {{
                   %s = {body}
                   stablehlo.return %u, %s : tensor<i1>, tensor<f32>
                 }}
               return %r#1 : tensor<f32>
             }}",
            if i == 0 { "public" } else { "private" }
        )
        .unwrap();
    }
    program
}

fn inputs(module: &Module) -> Vec<Literal> {
    let x = Literal::scalar(DType::F32, Scalar::Float(3.0));
    let p = Literal::scalar(DType::Pred, Scalar::Bool(true));
    match module.funcs()[0].params().len() {
        1 => vec![x],
        _ => vec![p, x],
    }
}

/// Takes a program through all stages and formats.
fn everything(program: String) {
    let module = text::parse(&Source::new("deep.mlir", program)).unwrap();
    let module = verify::verify_owned(module).unwrap();
    let printed = text::print(&module);
    assert!(
        !printed.is_empty() && !text::print_generic(&module).is_empty() && !format!("{module:?}").is_empty()
    );
    let _ = text::parse(&Source::new("printed.mlir", printed));
    if let Ok(printed) = hlo::print(&module) {
        let read = hlo::parse(&Source::new("deep.hlo", printed));
        read.map(|module| drop(verify::verify(&module).unwrap())).unwrap_or_else(nests);
    }
    if let Ok(artifact) = vhlo::write(&module) {
        let read = vhlo::read(&artifact.bytes, "deep.mlir.bc");
        read.map(|module| drop(verify::verify(&module).unwrap())).unwrap_or_else(nests);
    }
    let inputs = inputs(&module);
    let values: Vec<EvalValue> = inputs.iter().cloned().map(EvalValue::Tensor).collect();
    let entry = &module.funcs()[0];
    let evaluated = eval(&module, entry, &values, &NoHost, Denormals::Ieee).unwrap();
    let options = CompileOptions::new().entry(&entry.name);
    let executable = Executable::compile(&module, &Registry::new(), &options).unwrap();
    let results = executable.run(&inputs).unwrap();
    assert_eq!(results, eval::tensors(&evaluated));
    let plan = executable.plan();
    assert!(plan.to_string().len() > 10);
    let bytes = plan.to_bytes().unwrap();
    let read = Plan::from_bytes(&bytes).unwrap();
    let read = Executable::from_plan(read, &Registry::new()).unwrap();
    assert_eq!(read.run(&inputs).unwrap(), results);
}

fn nests(error: farcall::ir::ProgramError) {
    assert!(error.to_string().contains("nest"), "{error}");
}

#[test]
fn regions_in_the_text() {
    let deepest = (1..200).rev().find(|depth| text::parse(&Source::new("x", nested_ifs(*depth))).is_ok());
    let deepest = deepest.unwrap();
    assert!(deepest > 50, "only {deepest} nested regions can be parsed");
    in_little(move || everything(nested_ifs(deepest)));
}

#[test]
fn regions_once_calls_are_inlined() {
    in_little(|| everything(nested_calls(990)));
}

#[test]
fn loops_once_calls_are_inlined() {
    in_little(|| everything(nested_loops(490)));
}

#[test]
fn deeper_nesting_is_an_error() {
    in_little(|| {
        let open = |text: &str, n: usize| text.repeat(n);
        for deep in [
            nested_ifs(20_000),
            format!("func.func @main(%x: {}", open("tuple<", 20_000)),
            format!("func.func @main() attributes {{a = {}}} {{ return }}", open("[", 20_000)),
            format!("func.func @main() attributes {{a = {}}} {{ return }}", open("{x = ", 20_000)),
        ] {
            nests(text::parse(&Source::new("deep.mlir", deep)).unwrap_err());
        }
        let shape = format!(
            "HloModule m\nENTRY e {{ ROOT x = {}f32[]{} parameter(0) }}",
            open("(", 20_000),
            open(")", 20_000)
        );
        let literal = format!("HloModule m\nENTRY e {{ ROOT x = f32[1] constant({}) }}", open("{", 20_000));
        let attribute =
            format!("HloModule m, a={}\nENTRY e {{ ROOT x = f32[1] parameter(0) }}", open("{", 20_000));
        for open in ["#a.b<x = ", "#a.b<"].map(|part| open(part, 20_000)) {
            let deep = format!("func.func @main() attributes {{a = {open}}} {{ return }}");
            assert!(text::parse(&Source::new("deep.mlir", deep)).is_err());
        }
        for deep in [shape, literal, attribute] {
            assert!(hlo::parse(&Source::new("deep.hlo", deep)).is_err());
        }
        let calls = text::parse(&Source::new("deep.mlir", nested_calls(1_050))).unwrap();
        let compiled = Executable::compile(&calls, &Registry::new(), &CompileOptions::new());
        assert!(compiled.is_err());
    });
}

/// Checks types, attributes and tuples that are nested as deeply as the text format allows.
#[test]
fn types_and_attributes() {
    in_little(|| {
        for depth in (1..=255).rev() {
            let ty = format!("{}tensor<f32>{}", "tuple<".repeat(depth), ">".repeat(depth));
            let program = format!(
                "func.func @main(%x: {ty}) -> {ty} attributes {{a = {}1{}, b = {}{}}} {{\n return %x : {ty}\n}}",
                "[".repeat(depth),
                "]".repeat(depth),
                "{x = ".repeat(depth),
                "1 : i64}".to_owned() + &"}".repeat(depth - 1),
            );
            let Ok(module) = text::parse(&Source::new("deep.mlir", program)) else { continue };
            assert!(depth > 100, "only {depth} levels can be parsed");
            verify::verify(&module).unwrap();
            let copy = module.clone();
            assert!(copy == module && !format!("{module:?}").is_empty());
            // The generic form nests deeper, since it also contains the module around the function.
            let printed = Source::new("printed.mlir", text::print_generic(&module));
            text::parse(&printed).map(drop).unwrap_or_else(nests);
            if let Ok(printed) = hlo::print(&module) {
                hlo::parse(&Source::new("deep.hlo", printed)).map(drop).unwrap_or_else(nests);
            }
            match vhlo::write(&module) {
                Ok(artifact) => {
                    vhlo::read(&artifact.bytes, "deep.mlir.bc").map(drop).unwrap_or_else(nests);
                }
                Err(error) => nests(error),
            }
            let compiled = Executable::compile(&module, &Registry::new(), &CompileOptions::new());
            drop(compiled);
            return;
        }
        panic!("no depth can be parsed");
    });
}
