//! Programs with dynamic dimensions: specialized for the types of a call, and cached.

use farcall::CodedError;
use std::num::NonZeroUsize;

use farcall::custom_call::RunContext;
use farcall::ffi::{Block, Lowered};
use farcall::ir::{DType, Literal, TensorType};
use farcall::registry::Rank;
use farcall::{CompileOptions, ErrorCode, Polymorphic, PolymorphicError, Registry};

/// A function of `x: f32[b,4]`, exported for cpu and cuda. Its results are `n = 2 * b` and
/// `y = tanh(x @ params['w'] + params['b'])`.
const SYMBOLIC: &[u8] = include_bytes!("../../../farcall-ir/tests/artifacts/symbolic.bin");

fn read(bytes: &[u8]) -> Polymorphic {
    Polymorphic::read(bytes, "f", &Registry::new(), CompileOptions::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn floats(dims: &[usize]) -> Literal {
    Literal::zeros(DType::F32, dims)
}

fn types(rows: usize) -> [TensorType; 3] {
    [vec![3], vec![4, 3], vec![rows, 4]].map(|dims| TensorType::new(DType::F32, dims))
}

#[test]
fn an_exported_function_runs_at_any_size() {
    let f = read(SYMBOLIC);
    let names: Vec<&str> = f.interface().arguments.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["params['b']", "params['w']", "x"]);
    assert_eq!(f.interface().results[1].to_string(), "f32[b,3]");
    let b = Literal::from_slice(DType::F32, [3], &[0f32, 0.5, 1.0]);
    for rows in [1, 5, 8, 5] {
        let results = f.run(&[b.clone(), floats(&[4, 3]), floats(&[rows, 4])]).unwrap();
        assert_eq!(results[0].as_slice::<i32>(), [2 * rows as i32]);
        let row = [0f32, 0.5f32.tanh(), 1f32.tanh()];
        let close =
            results[1].as_slice::<f32>().iter().zip(row.iter().cycle()).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(close && results[1].dims() == [rows, 3], "{:?}", results[1]);
    }
}

#[test]
fn a_run_may_have_a_context() {
    let f = read(SYMBOLIC);
    let inputs = [floats(&[3]), floats(&[4, 3]), floats(&[2, 4])];
    let (plain, context) = (f.run(&inputs).unwrap(), RunContext::new());
    assert_eq!(f.run_with(&inputs, &context).unwrap(), plain);
    let buffers = f.execute_with(inputs, &context).unwrap();
    assert_eq!(buffers[1].host(), Some(&plain[1]));
}

#[test]
fn mismatches_are_reported_before_anything_is_compiled() {
    let f = read(SYMBOLIC);
    let message = |inputs: &[Literal]| {
        let error = f.run(inputs).unwrap_err();
        assert!(matches!(error, PolymorphicError::Inputs(_)), "{error}");
        (error.code(), error.to_string())
    };
    let (code, text) = message(&[floats(&[3]), floats(&[4, 3]), floats(&[2, 5])]);
    assert_eq!(
        (code, text.as_str()),
        (ErrorCode::Shape, "layer does not take these inputs: x is f32[2,5], but it takes f32[b,4]")
    );
    let (code, text) = message(&[floats(&[3]), floats(&[4, 3]), floats(&[0, 4])]);
    assert_eq!(
        (code, text.as_str()),
        (ErrorCode::Shape, "layer does not take these inputs: x.shape[0] is 0, but b is at least 1")
    );
    let (code, text) = message(&[floats(&[3])]);
    assert_eq!(
        (code, text.as_str()),
        (
            ErrorCode::ArgumentCount,
            "layer does not take these inputs: it takes 3 (params['b']: f32[3], params['w']: f32[4,3], x: f32[b,4]), but 1 were given"
        )
    );
    let (code, _) = message(&[floats(&[3]), floats(&[4, 3]), Literal::zeros(DType::S32, [2, 4])]);
    assert_eq!(code, ErrorCode::ElementType);
}

#[test]
fn a_size_is_compiled_once() {
    let f = read(SYMBOLIC);
    let executables: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| f.for_types(&types(6)).unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for executable in &executables {
        assert!(std::ptr::eq(executable.plan(), executables[0].plan()));
    }
}

#[test]
fn the_size_that_was_not_used_for_longest_is_dropped() {
    let f = read(SYMBOLIC);
    f.set_capacity(NonZeroUsize::new(2).unwrap());
    let [one, two] = [1, 2].map(|rows| f.for_types(&types(rows)).unwrap());
    let same = |rows, kept: &farcall::Executable| {
        std::ptr::eq(f.for_types(&types(rows)).unwrap().plan(), kept.plan())
    };
    assert!(same(1, &one));
    f.for_types(&types(3)).unwrap();
    assert!(same(1, &one));
    assert!(!same(2, &two));
    // A smaller cache keeps the most recently used program.
    f.set_capacity(NonZeroUsize::new(1).unwrap());
    assert!(!same(1, &one));
}

#[test]
fn text_is_polymorphic_too() {
    let f = read(
        b"func.func @main(%x: tensor<?x2xf32> loc(\"x\"), %y: tensor<?xf32>) -> tensor<?x2xf32> {
        return %x : tensor<?x2xf32>
    }",
    );
    assert_eq!(f.run(&[floats(&[3, 2]), floats(&[1])]).unwrap()[0].dims(), [3, 2]);
    let error = f.run(&[floats(&[3, 3]), floats(&[1])]).unwrap_err();
    assert_eq!(error.to_string(), "@main does not take these inputs: x is f32[3,3], but it takes f32[?,2]");
}

