//! State of lowering a text, and the computations of the text by name.
//!
//! `value` and the files per kind of instruction extend [`Lowering`] with functions that append instructions;
//! `lower` walks through the text.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::attribute_fields::AttrReader;
use super::cursor::Expected;
use super::shape::Shape;
use super::syntax::{Instruction, Text, parameter_number};
use crate::diag::{Diagnostic, Diagnostics, Span};
use crate::literal::Literal;
use crate::module::{Func, FuncId};

/// Maximum number of device numbers that all groups of a text expand to.
pub(super) const MAX_DEVICES: usize = 1 << 22;

/// Maximum number of names that are searched for suggestions for a mistyped name.
const MAX_CANDIDATES: usize = 2000;

/// A text, and the function that is being built from its computations.
pub(super) struct Lowering<'t, 's> {
    pub(super) text: &'t Text<'s>,
    /// Constants that the text refers to by number.
    pub(super) constants: &'t [Literal],
    pub(super) diagnostics: &'t mut Diagnostics,
    /// Indices of computations by name.
    names: FxHashMap<&'s str, usize>,
    /// Function ids by computation.
    pub(super) funcs: FxHashMap<usize, FuncId>,
    /// Computations that become functions, in the order of their ids.
    pub(super) order: Vec<usize>,
    /// Parameters of computations, computed on the first use.
    params: Vec<OnceCell<Rc<[&'t Instruction<'s>]>>>,
    /// True for computations that have been inlined as a region.
    pub(super) used: Vec<bool>,
    /// Computations that have been inlined as a region, in the order of their first use.
    pub(super) first_uses: Vec<usize>,
    /// Inferred result shapes of computations whose result has no shape in the text.
    pub(super) results: Vec<Option<Arc<Shape>>>,
    /// Stack of the computations that are being lowered.
    pub(super) active: Vec<usize>,
    /// The function that is being built.
    pub(super) func: Func,
    /// Budget for device numbers.
    pub(super) devices: Cell<usize>,
    /// Numbers of replicas and partitions in the header.
    pub(super) participants: [usize; 2],
    /// Budget for flattened tuple parts.
    pub(super) parts: usize,
}

impl<'t, 's> Lowering<'t, 's> {
    /// The state before the first function. Reports computations that are defined twice. `participants` are
    /// the numbers of replicas and partitions; all tuples together may have `parts` parts.
    pub(super) fn new(
        text: &'t Text<'s>,
        constants: &'t [Literal],
        diagnostics: &'t mut Diagnostics,
        participants: [usize; 2],
        parts: usize,
    ) -> Lowering<'t, 's> {
        let mut names = FxHashMap::default();
        for (i, computation) in text.computations.iter().enumerate() {
            if names.insert(computation.name, i).is_some() {
                let message = format!("computation {} is already defined", computation.name);
                diagnostics.push(Diagnostic::new("redefinition", computation.span, message));
            }
        }
        Lowering {
            text,
            constants,
            diagnostics,
            names,
            funcs: FxHashMap::default(),
            order: Vec::new(),
            params: vec![OnceCell::new(); text.computations.len()],
            used: vec![false; text.computations.len()],
            first_uses: Vec::new(),
            results: vec![None; text.computations.len()],
            active: Vec::new(),
            func: Func::new("", Span::default()),
            devices: Cell::new(MAX_DEVICES),
            participants,
            parts,
        }
    }

    /// Returns the id of the function for a computation.
    pub(super) fn callee(&mut self, computation: usize) -> FuncId {
        let next = FuncId::new(self.order.len());
        let id = *self.funcs.entry(computation).or_insert(next);
        if id == next {
            self.order.push(computation);
        }
        id
    }

