//! Small programs and their results in the evaluator.

use std::cell::RefCell;
use std::fmt::Write;

use expect_test::{Expect, expect};
use farcall_ir::eval::{
    Denormals, EvalHost, EvalValue, HostCall, HostError, NoHost, eval, eval_form, eval_inst,
};
use farcall_ir::verify::{Verified, verify_owned};
use farcall_ir::{DType, Literal, Module, Scalar, Source, TensorType};

fn parse(text: &str) -> Module {
    farcall_ir::text::parse(&Source::new("test.mlir", text)).unwrap()
}

fn verified(text: &str) -> Verified<'static> {
    verify_owned(parse(text)).unwrap_or_else(|e| panic!("{e}"))
}

/// The results of the entry function on scalar arguments, or the error.
fn run(text: &str, args: &[Scalar], denormals: Denormals) -> String {
    let module = verified(text);
    let entry = module.entry().unwrap();
    let types = entry.params().iter().map(|p| entry.tensor(*p).unwrap());
    let inputs: Vec<EvalValue> = types.zip(args).map(|(t, x)| Literal::scalar(t.dtype, *x).into()).collect();
    match eval(&module, entry, &inputs, &NoHost, denormals) {
        Ok(values) => show(&values),
        Err(e) => e.to_string(),
    }
}

fn show(values: &[EvalValue]) -> String {
    let mut out = String::new();
    for value in values {
        match value {
            EvalValue::Tensor(l) => {
                let elements: Vec<String> = l.iter().map(show_scalar).collect();
                writeln!(out, "{}: {}", l.ty(), elements.join(" ")).unwrap();
            }
            other => writeln!(out, "{other:?}").unwrap(),
        }
    }
    out
}

fn show_scalar(x: Scalar) -> String {
    match x {
        Scalar::Bool(x) => x.to_string(),
        Scalar::Signed(x) => x.to_string(),
        Scalar::Unsigned(x) => x.to_string(),
        Scalar::Float(x) => format!("{x:?}"),
        Scalar::Complex(z) => format!("({:?}, {:?})", z.re, z.im),
    }
}

fn check(text: &str, args: &[Scalar], expected: Expect) {
    expected.assert_eq(&run(text, args, Denormals::Ieee));
}

/// Text of a function without parameters, with these instructions and result types.
fn body(lines: &str, results: &str) -> String {
    format!("func.func @main() -> ({results}) {{\n{lines}\n}}")
}

