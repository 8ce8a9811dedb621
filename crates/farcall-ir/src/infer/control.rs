//! Control flow, tuples, tokens.

use smallvec::smallvec;
use std::sync::Arc;

use farcall_sig::DType;

use crate::infer::cx::Cx;
use crate::infer::shape::{compatible, is_scalar};
use crate::op::{Op, Traits};
use crate::types::{TensorType, Type, TypeList};

/// `if` or `case`: regions without arguments, exactly one of which runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conditional {
    If,
    Case,
}

pub(super) fn conditional(cx: &mut Cx<'_>, kind: Conditional) -> Option<TypeList> {
    let (input, no_args, same, what, dtype) = match kind {
        Conditional::If => ("if_i1", "if_c1", "if_c2", "pred", DType::Pred),
        Conditional::Case => ("case_i1", "case_c2", "case_c3", "index", DType::S32),
    };
    // if_i1, case_i1
    let operand = cx.t(0);
    cx.check(is_scalar(&Type::from(operand.clone()), dtype), input, || {
        format!("{what} must be {}, found {operand}", TensorType::scalar(dtype))
    });
    // case_c1
    let Some(first) = cx.inst.region(0) else {
        cx.fail("case_c1", "at least one branch is needed, found none");
        return None;
    };
    let results = cx.types(first.returned());
    for (i, branch) in cx.inst.regions().enumerate() {
        // if_c1, case_c2
        cx.check(branch.own_args().is_empty(), no_args, || {
            format!("branch {i} must take no arguments, found {}", branch.own_args().len())
        });
        // if_c2, case_c3
        let returned = cx.types(branch.returned());
        let agree =
            returned.len() == results.len() && returned.iter().zip(&results).all(|(a, b)| compatible(a, b));
        cx.check(agree, same, || {
            format!("branches must return the same types, found {} and {}", list(&results), list(&returned))
        });
    }
    // if_c3, case_c4
    Some(results)
}

pub(super) fn while_loop(cx: &mut Cx<'_>) -> Option<TypeList> {
    let carried = cx.types(cx.inst.own_operands());
    let (cond, body) = (cx.region(0), cx.region(1));
    let agree = |types: &[Type]| {
        types.len() == carried.len() && types.iter().zip(&carried).all(|(a, b)| compatible(a, b))
    };
    // while_c1
    let args = cx.types(cond.own_args());
    cx.check(agree(&args), "while_c1", || {
        format!("cond must take the operands' types, {}, found {}", list(&carried), list(&args))
    });
    let returned = cx.types(cond.returned());
    cx.check(returned.len() == 1 && is_scalar(&returned[0], DType::Pred), "while_c1", || {
        format!("cond must return tensor<i1>, found {}", list(&returned))
    });
    // while_c2
    let args = cx.types(body.own_args());
    cx.check(agree(&args), "while_c2", || {
        format!("body must take the operands' types, {}, found {}", list(&carried), list(&args))
    });
    let returned = cx.types(body.returned());
    cx.check(agree(&returned), "while_c2", || {
        format!("body must return the operands' types, {}, found {}", list(&carried), list(&returned))
    });
    // while_c3
    Some(carried)
}

/// Returns the declared result types. The verifier compares them with the result types of the callee.
pub(super) fn call(cx: &mut Cx<'_>) -> Option<TypeList> {
    Some(cx.types(cx.inst.results()))
}

pub(super) fn optimization_barrier(cx: &mut Cx<'_>) -> Option<TypeList> {
    // optimization_barrier_c1
    Some(cx.types(cx.inst.own_operands()))
}

pub(super) fn tuple(cx: &mut Cx<'_>) -> Option<TypeList> {
    // tuple_c1
    Some(smallvec![Type::Tuple(cx.types(cx.inst.own_operands()).into_vec().into())])
}

pub(super) fn get_tuple_element(cx: &mut Cx<'_>, index: usize) -> Option<TypeList> {
    let Type::Tuple(parts) = cx.func.ty(cx.inst.own_operands()[0]) else { return None };
    let parts: Arc<[Type]> = Arc::clone(parts);
    // get_tuple_element_c1
    if !cx.in_range("get_tuple_element_c1", "index", &[index], parts.len()) {
        return None;
    }
    // get_tuple_element_c2
    Some(smallvec![parts[index].clone()])
}

/// Returns the type of `partition_id` and `replica_id`.
pub(super) fn device_id(_: &mut Cx<'_>) -> Option<TypeList> {
    Some(smallvec![TensorType::scalar(DType::U32).into()])
}

/// Formats a list of types: `(tensor<f32>, tensor<i1>)`.
pub(super) fn list(types: &[Type]) -> String {
    let types: Vec<String> = types.iter().map(ToString::to_string).collect();
    format!("({})", types.join(", "))
}

pub(super) fn async_start(cx: &mut Cx<'_>) -> Option<TypeList> {
    let body = cx.region(0);
    // async_start_c1
    let single = body.exactly().and_then(|[inst, end]| (end.operands() == inst.results()).then_some(inst));
    let Some(inst) = single else {
        cx.fail("async_start_c1", "the region must hold one operation and return its results");
        return None;
    };
    // async_start_c2
    let moves = matches!(inst.op(), Op::Slice(_) | Op::DynamicSlice { .. } | Op::DynamicUpdateSlice);
    cx.check(moves || inst.op().info().is(Traits::COLLECTIVE), "async_start_c2", || {
        format!("the operation of the region must be a collective or a slice, found {}", inst.op().name())
    });
    // async_start_c3
    let same = match body.own_args() {
        [] => inst.operands() == cx.inst.own_operands(),
        args => inst.operands() == args && cx.types(args) == cx.types(cx.inst.own_operands()),
    };
    cx.check(same, "async_start_c3", || {
        "the operation of the region must take the operands of async_start, in the same order".to_owned()
    });
    // async_start_c4
    Some(smallvec![Type::Future(cx.types(inst.results()).into_vec().into())])
}

pub(super) fn async_done(cx: &mut Cx<'_>) -> Option<TypeList> {
    // async_done_c1
    let Type::Future(parts) = cx.func.ty(cx.inst.own_operands()[0]) else { return None };
    Some(TypeList::from(&**parts))
}
