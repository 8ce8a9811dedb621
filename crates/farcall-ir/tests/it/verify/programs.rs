//! Programs that text cannot express. Also tests the choice of the entry, the check for static shapes, and
//! type inference.

use std::sync::Arc;

use expect_test::expect;
use farcall_ir::diag::{Source, Span};
use farcall_ir::op::{Binary, Composite, ConvolutionDims, CustomCall, Scatter, Slice};
use farcall_ir::types::{Dim, Quantization};
use farcall_ir::{
    DType, Func, FuncId, InstId, Module, NewInst, Op, TensorType, Type, ValueId, infer, text, verify,
};

use super::lines;

fn parse(program: &str) -> Module {
    text::parse(&Source::new("test.mlir", program)).unwrap_or_else(|e| panic!("{e}"))
}

fn tensor(dims: &[usize]) -> Type {
    TensorType::new(DType::F32, dims).into()
}

/// Adds an instruction at the end of a function.
fn push(f: &mut Func, op: Op, operands: &[ValueId], results: &[Type]) -> InstId {
    f.push(Func::BODY, NewInst::new(op, operands.iter().copied()), results.iter().cloned())
}

/// Adds a parameter.
fn param(f: &mut Func, ty: Type) -> ValueId {
    f.add_arg(Func::BODY, ty)
}

/// A module with one function, which `build` fills.
fn module(build: impl FnOnce(&mut Func)) -> Module {
    let mut func = Func::new("main", Span::default());
    build(&mut func);
    let mut module = Module::new(Source::new("built", ""));
    module.add_func(func);
    module
}

fn said(module: &Module) -> String {
    verify::verify(module).err().map_or_else(String::new, |e| lines(&e))
}

