//! Custom calls in regions that the reference evaluator applies to elements (`map`, `sort`, a reducer …):
//! each becomes a plan of its own, made once.

use std::collections::HashSet;
use std::sync::Arc;

use farcall_ir::eval::Numerics;
use farcall_ir::module::Inst;
use farcall_ir::{AttrDict, Diagnostic, Func, Module, Op, Region, Type};

use super::compile;
use crate::plan::{NestedCall, ThunkOp};
use crate::registry::Registry;

/// The calls in the regions of an instruction of `func`, and in the functions that these call.
pub(super) fn calls(
    module: &Module,
    func: &Func,
    inst: &Inst,
    registry: &Registry,
    numerics: Numerics,
) -> Result<Vec<NestedCall>, Vec<Diagnostic>> {
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    let mut todo: Vec<(&Func, &Region)> = inst.regions.iter().map(|r| (func, r)).collect();
    while let Some((func, region)) = todo.pop() {
        for inst in &region.insts {
            let callee = match &inst.op {
                Op::CustomCall(_) => {
                    found.push((func, inst));
                    None
                }
                Op::Call { callee } => Some(callee),
                Op::Composite(composite) => Some(&composite.decomposition),
                _ => None,
            };
            if let Some(callee) = callee.and_then(|name| module.func(name))
                && seen.insert(callee.name.as_str())
            {
                todo.push((callee, &callee.body));
            }
            todo.extend(inst.regions.iter().map(|r| (func, r)));
        }
    }
    found.sort_by_key(|(_, inst)| inst.span.start);
    let (mut calls, mut mistakes) = (Vec::new(), Vec::new());
    for (func, inst) in found {
        let program = Arc::new(program_of(module, func, inst));
        let plan = program.entry().map(|entry| compile(&program, entry, registry, numerics));
        match plan {
            Some(Ok(plan)) => {
                let mut side_effect = false;
                plan.walk(&mut |t| {
                    side_effect |= matches!(&t.op, ThunkOp::CustomCall(call) if call.side_effect);
                });
                calls.push(NestedCall {
                    instruction: NestedCall::key(inst),
                    side_effect,
                    plan: Arc::new(plan),
                });
            }
            Some(Err(diagnostics)) => mistakes.extend(diagnostics.kept().iter().cloned()),
            None => mistakes.push(Diagnostic::new("internal", inst.span, "a program without an entry")),
        }
    }
    if mistakes.is_empty() { Ok(calls) } else { Err(mistakes) }
}

/// A program whose entry is this call.
pub(crate) fn program_of(module: &Module, func: &Func, inst: &Inst) -> Module {
    let span = inst.span;
    let results: Vec<Type> = inst.results.iter().map(|r| func.ty(*r).clone()).collect();
    let mut main = Func::new("main", span);
    let params: Vec<_> = inst.operands.iter().map(|o| main.new_value(func.ty(*o).clone())).collect();
    let returned: Vec<_> = results.iter().map(|ty| main.new_value(ty.clone())).collect();
    main.param_attrs = vec![AttrDict::new(); params.len()];
    main.result_attrs = vec![AttrDict::new(); results.len()];
    main.results = results;
    main.body.args.clone_from(&params);
    main.body.insts = vec![
        Inst { operands: params, results: returned.clone(), ..inst.clone() },
        Inst {
            op: Op::Return,
            operands: returned,
            results: Vec::new(),
            regions: Vec::new(),
            attrs: AttrDict::new(),
            span,
            loc: None,
        },
    ];
    let mut program = Module::new(Arc::clone(&module.source));
    program.funcs.push(main);
    program
}
