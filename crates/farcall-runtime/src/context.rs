//! Contexts: the memory and the call frames of runs. While a run uses a context, no other run does.

use std::sync::Arc;

use farcall_ir::Literal;

use farcall_host::custom_call::CallFrame;
use farcall_host::runs::Completion;

use super::RunError;
use super::load::{Loaded, PARAMS};
use super::memory::AlignedBytes;

/// Scratch memory and call frames, built once and used by one run at a time.
#[derive(Debug)]
pub(super) struct Context {
    /// One frame per custom call, with the addresses that are the same in every run. (Declared before
    /// `arena`, since dropping the frames waits for incomplete calls, which may use the arena.)
    pub(super) frames: Vec<CallFrame>,
    pub(super) arena: AlignedBytes,
    /// Values that straight-line programs keep between their steps.
    pub(super) registers: AlignedBytes,
    /// Indices of the calls whose targets have a prepare or an initialize stage.
    pub(super) staged: Vec<usize>,
    /// Base addresses in the current run, in this order: arena, constants, registers, stack, inputs, results.
    pub(super) bases: Vec<*mut u8>,
    /// The contexts of the nested calls ([`Loaded::nested`]), with the same indices as their loaded plans.
    pub(super) nested: Vec<Vec<Context>>,
    /// Inputs and results of an interrupted run, kept because the run's incomplete calls may still use them.
    pub(super) left: Vec<Literal>,
}

// SAFETY: the raw pointers in `bases` are only dereferenced by the run that set them, which has exclusive
// access to the context. All other fields are `Send`: frames (see `CallFrame`), memory, literals, and the
// contexts in `nested`, to which the same reasons apply.
unsafe impl Send for Context {}

impl Context {
    pub(super) fn new(loaded: &Loaded) -> Result<Context, RunError> {
        let plan = &loaded.plan;
        let memory = |size: usize| {
            AlignedBytes::new(size)
                .map_err(|error| RunError::Memory { what: "the program's own values", error })
        };
        let (arena, registers) = (memory(plan.arena_size())?, memory(loaded.registers)?);
        let staged = (0..plan.calls().len()).filter(|i| loaded.calls[*i].has_run_stages()).collect();
        let nested = loaded.nested.iter().map(|calls| {
            let calls = calls.iter().map(Context::new);
            calls.collect::<Result<Vec<Context>, RunError>>()
        });
        let bases = [arena.as_ptr(), loaded.constants.as_ptr(), registers.as_ptr()];
        let mut frames: Vec<CallFrame> = loaded.calls.iter().map(CallFrame::new).collect();
        for (call, place) in &loaded.places.fixed {
            // SAFETY: the plan is a `ValidPlan`, and fixed places are relative to the arena or the constants,
            // whose addresses are in `bases`.
            frames[*call].places()[place.number as usize] = unsafe { place.at(&bases) };
        }
        Ok(Context {
            frames,
            arena,
            registers,
            nested: nested.collect::<Result<_, _>>()?,
            staged,
            left: Vec::new(),
            bases: Vec::with_capacity(PARAMS + plan.params().len() + plan.results().len()),
        })
    }

    /// Returns the calls that an interrupted run left incomplete.
    pub(super) fn pending(&self) -> Vec<Arc<Completion>> {
        let own = self.frames.iter().filter_map(|frame| frame.started().cloned());
        let nested = self.nested.iter().flatten().flat_map(Context::pending);
        own.chain(nested).collect()
    }

    /// Returns true if a call is not complete.
    pub(super) fn is_pending(&self) -> bool {
        self.frames.iter().any(CallFrame::is_started) || self.nested.iter().flatten().any(Context::is_pending)
    }
}
