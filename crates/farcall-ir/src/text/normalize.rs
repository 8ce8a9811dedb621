//! What is written as something else than it is.
//!
//! **Operations in disguise.** JAX and StableHLO write some operations as custom calls, which mean the
//! same wherever they run; they are read as what they mean ([`meaning`]), so that no registry needs targets for them:
//!
//! | call | is read as |
//! | --- | --- |
//! | `Sharding`, `SPMDFullToShardShape`, `SPMDShardToFullShape`, `LayoutConstraint`, `annotate_device_placement`, `xla.sdy.FuncResultSharding`, `xla.sdy.GlobalToLocalShape`, `xla.sdy.LocalToGlobalShape`, and the operation `sdy.sharding_constraint` | its operand: a program here runs on one device, and layouts are ours to choose |
//! | `mhlo.topk` of the largest | `chlo.top_k` |
//! | `mhlo.erf`, … without attributes | `chlo.erf`, … |
//! | the operation `chlo.constant` | `constant` |
//! | `replica_groups` by axes of a mesh | the lists of numbers that they are ([`super::mesh`]) |
//! | `AllocateBuffer`, elements of which nothing is said | a constant of zeros |
//! | `stablehlo.shape_refinement_operand_wrapper` of a value and its shape | the value |
//! | `control_dep`, by which JAX orders two values | nothing: what a program does here has an order already |
//! | the operation `sdy.sharding_group`, whose values are to be split alike | nothing |
//! | `ApproxTopK` with a comparator | a sort by the comparator, of which the first are taken: the exact answer |
//!
//! Such a call in another form (of several values, or another shape) stays what it is.
//!
//! **The `check` dialect of the StableHLO suite**, as custom calls. A check is a custom call like any other: `check.expect_eq %a, %b` is read as
//! `stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true}`. The forms with a constant
//! become a constant and the call without `_const`; tolerances become the call's dictionary.

use farcall_sig::DType;

use super::convert::{Bad, Fields};
use super::inst::Draft;
use super::parser::{Parsed, Parser};
use super::scope::ResultName;
use super::table::{CHECK, CHECK_CLOSE, CHECK_CONST, Part, Read, Syntax, Types};
use crate::attr::{Attr, AttrDict};
use crate::diag::Diagnostic;
use crate::literal::Literal;
use crate::module::{Func, FuncId, NewInst, RegionId, ValueId};
use crate::op::{CallConfig, CustomCall, Op, Slice, Unary};
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};

/// Calls whose result is their operand, as far as one device is concerned.
const IDENTITIES: [&str; 6] = [
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
    "annotate_device_placement",
    "xla.sdy.FuncResultSharding",
];

/// Calls between what all devices have together and what one has: the same, if there is one.
const SHAPES: [&str; 2] = ["xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"];

/// What a custom call is in truth.
pub(super) enum Meaning {
    /// This operation, on the same operands.
    Op(Op),
    /// The first elements of tensors that are sorted together.
    First(First),
    /// Nothing at all.
    Nothing,
}

/// How tensors are sorted, before the first elements are taken.
pub(super) struct First {
    dim: usize,
    /// The function that says which elements come first.
    comparator: FuncId,
}

