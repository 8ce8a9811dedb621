//! The instantiate stage, which completes a call site.

use std::ptr::null;
use std::sync::{Arc, Mutex};

use farcall_ffi::abi::Stage;
use farcall_ir::Type;
use farcall_ir::op::CustomCall;

use super::error::CallError;
use super::frame::{CallFrame, interrupted};
use super::site::{CallSite, Callee};
use super::typed::Typed;
use crate::registry::Target;

impl CallSite {
    /// Makes a call site and runs the target's instantiate stage.
    ///
    /// `operands` and `results` are the types of the call. `place` is its location in the program, for
    /// messages.
    ///
    /// # Errors
    /// If the call asks for an API that is not the target's, a type has no size, an attribute cannot be
    /// passed, or the instantiate stage fails.
    pub fn new(
        target: Arc<Target>,
        call: &CustomCall,
        operands: &[Type],
        results: &[Type],
        place: impl Into<Arc<str>>,
    ) -> Result<CallSite, CallError> {
        instantiate(CallSite::uninstantiated(target, call, operands, results, place.into())?)
    }
}

/// Runs a call site's instantiate stage, which leaves its state in the site.
fn instantiate(site: CallSite) -> Result<CallSite, CallError> {
    let Callee::Typed { bundle, attrs, state } = &site.callee else { return Ok(site) };
    let Some(handler) = bundle.instantiate else { return Ok(site) };
    // Like in XLA, this stage gets no operands and results.
    let mut typed = Typed::new(handler, attrs, state, &[], &[]);
    // SAFETY: the call has no buffers, and an incomplete call keeps the frame and the site alive (`keep`
    // below).
    match unsafe { typed.run_to_end(site.name(), (Stage::INSTANTIATE, handler), null()) } {
        Ok(Ok(())) => Ok(site),
        Ok(Err(failure)) => Err(site.error(Stage::INSTANTIATE, failure)),
        Err(completion) => {
            let error = site.error(Stage::INSTANTIATE, interrupted());
            let frame = CallFrame::of_incomplete_call(Arc::new(site), typed, Arc::clone(&completion));
            completion.keep(Arc::new(Mutex::new(frame)));
            Err(error)
        }
    }
}
