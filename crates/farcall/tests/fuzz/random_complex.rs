//! Compares functions of complex numbers, and conversions from and to floats, with the evaluator. The
//! operands are ordinary numbers, numbers near points where digits can be lost, NaNs, infinities, zeros of
//! both signs, and subnormal numbers.

use farcall::ir::eval::Denormals;
use farcall::ir::middle::pipeline::Pipeline;
use farcall::ir::{DType, Literal, Scalar};
use farcall_testing::SplitMix;
use farcall_testing::compare::Tolerance;
use farcall_testing::engine::Both;
use num_complex::Complex;

const N: usize = 1000;

/// Returns a random real or imaginary part.
fn part(r: &mut SplitMix) -> f64 {
    let sign = r.pick(&[1.0, -1.0]);
    let fraction = r.next() as f64 / u64::MAX as f64;
    sign * match r.below(40) {
        0 => 0.0,
        1 => f64::NAN,
        2 => f64::INFINITY,
        3 => 1e-42,
        4 => 1e-310,
        5 => 3e38 * fraction,
        12 => 4e9 * fraction,
        13 => 200.0 * fraction,
        14 => r.pick(&[127.5, 128.0, 255.9, 32_768.0, 65_535.5, 2_147_483_647.0, 2_147_483_648.0]),
        6 => 1.0,
        7 => 1.0 + 1e-6 * fraction,
        8 => std::f64::consts::PI,
        9 => 100.0 * fraction,
        10 => 1e-30 * fraction,
        11 => 1e5 * fraction,
        _ => 3.0 * fraction,
    }
}

fn numbers(r: &mut SplitMix, dtype: DType) -> Literal {
    Literal::from_fn(dtype, [N], |_| match dtype {
        _ if dtype.is_complex() => Scalar::Complex(Complex::new(part(r), part(r))),
        DType::Pred => Scalar::Bool(r.below(2) == 0),
        _ if dtype.is_float() => Scalar::Float(part(r)),
        _ if dtype.is_signed_integer() => Scalar::Signed(r.next() as i64 >> r.below(64)),
        _ => Scalar::Unsigned(r.next() >> r.below(64)),
    })
}

/// Maximum difference of results. The absolute part is about two of the smallest subnormal numbers.
fn tolerance(epsilon: f64) -> Tolerance {
    Tolerance { relative: epsilon, absolute: if epsilon > 1e-10 { 3e-45 } else { 1e-323 } }
}

/// Runs an operation in the engine and in the evaluator, and compares the results. The engine must not use
/// the `reference` kernel.
fn check(op: &str, operands: &[DType], result: DType, r: &mut SplitMix, epsilon: f64) {
    let ty = |dtype: DType| format!("tensor<{N}x{}>", dtype.mlir());
    let args: Vec<String> = operands.iter().enumerate().map(|(i, d)| format!("%{i}: {}", ty(*d))).collect();
    let names: Vec<String> = (0..operands.len()).map(|i| format!("%{i}")).collect();
    let types: Vec<String> = operands.iter().map(|d| ty(*d)).collect();
    let (args, names, types, result) = (args.join(", "), names.join(", "), types.join(", "), ty(result));
    let program = format!(
        "func.func @main({args}) -> {result} {{
  %r = {op}({names}) : ({types}) -> {result}
  return %r : {result}
}}"
    );
    let inputs: Vec<Literal> = operands.iter().map(|d| numbers(r, *d)).collect();
    for denormals in [Denormals::Ieee, Denormals::Flush] {
        let both = Both::run(&program, &inputs, denormals, Pipeline::default());
        assert_eq!(both.thunks("reference"), 0, "{program}{}", both.executable.plan());
        for (found, wanted) in both.results() {
            for i in 0..N {
                let (x, y) = (found.get(i).as_complex(), wanted.get(i).as_complex());
                // As in XLA, products are computed in the precision of the type, so terms may overflow.
                let product = op.contains("multiply") || op.contains("square");
                let fits = y.re.abs().max(y.im.abs()) < 1e38;
                assert!(
                    (product && !fits) || tolerance(epsilon).holds_for_parts(x, y),
                    "{op}, {denormals:?}: the result is {x:e}, not {y:e}, for the operands {:?}",
                    inputs.iter().map(|input| input.get(i)).collect::<Vec<_>>()
                );
            }
        }
    }
}