/// What a call means, if it stands for something else. Attributes that are spent are removed.
pub(super) fn meaning(func: &Func, call: &CustomCall, draft: &mut Draft) -> Option<Meaning> {
    let operands: Vec<&Type> = draft.operands.iter().map(|o| &func[o.id]).collect();
    let target = call.target.as_str();
    match (operands.as_slice(), draft.results.as_slice()) {
        ([from], [to]) if IDENTITIES.contains(&target) && *from == to => Some(Meaning::Op(identity(to))),
        (from, to) if SHAPES.contains(&target) && from.iter().copied().eq(to) => {
            Some(Meaning::Op(Op::OptimizationBarrier))
        }
        ([_, _], []) if target == "control_dep" => Some(Meaning::Nothing),
        ([], [Type::Tensor(t)]) if target == "AllocateBuffer" && t.is_static() && t.quant.is_none() => {
            let zeros = Literal::splat(t.dtype, t.dims.clone(), Scalar::zero(t.dtype));
            Some(Meaning::Op(Op::Constant(zeros)))
        }
        ([from, ..], [to]) if target == "stablehlo.shape_refinement_operand_wrapper" && *from == to => {
            let op = identity(to);
            draft.operands.truncate(1);
            Some(Meaning::Op(op))
        }
        (_, results) if target == "ApproxTopK" => first(call, &operands, results).map(Meaning::First),
        ([_], results) => {
            let name = target.strip_prefix("mhlo.")?;
            let none = AttrDict::new();
            let attrs = match draft.attrs.get("mhlo.attributes") {
                Some(Attr::Dict(attrs)) => attrs,
                None => &none,
                Some(_) => return None,
            };
            let op = match (name, results.len()) {
                ("topk", 2) if attrs.get("largest") != Some(&Attr::Bool(false)) => {
                    Op::TopK { k: usize::try_from(attrs.get("k")?.as_i64()?).ok()? }
                }
                (_, 1) if attrs.is_empty() => {
                    Op::Unary(Unary::ALL.into_iter().find(|u| u.name().strip_prefix("chlo.") == Some(name))?)
                }
                _ => return None,
            };
            draft.attrs.remove("mhlo.attributes");
            draft.attrs.remove("mhlo.version");
            Some(Meaning::Op(op))
        }
        _ => None,
    }
}

/// The operation that gives a value of this type back.
fn identity(ty: &Type) -> Op {
    match ty {
        Type::Tensor(t) if t.is_static() => Op::Reshape,
        _ => Op::OptimizationBarrier,
    }
}

/// `sdy.sharding_constraint`
pub(super) fn read_sharding_constraint(f: &mut Fields<'_>) -> Result<Op, Bad> {
    f.take("sharding");
    match f.operand_types.as_slice() {
        [ty] => Ok(identity(ty)),
        types => Err(format!("a sharding constraint has 1 operand, not {}", types.len())),
    }
}

/// Operations that mean nothing on one device.
pub(super) const NOTHINGS: &[Syntax] = &[Syntax {
    name: "sdy.sharding_group",
    form: &[
        Part::Operand,
        Part::Lit(" group_id="),
        Part::Int("group_id", DType::S64),
        Part::Dict,
        Part::Types(Types::SameOperands),
    ],
    read: Read::Nothing,
}];

/// `ApproxTopK`: as many operands as initial values, which are not needed where there are enough elements.
fn first(call: &CustomCall, operands: &[&Type], results: &[Type]) -> Option<First> {
    let CallConfig::Dict(config) = &call.config else { return None };
    let dim = usize::try_from(config.get("reduction_dim")?.as_i64()?).ok()?;
    let [comparator] = call.called_computations.as_slice() else { return None };
    if results.is_empty() || operands.len() != 2 * results.len() {
        return None;
    }
    let fits = operands.iter().zip(results).all(|(from, to)| match (from, to) {
        (Type::Tensor(from), Type::Tensor(to)) => {
            let same = |(d, (a, b)): (usize, (&usize, &usize))| a == b || (d == dim && b <= a);
            from.is_static()
                && to.is_static()
                && from.dtype == to.dtype
                && from.rank() == to.rank()
                && dim < from.rank()
                && from.dims.iter().zip(to.dims.iter()).enumerate().all(same)
        }
        _ => false,
    });
    fits.then_some(First { dim, comparator: *comparator })
}

