//! What a compiler shows of its work: the middle form after each pass.

use std::borrow::Cow;

use farcall_ir::middle::passes::Context;
use farcall_ir::{FuncId, Module};

use super::assign::Places;
use super::choose::Choices;
use super::explain::{self, Explanation};
use super::order::Event;

/// A pass that decides where values lie. These always run, in this order, after all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MemoryPass {
    /// Its name: that of its file.
    pub name: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
}

const fn pass(name: &'static str, about: &'static str) -> MemoryPass {
    MemoryPass { name, about }
}

/// The passes that decide where values lie, in order.
pub static MEMORY_PASSES: &[MemoryPass] = &[
    pass("layouts", farcall_ir::middle::passes::layouts::PASS.about),
    pass("copies", "copies values before others take over their memory"),
    pass("coalesce", "lets loops and branches write directly to their results"),
    pass("donate", "notes which inputs results may take the memory of"),
    pass("assign", "gives every value a place"),
];

/// The middle form after a pass.
pub struct Stage<'a> {
    /// The pass; `build` for the form as it is made.
    pub name: &'static str,
    form: &'a Module,
    placed: Option<Placed<'a>>,
}

/// What is known once values have places.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub(super) places: &'a Places<'a>,
    pub(super) events: &'a [Event<'a>],
    pub(super) choices: &'a Choices,
    /// What the passes were told.
    pub(super) cx: &'a Context,
}

impl<'a> Stage<'a> {
    pub(super) fn new(name: &'static str, form: &'a Module) -> Stage<'a> {
        Stage { name, form, placed: None }
    }

    pub(super) fn placed(form: &'a Module, placed: Placed<'a>) -> Stage<'a> {
        Stage { name: "assign", form, placed: Some(placed) }
    }

    /// The form. Once places are assigned, its instructions have them as the attributes `farcall.places`, one for
    /// each result, and `farcall.scratch`.
    pub fn form(&self) -> Cow<'a, Module> {
        let Some(Placed { places, .. }) = self.placed else { return Cow::Borrowed(self.form) };
        let mut form = self.form.clone();
        places.annotate(form.func_mut(FuncId::new(0)));
        Cow::Owned(form)
    }

    /// What the compiler decided, and why, as far as people want to know it: for the last stage, `assign`.
    pub fn explain(&self) -> Option<Explanation> {
        Some(explain::explain(self.form, self.placed.as_ref()?))
    }
}

/// Checks what a pass left, in debug builds, and shows it.
///
/// # Panics
/// In debug builds, if a pass left the form.
pub(super) fn done(name: &'static str, form: &Module, after: &mut dyn FnMut(&Stage<'_>)) {
    if cfg!(debug_assertions)
        && let Err(error) = farcall_ir::middle::verify(form)
    {
        panic!("{name} left no valid program: {error}\n{}", farcall_ir::text::print(form));
    }
    after(&Stage::new(name, form));
}
