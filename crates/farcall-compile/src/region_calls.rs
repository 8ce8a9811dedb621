//! Compiles custom calls in regions that the reference evaluator applies to elements (`map`, `sort`, a
//! reducer …). Each call is compiled once, to a separate plan.

use std::sync::Arc;

use farcall_ir::{FuncId, Inst, Module, Op};

use crate::options::Refused;
use farcall_plan::{NestedCall, ThunkOp, ValidPlan};

/// Compiles a module that consists of one call.
pub(super) type CompileNested<'a> = dyn Fn(Module) -> Result<ValidPlan, Refused> + 'a;

/// Compiles the calls of a module.
pub(super) fn calls(module: &Module, compile: &CompileNested<'_>) -> Result<Vec<NestedCall>, Refused> {
    let mut found: Vec<(FuncId, Inst<'_>)> = Vec::new();
    for (id, func) in module.func_ids().zip(module.funcs()) {
        func.walk(&mut |inst| {
            if matches!(inst.op(), Op::CustomCall(_)) {
                found.push((id, inst));
            }
        });
    }
    found.sort_by_key(|(_, inst)| inst.span().start);
    let mut calls = Vec::with_capacity(found.len());
    for (func, inst) in found {
        let plan = compile(module.extract(inst))?;
        let mut side_effect = false;
        plan.walk(&mut |t| {
            side_effect |= matches!(&t.op, ThunkOp::CustomCall(call) if call.side_effect);
        });
        calls.push(NestedCall { func, inst: inst.id(), side_effect, plan: Arc::new(plan) });
    }
    Ok(calls)
}