/// Makes the instructions that sort and take the first.
pub(super) fn finish_first<'s>(
    p: &mut Parser<'s>,
    first: First,
    draft: &mut Draft,
    names: &[ResultName<'s>],
    out: RegionId,
) -> Parsed<()> {
    let span = draft.span;
    p.symbols.note_uses(&[first.comparator], span);
    let loc = p.trailing_loc()?;
    let inst = |op: Op, operands: Vec<ValueId>| NewInst::new(op, operands).at(span, loc.clone());
    let operands: Vec<ValueId> = draft.operands.iter().take(draft.results.len()).map(|o| o.id).collect();
    let types: Vec<Type> = operands.iter().map(|id| p.func[*id].clone()).collect();
    let scalar = |ty: &Type| match ty {
        Type::Tensor(t) => Type::Tensor(t.with_dims([])),
        other => other.clone(),
    };
    // The comparator has two elements of each tensor in turn, as that of a sort.
    let body = p.func.new_region();
    let args: Vec<ValueId> =
        types.iter().flat_map(|ty| [scalar(ty), scalar(ty)]).map(|ty| p.func.add_arg(body, ty)).collect();
    let before = Type::Tensor(TensorType::new(DType::Pred, []));
    let compare = p.func.push(body, inst(Op::Call { callee: first.comparator }, args), [before]);
    let before = p.func.inst(compare).results().to_vec();
    p.func.push(body, inst(Op::Return, before), []);
    let sort = Op::Sort { dim: first.dim, is_stable: true };
    let sort = p.func.push(out, inst(sort, operands).with_regions([body]), types);
    let sorted = p.func.inst(sort).results().to_vec();
    let results = p.define_results(&draft.results, names, span);
    for (from, to) in sorted.into_iter().zip(results) {
        let dims = p.func.tensor(to).map(|t| t.dims.to_vec()).unwrap_or_default();
        let slice = Slice { start: vec![0; dims.len()], strides: vec![1; dims.len()], limit: dims };
        p.func.push_defining(out, inst(Op::Slice(slice), vec![from]), vec![to]);
    }
    Ok(())
}

/// An operation of the `check` dialect.
pub(super) struct Check {
    /// Target of the custom call.
    target: &'static str,
    /// The second operand is attribute `value`.
    constant: bool,
}

const fn check(name: &'static str, target: &'static str, constant: bool) -> Syntax {
    let form = if constant { CHECK_CONST } else { CHECK };
    Syntax { name, form, read: Read::Check(Check { target, constant }) }
}

/// The checks of the syntax table.
pub(super) static CHECKS: &[Syntax] = &[
    check("check.expect_eq", "check.expect_eq", false),
    check("check.expect_eq_const", "check.expect_eq", true),
    check("check.expect_almost_eq", "check.expect_almost_eq", false),
    check("check.expect_almost_eq_const", "check.expect_almost_eq", true),
    Syntax {
        name: "check.expect_close",
        form: CHECK_CLOSE,
        read: Read::Check(Check { target: "check.expect_close", constant: false }),
    },
    check("check.expect_close_const", "check.expect_close", true),
];

/// Attributes that say how close values must be.
const PARAMETERS: [&str; 3] = ["tolerance", "max_ulp_difference", "min_ulp_difference"];

/// Makes the instructions of a check.
pub(super) fn finish_check<'s>(
    p: &mut Parser<'s>,
    check: &Check,
    draft: &mut Draft,
    names: &[ResultName<'s>],
    out: RegionId,
) -> Parsed<()> {
    let span = draft.span;
    let mut operands: Vec<_> = draft.operands.iter().map(|o| o.id).collect();
    let mut constant = None;
    if check.constant {
        match draft.attrs.remove("value") {
            Some(Attr::Dense(literal)) => {
                let value = p.func.new_value(Type::Tensor(literal.ty()));
                operands.push(value);
                constant = Some((literal, value));
            }
            _ => {
                let message = "the value that is expected is dense<…> of a tensor";
                p.report(Diagnostic::new("attribute", span, message));
            }
        }
    }
    let mut parameters = AttrDict::new();
    for key in PARAMETERS {
        if let Some(value) = draft.attrs.remove(key) {
            parameters.insert(key.to_owned(), value);
        }
    }
    p.define_results(&draft.results, names, span);
    let loc = p.trailing_loc()?;
    if let Some((literal, value)) = constant {
        let constant = NewInst::new(Op::Constant(literal), []).at(span, loc.clone());
        p.func.push_defining(out, constant, vec![value]);
    }
    let config = if parameters.is_empty() { CallConfig::Absent } else { CallConfig::Dict(parameters) };
    let call = CustomCall { config, has_side_effect: true, ..CustomCall::new(check.target) };
    let attrs = std::mem::take(&mut draft.attrs);
    let call = NewInst::new(Op::CustomCall(Box::new(call)), operands).at(span, loc);
    p.func.push(out, NewInst { attrs, ..call }, []);
    Ok(())
}
