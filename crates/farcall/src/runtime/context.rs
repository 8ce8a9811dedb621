//! What each run needs exclusively: memory, call frames.

use std::sync::Arc;

use farcall_ir::Literal;

use crate::custom_call::CallFrame;
use crate::host::future::Completion;
use crate::kernels::Code;

use super::RunError;
use super::load::{Loaded, PARAMS};
use super::memory::AlignedBytes;

/// Scratch memory and frames, built once and used by one run at a time.
#[derive(Debug)]
pub(super) struct Context {
    /// One per custom call, with the places of what stays where it is. (They come before the arena, as calls that are not
    /// complete are waited for when they go.)
    pub(super) frames: Vec<CallFrame>,
    pub(super) arena: AlignedBytes,
    /// What straight-line programs keep between two of their steps.
    pub(super) registers: AlignedBytes,
    /// The steps of a line that runs, with addresses.
    pub(super) code: Vec<Code>,
    /// Numbers of those whose targets have stages before a run.
    pub(super) staged: Vec<usize>,
    /// The addresses that places of the current run count from: arena, constants, registers, stack, inputs,
    /// results.
    pub(super) bases: Vec<*mut u8>,
    /// Those of nested calls: per reference site, per call.
    pub(super) nested: Vec<Vec<Context>>,
    /// Inputs and results of an interrupted run, whose calls are not complete.
    pub(super) left: Vec<Literal>,
}

// SAFETY: the pointers in `bases` and `code` are only used by the run that set them.
unsafe impl Send for Context {}

impl Context {
    pub(super) fn new(loaded: &Loaded) -> Result<Context, RunError> {
        let plan = &loaded.plan;
        let memory = |size: usize| {
            AlignedBytes::new(size)
                .map_err(|error| RunError::Memory { what: "the program's own values", error })
        };
        let (arena, registers) = (memory(plan.arena_size)?, memory(loaded.registers)?);
        let staged = (0..plan.calls.len()).filter(|i| loaded.calls[*i].has_run_stages()).collect();
        let nested = loaded.nested.iter().map(|calls| {
            let calls = calls.iter().map(Context::new);
            calls.collect::<Result<Vec<Context>, RunError>>()
        });
        let bases = [arena.as_ptr(), loaded.constants.as_ptr(), registers.as_ptr()];
        let mut frames: Vec<CallFrame> = loaded.calls.iter().map(CallFrame::new).collect();
        for (call, place) in &loaded.places.fixed {
            // SAFETY: the plan is validated, and what does not move counts from one of these.
            frames[*call].places()[place.number as usize] = unsafe { place.at(&bases) };
        }
        Ok(Context {
            frames,
            arena,
            registers,
            nested: nested.collect::<Result<_, _>>()?,
            code: Vec::new(),
            staged,
            left: Vec::new(),
            bases: Vec::with_capacity(PARAMS + plan.params.len() + plan.results.len()),
        })
    }

    /// The calls that an interrupted run left incomplete.
    pub(super) fn pending(&self) -> Vec<Arc<Completion>> {
        let own = self.frames.iter().filter_map(|frame| frame.started().cloned());
        let nested = self.nested.iter().flatten().flat_map(Context::pending);
        own.chain(nested).collect()
    }

    /// True if a call is not complete.
    pub(super) fn is_pending(&self) -> bool {
        self.frames.iter().any(CallFrame::is_started) || self.nested.iter().flatten().any(Context::is_pending)
    }
}
