//! Tests of the linear algebra that the engine includes: values, signs, order, batches, derivatives. Python
//! tests compare with NumPy's LAPACK and with JAX (`python/tests/test_linalg.py`).

mod blocks;
mod derivatives;
mod eigh;
mod lapack;
mod qr;
mod tpu;

use farcall::ir::{DType, Literal, Scalar, Source, text};
use farcall::{CompileOptions, Executable, Registry};

/// Runs a program.
fn run(program: &str, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let module = text::parse(&Source::new("test.mlir", program.to_owned())).map_err(|e| e.to_string())?;
    let executable =
        Executable::compile(&module, &Registry::new(), &CompileOptions::new()).map_err(|e| e.to_string())?;
    executable.run(inputs).map_err(|e| e.to_string())
}

/// Calls a target without attributes, like front ends that do not know its signature.
fn call(target: &str, inputs: &[&Literal], results: &[(DType, &[usize])]) -> Result<Vec<Literal>, String> {
    let inputs: Vec<Literal> = inputs.iter().map(|&x| x.clone()).collect();
    let operands: Vec<String> = inputs.iter().map(|x| mlir_type(x.dtype(), x.dims())).collect();
    let results: Vec<String> = results.iter().map(|(dtype, dims)| mlir_type(*dtype, dims)).collect();
    let (operands, results, count) = (operands, results.join(", "), results.len());
    let params: Vec<String> = operands.iter().enumerate().map(|(i, ty)| format!("%x{i}: {ty}")).collect();
    let names: Vec<String> = (0..operands.len()).map(|i| format!("%x{i}")).collect();
    let returned: Vec<String> = (0..count).map(|i| format!("%y#{i}")).collect();
    let (returned, bind) = match count {
        1 => ("%y".to_owned(), "%y".to_owned()),
        _ => (returned.join(", "), format!("%y:{count}")),
    };
    let program = format!(
        "func.func @main({}) -> ({results}) {{\n  \
         {bind} = stablehlo.custom_call @{target}({}) {{api_version = 4 : i32}} : ({}) -> ({results})\n  \
         return {returned} : {results}\n}}",
        params.join(", "),
        names.join(", "),
        operands.join(", ")
    );
    run(&program, &inputs)
}

/// Formats a type: `tensor<2x3xf32>`.
fn mlir_type(dtype: DType, dims: &[usize]) -> String {
    let dims: String = dims.iter().map(|d| format!("{d}x")).collect();
    format!("tensor<{dims}{dtype}>")
}

/// Returns a tensor of numbers.
fn tensor(dtype: DType, dims: &[usize], entry: impl Fn(usize) -> f64) -> Literal {
    Literal::from_fn(dtype, dims.to_vec(), |i| Scalar::Float(entry(i)))
}

/// Returns numbers between −1 and 1 that are the same in every run.
fn random(dtype: DType, dims: &[usize], seed: u64) -> Literal {
    let entry = |i: usize| {
        // SplitMix64.
        let mut z = (seed << 32 | i as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) as f64 / u64::MAX as f64 * 2.0 - 1.0
    };
    tensor(dtype, dims, entry)
}

fn numbers(x: &Literal) -> Vec<f64> {
    x.iter().map(|x| x.as_f64()).collect()
}

/// Returns the product of row-major matrices.
fn product(a: &[f64], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
    (0..m * n).map(|at| entry(at / n, at % n)).collect()
}

fn transposed(a: &[f64], [m, n]: [usize; 2]) -> Vec<f64> {
    (0..m * n).map(|at| a[at % m * n + at / m]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= tolerance, "at {i}: {found} is not {expected}");
    }
}
