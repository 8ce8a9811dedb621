//! Explains why the reference evaluator, rather than a kernel, runs a step. The reason is found by asking for
//! kernels of operations that differ from the step's operation in one respect.

use std::fmt;

use farcall_ir::eval::Semantics;
use farcall_ir::op::{Binary, Compare, CompareKind, ComparisonDirection};
use farcall_ir::{DType, Inst, Op, TensorType};

use super::body::bodies;
use farcall_kernels::{self as kernels, Request};
use farcall_plan::{Body, BodyInst, Plan, Thunk, ThunkOp};

/// Maximum number of a region's operations that a reason names.
const MAX_NAMED_OPS: usize = 4;

/// The reason why no kernel computes a step.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoKernel {
    /// The operation has no kernel.
    Operation,
    /// The operation has no kernel for these attributes and shapes.
    Attributes,
    /// The operation has no kernel for these element types.
    Types(Vec<DType>),
    /// The operation has no kernel for its region, which holds these operations.
    Region(Vec<&'static str>),
    /// The region holds a custom call.
    Call,
    /// An operand or a result is a quantized tensor.
    Quantized,
    /// The kernels compute the operation as XLA does, but the specification's semantics were requested.
    Semantics,
}

impl fmt::Display for NoKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoKernel::Operation => f.write_str("the operation has no kernel"),
            NoKernel::Attributes => f.write_str("no kernel for these attributes and shapes"),
            NoKernel::Types(types) => {
                let names: Vec<&str> = types.iter().map(|t| t.name()).collect();
                write!(f, "no kernel for {}", names.join(", "))
            }
            NoKernel::Region(ops) if ops.is_empty() => f.write_str("no kernel for its region"),
            NoKernel::Region(ops) => {
                let more = if ops.len() > MAX_NAMED_OPS { ", …" } else { "" };
                write!(
                    f,
                    "no kernel for its region ({}{more})",
                    ops[..ops.len().min(MAX_NAMED_OPS)].join(", ")
                )
            }
            NoKernel::Call => f.write_str("its region holds a custom call"),
            NoKernel::Quantized => f.write_str("no kernel for quantized tensors"),
            NoKernel::Semantics => f.write_str("kernels compute it with XLA's semantics only"),
        }
    }
}

/// Returns the reason why the reference evaluator runs a step; `None` for other steps.
pub fn no_kernel(plan: &Plan, thunk: &Thunk) -> Option<NoKernel> {
    let ThunkOp::Reference(id) = thunk.op else { return None };
    let site = plan.references().get(id.index())?;
    let inst = site.entry().body().first()?;
    let decided = matches!(inst.op(), Op::ReduceWindow(_)) || inst.op().as_scatter().is_some();
    Some(match () {
        () if !site.calls.is_empty() => NoKernel::Call,
        () if decided && plan.numerics().semantics == Semantics::StableHlo => NoKernel::Semantics,
        () => reason(inst),
    })
}

/// Returns the reason why no kernel computes an instruction.
fn reason(inst: Inst<'_>) -> NoKernel {
    let tensor = |v: &farcall_ir::ValueId| inst.func().tensor(*v).cloned();
    let inputs: Vec<TensorType> = inst.own_operands().iter().filter_map(tensor).collect();
    let outputs: Vec<TensorType> = inst.results().iter().filter_map(tensor).collect();
    if inputs.iter().chain(&outputs).any(|t| t.quant.is_some()) {
        return NoKernel::Quantized;
    }
    let common = |t: &TensorType| t.with_dtype(common(t.dtype));
    let (usual_inputs, usual_outputs): (Vec<_>, Vec<_>) =
        (inputs.iter().map(common).collect(), outputs.iter().map(common).collect());
    let serves = |inputs: &[TensorType], outputs: &[TensorType], bodies: &[Body]| {
        let (inputs, outputs): (Vec<_>, Vec<_>) = (inputs.iter().collect(), outputs.iter().collect());
        let request = Request { op: inst.op(), bodies, inputs: &inputs, outputs: &outputs, iotas: &[] };
        kernels::find(&request).is_some()
    };
    let types = || {
        let mut types: Vec<DType> = inputs.iter().chain(&outputs).map(|t| t.dtype).collect();
        types.sort_unstable();
        types.dedup();
        types.retain(|t| self::common(*t) != *t);
        NoKernel::Types(types)
    };
    if inst.region_ids().is_empty() {
        return if serves(&usual_inputs, &usual_outputs, &[]) { types() } else { without_region(inst) };
    }
    let own = bodies(inst);
    let own_of_usual = own.as_ref().map(|own| own.iter().map(usual).collect::<Vec<Body>>());
    if own_of_usual.is_some_and(|bodies| serves(&usual_inputs, &usual_outputs, &bodies)) {
        return types();
    }
    let mut ops: Vec<&'static str> = Vec::new();
    inst.regions().for_each(|r| {
        r.walk(&mut |i| {
            let name = kernels::short_name(i.op());
            if !matches!(i.op(), Op::Return | Op::Constant(_)) && !ops.contains(&name) {
                ops.push(name);
            }
        });
    });
    match simple_bodies(inst.op(), &inputs) {
        Some(bodies) if serves(&inputs, &outputs, &bodies) => NoKernel::Region(ops),
        Some(_) => match simple_bodies(inst.op(), &usual_inputs) {
            Some(bodies) if serves(&usual_inputs, &usual_outputs, &bodies) => types(),
            _ => NoKernel::Attributes,
        },
        None => NoKernel::Region(ops),
    }
}

