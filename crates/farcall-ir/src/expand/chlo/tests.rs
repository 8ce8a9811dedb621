//! Compares CHLO functions expanded into StableHLO operations with the same functions as the evaluator
//! computes them directly.

use super::*;
use crate::eval::{self, EvalValue, NoHost, Numerics};
use crate::verify::verify;
use crate::{Module, Source, text};

/// Results of a program with one CHLO function: as the evaluator computes it directly, and as expanded.
fn results(name: &str, ty: &str, result: &str, operands: &[Literal]) -> [Vec<Literal>; 2] {
    let args: Vec<String> = (0..operands.len()).map(|i| format!("%{i}: {ty}")).collect();
    let uses: Vec<String> = (0..operands.len()).map(|i| format!("%{i}")).collect();
    let types = vec![ty; operands.len()].join(", ");
    let program = format!(
        "func.func @main({}) -> {result} {{\n  %y = {name} {} : {types} -> {result}\n  return %y : {result}\n}}",
        args.join(", "),
        uses.join(", ")
    );
    let module = text::parse(&Source::new(name, program)).unwrap();
    let mut expanded = module.clone();
    run(expanded.func_mut(crate::FuncId::new(0)));
    assert!(!text::print(&expanded).contains("chlo."), "{}", text::print(&expanded));
    verify(&expanded).unwrap();
    [module, expanded].map(|module| values(&module, operands))
}

fn values(module: &Module, operands: &[Literal]) -> Vec<Literal> {
    let module = &verify(module).unwrap();
    let inputs: Vec<EvalValue> = operands.iter().cloned().map(EvalValue::Tensor).collect();
    eval::tensors(&eval::eval(module, &module.funcs()[0], &inputs, &NoHost, Numerics::default()).unwrap())
}

const POINTS: [f64; 34] = [
    0.0,
    -0.0,
    1e-9,
    -1e-4,
    0.01,
    0.25,
    -0.4,
    0.47,
    0.5,
    -0.75,
    0.99,
    1.0,
    -1.0,
    1.25,
    1.5,
    -1.5,
    2.0,
    -2.0,
    2.75,
    3.5,
    -3.25,
    4.5,
    -5.0,
    7.0,
    8.5,
    -9.75,
    20.0,
    30.5,
    1e3,
    -1e3,
    1e20,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn points(dtype: DType, f: impl Fn(usize) -> f64) -> Literal {
    Literal::from_fn(dtype, [POINTS.len()], |i| Scalar::Float(f(i)))
}

/// Compares the results of a function and of its expansion. The tolerance is relative, but absolute for
/// results smaller than 1.
#[track_caller]
fn compare(name: &str, [expected, found]: [Vec<Literal>; 2], operands: &[Literal], tolerance: f64) {
    for (i, (a, b)) in expected[0].iter().zip(found[0].iter()).enumerate() {
        let (a, b) = (a.as_f64(), b.as_f64());
        let close = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * a.abs().max(1.0);
        let at: Vec<f64> = operands.iter().map(|x| x.get(i).as_f64()).collect();
        assert!(close, "{name}({at:?}) is {a}, but its expansion gives {b}");
    }
}

#[test]
fn functions_of_one_variable() {
    let names = [
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "bessel_i1e",
        "conj",
        "cosh",
        "digamma",
        "erf",
        "erf_inv",
        "erfc",
        "lgamma",
        "sinh",
        "square",
        "tan",
    ];
    for (dtype, ty, tolerance) in [
        (DType::F64, "tensor<34xf64>", 2e-12),
        (DType::F32, "tensor<34xf32>", 1e-5),
        (DType::F16, "tensor<34xf16>", 2e-3),
    ] {
        for name in names {
            let x = [points(dtype, |i| POINTS[i])];
            let name = format!("chlo.{name}");
            compare(&name, results(&name, ty, ty, &x), &x, tolerance);
        }
        for name in ["chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf"] {
            let x = [points(dtype, |i| POINTS[i])];
            let [expected, found] = results(name, ty, "tensor<34xi1>", &x);
            assert_eq!(expected, found, "{name}");
        }
    }
}

#[test]
fn functions_of_two_variables() {
    for (dtype, ty, tolerance) in
        [(DType::F64, "tensor<34xf64>", 1e-10), (DType::F32, "tensor<34xf32>", 2e-5)]
    {
        // `f32` is not precise enough for arguments below zero, for which large terms cancel.
        let lowest = if dtype == DType::F64 { -6.0 } else { 0.0 };
        for shift in 0..7 {
            let other = [1.0, 2.0, 3.0, 4.0, 2.5, 6.0, 0.0][shift];
            let x = [points(dtype, |_| other), points(dtype, |i| POINTS[i].clamp(lowest, 40.0))];
            compare("chlo.zeta", results("chlo.zeta", ty, ty, &x), &x, tolerance);
            compare("chlo.polygamma", results("chlo.polygamma", ty, ty, &x), &x, tolerance);
            let y = [points(dtype, |i| POINTS[i]), points(dtype, |i| POINTS[(i * 5 + shift) % POINTS.len()])];
            let [expected, found] = results("chlo.next_after", ty, ty, &y);
            for (i, (a, b)) in expected[0].iter().zip(found[0].iter()).enumerate() {
                let (a, b) = (a.as_f64(), b.as_f64());
                let same = a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                assert!(
                    same,
                    "next_after({}, {}) is {a}, but its expansion gives {b}",
                    y[0].get(i).as_f64(),
                    y[1].get(i).as_f64()
                );
            }
        }
    }
}

#[test]
fn products_and_largest_elements() {
    for (dtype, name) in [(DType::S64, "i64"), (DType::U64, "ui64"), (DType::S32, "i32"), (DType::U8, "ui8")]
    {
        let numbers = |step: u64| {
            Literal::from_fn(dtype, [40], |i| {
                Scalar::Unsigned((i as u64 + 1).wrapping_mul(step).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                    .round_to(dtype)
            })
        };
        let ty = format!("tensor<40x{name}>");
        let [expected, found] = results("chlo.mulhi", &ty, &ty, &[numbers(3), numbers(7)]);
        assert_eq!(expected, found, "{name}");
    }
    let program = "func.func @main(%x: tensor<2x5xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = chlo.top_k(%x, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}";
    let module = text::parse(&Source::new("top_k", program)).unwrap();
    let mut expanded = module.clone();
    run(expanded.func_mut(crate::FuncId::new(0)));
    assert!(!text::print(&expanded).contains("chlo."));
    let x = Literal::from_slice(
        DType::F32,
        [2, 5],
        &[1f32, 3.0, 3.0, f32::NAN, -0.0, 0.0, -0.0, 5.0, 5.0, -f32::INFINITY],
    );
    let [a, b] = [module, expanded].map(|m| values(&m, std::slice::from_ref(&x)));
    assert_eq!(a[1], b[1]);
}
