//! Resolves the target of each custom call of a program, and checks the call against the target's
//! declaration. The program is rewritten: the op's defaults are filled in, and a side effect that the op
//! declares is recorded.
//!
//! No stage of a target runs here: the instantiate stage runs when the plan is loaded.

use std::borrow::Cow;
use std::collections::HashSet;

use farcall_ir::diag::Diagnostics;
use farcall_ir::module::{FuncId, InstId};
use farcall_ir::op::CustomCall;
use farcall_ir::{Diagnostic, Inst, Module, Op, Type};

use crate::declared;
use crate::options::Refused;
use farcall_host::ErrorCode;
use farcall_host::registry::{Platform, Registry, ResolveError};

/// Resolves the calls of a program in the middle form to targets for this platform.
///
/// # Errors
/// Every missing target, and every call that does not match its target's declaration.
pub(super) fn resolve(form: &mut Module, registry: &Registry, platform: &Platform) -> Result<(), Refused> {
    let mut diagnostics = Diagnostics::default();
    let mut code = ErrorCode::MissingTarget;
    // Errors in a function that is inlined several times are reported once.
    let mut noted = HashSet::new();
    let mut changed: Vec<(InstId, CustomCall)> = Vec::new();
    for func in form.funcs() {
        func.walk(&mut |inst| {
            let Op::CustomCall(call) = inst.op() else { return };
            match resolved(inst, call, registry, platform) {
                Ok(Cow::Borrowed(_)) => {}
                Ok(Cow::Owned(call)) => changed.push((inst.id(), call)),
                Err(invalid) => {
                    let diagnostic = match *invalid {
                        InvalidCall::Target(error) => error.at(inst.span(), &inst.place(&form.source)),
                        InvalidCall::Call(diagnostic) => {
                            code = ErrorCode::InvalidProgram;
                            diagnostic
                        }
                    };
                    let what = (diagnostic.code, diagnostic.subject.clone());
                    if noted.insert((diagnostic.span, diagnostic.place.clone(), what)) {
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

/// A call that cannot be made.
enum InvalidCall {
    /// The target is missing.
    Target(ResolveError),
    /// The call does not match the target's declaration.
    Call(Diagnostic),
}

fn resolved<'c>(
    inst: Inst<'_>,
    call: &'c CustomCall,
    registry: &Registry,
    platform: &Platform,
) -> Result<Cow<'c, CustomCall>, Box<InvalidCall>> {
    let target = registry.resolve(call, platform).map_err(|error| Box::new(InvalidCall::Target(error)))?;
    let Some(declaration) = target.declaration() else { return Ok(Cow::Borrowed(call)) };
    let (operands, results) = types(inst, call);
    declared::check(declaration, call, &operands, &results).map_err(|message| {
        let diagnostic = Diagnostic::new("signature", inst.span(), format!("{}: {message}", call.target));
        let notes = vec![format!("{}{}", call.target, declaration.signature)];
        Box::new(InvalidCall::Call(Diagnostic { notes, ..diagnostic }))
    })
}

/// Returns the types of a call's operands and results as the program writes them: with tokens and tuples.
pub(super) fn types(inst: Inst<'_>, call: &CustomCall) -> (Vec<Type>, Vec<Type>) {
    match &call.types {
        Some(types) => (types.params.clone(), types.results.clone()),
        None => {
            let of = |ids: &[farcall_ir::ValueId]| ids.iter().map(|v| inst.func().ty(*v).clone()).collect();
            (of(inst.own_operands()), of(inst.results()))
        }
    }
}
