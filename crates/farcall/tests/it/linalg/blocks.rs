//! Decompositions as blocks: default bodies, and lowerings.

use farcall::ir::module::Module;
use farcall::ir::{DType, Literal, Scalar, Source, TensorType, text, verify};
use farcall::plan::BlockChoice;
use farcall::registry::{Platform, Rank};
use farcall::{CompileOptions, Executable, Registry, compile_plan, ffi};
use farcall_linalg::blocks::{Eigh, Mode, QR, Qr};
use num_complex::Complex;

use super::{assert_close, identity, numbers, product, random, tensor, transposed};

fn execute(module: &Module, registry: &Registry, x: &Literal) -> [Literal; 2] {
    let executable = Executable::compile(module, registry, &CompileOptions::new()).unwrap();
    executable.run(std::slice::from_ref(x)).unwrap().try_into().unwrap()
}

/// Returns the results of the default body, after checking that the program is valid and can be printed and
/// parsed.
fn by_default(module: &Module, x: &Literal) -> [Literal; 2] {
    let written = text::print(module);
    let read =
        text::parse(&Source::new("block.mlir", written.clone())).unwrap_or_else(|e| panic!("{e}\n{written}"));
    verify::verify(&read).unwrap_or_else(|e| panic!("{e}\n{written}"));
    execute(&read, &Registry::without_built_ins(), x)
}

fn qr(mode: Mode) -> Qr {
    Qr { mode, ..Qr::default() }
}

/// Returns the target that the only block of a program is lowered to, or the reason why it is not lowered.
fn chosen(module: &Module, platform: Platform, registry: &Registry) -> Result<String, String> {
    let plan = compile_plan(module, registry, &CompileOptions::new().platform(platform)).unwrap();
    let [block] = plan.blocks() else { panic!("{:?}", plan.blocks()) };
    match &block.choice {
        BlockChoice::Call { target, .. } => Ok(target.clone()),
        BlockChoice::DefaultBody { reason } => {
            let skipped = block.skipped.iter().map(|skipped| skipped.reason.as_str());
            Err(skipped.chain([reason.as_str()]).collect::<Vec<_>>().join("; "))
        }
    }
}

#[test]
fn the_default_body_of_qr_agrees_with_the_handler() {
    let sizes: [&[usize]; 9] =
        [&[1, 1], &[3, 3], &[5, 3], &[3, 5], &[1, 4], &[4, 1], &[2, 3, 4, 3], &[0, 3], &[3, 0]];
    let types = [
        (DType::F64, 1e-14),
        (DType::F32, 3e-6),
        (DType::F16, 4e-3),
        (DType::BF16, 4e-2),
        (DType::S32, 5e-4),
    ];
    for dims in sizes {
        for (dtype, tolerance) in types {
            let x = match dtype {
                DType::S32 => {
                    Literal::from_fn(dtype, dims.to_vec(), |i| Scalar::Signed((i * i % 11) as i64 - 5))
                }
                _ => random(dtype, dims, 3),
            };
            for mode in [Mode::Reduced, Mode::Complete] {
                let module = qr(mode).program(&x.ty()).unwrap();
                let found = by_default(&module, &x);
                let target = chosen(&module, Platform::Host, &Registry::new()).unwrap();
                let suffix = if dtype == DType::S32 { DType::F32 } else { dtype };
                assert_eq!(target, format!("qr_cpu_custom_call_{suffix}"));
                for (found, expected) in found.iter().zip(execute(&module, &Registry::new(), &x)) {
                    assert_eq!(found.ty(), expected.ty());
                    assert_close(&numbers(found), &numbers(&expected), tolerance);
                }
            }
        }
    }
}