/// Tolerance relative to a number's magnitude: for rounding and, with `f64`, for the mathematics library.
fn epsilon(dtype: DType) -> f64 {
    if dtype == DType::C64 { 1.5e-7 } else { 1e-14 }
}

#[test]
fn functions() {
    let mut r = SplitMix::new(1);
    let unary = [
        "negate",
        "exponential",
        "exponential_minus_one",
        "log",
        "log_plus_one",
        "sqrt",
        "rsqrt",
        "cbrt",
        "sign",
        "sine",
        "cosine",
        "tan",
        "tanh",
        "logistic",
    ];
    let binary = ["add", "subtract", "multiply", "divide", "power", "atan2"];
    let chlo = ["sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "square", "conj"];
    for (dtype, real) in [(DType::C64, DType::F32), (DType::C128, DType::F64)] {
        let epsilon = epsilon(dtype);
        for _ in 0..4 {
            for op in unary {
                check(&format!("\"stablehlo.{op}\""), &[dtype], dtype, &mut r, epsilon);
            }
            for op in chlo {
                check(&format!("\"chlo.{op}\""), &[dtype], dtype, &mut r, epsilon);
            }
            for op in binary {
                check(&format!("\"stablehlo.{op}\""), &[dtype; 2], dtype, &mut r, epsilon);
            }
            for op in ["abs", "real", "imag"] {
                check(&format!("\"stablehlo.{op}\""), &[dtype], real, &mut r, epsilon);
            }
        }
    }
}

#[test]
fn conversions() {
    let mut r = SplitMix::new(2);
    let all = [
        DType::Pred,
        DType::S8,
        DType::U8,
        DType::S16,
        DType::S32,
        DType::S64,
        DType::U16,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::C64,
        DType::C128,
    ];
    for from in all {
        for to in all {
            let complex = from.is_complex() || to.is_complex();
            let wide = [DType::F32, DType::F64, DType::C64, DType::C128];
            // Only these conversions need a kernel, because the other types are rare.
            let served =
                wide.contains(&to) && (wide.contains(&from) || matches!(from, DType::S32 | DType::S64));
            let floats = from.is_float() || matches!(to, DType::F16 | DType::BF16);
            if (complex && served) || (!complex && floats) {
                check("\"stablehlo.convert\"", &[from], to, &mut r, 0.0);
            }
        }
    }
}

#[test]
fn sums_and_products() {
    let mut r = SplitMix::new(4);
    for dtype in [DType::C64, DType::C128] {
        let mut near_one = |dims: &[usize]| {
            let mut part = || (r.below(1000) as f64 - 500.0) / 1000.0;
            Literal::from_fn(dtype, dims, |_| Scalar::Complex(Complex::new(0.75 + part(), part())))
        };
        for (dim, kept) in [(0, 20), (1, 37)] {
            let inputs = [near_one(&[37, 20]), near_one(&[])];
            for op in ["add", "multiply"] {
                let t = dtype.mlir();
                let program = format!(
                    "func.func @main(%x: tensor<37x20x{t}>, %i: tensor<{t}>) -> tensor<{kept}x{t}> {{
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.{op} across dimensions = [{dim}]
    : (tensor<37x20x{t}>, tensor<{t}>) -> tensor<{kept}x{t}>
  return %r : tensor<{kept}x{t}>
}}"
                );
                let both = Both::run(&program, &inputs, Denormals::Ieee, Pipeline::default());
                for (found, wanted) in both.results() {
                    for i in 0..kept {
                        let (x, y) = (found.get(i).as_complex(), wanted.get(i).as_complex());
                        assert!(
                            tolerance(20.0 * epsilon(dtype)).holds_for_parts(x, y),
                            "{op}, element {i}: {x}, not {y}\n{program}"
                        );
                    }
                }
            }
        }
    }
}
