//! Tests of the handlers with operands and results of any shape, as passed by a host that does not know their
//! signatures.

use farcall::build::Graph;
use farcall::ir::op::{CallConfig, CustomCall};
use farcall::ir::{AttrDict, Attribute, DType, Literal, TensorType};
use farcall::registry::{Handler, Platform, Target, TargetOrigin};
use farcall::{CompileOptions, Executable, Registry};

/// Returns a registry of the ops without their signatures, so that only the handlers check shapes.
fn registry() -> Registry {
    let registry = Registry::new();
    for op in Registry::new().register_ops(lesson_ops::OPS).unwrap() {
        let Handler::Typed(bundle) = *op.handler() else { panic!("{} is untyped", op.name()) };
        // SAFETY: the handlers are functions of this program, so they stay valid until it ends.
        let bare =
            unsafe { Target::typed(op.name(), Platform::Host, bundle, op.traits(), TargetOrigin::program()) };
        registry.register(bare.unwrap()).unwrap();
    }
    registry
}

/// Calls an op with results of these sizes.
fn call(
    name: &str,
    attrs: AttrDict,
    inputs: &[Literal],
    results: &[&[usize]],
) -> Result<Vec<Literal>, String> {
    let graph = Graph::new("call");
    let call = CustomCall { config: CallConfig::Dict(attrs), api_version: Some(4), ..CustomCall::new(name) };
    let operands: Vec<_> = inputs.iter().map(|input| graph.parameter("x", input.ty())).collect();
    let types = results.iter().map(|sizes| TensorType::new(DType::F32, sizes.to_vec()));
    let module = graph.finish(graph.custom_call(call, operands, types)).unwrap();
    let executable = Executable::compile(&module, &registry(), &CompileOptions::new()).unwrap();
    executable.run(inputs).map_err(|error| error.to_string())
}

/// Checks that a call with `f32` operands and results of these sizes is an error. The message must contain
/// `words`.
#[track_caller]
fn refuses(name: &str, inputs: &[&[usize]], results: &[&[usize]], words: &str) {
    let inputs: Vec<Literal> =
        inputs.iter().map(|sizes| Literal::zeros(DType::F32, sizes.to_vec())).collect();
    let error = call(name, AttrDict::new(), &inputs, results).unwrap_err();
    assert!(error.contains(words), "{error}");
}

#[test]
fn products_of_wrong_shapes_are_errors() {
    let gemm = |a: &[usize], b: &[usize], c: &[usize]| {
        refuses("cublas_gemm", &[a, b], &[c], "are not [*, m, k], [*, k, n] and [*, m, n]");
        refuses("cublas_gemm_bwd", &[a, b, c], &[a, b], "are not [*, m, k], [*, k, n] and [*, m, n]");
    };
    gemm(&[2, 3], &[4, 5], &[2, 5]);
    gemm(&[2, 3], &[3, 5], &[3, 5]);
    gemm(&[2, 3], &[3, 5], &[2, 4]);
    gemm(&[7, 2, 3], &[3, 5], &[7, 2, 5]);
    gemm(&[7, 2, 3], &[6, 3, 5], &[7, 2, 5]);
    gemm(&[7, 2, 3], &[7, 3, 5], &[6, 2, 5]);
    refuses("cublas_gemm", &[&[3], &[3, 5]], &[&[5]], "expected at least 2 dimensions");
    let (a, b, c): (&[usize], &[usize], &[usize]) = (&[2, 3], &[3, 5], &[2, 5]);
    refuses("cublas_gemm_bwd", &[a, b, c], &[b, b], "shapes [2, 3] and [3, 5] are not the same");
    refuses("cublas_gemm_bwd", &[a, b, c], &[a, a], "shapes [3, 5] and [2, 3] are not the same");
}

#[test]
fn elements_of_wrong_shapes_are_errors() {
    let words = "are not the same";
    for name in ["custom_relu", "nccl_allreduce", "nccl_allreduce_bwd"] {
        refuses(name, &[&[2, 3]], &[&[3, 2]], words);
        refuses(name, &[&[2, 3]], &[&[4]], words);
    }
    refuses("custom_relu_bwd", &[&[4], &[3]], &[&[4]], words);
    refuses("custom_relu_bwd", &[&[4], &[4]], &[&[5]], words);
}

#[test]
fn sparse_products_of_wrong_shapes_are_errors() {
    let product = |entries: usize, rows: usize, m: i64, result: &[usize]| {
        let rows = Literal::zeros(DType::S32, [rows]);
        let (entries, columns) = (Literal::zeros(DType::F32, [entries]), Literal::zeros(DType::S32, [2]));
        let inputs = [entries, rows, columns, Literal::zeros(DType::F32, [3, 4])];
        let attrs = [("m".to_owned(), Attribute::i64(m))].into_iter().collect();
        call("sparse_matmul", attrs, &inputs, &[result]).map_err(|error| {
            let message = error.lines().next().unwrap_or_default();
            message.rsplit(": ").next().unwrap_or_default().to_owned()
        })
    };
    product(2, 2, 5, &[5, 4]).unwrap();
    assert_eq!(product(2, 2, 5, &[4, 4]).unwrap_err(), "the product is [5, 4], not [4, 4]");
    assert_eq!(product(2, 2, 5, &[5, 3]).unwrap_err(), "the product is [5, 4], not [5, 3]");
    assert_eq!(product(2, 2, -1, &[5, 4]).unwrap_err(), "the product is [-1, 4], not [5, 4]");
    let lists = "entries, rows and columns have the shapes";
    assert_eq!(product(3, 2, 5, &[5, 4]).unwrap_err(), format!("{lists} [[3], [2], [2]]"));
    assert_eq!(product(2, 1, 5, &[5, 4]).unwrap_err(), format!("{lists} [[2], [1], [2]]"));
}

/// `custom_relu` and its backward op treat NaN and zeros like `jax.nn.relu` and its gradient.
#[test]
fn the_positive_part_of_nan_is_nan() {
    let x = Literal::from_slice(DType::F32, [5], &[f32::NAN, -1.0, -0.0, 2.0, f32::INFINITY]);
    let y = call("custom_relu", AttrDict::new(), std::slice::from_ref(&x), &[&[5]]).unwrap();
    let y = y[0].as_slice::<f32>();
    assert!(y[0].is_nan());
    assert_eq!(y[1..], [0.0, 0.0, 2.0, f32::INFINITY]);
    assert!(y[2].is_sign_positive());
    let ones = Literal::from_slice(DType::F32, [5], &[1f32; 5]);
    let dx = call("custom_relu_bwd", AttrDict::new(), &[x, ones], &[&[5]]).unwrap();
    assert_eq!(dx[0].as_slice::<f32>(), [0.0, 0.0, 0.0, 1.0, 1.0]);
}