    /// Looks up a computation by name.
    pub(super) fn computation(&self, name: &str, at: Span) -> Lowered<usize> {
        if let Some(i) = self.names.get(name) {
            return Ok(*i);
        }
        let mut d = Diagnostic::new("unknown-function", at, format!("there is no computation {name}"));
        let near = self.near(name, self.names.keys().copied());
        if !near.is_empty() {
            d = d.note(format!("did you mean {near}?"));
        }
        Err(Stop::Wrong(d))
    }

    /// Looks up the computation that an attribute names.
    pub(super) fn named(&self, g: &mut AttrReader<'_, 's>, key: &str) -> Lowered<usize> {
        let mut value = g.required(key)?;
        if value.peek() == Some(b'{') {
            // An inline computation is named by its text.
            return self.computation(value.rest(), value.span());
        }
        let (name, span) = value.name()?;
        value.finish()?;
        self.computation(name, span)
    }

    /// The candidates similar to a name, for a note on an error.
    pub(super) fn near<'a>(&self, name: &str, candidates: impl Iterator<Item = &'a str>) -> String {
        if self.diagnostics.is_full() {
            return String::new();
        }
        farcall_sig::nearest::nearest(name, candidates.take(MAX_CANDIDATES)).join(" or ")
    }

    /// Returns the parameters of a computation, by number.
    pub(super) fn params(&self, i: usize) -> Lowered<Rc<[&'t Instruction<'s>]>> {
        if let Some(known) = self.params[i].get() {
            return Ok(Rc::clone(known));
        }
        let text = self.text;
        let computation = &text.computations[i];
        let mut found: Vec<Option<&Instruction<'s>>> = Vec::new();
        for inst in computation.insts.iter().filter(|inst| inst.opcode == "parameter") {
            let number = parameter_number(inst)?;
            if number >= computation.insts.len() {
                let count = computation.insts.len();
                let message = format!(
                    "the number of parameter {number} is too large: it must be less than the number of instructions, {count}"
                );
                return wrong("parameter", inst.args.span(), message);
            }
            if found.len() <= number {
                found.resize(number + 1, None);
            }
            if found[number].replace(inst).is_some() {
                return wrong("redefinition", inst.span, format!("there is another parameter {number}"));
            }
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            if computation.is_broken {
                return Err(Stop::Known);
            }
            let message =
                format!("computation {} has no parameter {missing}, but a later one", computation.name);
            return wrong("parameter", computation.span, message);
        }
        let found: Rc<[&Instruction<'s>]> = found.into_iter().flatten().collect();
        Ok(Rc::clone(self.params[i].get_or_init(|| found)))
    }

    /// Returns the shape of a computation's result.
    pub(super) fn result_shape(&self, i: usize, at: Span) -> Lowered<Arc<Shape>> {
        let computation = &self.text.computations[i];
        match (computation.insts.get(computation.root), &self.results[i]) {
            (Some(Instruction { shape: Some(shape), .. }), _) | (_, Some(shape)) => Ok(Arc::clone(shape)),
            _ if computation.is_broken => Err(Stop::Known),
            _ => {
                let message = format!(
                    "the result of {} has no type in the text: define that computation before this one",
                    computation.name
                );
                wrong("type-mismatch", at, message)
            }
        }
    }

    /// Reports an error, unless that has been done.
    pub(super) fn report(&mut self, stop: Stop) {
        if let Stop::Wrong(diagnostic) = stop {
            self.diagnostics.push(diagnostic);
        }
    }
}

/// Reason why an instruction cannot be lowered.
pub(super) enum Stop {
    /// An error to report.
    Wrong(Diagnostic),
    /// The error has been reported.
    Known,
}

pub(super) type Lowered<T> = Result<T, Stop>;

impl From<Expected> for Stop {
    fn from(e: Expected) -> Stop {
        Stop::Wrong(Diagnostic::new("attribute", e.span, e.message))
    }
}

/// Returns an error to report.
pub(super) fn wrong<T>(code: &'static str, at: Span, message: impl Into<String>) -> Lowered<T> {
    Err(Stop::Wrong(Diagnostic::new(code, at, message)))
}
