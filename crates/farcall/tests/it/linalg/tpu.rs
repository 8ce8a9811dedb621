//! Custom calls of programs that JAX exports for TPUs, by registered targets and by their default bodies.

use farcall::ffi;
use farcall::ffi::prelude::*;
use farcall::ir::{DType, Literal, Scalar, Source, eval, text, verify};
use farcall::plan::BlockChoice;
use farcall::registry::{Platform, Rank};
use farcall::{CompileOptions, Executable, Registry, compile_plan};
use num_complex::Complex;

use super::{mlir_type, numbers, random};

/// Returns a program with one call. Its results are a tuple if `is_tuple`.
fn program(target: &str, config: &str, operands: &[&str], results: &[&str], is_tuple: bool) -> String {
    let params: Vec<String> = operands.iter().enumerate().map(|(i, ty)| format!("%x{i}: {ty}")).collect();
    let values: Vec<String> = (0..operands.len()).map(|i| format!("%x{i}")).collect();
    let (types, count) = (results.join(", "), results.len());
    let (bind, made, rest) = if is_tuple {
        let part =
            |i| format!("%y{i} = stablehlo.get_tuple_element %t[{i}] : (tuple<{types}>) -> {}\n", results[i]);
        ("%t".to_owned(), format!("tuple<{types}>"), (0..count).map(part).collect())
    } else {
        let names: Vec<String> = (0..count).map(|i| format!("%y{i}")).collect();
        match count {
            1 => (names[0].clone(), types.clone(), String::new()),
            _ => {
                let copy =
                    |i: usize| format!("%y{i} = stablehlo.optimization_barrier %y#{i} : {}\n", results[i]);
                (format!("%y:{count}"), format!("({types})"), (0..count).map(copy).collect())
            }
        }
    };
    let returned: Vec<String> = (0..count).map(|i| format!("%y{i}")).collect();
    format!(
        "func.func @main({}) -> ({types}) {{
           {bind} = stablehlo.custom_call @{target}({}) {{{config}}} : ({}) -> {made}
           {rest}return {} : {types}
         }}",
        params.join(", "),
        values.join(", "),
        operands.join(", "),
        returned.join(", ")
    )
}

fn module(program: &str) -> farcall::ir::module::Module {
    text::parse(&Source::new("tpu.mlir", program.to_owned())).unwrap_or_else(|e| panic!("{e}\n{program}"))
}

/// Returns the origin of the target that replaces the only call, or the reason for the default body.
fn chosen(program: &str, platform: Platform, registry: &Registry) -> Result<(Rank, String), String> {
    let plan = compile_plan(&module(program), registry, &CompileOptions::new().platform(platform)).unwrap();
    let [block] = plan.blocks() else { panic!("{:?}", plan.blocks()) };
    match &block.choice {
        BlockChoice::Call { rank, target, .. } => Ok((*rank, target.clone())),
        BlockChoice::DefaultBody { reason } => Err(reason.clone()),
    }
}

fn execute(program: &str, registry: &Registry, inputs: &[Literal]) -> Vec<Literal> {
    Executable::compile(&module(program), registry, &CompileOptions::new()).unwrap().run(inputs).unwrap()
}

