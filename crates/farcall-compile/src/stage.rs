//! Stages of the compiler for inspection: the middle form after each pass.

use std::borrow::Cow;

use farcall_ir::{FuncId, Module};

use crate::explain::{self, Explanation, Placed};

/// A pass that decides where values are stored. These passes always run, in this order, after all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryPass {
    /// Name of the pass, which is also the name of its source file.
    pub name: &'static str,
    /// Description of the pass in one line.
    pub about: &'static str,
}

const fn pass(name: &'static str, about: &'static str) -> MemoryPass {
    MemoryPass { name, about }
}

/// The passes that decide where values are stored, in order.
pub static MEMORY_PASSES: &[MemoryPass] = &[
    pass("layouts", farcall_ir::middle::passes::layouts::PASS.about),
    pass("copies", "inserts copies where values must share memory"),
    pass("coalesce", "lets loops and branches write directly to their results"),
    pass("donate", "marks inputs whose memory results may take over"),
    pass("assign", "gives every value a place"),
];

/// The middle form after a pass.
pub struct Stage<'a> {
    /// Name of the pass; `build` for the form before the first pass.
    pub name: &'static str,
    form: &'a Module,
    placed: Option<Placed<'a>>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(name: &'static str, form: &'a Module) -> Stage<'a> {
        Stage { name, form, placed: None }
    }

    pub(super) fn placed(form: &'a Module, placed: Placed<'a>) -> Stage<'a> {
        Stage { name: "assign", form, placed: Some(placed) }
    }

    /// Returns the middle form. After the pass `assign`, instructions have attributes for the places in
    /// memory: `farcall.places`, with one place for each result, and `farcall.scratch`, for scratch memory.
    pub fn form(&self) -> Cow<'a, Module> {
        let Some(Placed { places, .. }) = self.placed else { return Cow::Borrowed(self.form) };
        let mut form = self.form.clone();
        places.annotate(form.func_mut(FuncId::new(0)));
        Cow::Owned(form)
    }

    /// Explains the compiler's decisions, with reasons; only available for the last stage, `assign`.
    pub fn explain(&self) -> Option<Explanation> {
        Some(explain::explain(self.form, self.placed.as_ref()?))
    }
}

/// Calls `after` with the form that a pass has made. Debug builds verify the form first.
///
/// # Panics
/// In debug builds, if the form is invalid.
pub(super) fn done(name: &'static str, form: &Module, after: &mut dyn FnMut(&Stage<'_>)) {
    if cfg!(debug_assertions)
        && let Err(error) = farcall_ir::middle::verify(form)
    {
        panic!("{name} left an invalid program: {error}\n{}", farcall_ir::text::print(form));
    }
    after(&Stage::new(name, form));
}
