//! Resolves the target of each custom call of a program, and checks the call against what the target declares. The
//! program is rewritten: defaults of the op are filled in, and a side effect that the op declares is recorded.
//!
//! No stage of a target runs here: the instantiate stage runs when the plan is loaded.

use std::borrow::Cow;
use std::collections::HashSet;

use farcall_ir::diag::Diagnostics;
use farcall_ir::module::{FuncId, InstId};
use farcall_ir::op::CustomCall;
use farcall_ir::{Diagnostic, Inst, Module, Op, Type};

use super::{Refused, declared};
use crate::ErrorCode;
use crate::registry::{Platform, Registry, ResolveError};

/// Resolves the calls of a program in the middle form: handlers are those of the platform.
///
/// # Errors
/// Every target that is missing, and every call that does not fit its target.
pub(super) fn resolve(form: &mut Module, registry: &Registry, platform: &Platform) -> Result<(), Refused> {
    let mut diagnostics = Diagnostics::default();
    let mut code = ErrorCode::MissingTarget;
    // A function that is inlined often is said to be wrong once.
    let mut noted = HashSet::new();
    let mut changed: Vec<(InstId, CustomCall)> = Vec::new();
    for func in form.funcs() {
        func.walk(&mut |inst| {
            let Op::CustomCall(call) = inst.op() else { return };
            match resolved(inst, call, registry, platform) {
                Ok(Cow::Borrowed(_)) => {}
                Ok(Cow::Owned(call)) => changed.push((inst.id(), call)),
                Err(wrong) => {
                    let diagnostic = match *wrong {
                        Wrong::Target(error) => error.at(inst.span()),
                        Wrong::Call(diagnostic) => {
                            code = ErrorCode::InvalidProgram;
                            diagnostic
                        }
                    };
                    if noted.insert((diagnostic.span, diagnostic.code)) {
                        diagnostics.push(diagnostic);
                    }
                }
            }
        });
    }
    for (inst, call) in changed {
        form.func_mut(FuncId::new(0)).set_op(inst, Op::CustomCall(Box::new(call)));
    }
    if diagnostics.is_empty() { Ok(()) } else { Err(Refused { diagnostics, code }) }
}

/// Why a call cannot be made.
enum Wrong {
    /// Its target is missing.
    Target(ResolveError),
    /// It does not fit what its target declares.
    Call(Diagnostic),
}

fn resolved<'c>(
    inst: Inst<'_>,
    call: &'c CustomCall,
    registry: &Registry,
    platform: &Platform,
) -> Result<Cow<'c, CustomCall>, Box<Wrong>> {
    let target = registry.resolve(call, platform).map_err(|error| Box::new(Wrong::Target(error)))?;
    let Some(declaration) = target.declaration() else { return Ok(Cow::Borrowed(call)) };
    let (operands, results) = types(inst, call);
    declared::check(declaration, call, &operands, &results).map_err(|message| {
        let diagnostic = Diagnostic::new("signature", inst.span(), format!("{}: {message}", call.target));
        let notes = vec![format!("{}{}", call.target, declaration.signature)];
        Box::new(Wrong::Call(Diagnostic { notes, ..diagnostic }))
    })
}

/// The types of a call's operands and results as its program has them: with tokens and tuples.
pub(super) fn types(inst: Inst<'_>, call: &CustomCall) -> (Vec<Type>, Vec<Type>) {
    match &call.types {
        Some(types) => (types.params.clone(), types.results.clone()),
        None => {
            let of = |ids: &[farcall_ir::ValueId]| ids.iter().map(|v| inst.func().ty(*v).clone()).collect();
            (of(inst.own_operands()), of(inst.results()))
        }
    }
}