fn evaluate(program: &str, inputs: &[Literal]) -> Vec<Literal> {
    let module = verify::verify_owned(module(program)).unwrap_or_else(|e| panic!("{e}"));
    let inputs: Vec<_> = inputs.iter().cloned().map(eval::EvalValue::Tensor).collect();
    let entry = module.entry().unwrap();
    let found = eval::eval(&module, entry, &inputs, &eval::NoHost, eval::Denormals::Ieee).unwrap();
    found
        .into_iter()
        .map(|value| match value {
            eval::EvalValue::Tensor(literal) => literal,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Returns a tensor of random numbers, complex ones for complex types.
fn matrices(dtype: DType, dims: &[usize], seed: u64) -> Literal {
    let (re, im) = (random(DType::F64, dims, seed), random(DType::F64, dims, seed + 100));
    let (re, im) = (numbers(&re), numbers(&im));
    Literal::from_fn(dtype, dims.to_vec(), |i| match dtype.is_complex() {
        true => Scalar::Complex(Complex::new(re[i], im[i])),
        false => Scalar::Float(re[i]),
    })
}

fn complex(x: &Literal) -> Vec<Complex<f64>> {
    let parts = x.iter().map(|x| match x {
        Scalar::Complex(x) => x,
        real => Complex::from(real.as_f64()),
    });
    parts.collect()
}

#[track_caller]
fn assert_close(found: &Literal, expected: &Literal, tolerance: f64) {
    assert_eq!(found.ty(), expected.ty());
    for (i, (found, expected)) in complex(found).iter().zip(complex(expected)).enumerate() {
        assert!((found - expected).norm() <= tolerance, "at {i}: {found} is not {expected}");
    }
}

const TYPES: [(DType, f64); 4] =
    [(DType::F32, 5e-6), (DType::F64, 1e-13), (DType::C64, 5e-6), (DType::C128, 1e-13)];

fn types(dtype: DType, all: &[&[usize]]) -> Vec<String> {
    all.iter().map(|dims| mlir_type(dtype, dims).replace(&dtype.to_string(), dtype.mlir())).collect()
}

/// Both algorithms follow LAPACK's `geqrf` and `orgqr`, so all results are unique.
#[test]
fn default_bodies_of_qr_agree_with_the_handlers() {
    for (dtype, tolerance) in TYPES {
        for (batch, m, n) in
            [(vec![], 4, 3), (vec![2, 3], 3, 3), (vec![2], 2, 5), (vec![], 1, 1), (vec![0], 2, 2)]
        {
            let dims = |last: &[usize]| [&batch[..], last].concat();
            let (x, taus) = (matrices(dtype, &dims(&[m, n]), 5), dims(&[m.min(n)]));
            let names = types(dtype, &[x.dims(), &taus]);
            for is_tuple in [false, true] {
                let qr = program("Qr", "", &[&names[0]], &[&names[0], &names[1]], is_tuple);
                assert_eq!(
                    chosen(&qr, Platform::Host, &Registry::new()),
                    Ok((Rank::BuiltIn, "Qr".to_owned()))
                );
                let expected = execute(&qr, &Registry::new(), std::slice::from_ref(&x));
                for found in [
                    execute(&qr, &Registry::without_built_ins(), std::slice::from_ref(&x)),
                    evaluate(&qr, std::slice::from_ref(&x)),
                ] {
                    (0..2).for_each(|i| assert_close(&found[i], &expected[i], tolerance));
                }
                if m < n {
                    continue;
                }
                let name = "ProductOfElementaryHouseholderReflectors";
                let product = program(name, "", &[&names[0], &names[1]], &[&names[0]], is_tuple);
                let expected_q = execute(&product, &Registry::new(), &expected);
                let found = execute(&product, &Registry::without_built_ins(), &expected);
                assert_close(&found[0], &expected_q[0], tolerance);
            }
        }
    }
}

/// Returns the largest entry of `x·v − v·diag(w)` and of `vᴴ·v − 1` for the Hermitian matrix `x` that a
/// triangle gives.
fn error(x: &Literal, lower: bool, v: &Literal, w: &Literal) -> f64 {
    let n = *x.dims().last().unwrap();
    let (x, v, w) = (complex(x), complex(v), complex(w));
    let mut largest = 0.0f64;
    for (at, w) in w.chunks(n).enumerate() {
        assert!(w.is_sorted_by(|a, b| a.re <= b.re), "{w:?}");
        let (x, v) = (&x[at * n * n..][..n * n], &v[at * n * n..][..n * n]);
        let x = |i: usize, j: usize| match (i == j, (i > j) == lower) {
            (true, _) => Complex::from(x[i * n + j].re),
            (false, true) => x[i * n + j],
            (false, false) => x[j * n + i].conj(),
        };
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let product: Complex<f64> = (0..n).map(|k| x(i, k) * v[k * n + j]).sum();
            let gram: Complex<f64> = (0..n).map(|k| v[k * n + i].conj() * v[k * n + j]).sum();
            let one = if i == j { 1.0 } else { 0.0 };
            largest = largest.max((product - v[i * n + j] * w[j].re).norm()).max((gram - one).norm());
        }
    }
    largest
}

#[test]
fn eigendecompositions_read_the_triangle_that_the_configuration_names() {
    for (dtype, tolerance) in TYPES {
        for batch in [vec![], vec![3], vec![2, 2]] {
            for n in [1, 2, 5, 8] {
                let x = matrices(dtype, &[&batch[..], &[n, n]].concat(), 7);
                let vectors = types(dtype, &[x.dims()]).remove(0);
                let values = types(dtype.real(), &[&[&batch[..], &[n]].concat()]).remove(0);
                for (config, lower) in [
                    ("api_version = 1 : i32, backend_config = \"1,1,100,1e-6\"", true),
                    ("backend_config = \"0,1,100,1e-6\"", false),
                    ("api_version = 4 : i32, backend_config = {lower = false}", false),
                    ("", true),
                ] {
                    let is_tuple = n == 5;
                    let eigh = program("Eigh", config, &[&vectors], &[&vectors, &values], is_tuple);
                    let origin = chosen(&eigh, Platform::Host, &Registry::new());
                    assert_eq!(origin, Ok((Rank::BuiltIn, "Eigh".to_owned())), "{eigh}");
                    let inputs = std::slice::from_ref(&x);
                    let mut results = vec![
                        execute(&eigh, &Registry::new(), inputs),
                        execute(&eigh, &Registry::without_built_ins(), inputs),
                    ];
                    if batch.is_empty() {
                        results.push(evaluate(&eigh, inputs));
                    }
                    for found in results {
                        let error = error(&x, lower, &found[0], &found[1]);
                        assert!(error < 3.0 * tolerance, "{dtype} {batch:?} {config}, {n}×{n}: {error}");
                    }
                }
            }
        }
    }
}

/// Stores zeros and sevens, so that results show that this op was called.
#[handler(name = "Eigh")]
#[signature((x: f32[n, n], lower: bool = true) -> (v: f32[n, n], w: f32[n]))]
fn sevens(x: &Buffer<f32>, lower: bool, v: &mut Buffer<f32>, w: &mut Buffer<f32>) -> ffi::Result<()> {
    let _ = x;
    v.fill(if lower { 0.0 } else { 1.0 });
    w.fill(7.0);
    Ok(())
}

#[test]
fn registered_targets_take_precedence() {
    let config = "api_version = 1 : i32, backend_config = \"0,1,15,1e-5\"";
    let names = types(DType::F32, &[&[2, 2], &[2]]);
    let eigh = program("Eigh", config, &[&names[0]], &[&names[0], &names[1]], false);
    for registry in [Registry::new(), Registry::without_built_ins()] {
        registry.register_ops(ffi::ops![sevens]).unwrap();
        let (rank, target) = chosen(&eigh, Platform::Host, &registry).unwrap();
        assert!(rank < Rank::BuiltIn, "{rank}");
        assert_eq!(target, "Eigh");
        let found = execute(&eigh, &registry, &[matrices(DType::F32, &[2, 2], 1)]);
        assert_eq!(numbers(&found[0]), [1.0; 4]);
        assert_eq!(numbers(&found[1]), [7.0; 2]);
    }
    // The registered target accepts no batches, so it is not called.
    let names = types(DType::F32, &[&[3, 2, 2], &[3, 2]]);
    let eigh = program("Eigh", config, &[&names[0]], &[&names[0], &names[1]], false);
    let registry = Registry::new();
    registry.register_ops(ffi::ops![sevens]).unwrap();
    let reason = chosen(&eigh, Platform::Host, &registry).unwrap_err();
    assert!(reason.contains("Eigh: x"), "{reason}");
    let reason = chosen(&eigh, Platform::Host, &Registry::without_built_ins()).unwrap_err();
    assert_eq!(reason, "no target `Eigh` is registered for the platform Host");
    assert!(chosen(&eigh, Platform::Cuda, &Registry::new()).is_err());
}
