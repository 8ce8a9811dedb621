//! The graph: its functions, the region that instructions are added to, and the errors so far.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use farcall_ir::builder::Builder;
use farcall_ir::module::{Loc, NewInst};
use farcall_ir::{Diagnostic, Func, FuncId, Module, RegionId, Source, Span, Type, ValueId};

use super::error::{Errors, Place};

/// A program under construction: see the [module](super).
///
/// Instructions are appended to the region whose closure is running.
pub struct Graph {
    state: RefCell<State>,
}

/// The module so far, and the position at which it grows.
pub(super) struct State {
    pub(super) module: Module,
    /// The functions under construction, the innermost last; empty once the graph is finished.
    pub(super) frames: Vec<Frame>,
    /// Places in the Rust source where instructions were written. The span of an instruction is the number of
    /// its place, from 1.
    places: Vec<Place>,
    pub(super) errors: Errors,
}

/// A function under construction.
pub(super) struct Frame {
    pub(super) func: FuncId,
    /// The body of the function, and the regions in it whose closures are running.
    pub(super) regions: Vec<RegionId>,
}

impl Graph {
    /// Creates an empty graph. `name` is the name of the module; its entry is called `main`.
    pub fn new(name: impl Into<String>) -> Graph {
        let mut module = Module::new(Source::none());
        module.name = Some(name.into());
        let main = module.add_func(Func::new("main", Span::default()));
        let frames = vec![Frame { func: main, regions: vec![Func::BODY] }];
        let state = State { module, frames, places: Vec::new(), errors: Errors::default() };
        Graph { state: RefCell::new(state) }
    }

    pub(super) fn state(&self) -> std::cell::RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// Records an error.
    pub(super) fn fail(&self, place: Place, code: &'static str, message: impl Into<String>) {
        self.state.borrow_mut().fail(place, code, message);
    }
}

impl State {
    /// Returns the entry, if instructions are added to its body rather than to a region or to another
    /// function.
    pub(super) fn program(&self) -> Option<FuncId> {
        match self.frames.as_slice() {
            [Frame { func, regions }] if regions.len() == 1 => Some(*func),
            _ => None,
        }
    }

    pub(super) fn fail(&mut self, place: Place, code: &'static str, message: impl Into<String>) {
        self.errors.push(place, Diagnostic::global(code, message));
    }

    /// Begins a function, unless the graph is finished.
    pub(super) fn begin(&mut self, place: Place, name: &str) -> Option<FuncId> {
        if self.frames.is_empty() {
            self.fail(place, "finished", "the graph is finished");
            return None;
        }
        let span = self.span(place);
        let mut func = Func::new(name, span);
        func.public = false;
        let id = self.module.add_func(func);
        self.frames.push(Frame { func: id, regions: vec![Func::BODY] });
        Some(id)
    }

    /// Returns the number of a place, as a span.
    fn span(&mut self, place: Place) -> Span {
        if self.places.last() != Some(&place) {
            self.places.push(place);
        }
        Span::new(self.places.len(), self.places.len())
    }

    /// Returns the place with the number that a span holds.
    pub(super) fn place(&self, span: Span) -> Option<Place> {
        let number = usize::try_from(span.start).ok()?;
        self.places.get(number.checked_sub(1)?).copied()
    }

    /// Adds an instruction, and returns its function and results; `None` if the instruction is invalid, after
    /// recording the errors.
    pub(super) fn emit(
        &mut self,
        place: Place,
        new: NewInst,
        declared: Vec<Type>,
    ) -> Option<(FuncId, Vec<ValueId>)> {
        let Some((id, region)) = self.frames.last().and_then(|f| Some((f.func, *f.regions.last()?))) else {
            self.fail(place, "finished", "the graph is finished");
            return None;
        };
        let span = self.span(place);
        let file = place.file().into();
        let loc = Loc::File { file, line: place.line(), column: place.column() };
        let func = self.module.func_mut(id);
        let made = Builder::at_end(func, region).inst_of(new.at(span, Some(Arc::new(loc))), declared);
        match made {
            Ok(inst) => Some((id, func.inst(inst).results().to_vec())),
            Err(diagnostics) => {
                diagnostics.into_iter().for_each(|d| self.errors.push(place, d));
                None
            }
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.state.try_borrow().ok().and_then(|state| state.module.name.clone());
        f.debug_tuple("Graph").field(&name.unwrap_or_default()).finish()
    }
}