/// Returns the reason for an operation without regions that has no kernel for the usual types either.
fn without_region(inst: Inst<'_>) -> NoKernel {
    match inst.op() {
        Op::Cholesky { .. } | Op::TriangularSolve(_) | Op::Rng(_) => NoKernel::Operation,
        op if op.is_elementwise() => NoKernel::Operation,
        _ => NoKernel::Attributes,
    }
}

/// Returns the usual type of the same class (`pred`, integers, other types): the type that most kernels
/// support.
fn common(dtype: DType) -> DType {
    match dtype {
        DType::Pred => DType::Pred,
        _ if dtype.is_integer() => DType::S32,
        _ => DType::F32,
    }
}

/// Replaces the element types of a region by the usual types ([`common`]).
fn usual(body: &Body) -> Body {
    let ty = |t: &TensorType| t.with_dtype(common(t.dtype));
    let inst = |inst: &BodyInst| BodyInst { ty: ty(&inst.ty), ..inst.clone() };
    Body {
        args: body.args.iter().map(ty).collect(),
        insts: body.insts.iter().map(inst).collect(),
        ..body.clone()
    }
}

/// Returns the simplest regions that an operation can have.
fn simple_bodies(op: &Op, inputs: &[TensorType]) -> Option<Vec<Body>> {
    let of = |op: Op, dtype: DType, result: DType| Body {
        args: vec![TensorType::scalar(dtype); 2],
        insts: vec![BodyInst { op, operands: vec![0, 1], ty: TensorType::scalar(result), reducer: None }],
        returned: vec![2],
    };
    let less = |direction: ComparisonDirection| {
        let kind: Option<CompareKind> = None;
        Op::Compare(Compare { direction, kind })
    };
    let [first, others @ ..] = inputs else { return None };
    let add = || of(Op::Binary(Binary::Add), first.dtype, first.dtype);
    Some(match op {
        Op::Reduce { .. } | Op::ReduceWindow(_) if others.len() == 1 => vec![add()],
        scatter if scatter.as_scatter().is_some() && others.len() == 2 => vec![add()],
        Op::SelectAndScatter(_) => vec![of(less(ComparisonDirection::Ge), first.dtype, DType::Pred), add()],
        sort if sort.is_sort() && others.is_empty() => {
            vec![of(less(ComparisonDirection::Lt), first.dtype, DType::Pred)]
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use farcall_ir::{Source, text};

    use super::no_kernel;
    use crate::{CompileOptions, compile_plan};
    use farcall_host::registry::Registry;

    /// Returns the reasons why steps of a program run on the evaluator.
    fn reasons(program: &str) -> Vec<String> {
        let module = text::parse(&Source::new("test", program)).unwrap();
        let plan = compile_plan(&module, &Registry::new(), &CompileOptions::new()).unwrap();
        let mut all = Vec::new();
        plan.walk(&mut |thunk| all.extend(no_kernel(&plan, thunk).map(|reason| reason.to_string())));
        all
    }

    #[test]
    fn a_reason_names_what_has_no_kernel() {
        let cholesky = "func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
          %0 = \"stablehlo.cholesky\"(%x) <{lower = true}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
          return %0 : tensor<3x3xf32>
        }";
        assert_eq!(reasons(cholesky), ["the operation has no kernel"]);
        let clamp = "func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
          %0 = stablehlo.clamp %x, %x, %x : tensor<3xcomplex<f32>>
          return %0 : tensor<3xcomplex<f32>>
        }";
        assert_eq!(reasons(clamp), ["no kernel for c64"]);
        let added = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.add %x, %x : tensor<3xf32>
          return %0 : tensor<3xf32>
        }";
        assert!(reasons(added).is_empty());
    }
}