#[test]
fn values_must_be_defined_before_use() {
    let module = module(|f| {
        let add = Op::Binary(Binary::Add);
        let [c, d] = [1, 2].map(ValueId::new);
        let a = param(f, tensor(&[2]));
        push(f, add.clone(), &[a, d], &[tensor(&[2])]);
        push(f, add, &[c, ValueId::new(9)], &[tensor(&[2])]);
        push(f, Op::Return, &[], &[]);
    });
    expect![[r"
        [undefined-value] 1:1: operand 1 is used before it is defined
        [unknown-value] 1:1: operand 1 is not a value of @main
    "]]
    .assert_eq(&said(&module));
}

#[test]
fn quantization_whose_lists_do_not_match() {
    let module = module(|f| {
        let quant = Quantization {
            expressed: DType::F32,
            storage_min: -128,
            storage_max: 127,
            axis: None,
            scales: vec![],
            zero_points: vec![0],
        };
        let ty = TensorType::new(DType::S8, [2]).with_quant(Some(Arc::new(quant)));
        let float = ty.with_dtype(DType::F32).with_quant(ty.quant.clone());
        for ty in [ty, float] {
            param(f, ty.into());
        }
        push(f, Op::Return, &[], &[]);
    });
    expect![[r"
        [quantized_type_c10] 1:1: 0 scales and 1 zero points do not match
        [quantized_type_c1] 1:1: quantized as f32, not an integer type
    "]]
    .assert_eq(&said(&module));
}

/// Numbers near the maximum of `usize` lead to diagnostics.
#[test]
fn extreme_numbers() {
    let max = usize::MAX;
    let module = module(|f| {
        let a = param(f, tensor(&[2, max - 1]));
        let slice = Slice { start: vec![max, 0], limit: vec![max, max], strides: vec![max, 1] };
        let ops = [
            Op::Slice(slice),
            Op::Transpose { permutation: vec![max, max] },
            Op::BroadcastInDim { dims: vec![max, max] },
            Op::Reverse { dims: vec![max] },
            Op::GetDimensionSize { dim: max },
            Op::Concatenate { dim: max },
            Op::Fft { kind: farcall_ir::op::FftKind::Fft, length: vec![max; 9] },
            Op::DynamicSlice { sizes: vec![max; 3] },
            Op::TopK { k: max },
        ];
        for op in ops {
            let results = if matches!(op, Op::TopK { .. }) { 2 } else { 1 };
            push(f, op, &[a], &vec![tensor(&[]); results]);
        }
        let scatter = Scatter { index_vector_dim: max, ..Scatter::default() };
        push(f, Op::Scatter(Box::new(scatter)), &[a, a, a], &[tensor(&[])]);
        push(f, Op::Return, &[], &[]);
    });
    let said = said(&module);
    for code in ["slice_c3", "transpose_c2", "broadcast_in_dim_c3", "reverse_c3", "concatenate_c4", "fft_c3"]
    {
        assert!(said.contains(&format!("[{code}]")), "{code} is missing in\n{said}");
    }
}

/// The diagnostics of a valid program after a change.
fn changed(program: &str, change: impl FnOnce(&mut Module)) -> String {
    let mut module = parse(program);
    assert_eq!(said(&module), "");
    change(&mut module);
    said(&module)
}

const CALLS: &str = "func.func @main(%a: tensor<2xf32>) {
  %0 = call @helper(%a) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = stablehlo.composite \"my.op\" %a {decomposition = @helper} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.custom_call @t(%a) {called_computations = [@helper]} : (tensor<2xf32>) -> tensor<2xf32>
  return
}
func.func @helper(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
";

#[test]
fn callees_must_exist() {
    let missing = FuncId::new(7);
    let said = changed(CALLS, |m| {
        let entry = m.func_mut(FuncId::new(0));
        let insts: Vec<InstId> = entry.body().insts().map(|i| i.id()).collect();
        for inst in insts {
            let op = match entry.inst(inst).op().clone() {
                Op::Call { .. } => Op::Call { callee: missing },
                Op::Composite(c) => Op::Composite(Box::new(Composite { decomposition: missing, ..*c })),
                Op::CustomCall(c) => {
                    Op::CustomCall(Box::new(CustomCall { called_computations: vec![missing], ..*c }))
                }
                other => other,
            };
            entry.set_op(inst, op);
        }
    });
    expect![[r"
        [unknown-function] 2:8: the module has no function number 7
        [composite_c2] 3:8: the module has no function number 7
        [unknown-function] 4:8: the module has no function number 7
    "]]
    .assert_eq(&said);
}

#[test]
fn names_of_functions_differ() {
    let two = "func.func @f() { return }\nfunc.func @g() { return }\n";
    expect![[r"
        [duplicate-function] 2:11: a function @f exists already
    "]]
    .assert_eq(&changed(two, |m| m.func_mut(FuncId::new(1)).name = "f".to_owned()));
}

/// The first function, and the instructions in the region of its first instruction.
fn reducer(m: &mut Module) -> (&mut Func, Vec<InstId>) {
    let f = m.func_mut(FuncId::new(0));
    let region = f.body().first().unwrap().region(0).unwrap();
    let inner = region.insts().map(|i| i.id()).collect();
    (f, inner)
}

#[test]
fn returns_are_last() {
    let program = "func.func @f(%a: tensor<2xf32>, %i: tensor<f32>) {
  %0 = \"stablehlo.reduce\"(%a, %i) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return
}
";
    expect![[r"
        [missing-terminator] 2:8: region 0 of stablehlo.reduce must end with stablehlo.return
    "]]
    .assert_eq(&changed(program, |m| {
        let (f, inner) = reducer(m);
        f.detach(inner[1]);
    }));
    expect![[r#"
        [undefined-value] 5:7: operand 0 is used before it is defined
        [early-terminator] 5:7: a return must be the last instruction of its region
    "#]]
    .assert_eq(&changed(program, |m| {
        let (f, inner) = reducer(m);
        f.detach(inner[1]);
        f.insert_before(inner[1], inner[0]);
    }));
    expect![[r"
        [missing-terminator] 1:11: @f must end with a return
    "]]
    .assert_eq(&changed(program, |m| {
        let (f, _) = reducer(m);
        let last = f.body().last().unwrap().id();
        f.detach(last);
    }));
    expect![[r"
        [undefined-value] 7:3: operand 0 is used outside of the region that defines it
        [return-arity] 7:3: @f returns 0 values, found 1
    "]]
    .assert_eq(&changed(program, |m| {
        let (f, inner) = reducer(m);
        let arg = f.inst(inner[0]).operands()[0];
        let last = f.body().last().unwrap().id();
        f.operands_mut(last).push(arg);
    }));
}

#[test]
fn types_of_values() {
    let module = module(|f| {
        let types = [Type::Scalar(DType::S32), Type::Tuple([Type::Opaque("!other.thing".into())].into())];
        for ty in types {
            param(f, ty);
        }
        push(f, Op::Return, &[], &[]);
    });
    expect![[r"
        [value-type] 1:1: a value must be a tensor, a token or a tuple, found i32
        [value-type] 1:1: a value must be a tensor, a token or a tuple, found !other.thing
    "]]
    .assert_eq(&said(&module));
}

#[test]
fn case_needs_a_branch() {
    let program = "func.func @f(%i: tensor<i32>) {
  \"stablehlo.case\"(%i) ({ \"stablehlo.return\"() : () -> () }) : (tensor<i32>) -> ()
  return
}
";
    expect![[r"
        [case_c1] 2:3: at least one branch is needed, found none
    "]]
    .assert_eq(&changed(program, |m| {
        let f = m.func_mut(FuncId::new(0));
        let case = f.body().first().unwrap();
        let new = NewInst::new(Op::Case, case.operands().to_vec()).at(case.span(), None);
        let (old, new) = (case.id(), f.new_inst(new, []));
        f.insert_before(new, old);
        f.detach(old);
    }));
}

/// The diagnostics of a convolution with changed dimension numbers.
fn convolution(dynamic: bool, change: impl FnOnce(&mut ConvolutionDims)) -> String {
    let (op, padding, arg, ty) = if dynamic {
        ("dynamic_conv", "", ", %c", ", tensor<2x2xi64>")
    } else {
        ("convolution", "padding = dense<0> : tensor<2x2xi64>, ", "", "")
    };
    let program = format!(
        "func.func @f(%a: tensor<1x8x8x4xf32>, %b: tensor<3x3x4x6xf32>, %c: tensor<2x2xi64>) {{
  %0 = \"stablehlo.{op}\"(%a, %b{arg}) <{{{padding}dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64}}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>{ty}) -> tensor<1x6x6x6xf32>
  return
}}
"
    );
    changed(&program, |m| {
        let f = m.func_mut(FuncId::new(0));
        let inst = f.body().first().unwrap();
        let (id, mut op) = (inst.id(), inst.op().clone());
        match &mut op {
            Op::Convolution(op) | Op::DynamicConvolution(op) => change(&mut op.dims),
            other => panic!("{}", other.name()),
        }
        f.set_op(id, op);
    })
}

#[test]
fn convolution_dimension_numbers() {
    for dynamic in [false, true] {
        let said = [
            convolution(dynamic, |d| d.input_spatial = vec![1]),
            convolution(dynamic, |d| d.input_spatial = vec![1, 3]),
            convolution(dynamic, |d| d.input_spatial = vec![1, 7]),
            convolution(dynamic, |d| d.kernel_spatial = vec![0]),
            convolution(dynamic, |d| d.kernel_input_feature = 3),
            convolution(dynamic, |d| d.output_spatial = vec![1]),
            convolution(dynamic, |d| d.output_feature = usize::MAX),
        ]
        .concat();
        let expected = expect![[r"
            [convolution_c12] 2:8: input_spatial_dimensions must have 2 entries (one per spatial dimension), found 1
            [convolution_c13] 2:8: input dimensions must be unique, found [0, 3, 1, 3]
            [convolution_c13] 2:8: input dimensions must be in [0, 4), found 7
            [convolution_c17] 2:8: kernel_spatial_dimensions must have 2 entries (one per spatial dimension), found 1
            [convolution_c18] 2:8: kernel dimensions must be unique, found [3, 3, 0, 1]
            [convolution_c19] 2:8: output_spatial_dimensions must have 2 entries (one per spatial dimension), found 1
            [convolution_c20] 2:8: output dimensions must be in [0, 4), found 18446744073709551615
        "]];
        expected.assert_eq(&said.replace("[dynamic_conv_", "[convolution_"));
        assert_eq!(said.contains("[dynamic_conv_c12]"), dynamic);
    }
}

#[test]
fn chains_of_calls_are_limited() {
    let chain = |n: usize| {
        let call = |i: usize| format!("func.func @f{i}() {{ call @f{}() : () -> () return }}\n", i + 1);
        let calls: String = (1..n).map(call).collect();
        parse(&format!("{calls}func.func @f{n}() {{ return }}\n"))
    };
    assert_eq!(said(&chain(verify::MAX_CALL_DEPTH)), "");
    expect![[r#"
        [call-depth] 1:19: calls from @f1 are nested 1001 deep, more than 1000
    "#]]
    .assert_eq(&said(&chain(verify::MAX_CALL_DEPTH + 1)));
    // A very long chain must be reported only once, and the verifier must not recurse along the chain.
    let long = said(&chain(20_000));
    assert_eq!(long.lines().count(), 1, "{long}");
}

#[test]
fn long_cycles_are_not_listed() {
    let call = |i: usize| format!("func.func @f{i}() {{ call @f{}() : () -> () return }}\n", (i + 1) % 2_000);
    let module = parse(&(0..2_000).map(call).collect::<String>());
    expect![[r#"
        [recursive-call] 2000:22: 2000 functions call each other, @f0 among them
    "#]]
    .assert_eq(&said(&module));
}

#[test]
fn static_shapes() {
    let module = parse(
        "func.func @main(%a: tensor<?x2xf32>, %b: tensor<9000000000x9000000000xf32>) {
  %0 = stablehlo.sine %a : tensor<?x2xf32>
  %1 = stablehlo.custom_call @t() : () -> tuple<tensor<?xi8>>
  return
}",
    );
    assert_eq!(said(&module), "");
    expect![[r"
        [dynamic-shape] 1:11: parameter 0 of @main, tensor<?x2xf32>, has a dynamic dimension; only static shapes can be run
        [tensor-too-large] 1:11: parameter 1 of @main, tensor<9000000000x9000000000xf32>, is larger than memory can be
        [dynamic-shape] 2:8: result 0 of stablehlo.sine, tensor<?x2xf32>, has a dynamic dimension; only static shapes can be run
        [dynamic-shape] 3:8: result 0 of stablehlo.custom_call, tensor<?xi8>, has a dynamic dimension; only static shapes can be run
    "]]
    .assert_eq(&lines(&verify::verify(&module).unwrap().into_static().unwrap_err()));
}

#[test]
fn entries() {
    let one = parse("func.func private @helper() { return }\nfunc.func @step() { return }\n");
    assert_eq!(verify::entry(&one, None).unwrap().name, "step");
    assert_eq!(verify::entry(&one, Some("helper")).unwrap().name, "helper");
    let said = |m: &Module, name| lines(&verify::entry(m, name).unwrap_err());
    expect![[r"
        [no-entry] 0:0: there is no function @stepp
          note: closest: @step
    "]]
    .assert_eq(&said(&one, Some("stepp")));
    let two = parse("func.func @a() { return }\nfunc.func @b() { return }\n");
    expect![[r#"
        [no-entry] 0:0: there is no @main: choose a function (--entry NAME)
          note: the functions are @a, @b
    "#]]
    .assert_eq(&said(&two, None));
    let none = Module::new(Source::new("empty", ""));
    expect![[r"
        [no-entry] 0:0: the program has no functions
    "]]
    .assert_eq(&said(&none, None));
}

/// Infers result types before the results exist.
#[test]
fn inference_without_results() {
    let mut f = Func::new("f", Span::default());
    let unknown = TensorType::from_dims(DType::F32, [Dim::Static(2), Dim::UNBOUNDED]);
    let (a, b) = (f.add_arg(Func::BODY, unknown.into()), f.add_arg(Func::BODY, tensor(&[2, 3])));
    let mut types = |op: Op, operands: Vec<_>| {
        let inst = f.new_inst(NewInst::new(op, operands), []);
        match infer::result_types(f.inst(inst)) {
            Ok(types) => types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            Err(said) => {
                said.iter().map(|d| format!("[{}] {}", d.code, d.message)).collect::<Vec<_>>().join("\n")
            }
        }
    };
    assert_eq!(types(Op::Binary(Binary::Add), vec![a, b]), "tensor<2x3xf32>");
    assert_eq!(types(Op::Concatenate { dim: 0 }, vec![b, b, b]), "tensor<6x3xf32>");
    assert_eq!(types(Op::TopK { k: 2 }, vec![b]), "tensor<2x2xf32>, tensor<2x2xi32>");
    assert_eq!(types(Op::Reshape, vec![b]), "[result-count] stablehlo.reshape has no result 0");
    assert_eq!(types(Op::Select, vec![b]), "[operand-count] stablehlo.select has 3 operands, found 1");
}
