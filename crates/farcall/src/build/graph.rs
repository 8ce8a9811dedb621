//! The graph: its functions, the region that instructions are added to, and what was wrong so far.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use farcall_ir::builder::Builder;
use farcall_ir::module::{Loc, NewInst, ValueDef};
use farcall_ir::verify::verify;
use farcall_ir::{Diagnostic, Func, FuncId, Module, Op, RegionId, Source, Span, Type, ValueId};

use super::error::{BuildError, BuildErrors, Errors, Place};
use super::value::{Value, Values};

/// A program that is being written: see the [module](super).
///
/// Instructions are added behind each other, in the region whose closure is running.
pub struct Graph {
    state: RefCell<State>,
}

/// The module so far, and where it grows.
pub(super) struct State {
    pub(super) module: Module,
    /// The functions that are being written, the innermost last; empty once the graph is finished.
    frames: Vec<Frame>,
    /// Where instructions were written. The span of an instruction is the number of its place, from 1.
    places: Vec<Place>,
    pub(super) errors: Errors,
}

/// A function that is being written.
struct Frame {
    func: FuncId,
    /// Its body, and the regions in it whose closures are running.
    regions: Vec<RegionId>,
}

/// A region that is complete; none if something in it was wrong.
pub(super) type Built = Option<RegionId>;

impl Graph {
    /// An empty graph. `name` is the name of the module; its entry is called `main`.
    pub fn new(name: impl Into<String>) -> Graph {
        let mut module = Module::new(Source::none());
        module.name = Some(name.into());
        let main = module.add_func(Func::new("main", Span::default()));
        let frames = vec![Frame { func: main, regions: vec![Func::BODY] }];
        let state = State { module, frames, places: Vec::new(), errors: Errors::default() };
        Graph { state: RefCell::new(state) }
    }