#[test]
fn dependent_columns_and_extreme_numbers_are_decomposed_alike() {
    let entries = numbers(&random(DType::F64, &[5, 4], 8));
    // Zero in the first and the third column.
    let dependent = |i: usize| if i.is_multiple_of(2) { 0.0 } else { entries[i] };
    let matrices = [
        tensor(DType::F64, &[5, 4], dependent),
        tensor(DType::F64, &[5, 4], |_| 0.0),
        tensor(DType::F64, &[5, 4], |i| entries[i] * 1e200),
        tensor(DType::F64, &[5, 4], |i| entries[i] * 1e-200),
    ];
    for x in matrices {
        let module = qr(Mode::Complete).program(&x.ty()).unwrap();
        let largest = numbers(&x).iter().fold(1e-300f64, |largest, x| largest.max(x.abs()));
        let [[q, r], [expected_q, expected_r]] =
            [by_default(&module, &x), execute(&module, &Registry::new(), &x)];
        assert_close(&numbers(&q), &numbers(&expected_q), 1e-14);
        let scaled = |r: &Literal| numbers(r).iter().map(|r| r / largest).collect::<Vec<_>>();
        assert_close(&scaled(&r), &scaled(&expected_r), 1e-14);
    }
}

#[test]
fn the_default_body_of_eigh_agrees_with_the_handler() {
    let sizes: [&[usize]; 8] =
        [&[1, 1], &[2, 2], &[3, 3], &[6, 6], &[17, 17], &[2, 3, 5, 5], &[0, 0], &[0, 2, 2]];
    for dims in sizes {
        for (dtype, tolerance) in [(DType::F64, 1e-13), (DType::F32, 2e-5), (DType::S64, 1e-3)] {
            let x = match dtype {
                DType::S64 => {
                    Literal::from_fn(dtype, dims.to_vec(), |i| Scalar::Signed((i * i % 13) as i64 - 6))
                }
                _ => random(dtype, dims, 6),
            };
            let module = Eigh::exact(dtype).program(&x.ty()).unwrap();
            let target = chosen(&module, Platform::Host, &Registry::new()).unwrap();
            assert_eq!(
                target,
                format!("eigh_cpu_custom_call_{}", if dtype == DType::F64 { "f64" } else { "f32" })
            );
            for (found, expected) in
                by_default(&module, &x).iter().zip(execute(&module, &Registry::new(), &x))
            {
                assert_eq!(found.ty(), expected.ty());
                assert_close(&numbers(found), &numbers(&expected), tolerance);
            }
        }
    }
}

/// Represents a complex matrix by a real matrix of twice the size. The product of two complex matrices is
/// then represented by the product of the real matrices.
fn as_real(x: &Literal) -> Vec<f64> {
    let [m, n] = x.dims().try_into().unwrap();
    let parts: Vec<Complex<f64>> = x
        .iter()
        .map(|x| match x {
            Scalar::Complex(x) => x,
            other => Complex::new(other.as_f64(), 0.0),
        })
        .collect();
    let entry = |i: usize, j: usize| {
        let x = parts[i % m * n + j % n];
        match (i < m, j < n) {
            (true, true) | (false, false) => x.re,
            (true, false) => -x.im,
            (false, true) => x.im,
        }
    };
    (0..4 * m * n).map(|at| entry(at / (2 * n), at % (2 * n))).collect()
}

fn complex(dtype: DType, dims: &[usize]) -> Literal {
    let parts = [1, 2].map(|seed| numbers(&random(DType::F64, dims, seed)));
    Literal::from_fn(dtype, dims.to_vec(), |i| Scalar::Complex(Complex::new(parts[0][i], parts[1][i])))
}

