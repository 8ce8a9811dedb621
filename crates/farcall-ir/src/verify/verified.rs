//! Modules that have passed the verifier.

use std::borrow::Cow;
use std::ops::Deref;

use super::run;
use crate::diag::ProgramError;
use crate::module::Module;
use crate::op::collective::Grid;

/// A verified module in which no custom call stands for an operation: the verifier has replaced these calls
/// ([`crate::normalize`]). Only [`verify`](super::verify) and [`verify_owned`](super::verify_owned) create
/// such a module.
#[derive(Clone, Debug)]
pub struct Verified<'m> {
    module: Cow<'m, Module>,
}

impl<'m> Verified<'m> {
    /// Wraps a module that has been checked and normalized.
    pub(super) fn new(module: Cow<'m, Module>) -> Verified<'m> {
        Verified { module }
    }

    /// Checks that every value has a static shape, and a size that fits in memory.
    ///
    /// # Errors
    /// `dynamic-shape` or `tensor-too-large` for each instruction or function that has such a value.
    pub fn into_static(self) -> Result<StaticModule<'m>, ProgramError> {
        run::require_static(&self)?;
        Ok(StaticModule { module: self })
    }

    /// Returns the module without copying it.
    pub fn borrowed(&self) -> Verified<'_> {
        Verified { module: Cow::Borrowed(&self.module) }
    }

    /// Sets the grid of processes that the module is for.
    #[must_use]
    pub fn with_grid(mut self, grid: Grid) -> Verified<'m> {
        if Grid::of(&self.module.attrs) != grid {
            grid.write_to(&mut self.module.to_mut().attrs);
        }
        self
    }

    /// Returns a module that borrows nothing. A borrowed module is copied.
    pub fn into_owned(self) -> Verified<'static> {
        Verified { module: Cow::Owned(self.module.into_owned()) }
    }
}

impl Deref for Verified<'_> {
    type Target = Module;

    fn deref(&self) -> &Module {
        &self.module
    }
}

/// A verified module whose values all have static shapes, as the evaluator and the compiler require. Only
/// [`Verified::into_static`] creates such a module.
#[derive(Clone, Debug)]
pub struct StaticModule<'m> {
    module: Verified<'m>,
}

impl<'m> StaticModule<'m> {
    /// Returns the module without copying it.
    pub fn borrowed(&self) -> StaticModule<'_> {
        StaticModule { module: self.module.borrowed() }
    }

    /// Sets the grid of processes that the module is for.
    #[must_use]
    pub fn with_grid(self, grid: Grid) -> StaticModule<'m> {
        StaticModule { module: self.module.with_grid(grid) }
    }

    /// Returns a module that borrows nothing. A borrowed module is copied.
    pub fn into_owned(self) -> StaticModule<'static> {
        StaticModule { module: self.module.into_owned() }
    }
}

impl<'m> Deref for StaticModule<'m> {
    type Target = Verified<'m>;

    fn deref(&self) -> &Verified<'m> {
        &self.module
    }
}
