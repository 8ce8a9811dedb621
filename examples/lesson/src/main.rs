//! A graph of two custom calls, written in Rust: `lesson hlo` prints it as HLO in the form that XLA prints,
//! `lesson stablehlo` as StableHLO in the form that JAX prints, and `lesson` runs it.

use std::error::Error;
use std::io::Write;

use farcall::build::{BuildErrors, Graph};
use farcall::ir::{DType, Literal, Module, Scalar, TensorType, hlo, text};
use farcall::{CompileOptions, Executable, Registry};

fn main() -> Result<(), Box<dyn Error>> {
    let registry = registry()?;
    let module = layer(&registry)?;
    let mut out = std::io::stdout();
    match std::env::args().nth(1).as_deref() {
        Some("hlo") => write!(out, "{}", hlo::print(&module)?)?,
        Some("stablehlo") => write!(out, "{}", text::print(&module))?,
        Some(other) => return Err(format!("`{other}` is neither hlo nor stablehlo").into()),
        None => {
            let [y] = run(&module, &registry)?.try_into().map_err(|_| "the graph has one result")?;
            writeln!(out, "{} {:?} …", y.ty(), &y.as_slice::<f32>()[..4])?;
        }
    }
    Ok(())
}

/// Creates a registry with the ops that this program links.
fn registry() -> Result<Registry, Box<dyn Error>> {
    let registry = Registry::new();
    registry.register_ops(lesson_ops::OPS)?;
    Ok(registry)
}

/// Builds a layer of a network: `relu(p0·p1)`.
fn layer(registry: &Registry) -> Result<Module, BuildErrors> {
    let graph = Graph::new("lesson");
    let p0 = graph.parameter("p0", TensorType::new(DType::F32, [128, 784]));
    let p1 = graph.parameter("p1", TensorType::new(DType::F32, [784, 256]));
    let gemm = graph.op(registry, "cublas_gemm", [p0, p1]).value().named("gemm");
    let relu = graph.op(registry, "custom_relu", gemm).value().named("relu");
    graph.finish(relu)
}

/// Runs the graph with small numbers as inputs, and returns the results.
fn run(module: &Module, registry: &Registry) -> Result<Vec<Literal>, Box<dyn Error>> {
    let executable = Executable::compile(module, registry, &CompileOptions::new())?;
    let inputs: Vec<Literal> = executable.inputs().iter().map(input).collect();
    Ok(executable.run(&inputs)?)
}

/// Returns an input of a type: the integers from -3 to 3, repeated.
fn input(ty: &TensorType) -> Literal {
    Literal::from_fn(ty.dtype, ty.sizes(), |i| Scalar::Float((i % 7) as f64 - 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_text_is_that_of_xla() {
        let module = layer(&registry().unwrap()).unwrap();
        let text = hlo::print(&module).unwrap();
        let lines: Vec<&str> =
            text.lines().map(|line| line.split(", metadata=").next().unwrap_or(line)).collect();
        expect![[r#"
            HloModule lesson, entry_computation_layout={(f32[128,784]{1,0}, f32[784,256]{1,0})->f32[128,256]{1,0}}

            ENTRY %main {
              %p0 = f32[128,784]{1,0} parameter(0)
              %p1 = f32[784,256]{1,0} parameter(1)
              %gemm = f32[128,256]{1,0} custom-call(%p0, %p1), custom_call_target="cublas_gemm", api_version=API_VERSION_TYPED_FFI, backend_config={}
              ROOT %relu = f32[128,256]{1,0} custom-call(%gemm), custom_call_target="custom_relu", api_version=API_VERSION_TYPED_FFI, backend_config={}
            }
        "#]].assert_eq(&lines.join("\n"));
        expect![[r#"
            module @lesson {
              func.func public @main(%p0: tensor<128x784xf32>, %p1: tensor<784x256xf32>) -> tensor<128x256xf32> {
                %gemm = stablehlo.custom_call @cublas_gemm(%p0, %p1) {api_version = 4 : i32, backend_config = {}} : (tensor<128x784xf32>, tensor<784x256xf32>) -> tensor<128x256xf32>
                %relu = stablehlo.custom_call @custom_relu(%gemm) {api_version = 4 : i32, backend_config = {}} : (tensor<128x256xf32>) -> tensor<128x256xf32>
                return %relu : tensor<128x256xf32>
              }
            }
        "#]].assert_eq(&text::print(&module));
    }

    #[test]
    fn it_runs() {
        let registry = registry().unwrap();
        let module = layer(&registry).unwrap();
        let y = run(&module, &registry).unwrap().remove(0);
        assert_eq!(y.dims(), [128, 256]);
        let small = |i: usize| (i % 7) as f32 - 3.0;
        for (i, y) in y.as_slice::<f32>().iter().enumerate() {
            let (row, column) = (i / 256, i % 256);
            let sum: f32 = (0..784).map(|k| small(row * 784 + k) * small(k * 256 + column)).sum();
            assert_eq!(*y, sum.max(0.0));
        }
    }

    #[test]
    fn wrong_shapes_are_errors_in_the_ops_words() {
        let registry = registry().unwrap();
        let graph = Graph::new("wrong");
        let x = graph.parameter("x", TensorType::new(DType::F32, [128, 784]));
        let y = graph.op(&registry, "cublas_gemm", [x, x]).value();
        let errors = graph.finish(y).unwrap_err();
        assert_eq!(errors.errors[0].diagnostic.message, "cublas_gemm: b has k = 128 but a has k = 784");
        assert!(errors.to_string().contains("examples/lesson/src/main.rs:"), "{errors}");
    }

    #[test]
    fn gradients_and_batching_are_as_declared() {
        let registry = registry().unwrap();
        let has = |name: &str| {
            let target = registry.lookup(name, &farcall::registry::Platform::Host).unwrap();
            let declaration = target.declaration().unwrap();
            (declaration.vjp.is_some(), declaration.rules().contains(&"batch"))
        };
        assert_eq!(has("cublas_gemm"), (true, true));
        assert_eq!(has("custom_relu"), (true, true));
        assert_eq!(has("sparse_matmul"), (false, false));
        assert_eq!(has("nccl_allreduce"), (true, false));
    }
}
