//! Custom calls in regions that the reference evaluator applies to elements (`map`, `sort`, a reducer …):
//! each becomes a plan of its own, made once.

use std::sync::Arc;

use farcall_ir::eval::Numerics;
use farcall_ir::{Diagnostic, FuncId, Inst, Module, Op};

use super::{Failure, compile};
use crate::plan::{NestedCall, ThunkOp};
use crate::registry::Registry;

/// The calls that the first function of a module reaches.
pub(super) fn calls(
    module: &Module,
    registry: &Registry,
    numerics: Numerics,
) -> Result<Vec<NestedCall>, Vec<Diagnostic>> {
    let mut found: Vec<(FuncId, Inst<'_>)> = Vec::new();
    for (id, func) in module.func_ids().zip(module.funcs()) {
        func.walk(&mut |inst| {
            if matches!(inst.op(), Op::CustomCall(_)) {
                found.push((id, inst));
            }
        });
    }
    found.sort_by_key(|(_, inst)| inst.span().start);
    let (mut calls, mut mistakes) = (Vec::new(), Vec::new());
    for (func, inst) in found {
        let program = Arc::new(module.extract(inst));
        let plan = program.entry().map(|entry| compile(&program, entry, registry, numerics));
        match plan {
            Some(Ok(plan)) => {
                let mut side_effect = false;
                plan.walk(&mut |t| {
                    side_effect |= matches!(&t.op, ThunkOp::CustomCall(call) if call.side_effect);
                });
                calls.push(NestedCall { func, inst: inst.id(), side_effect, plan: Arc::new(plan) });
            }
            Some(Err(Failure::Program(diagnostics))) => mistakes.extend(diagnostics.kept().iter().cloned()),
            Some(Err(Failure::Plan(error))) => {
                mistakes.push(Diagnostic::new("internal", inst.span(), error.to_string()));
            }
            None => mistakes.push(Diagnostic::new("internal", inst.span(), "a program without an entry")),
        }
    }
    if mistakes.is_empty() { Ok(calls) } else { Err(mistakes) }
}
