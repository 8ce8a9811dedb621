//! Call sites: places in a program where a target is called. All runs of an executable share them.

use std::sync::Arc;

use farcall_ffi::abi::{ErrorCode, HandlerBundle, Stage};
use farcall_ir::diag::shortened;
use farcall_ir::op::{CallConfig, CustomCall};
use farcall_ir::{Span, Type};

use super::error::CallError;
use super::leaf::{Leaf, leaves};
use super::untyped::UntypedCall;
use crate::interface::attrs::EncodedAttrs;
use crate::interface::context::StateSlot;
use crate::interface::error::Failure;
use crate::interface::exit::CallName;
use crate::registry::{ApiKind, Handler, Target, call_kind};

/// A call site. Executables keep one per custom call, and runs make [`CallFrame`](super::CallFrame)s from it.
///
/// Dropping a site destroys the state that the target's instantiate stage created.
#[derive(Debug)]
pub struct CallSite {
    target: Arc<Target>,
    name: CallName,
    span: Option<Span>,
    operands: Box<[Leaf]>,
    results: Box<[Leaf]>,
    pub(super) callee: Callee,
}

/// The called function, with its arguments other than buffers.
#[derive(Debug)]
pub(super) enum Callee {
    Typed {
        bundle: HandlerBundle,
        attrs: EncodedAttrs,
        /// Created by the instantiate stage. On the heap, because frames point to it.
        state: Box<StateSlot>,
    },
    Untyped(UntypedCall),
}

impl CallSite {
    /// Makes a call site without running the target's instantiate stage.
    ///
    /// # Errors
    /// If the call asks for an API that is not the target's, a type has no size, or an attribute cannot be
    /// passed.
    pub(super) fn uninstantiated(
        target: Arc<Target>,
        call: &CustomCall,
        operands: &[Type],
        results: &[Type],
        place: Arc<str>,
    ) -> Result<CallSite, CallError> {
        let library = target.origin().file.as_deref().map(Arc::from);
        let name = CallName { target: target.shared_name(), place, library };
        let error = |failure: Failure| CallError {
            target: Arc::clone(&name.target),
            place: Arc::clone(&name.place),
            span: None,
            stage: Stage::INSTANTIATE,
            code: failure.code,
            // A handler's message may be arbitrarily long.
            message: shortened(&without_name(&failure.message, target.name())).into_owned(),
        };
        let operand_leaves = leaves(operands).map_err(|e| error(Failure::invalid(e)))?;
        let result_leaves = leaves(results).map_err(|e| error(Failure::invalid(e)))?;
        let callee = match target.handler() {
            Handler::Typed(bundle) => typed_callee(bundle, call),
            Handler::Untyped(function) => check_kind(call, ApiKind::Untyped).map(|()| {
                let tuple = !matches!(results, [Type::Tensor(_) | Type::Token]);
                Callee::Untyped(UntypedCall::new(*function, call, tuple))
            }),
        };
        let callee = callee.map_err(error)?;
        Ok(CallSite {
            target: Arc::clone(&target),
            name: name.clone(),
            span: None,
            operands: operand_leaves,
            results: result_leaves,
            callee,
        })
    }

    /// Sets the span of the call in the program's text, for error messages.
    pub fn with_span(self, span: Span) -> CallSite {
        CallSite { span: Some(span), ..self }
    }

    /// Returns the target.
    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    /// Returns the location of the call in the program.
    pub fn place(&self) -> &str {
        &self.name.place
    }

    /// Returns the operands as the handler gets them, with one pointer for each.
    pub fn operands(&self) -> &[Leaf] {
        &self.operands
    }

    /// Returns the results as the handler gets them, with one pointer for each.
    pub fn results(&self) -> &[Leaf] {
        &self.results
    }

    /// Returns true if runs must call [`CallFrame::prepare`](super::CallFrame::prepare) and
    /// [`CallFrame::initialize`](super::CallFrame::initialize) before they execute the call.
    pub fn has_run_stages(&self) -> bool {
        match &self.callee {
            Callee::Typed { bundle, .. } => bundle.prepare.is_some() || bundle.initialize.is_some(),
            Callee::Untyped(_) => false,
        }
    }

    /// Returns the name of the call in messages.
    pub(super) fn name(&self) -> &CallName {
        &self.name
    }

    #[cold]
    pub(super) fn error(&self, stage: Stage, failure: Failure) -> CallError {
        CallError {
            target: Arc::clone(&self.name.target),
            place: Arc::clone(&self.name.place),
            span: self.span,
            stage,
            code: failure.code,
            // A handler's message may be arbitrarily long.
            message: shortened(&without_name(&failure.message, self.target.name())).into_owned(),
        }
    }
}

fn typed_callee(bundle: &HandlerBundle, call: &CustomCall) -> Result<Callee, Failure> {
    check_kind(call, ApiKind::Typed)?;
    let attrs = match &call.config {
        CallConfig::Dict(dict) => EncodedAttrs::new(dict).map_err(|e| Failure::invalid(e.to_string()))?,
        CallConfig::Text(text) if !text.is_empty() => {
            return Err(Failure::invalid(format!(
                "a typed target gets a dictionary, but backend_config is the string {:?}",
                String::from_utf8_lossy(text)
            )));
        }
        CallConfig::Absent | CallConfig::Text(_) => EncodedAttrs::default(),
    };
    Ok(Callee::Typed { bundle: *bundle, attrs, state: Box::default() })
}

fn check_kind(call: &CustomCall, kind: ApiKind) -> Result<(), Failure> {
    match call_kind(call).map_err(Failure::invalid)? {
        Some(wanted) if wanted != kind => Err(Failure::new(
            ErrorCode::INVALID_ARGUMENT,
            format!("the program calls it through the {wanted} API, but it is registered for the {kind} API"),
        )),
        _ => Ok(()),
    }
}

/// Removes the target's name from the start of a message. Handlers include the name for hosts that do not add
/// it.
fn without_name(message: &str, target: &str) -> String {
    message.strip_prefix(target).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message).to_owned()
}