#[test]
fn other_platforms_and_bytes_are_refused() {
    let read = |bytes: &[u8], options| Polymorphic::read(bytes, "f.bin", &Registry::new(), options);
    let tpu = CompileOptions::new().platform("tpu".into());
    let error = read(SYMBOLIC, tpu).unwrap_err();
    assert_eq!(error.diagnostics[0].message, "layer was exported for cpu, cuda, not for tpu");
    let error = read(b"\xff\xfe", CompileOptions::new()).unwrap_err();
    assert_eq!(
        error.diagnostics[0].message,
        "f.bin is neither text nor an artifact: byte 0 is not valid UTF-8"
    );
}

/// A lowering that requests the program that is being compiled does not deadlock.
#[test]
fn a_program_that_is_compiled_for_itself_is_an_error() {
    let program = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.composite \"my.twice\" %x {decomposition = @body} : (tensor<?xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    func.func private @body(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.add %x, %x : tensor<?xf32>
      return %0 : tensor<?xf32>
    }";
    let registry = Registry::new();
    let f = Polymorphic::read(program.as_bytes(), "f", &registry, CompileOptions::new()).unwrap();
    let again = f.clone();
    let lowering = move |_: &Block<'_>| match again.run(&[floats(&[3])]) {
        Err(PolymorphicError::Reentered) => Ok(Lowered::skip("it is being compiled")),
        other => panic!("{other:?}"),
    };
    registry.register_lowering("my.twice", Rank::Application, lowering).unwrap();
    assert_eq!(f.run(&[floats(&[3])]).unwrap()[0].dims(), [3]);
}

/// Modules made from an exported function keep its argument names, too.
#[test]
fn arguments_keep_their_names() {
    let exported = farcall::ir::exported::Exported::read(SYMBOLIC, "f").unwrap();
    let module = exported.module_for("f", "cpu").unwrap();
    let written = farcall::ir::vhlo::write(&module).unwrap();
    for module in [module, farcall::ir::read::module(&written.bytes, "written").unwrap()] {
        let main = module.entry().unwrap();
        let names: Vec<_> = (0..3).map(|i| main.param_name(i).unwrap()).collect();
        assert_eq!(names, ["params['b']", "params['w']", "x"]);
        let options = CompileOptions::new().inputs(types(2));
        let plan = farcall::compile_plan(&module, &Registry::new(), &options).unwrap();
        assert_eq!(plan.params()[2].name.as_deref(), Some("x"));
    }
}