    /// The next parameter of the program, with its name and type.
    ///
    /// It is an error in the closure of a region or of another function.
    #[track_caller]
    pub fn parameter(&self, name: &str, ty: impl Into<Type>) -> Value<'_> {
        let place = Location::caller();
        let mut state = self.state.borrow_mut();
        if state.frames.is_empty() {
            state.fail(place, "finished", "the graph is finished");
            return self.poison();
        }
        let Some(id) = state.program() else {
            let message = "parameters belong to the program, not to a region or function in it";
            state.fail(place, "parameter", message);
            return self.poison();
        };
        let func = state.module.func_mut(id);
        let value = func.add_arg(Func::BODY, ty.into());
        func.set_name(value, name);
        func.param_names.resize(func.params().len() - 1, None);
        func.param_names.push(Some(name.into()));
        self.value(id, value)
    }

    /// The program, which returns these values. The graph is empty then.
    ///
    /// It is an error in the closure of a region or of a function, which the program that is finished later has, too.
    ///
    /// # Errors
    /// Everything that was wrong with the graph, with the places in the Rust source, and what the verifier finds besides.
    #[track_caller]
    pub fn finish<'g>(&'g self, results: impl Values<'g>) -> Result<Module, BuildErrors> {
        let place = Location::caller();
        self.outside(place)?;
        let returned = self.end(place, &results.values());
        let state = &mut *self.state.borrow_mut();
        let mut errors = std::mem::take(&mut state.errors);
        if state.frames.is_empty() {
            errors.push(place, Diagnostic::global("finished", "the graph is finished already"));
        }
        if !returned && errors.is_empty() {
            errors.push(
                place,
                Diagnostic::global("operand", "a value is returned that no instruction has given"),
            );
        }
        if errors.is_empty() {
            state.module.func_mut(state.frames[0].func).infer_result_types();
            if let Err(error) = verify(&state.module) {
                let at = |d: &Diagnostic| d.span.and_then(|span| state.place(span)).unwrap_or(place);
                error.diagnostics.into_iter().for_each(|d| errors.push(at(&d), d));
                errors.count(error.omitted);
            }
        }
        state.frames.clear();
        let module = std::mem::replace(&mut state.module, Module::new(Source::none()));
        errors.into_result().map(|()| module)
    }

    /// Checks that no closure of a region or function is running.
    fn outside(&self, place: Place) -> Result<(), BuildErrors> {
        let mut state = self.state.borrow_mut();
        if state.frames.is_empty() || state.program().is_some() {
            return Ok(());
        }
        let message = "the program is finished in the closure of a region or function in it";
        let diagnostic = Diagnostic::global("finish", message);
        state.errors.push(place, diagnostic.clone());
        Err(BuildErrors { errors: vec![BuildError { place, diagnostic }], omitted: 0 })
    }

    // --- for the families of operations

    pub(super) fn state(&self) -> std::cell::RefMut<'_, State> {
        self.state.borrow_mut()
    }

    /// A value of a function.
    pub(super) fn value(&self, func: FuncId, value: ValueId) -> Value<'_> {
        Value { graph: self, at: Some((func, value)) }
    }

    /// What an operation gives that was wrong.
    pub(super) fn poison(&self) -> Value<'_> {
        Value { graph: self, at: None }
    }

    /// Notes that something is wrong.
    pub(super) fn fail(&self, place: Place, code: &'static str, message: impl Into<String>) {
        self.state.borrow_mut().fail(place, code, message);
    }

    /// The same, and a value without a type.
    pub(super) fn wrong(&self, place: Place, code: &'static str, message: impl Into<String>) -> Value<'_> {
        self.fail(place, code, message);
        self.poison()
    }

    /// A region of the function that is being written, which `body` fills, and what that returned. Arguments whose types are
    /// not known have none.
    pub(super) fn region<'g, R: Values<'g>>(
        &'g self,
        place: Place,
        types: &[Option<Type>],
        body: impl FnOnce(Vec<Value<'g>>) -> R,
    ) -> (Built, R) {
        let (region, args) = self.open(types);
        let returned = body(args);
        let complete = self.end(place, &returned.values());
        let mut state = self.state.borrow_mut();
        if let Some(frame) = state.frames.last_mut() {
            frame.regions.pop();
        }
        (region.filter(|_| complete && types.iter().all(Option::is_some)), returned)
    }

    /// Begins a region.
    fn open<'g>(&'g self, types: &[Option<Type>]) -> (Built, Vec<Value<'g>>) {
        let mut state = self.state.borrow_mut();
        let State { module, frames, .. } = &mut *state;
        let Some(frame) = frames.last_mut() else { return (None, vec![self.poison(); types.len()]) };
        let (id, region) = (frame.func, module.func_mut(frame.func).new_region());
        frame.regions.push(region);
        drop(state);
        (Some(region), self.args(id, region, types))
    }

    /// Arguments of a region, without a type where that is not known.
    fn args<'g>(&'g self, func: FuncId, region: RegionId, types: &[Option<Type>]) -> Vec<Value<'g>> {
        let mut state = self.state.borrow_mut();
        let func_mut = state.module.func_mut(func);
        let arg = |ty: &Option<Type>| match ty {
            Some(ty) => self.value(func, func_mut.add_arg(region, ty.clone())),
            None => self.poison(),
        };
        types.iter().map(arg).collect()
    }

    /// Ends the region that is being written; false if there is nothing to return.
    fn end(&self, place: Place, returned: &[Value<'_>]) -> bool {
        let mut state = self.state.borrow_mut();
        let Some(returned) = state.resolve(self, place, "return", returned) else { return false };
        state.emit(place, NewInst::new(Op::Return, returned), Vec::new()).is_some()
    }

    /// A function that others call, which `body` fills; none if something in it was wrong.
    pub(super) fn define<'g, R: Values<'g>>(
        &'g self,
        place: Place,
        name: &str,
        types: &[Option<Type>],
        body: impl FnOnce(Vec<Value<'g>>) -> R,
    ) -> (Option<FuncId>, R) {
        let Some(id) = self.state.borrow_mut().begin(place, name) else {
            return (None, body(vec![self.poison(); types.len()]));
        };
        let args = self.args(id, Func::BODY, types);
        let results = body(args);
        let complete = self.end(place, &results.values());
        let mut state = self.state.borrow_mut();
        state.frames.pop();
        if complete {
            state.module.func_mut(id).infer_result_types();
        }
        (complete.then_some(id), results)
    }
}

impl State {
    /// The entry, if instructions are added to its body: not in a region, nor in another function.
    fn program(&self) -> Option<FuncId> {
        match self.frames.as_slice() {
            [Frame { func, regions }] if regions.len() == 1 => Some(*func),
            _ => None,
        }
    }

    pub(super) fn fail(&mut self, place: Place, code: &'static str, message: impl Into<String>) {
        self.errors.push(place, Diagnostic::global(code, message));
    }

    /// Begins a function, unless the graph is finished.
    fn begin(&mut self, place: Place, name: &str) -> Option<FuncId> {
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

    /// The number of a place.
    fn span(&mut self, place: Place) -> Span {
        if self.places.last() != Some(&place) {
            self.places.push(place);
        }
        Span::new(self.places.len(), self.places.len())
    }

    /// The place that a span is the number of.
    fn place(&self, span: Span) -> Option<Place> {
        let number = usize::try_from(span.start).ok()?;
        self.places.get(number.checked_sub(1)?).copied()
    }

    /// Operands as values of the function that is being written; none if one is unknown, which has been noted.
    pub(super) fn resolve(
        &mut self,
        graph: &Graph,
        place: Place,
        name: &str,
        operands: &[Value<'_>],
    ) -> Option<Vec<ValueId>> {
        let mut ids = Some(Vec::with_capacity(operands.len()));
        for (i, operand) in operands.iter().enumerate() {
            let id = match self.find(graph, *operand) {
                Ok(id) => id,
                Err(why) => {
                    self.fail(place, "operand", format!("operand {i} of {name} {why}"));
                    None
                }
            };
            match (&mut ids, id) {
                (Some(ids), Some(id)) => ids.push(id),
                (ids, _) => *ids = None,
            }
        }
        ids
    }

    /// A value where instructions are added; none if it was wrong itself.
    fn find(&self, graph: &Graph, value: Value<'_>) -> Result<Option<ValueId>, String> {
        if !std::ptr::eq(value.graph, graph) {
            return Err("is a value of another graph".to_owned());
        }
        let Some((func, id)) = value.at else { return Ok(None) };
        let Some(frame) = self.frames.last() else {
            return Err("is a value of a graph that is finished".to_owned());
        };
        let name = |id: FuncId| self.module.get(id).map_or("", |func| &func.name);
        if frame.func != func {
            let (from, to) = (name(func), name(frame.func));
            return Err(format!("is a value of the function {from}; pass it to {to} as an argument"));
        }
        let func = &self.module[func];
        let region = match func.def(id) {
            ValueDef::Arg(region, _) => Some(region),
            ValueDef::Result(inst, _) => func.inst(inst).parent().map(|region| region.id()),
            ValueDef::Nowhere => None,
        };
        match region.is_some_and(|region| frame.regions.contains(&region)) {
            true => Ok(Some(id)),
            false => Err("belongs to a region that has ended; return it from there".to_owned()),
        }
    }

    /// Adds an instruction; gives its function and results, or none if it is wrong, which is noted.
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