#[test]
fn complex_matrices_are_left_to_the_default_body() {
    for (dtype, tolerance) in [(DType::C128, 1e-13), (DType::C64, 1e-5)] {
        for [m, n] in [[3, 3], [5, 3], [3, 5], [1, 1]] {
            let x = complex(dtype, &[m, n]);
            for (mode, k) in [(Mode::Reduced, m.min(n)), (Mode::Complete, m)] {
                let module = qr(mode).program(&x.ty()).unwrap();
                let why = chosen(&module, Platform::Host, &Registry::new()).unwrap_err();
                assert!(why.contains(&format!("QR decompositions of {dtype} are not supported")), "{why}");
                let [q, r] = by_default(&module, &x);
                // As in LAPACK, the diagonal of `r` must be real.
                let diagonal = (0..k.min(n)).map(|i| r.get(i * n + i));
                assert!(
                    diagonal.into_iter().all(|d| matches!(d, Scalar::Complex(d) if d.im.abs() < tolerance))
                );
                let [q, r] = [as_real(&q), as_real(&r)];
                let (m, n, k) = (2 * m, 2 * n, 2 * k);
                assert_close(&product(&transposed(&q, [m, k]), &q, [k, m, k]), &identity(k), tolerance);
                assert_close(&product(&q, &r, [m, k, n]), &as_real(&x), tolerance);
            }
        }
        for n in [1, 2, 5, 8] {
            let x = complex(dtype, &[n, n]);
            let hermitian = Literal::from_fn(dtype, vec![n, n], |at| {
                let (i, j) = (at / n, at % n);
                let Scalar::Complex(x) = x.get(i.max(j) * n + i.min(j)) else {
                    panic!("an element is not complex")
                };
                Scalar::Complex(if i > j {
                    x
                } else if i == j {
                    x.re.into()
                } else {
                    x.conj()
                })
            });
            let module = Eigh::exact(dtype).program(&x.ty()).unwrap();
            let [w, v] = by_default(&module, &x);
            assert_eq!(w.dtype(), dtype.real());
            let w = numbers(&w);
            assert!(w.is_sorted());
            let (v, n) = (as_real(&v), 2 * n);
            assert_close(&product(&transposed(&v, [n, n]), &v, [n, n, n]), &identity(n), tolerance);
            let scaled: Vec<f64> = v.iter().enumerate().map(|(at, v)| v * w[at % (n / 2)]).collect();
            assert_close(&product(&as_real(&hermitian), &v, [n, n, n]), &scaled, tolerance);
        }
    }
}

#[test]
fn default_bodies_terminate_for_every_matrix() {
    for bad in [f64::NAN, f64::INFINITY] {
        let x = tensor(DType::F32, &[2, 4, 4], |i| if i == 4 { bad } else { (i % 5) as f64 });
        let [q, _] = by_default(&qr(Mode::Reduced).program(&x.ty()).unwrap(), &x);
        assert!(numbers(&q)[16..].iter().all(|q| q.is_finite()));
        let [w, _] = by_default(&Eigh::exact(DType::F32).program(&x.ty()).unwrap(), &x);
        assert!(numbers(&w)[..4].iter().any(|w| w.is_nan()));
    }
    let x = random(DType::F64, &[6, 6], 1);
    let none = Eigh { max_iter: 0, eps: 0.0 };
    let [w, _] = by_default(&none.program(&x.ty()).unwrap(), &x);
    let mut diagonal: Vec<f64> = (0..6).map(|i| numbers(&x)[7 * i]).collect();
    diagonal.sort_by(f64::total_cmp);
    assert_close(&numbers(&w), &diagonal, 1e-15);
}

#[test]
fn other_platforms_versions_and_lowerings() {
    let ty = TensorType::new(DType::F32, [3, 4]);
    let module = qr(Mode::Reduced).program(&ty).unwrap();
    let why = chosen(&module, Platform::Cuda, &Registry::new()).unwrap_err();
    assert!(why.contains("it is for Host, the program is compiled for CUDA"), "{why}");
    let newer = text::print(&module).replace("decomposition =", "version = 7 : i32, decomposition =");
    let newer = text::parse(&Source::new("newer.mlir", newer)).unwrap();
    let why = chosen(&newer, Platform::Host, &Registry::new()).unwrap_err();
    assert!(why.contains("version 7 of the tag is unknown"), "{why}");
    let registry = Registry::new();
    let alias =
        |_: &ffi::Block<'_>| Ok(ffi::TargetCall::new("qr_cpu_custom_call_f32").attr("columns", 3i64).into());
    registry.register_lowering(QR, Rank::Application, alias).unwrap();
    assert_eq!(chosen(&module, Platform::Host, &registry).unwrap(), "qr_cpu_custom_call_f32");
}

#[test]
fn types_that_have_no_decomposition() {
    let message = |dtype, dims: &[usize]| {
        qr(Mode::Reduced).program(&TensorType::new(dtype, dims)).unwrap_err().to_string()
    };
    assert!(message(DType::F32, &[3]).contains("has less than two dimensions"));
    assert!(message(DType::Pred, &[3, 3]).contains("is not a tensor of integers"));
    let error = Eigh::exact(DType::F32).program(&TensorType::new(DType::F32, [3, 4])).unwrap_err();
    assert!(error.to_string().contains("matrices of 3 rows and 4 columns are not square"), "{error}");
}
