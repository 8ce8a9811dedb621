//! Tests of the sparse matrices that the engine includes. The crate `farcall-sparse` tests the ops themselves,
//! and Python tests compare with SciPy and JAX (`python/tests/test_sparse.py`).

use farcall::build::Graph;
use farcall::ir::{DType, Literal, TensorType};
use farcall::registry::{ApiKind, Handler, Platform, Target, TargetOrigin};
use farcall::{CompileOptions, Executable, Registry};
use farcall_ffi::prelude::*;

/// An application's op with the name of a built-in op: always 7.
#[handler(name = "csr_matvec")]
#[signature((a: f32[e], columns: s32[e], starts: s32[s], x: f32[k]) -> (y: f32[s - 1]) where s >= 1)]
fn sevens(
    a: &Buffer<f32>,
    columns: &Buffer<i32>,
    starts: &Buffer<i32>,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
) -> Result<()> {
    assert_eq!((a.len(), columns.len(), starts.len(), x.len()), (3, 3, 4, 3));
    y.fill(7.0);
    Ok(())
}

/// Builds and runs `csr_matvec` with the targets of a registry.
fn product(registry: &Registry) -> Vec<f32> {
    let graph = Graph::new("product");
    let operands = [
        graph.parameter("a", TensorType::new(DType::F32, [3])),
        graph.parameter("columns", TensorType::new(DType::S32, [3])),
        graph.parameter("starts", TensorType::new(DType::S32, [4])),
        graph.parameter("x", TensorType::new(DType::F32, [3])),
    ];
    let y = graph.op(registry, "csr_matvec", operands).value();
    let module = graph.finish(y).unwrap();
    let executable = Executable::compile(&module, registry, &CompileOptions::new()).unwrap();
    let inputs = [
        Literal::from_slice(DType::F32, [3], &[10f32, 20.0, 5.0]),
        Literal::from_slice(DType::S32, [3], &[0i32, 2, 1]),
        Literal::from_slice(DType::S32, [4], &[0i32, 2, 2, 3]),
        Literal::from_slice(DType::F32, [3], &[1f32, 2.0, 3.0]),
    ];
    executable.run(&inputs).unwrap()[0].as_slice::<f32>().to_vec()
}

#[test]
fn built_in_ops_run_without_a_library() {
    assert_eq!(product(&Registry::new()), [70.0, 0.0, 10.0]);
}

#[test]
fn an_op_of_the_application_takes_precedence() {
    let registry = Registry::new();
    registry.register_ops(farcall_ffi::ops![sevens]).unwrap();
    assert_eq!(product(&registry), [7.0; 3]);
}

/// JAX passes on handlers by their addresses alone. A built-in op keeps its declaration nevertheless.
#[test]
fn a_built_in_handler_keeps_its_declaration() {
    let registry = Registry::new();
    let get = || registry.get("csr_matvec", &Platform::Host, ApiKind::Typed).unwrap();
    let built_in = get();
    let Handler::Typed(bundle) = built_in.handler() else { panic!("{built_in:?}") };
    let origin = TargetOrigin::program();
    // SAFETY: the functions are the built-in op's, which stay loaded.
    let bare = unsafe { Target::typed("csr_matvec", Platform::Host, *bundle, 0, origin) }.unwrap();
    assert!(bare.declaration().is_none());
    registry.register(bare).unwrap();
    assert!(registry.targets().is_empty() && get().declaration().is_some());
}