#[test]
fn loops_branches_and_calls() {
    check(
        r#"
func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %sum = %zero) : tensor<i32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = func.call @next(%i) : (tensor<i32>) -> tensor<i32>
    %s = stablehlo.add %sum, %j : tensor<i32>
    stablehlo.return %j, %s : tensor<i32>, tensor<i32>
  }
  %big = stablehlo.compare GT, %r#1, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %x = "stablehlo.if"(%big) ({
    stablehlo.return %r#1 : tensor<i32>
  }, {
    %m = stablehlo.negate %r#1 : tensor<i32>
    stablehlo.return %m : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  %y = "stablehlo.case"(%n) ({
    stablehlo.return %zero : tensor<i32>
  }, {
    stablehlo.return %one : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %x, %y : tensor<i32>, tensor<i32>
}
func.func private @next(%i: tensor<i32>) -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  return %j : tensor<i32>
}
"#,
        &[Scalar::Signed(5)],
        expect![[r#"
            tensor<i32>: 15
            tensor<i32>: 1
        "#]],
    );
}

#[test]
fn integers_wrap_and_divide_like_xla() {
    check(
        &body(
            r#"
  %a = stablehlo.constant dense<[-128, 7, -7, 100]> : tensor<4xi8>
  %b = stablehlo.constant dense<[-1, 0, 2, 100]> : tensor<4xi8>
  %q = stablehlo.divide %a, %b : tensor<4xi8>
  %r = stablehlo.remainder %a, %b : tensor<4xi8>
  %s = stablehlo.add %a, %b : tensor<4xi8>
  %l = stablehlo.shift_left %a, %b : tensor<4xi8>
  %x = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi8>
  %y = stablehlo.shift_right_logical %a, %b : tensor<4xi8>
  %p = stablehlo.power %a, %b : tensor<4xi8>
  return %q, %r, %s, %l, %x, %y, %p : tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>"#,
            "tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xi8>",
        ),
        &[],
        expect![[r#"
            tensor<4xi8>: -128 -1 -3 1
            tensor<4xi8>: 0 7 -1 0
            tensor<4xi8>: 127 7 -5 -56
            tensor<4xi8>: 0 7 -28 0
            tensor<4xi8>: -1 7 -2 0
            tensor<4xi8>: 0 7 62 0
            tensor<4xi8>: 0 1 49 0
        "#]],
    );
}

#[test]
fn conversions_saturate_truncate_and_round() {
    check(
        &body(
            r#"
  %a = stablehlo.constant dense<[1.0e10, -1.5, 0x7FC00000, 300.7]> : tensor<4xf32>
  %i = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi8>
  %u = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui16>
  %p = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi1>
  %n = stablehlo.constant dense<9007199791611905> : tensor<i64>
  %f = stablehlo.convert %n : (tensor<i64>) -> tensor<f32>
  %c = stablehlo.bitcast_convert %i : (tensor<4xi8>) -> tensor<i32>
  %d = stablehlo.bitcast_convert %i : (tensor<4xi8>) -> tensor<4x2xi4>
  return %i, %u, %p, %f, %c, %d : tensor<4xi8>, tensor<4xui16>, tensor<4xi1>, tensor<f32>, tensor<i32>, tensor<4x2xi4>"#,
            "tensor<4xi8>, tensor<4xui16>, tensor<4xi1>, tensor<f32>, tensor<i32>, tensor<4x2xi4>",
        ),
        &[],
        expect![[r#"
            tensor<4xi8>: 127 -1 0 127
            tensor<4xui16>: 65535 0 0 300
            tensor<4xi1>: true true true true
            tensor<f32>: 9007200328482816.0
            tensor<i32>: 2130771839
            tensor<4x2xi4>: -1 7 -1 -1 0 0 -1 7
        "#]],
    );
}

#[test]
fn extremes_and_orders_of_floats() {
    check(
        &body(
            r#"
  %a = stablehlo.constant dense<[0x7FC00000, -0.0, 0.0, 1.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, 0.0, -0.0, -2.0]> : tensor<4xf32>
  %max = stablehlo.maximum %a, %b : tensor<4xf32>
  %min = stablehlo.minimum %a, %b : tensor<4xf32>
  %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %ne = stablehlo.compare NE, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %sign = stablehlo.sign %a : tensor<4xf32>
  return %max, %min, %lt, %ne, %sign : tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>"#,
            "tensor<4xf32>, tensor<4xf32>, tensor<4xi1>, tensor<4xi1>, tensor<4xf32>",
        ),
        &[],
        expect![[r#"
            tensor<4xf32>: NaN 0.0 0.0 1.0
            tensor<4xf32>: NaN -0.0 -0.0 -2.0
            tensor<4xi1>: false true false false
            tensor<4xi1>: true false false true
            tensor<4xf32>: NaN -0.0 0.0 1.0
        "#]],
    );
}

#[test]
fn subnormal_numbers_count_or_not() {
    let program = body(
        r#"
  %a = stablehlo.constant dense<[1.0e-40, -1.0e-40, 1.5e-38]> : tensor<3xf32>
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %m = stablehlo.multiply %a, %half : tensor<3xf32>
  %g = stablehlo.compare NE, %a, %zero, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %n = stablehlo.negate %a : tensor<3xf32>
  return %m, %g, %n : tensor<3xf32>, tensor<3xi1>, tensor<3xf32>"#,
        "tensor<3xf32>, tensor<3xi1>, tensor<3xf32>",
    );
    expect![[r#"
        tensor<3xf32>: 5e-41 -5e-41 7.5e-39
        tensor<3xi1>: true true true
        tensor<3xf32>: -1e-40 1e-40 -1.5e-38
    "#]]
    .assert_eq(&rounded(&run(&program, &[], Denormals::Ieee)));
    expect![[r#"
        tensor<3xf32>: 0.0 -0.0 0.0
        tensor<3xi1>: false false true
        tensor<3xf32>: -1e-40 1e-40 -1.5e-38
    "#]]
    .assert_eq(&rounded(&run(&program, &[], Denormals::Flush)));
}

/// Rounds numbers in exponential notation to four digits: an `f32` that is printed as `f64` has many digits
/// beyond its precision.
fn rounded(text: &str) -> String {
    let short = |word: &str| match word.parse::<f64>() {
        Ok(x) if word.contains('e') => format!("{:e}", format!("{x:.3e}").parse::<f64>().unwrap()),
        _ => word.to_owned(),
    };
    let line = |l: &str| l.split(' ').map(short).collect::<Vec<_>>().join(" ") + "\n";
    text.lines().map(line).collect()
}

#[test]
fn movement_of_elements() {
    check(
        &body(
            r#"
  %a = stablehlo.iota dim = 0 : tensor<6xi32>
  %m = stablehlo.reshape %a : (tensor<6xi32>) -> tensor<2x3xi32>
  %t = stablehlo.transpose %m, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  %s = stablehlo.slice %m [0:2, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>
  %r = stablehlo.reverse %m, dims = [1] : tensor<2x3xi32>
  %v = stablehlo.constant dense<-1> : tensor<i32>
  %p = stablehlo.pad %m, %v, low = [0, -1], high = [0, 1], interior = [1, 0] : (tensor<2x3xi32>, tensor<i32>) -> tensor<3x3xi32>
  %c = stablehlo.concatenate %s, %t, dim = 0 : (tensor<2x2xi32>, tensor<3x2xi32>) -> tensor<5x2xi32>
  %b = stablehlo.broadcast_in_dim %s, dims = [2, 0] : (tensor<2x2xi32>) -> tensor<2x1x2xi32>
  return %t, %s, %r, %p, %c, %b : tensor<3x2xi32>, tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x3xi32>, tensor<5x2xi32>, tensor<2x1x2xi32>"#,
            "tensor<3x2xi32>, tensor<2x2xi32>, tensor<2x3xi32>, tensor<3x3xi32>, tensor<5x2xi32>, tensor<2x1x2xi32>",
        ),
        &[],
        expect![[r#"
            tensor<3x2xi32>: 0 3 1 4 2 5
            tensor<2x2xi32>: 0 2 3 5
            tensor<2x3xi32>: 2 1 0 5 4 3
            tensor<3x3xi32>: 1 2 -1 -1 -1 -1 4 5 -1
            tensor<5x2xi32>: 0 2 3 5 0 3 1 4 2 5
            tensor<2x1x2xi32>: 0 3 2 5
        "#]],
    );
}

#[test]
fn quantized_arithmetic_goes_through_real_numbers() {
    check(
        &body(
            r#"
  %a = stablehlo.constant dense<[4.0, 15.0]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>
  %r = stablehlo.uniform_quantize %q : (tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>>
  %s = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  %t = stablehlo.add %s, %s : (tensor<2x!quant.uniform<i8:f32, 0.25>>, tensor<2x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-10>>
  %d = stablehlo.uniform_dequantize %t : (tensor<2x!quant.uniform<i8:f32, 0.5:-10>>) -> tensor<2xf32>
  return %q, %r, %t, %d : tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>, tensor<2x!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>>, tensor<2x!quant.uniform<i8:f32, 0.5:-10>>, tensor<2xf32>"#,
            "tensor<2x!quant.uniform<i8:f32:0, {0.1:-30,0.5:-20}>>, tensor<2x!quant.uniform<i8:f32:0, {0.1:-20,0.2:-30}>>, tensor<2x!quant.uniform<i8:f32, 0.5:-10>>, tensor<2xf32>",
        ),
        &[],
        expect![[r#"
            tensor<2xi8>: 10 10
            tensor<2xi8>: 20 45
            tensor<2xi8>: 6 50
            tensor<2xf32>: 8.0 30.0
        "#]],
    );
}

#[test]
fn a_missing_host_names_target_and_place() {
    check(
        &body(
            "  %a = stablehlo.constant dense<1.0> : tensor<f32>\n  %b = stablehlo.custom_call @nobody(%a) : (tensor<f32>) -> tensor<f32>\n  return %b : tensor<f32>",
            "tensor<f32>",
        ),
        &[],
        expect!["test.mlir:3:8: stablehlo.custom_call: @nobody: custom calls cannot run here"],
    );
}

/// Records the target and the number of results of each call, and doubles the operands.
struct Doubling(RefCell<Vec<String>>);

impl EvalHost for Doubling {
    fn custom_call(&self, call: &HostCall<'_>, operands: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        self.0.borrow_mut().push(format!("{} -> {} results", call.call.target, call.results().len()));
        let x = operands[0].tensor().ok_or("no tensor")?;
        Ok(vec![Literal::from_fn(x.dtype(), x.dims(), |i| Scalar::Float(x.get(i).as_f64() * 2.0)).into()])
    }
}

#[test]
fn custom_calls_run_inside_of_regions() {
    let module = verified(
        r#"
func.func @main(%x: tensor<3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.custom_call @double(%b) : (tensor<f32>) -> tensor<f32>
    %d = stablehlo.add %a, %c : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
"#,
    );
    let host = Doubling(RefCell::default());
    let x = Literal::from_slice(DType::F32, [3], &[1f32, 2.0, 3.0]);
    let out = eval(&module, &module.funcs()[0], &[x.into()], &host, Denormals::Ieee).unwrap();
    assert_eq!(show(&out), "tensor<f32>: 12.0\n");
    assert_eq!(host.0.into_inner(), ["double -> 1 results"; 3]);
}

#[test]
fn one_instruction_with_captured_values() {
    let module = parse(
        r#"
func.func @main(%x: tensor<3xf32>, %k: tensor<f32>) -> tensor<3xf32> {
  %r = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %c = stablehlo.multiply %a, %k : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<3xf32>) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
"#,
    );
    let func = &module.funcs()[0];
    let k = func.params()[1];
    let captured = |id| (id == k).then(|| Literal::scalar(DType::F32, Scalar::Float(10.0)).into());
    let x = Literal::from_slice(DType::F32, [3], &[1f32, 2.0, 3.0]);
    let inst = func.body().first().unwrap();
    let run = |captured: &dyn Fn(farcall_ir::ValueId) -> Option<EvalValue>| {
        eval_inst(&module, inst, &[x.clone().into()], captured, &NoHost, Denormals::Ieee)
    };
    assert_eq!(show(&run(&captured).unwrap()), "tensor<3xf32>: 10.0 20.0 30.0\n");
    assert!(run(&|_| None).unwrap_err().to_string().contains("used before it is computed"));
}

#[test]
fn wrong_inputs_are_errors() {
    let program = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }";
    check(program, &[], expect!["@main: 1 parameters expected, 0 given"]);
    let module = verified(program);
    let input = Literal::zeros(DType::F32, [2]);
    let e = eval(&module, &module.funcs()[0], &[input.into()], &NoHost, Denormals::Ieee).unwrap_err();
    assert_eq!(e.to_string(), "@main: parameter 0 is tensor<f32>, but a tensor<2xf32> was given");
}

/// Text of a chain of functions, each of which calls the next one from within two nested branches.
fn chain(length: usize) -> String {
    let mut text = String::new();
    for i in 0..length {
        let next =
            if i + 1 < length { format!("func.call @f{}(%x)", i + 1) } else { "stablehlo.negate %x".into() };
        let ty = if i + 1 < length { "(tensor<f32>) -> tensor<f32>" } else { "tensor<f32>" };
        let visibility = if i == 0 { "public" } else { "private" };
        writeln!(
            text,
            r#"func.func {visibility} @f{i}(%x: tensor<f32>) -> tensor<f32> {{
  %t = stablehlo.constant dense<true> : tensor<i1>
  %r = "stablehlo.if"(%t) ({{
    %s = "stablehlo.if"(%t) ({{
      %y = {next} : {ty}
      stablehlo.return %y : tensor<f32>
    }}, {{
      stablehlo.return %x : tensor<f32>
    }}) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}, {{
    stablehlo.return %x : tensor<f32>
  }}) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}}"#
        )
        .unwrap();
    }
    text
}

#[test]
fn a_thousand_calls_need_little_stack() {
    let text = chain(1000);
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let thread = small.spawn(move || run(&text, &[Scalar::Float(3.0)], Denormals::Ieee)).unwrap();
    assert_eq!(thread.join().unwrap(), "tensor<f32>: -3.0\n");
}

#[test]
fn endless_recursion_is_an_error() {
    let text = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %y = func.call @main(%x) : (tensor<f32>) -> tensor<f32>\n  return %y : tensor<f32>\n}";
    // The verifier rejects this program, but `eval_form` needs no verified module.
    let module = parse(text);
    let x = Literal::scalar(DType::F32, Scalar::Float(1.0)).into();
    let error = eval_form(&module, &module.funcs()[0], &[x], &NoHost, Denormals::Ieee).unwrap_err();
    assert_eq!(error.to_string(), "test.mlir:2:8: func.call: more than 1000 calls are active");
}

/// Evaluates a chain of functions. Each contains a reduction, whose region calls the next function. A long
/// chain is an error.
#[test]
fn nested_applications_end_in_a_result_or_an_error() {
    let nested = |length: usize| {
        let mut text = String::new();
        for i in 0..length {
            let visibility = if i == 0 { "public" } else { "private" };
            let next = if i + 1 < length {
                format!("func.call @f{}(%c) : (tensor<f32>) -> tensor<f32>", i + 1)
            } else {
                "stablehlo.negate %c : tensor<f32>".to_owned()
            };
            writeln!(
                text,
                r#"func.func {visibility} @f{i}(%x: tensor<f32>) -> tensor<f32> {{
  %v = stablehlo.reshape %x : (tensor<f32>) -> tensor<1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce"(%v, %zero) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    %d = {next}
    stablehlo.return %d : tensor<f32>
  }}) {{dimensions = array<i64: 0>}} : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}"#
            )
            .unwrap();
        }
        run(&text, &[Scalar::Float(2.0)], Denormals::Ieee)
    };
    assert_eq!(nested(50), "tensor<f32>: -2.0\n");
    assert!(
        nested(200).contains("operations that apply a region are nested deeper than 64"),
        "{}",
        nested(200)
    );
}

/// A host that feeds the numbers 1, 2, 3, … and records the program's outputs.
#[derive(Default)]
struct Queues {
    next: RefCell<i64>,
    log: RefCell<String>,
}

impl Queues {
    fn note(&self, what: &str, values: &[Literal]) {
        let values: Vec<EvalValue> = values.iter().cloned().map(EvalValue::Tensor).collect();
        write!(self.log.borrow_mut(), "{what}: {}", show(&values)).unwrap();
    }
}

impl EvalHost for Queues {
    fn custom_call(&self, _: &HostCall<'_>, _: &[EvalValue]) -> Result<Vec<EvalValue>, HostError> {
        Err("no custom calls".into())
    }

    fn infeed(&self, config: &str, types: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        assert_eq!(config, "numbers");
        let mut next = self.next.borrow_mut();
        let mut number = || {
            *next += 1;
            Scalar::Signed(*next)
        };
        Ok(types.iter().map(|t| Literal::from_fn(t.dtype, t.sizes(), |_| number())).collect())
    }

    fn outfeed(&self, config: &str, values: Vec<Literal>) -> Result<(), HostError> {
        self.note(&format!("outfeed {config:?}"), &values);
        Ok(())
    }

    fn send(&self, channel: i64, values: Vec<Literal>) -> Result<(), HostError> {
        self.note(&format!("send {channel}"), &values);
        Ok(())
    }

    fn recv(&self, channel: i64, _: &[TensorType]) -> Result<Vec<Literal>, HostError> {
        if channel == 7 { Ok(vec![Literal::scalar(DType::S64, Scalar::Bool(true))]) } else { Ok(Vec::new()) }
    }
}

const TRANSFERS: &str = r#"func.func @main() -> (tensor<2xi64>, tensor<i64>) {
    %t = stablehlo.create_token : !stablehlo.token
    %in:3 = "stablehlo.infeed"(%t) <{infeed_config = "numbers", layout = [[0], []]}> : (!stablehlo.token) -> (tensor<2xi64>, tensor<i64>, !stablehlo.token)
    %out = "stablehlo.outfeed"(%in#1, %in#0, %in#2) <{outfeed_config = "log"}> : (tensor<i64>, tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
    %again:2 = "stablehlo.infeed"(%out) <{infeed_config = "numbers"}> : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
    %sent = "stablehlo.send"(%again#0, %again#1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
    return %in#0, %again#0 : tensor<2xi64>, tensor<i64>
}"#;

#[test]
fn values_come_and_go_while_the_program_runs() {
    let module = verified(TRANSFERS);
    let host = Queues::default();
    let values = eval(&module, module.entry().unwrap(), &[], &host, Denormals::Ieee).unwrap();
    assert_eq!(show(&values), "tensor<2xi64>: 1 2\ntensor<i64>: 4\n");
    let expected = "outfeed \"log\": tensor<i64>: 3\ntensor<2xi64>: 1 2\nsend 5: tensor<i64>: 4\n";
    assert_eq!(*host.log.borrow(), expected);
}

#[test]
fn a_host_without_queues_says_so() {
    let error = run(TRANSFERS, &[], Denormals::Ieee);
    assert_eq!(error, "test.mlir:3:13: stablehlo.infeed: nothing feeds the program here");
}

#[test]
fn what_is_received_is_checked() {
    let recv = |channel: i64, attrs: &str| {
        let module = verified(&format!(
            "func.func @main(%t: !stablehlo.token) -> tensor<i32> {{\n  %r:2 = \"stablehlo.recv\"(%t) <{{channel_handle = \
             #stablehlo.channel_handle<handle = {channel}, {attrs}}}> : (!stablehlo.token) -> (tensor<i32>, \
             !stablehlo.token)\n  return %r#0 : tensor<i32>\n}}"
        ));
        let inputs = [EvalValue::Token];
        let result = eval(&module, module.entry().unwrap(), &inputs, &Queues::default(), Denormals::Ieee);
        result.unwrap_err().message
    };
    let host = "type = 3>, is_host_transfer = true";
    assert_eq!(recv(7, host), "result 0 is tensor<i32>, but a tensor<i64> was given");
    assert_eq!(recv(8, host), "2 results expected, 1 given");
    let device = "type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>";
    assert_eq!(recv(7, device), "it takes 2 participants, but the program runs on one device");
}

#[test]
fn diagonals_of_large_tensors_without_elements() {
    let n = 1u64 << 40;
    let program = format!(
        "func.func @main(%x: tensor<0x{n}x{n}xf32>) -> tensor<0x{n}xf32> {{\n  %0 = stablehlo.unary_einsum %x, config = \
         \"baa->ba\" : (tensor<0x{n}x{n}xf32>) -> tensor<0x{n}xf32>\n  return %0 : tensor<0x{n}xf32>\n}}"
    );
    let module = verified(&program);
    let entry = module.entry().unwrap();
    let input = Literal::zeros(DType::F32, vec![0, n as usize, n as usize]);
    let values = eval(&module, entry, &[input.into()], &NoHost, Denormals::Ieee).unwrap();
    assert_eq!(show(&values), format!("tensor<0x{n}xf32>: \n"));
}
