//! Parameters and results of the program, its regions and its functions: the places where values enter and
//! leave.

use std::panic::Location;

use farcall_ir::module::{NewInst, ValueDef};
use farcall_ir::verify::verify;
use farcall_ir::{Diagnostic, Func, FuncId, Module, Op, RegionId, Source, Type, ValueId};

use super::error::{BuildError, BuildErrors, Place};
use super::graph::{Graph, State};
use super::value::{Value, Values};

/// A complete region; `None` if it contains an error.
pub(super) type Built = Option<RegionId>;

impl Graph {
    /// Adds a parameter to the program, with its name and type.
    ///
    /// Adding a parameter in the closure of a region or of another function is an error.
    #[track_caller]
    pub fn parameter(&self, name: &str, ty: impl Into<Type>) -> Value<'_> {
        let place = Location::caller();
        let mut state = self.state();
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

    /// Finishes the program, which returns these values. The graph is empty afterwards.
    ///
    /// Finishing the program in the closure of a region or of a function is an error, which is reported again
    /// when the program is finished later.
    ///
    /// # Errors
    /// All errors in the graph, with their places in the Rust source, and any errors that the verifier finds.
    #[track_caller]
    pub fn finish<'g>(&'g self, results: impl Values<'g>) -> Result<Module, BuildErrors> {
        let place = Location::caller();
        self.outside(place)?;
        let returned = self.end(place, &results.values());
        let state = &mut *self.state();
        let mut errors = std::mem::take(&mut state.errors);
        if state.frames.is_empty() {
            errors.push(place, Diagnostic::global("finished", "the graph is finished already"));
        }
        if !returned && errors.is_empty() {
            errors.push(
                place,
                Diagnostic::global(
                    "operand",
                    "a returned value has no type, because the operation that made it is invalid",
                ),
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
        let mut state = self.state();
        if state.frames.is_empty() || state.program().is_some() {
            return Ok(());
        }
        let message = "the program is finished in the closure of a region or function in it";
        let diagnostic = Diagnostic::global("finish", message);
        state.errors.push(place, diagnostic.clone());
        Err(BuildErrors { errors: vec![BuildError { place, diagnostic }], omitted: 0 })
    }

    /// Builds a region of the current function with `body`, and returns the region and the values that `body`
    /// returned. Arguments of unknown type are values without a type.
    pub(super) fn region<'g, R: Values<'g>>(
        &'g self,
        place: Place,
        types: &[Option<Type>],
        body: impl FnOnce(Vec<Value<'g>>) -> R,
    ) -> (Built, R) {
        let (region, args) = self.open(types);
        let returned = body(args);
        let complete = self.end(place, &returned.values());
        let mut state = self.state();
        if let Some(frame) = state.frames.last_mut() {
            frame.regions.pop();
        }
        (region.filter(|_| complete && types.iter().all(Option::is_some)), returned)
    }

    /// Begins a region.
    fn open<'g>(&'g self, types: &[Option<Type>]) -> (Built, Vec<Value<'g>>) {
        let mut state = self.state();
        let State { module, frames, .. } = &mut *state;
        let Some(frame) = frames.last_mut() else { return (None, vec![self.poison(); types.len()]) };
        let (id, region) = (frame.func, module.func_mut(frame.func).new_region());
        frame.regions.push(region);
        drop(state);
        (Some(region), self.args(id, region, types))
    }

    /// Adds the arguments of a region; an argument of unknown type is a value without a type.
    fn args<'g>(&'g self, func: FuncId, region: RegionId, types: &[Option<Type>]) -> Vec<Value<'g>> {
        let mut state = self.state();
        let func_mut = state.module.func_mut(func);
        let arg = |ty: &Option<Type>| match ty {
            Some(ty) => self.value(func, func_mut.add_arg(region, ty.clone())),
            None => self.poison(),
        };
        types.iter().map(arg).collect()
    }

    /// Ends the current region. Returns false if its results are invalid.
    fn end(&self, place: Place, returned: &[Value<'_>]) -> bool {
        let mut state = self.state();
        let Some(returned) = state.resolve(self, place, "return", returned) else { return false };
        state.emit(place, NewInst::new(Op::Return, returned), Vec::new()).is_some()
    }

    /// Defines a function that the program can call, built by `body`; `None` if it contains an error.
    pub(super) fn define<'g, R: Values<'g>>(
        &'g self,
        place: Place,
        name: &str,
        types: &[Option<Type>],
        body: impl FnOnce(Vec<Value<'g>>) -> R,
    ) -> (Option<FuncId>, R) {
        let Some(id) = self.state().begin(place, name) else {
            return (None, body(vec![self.poison(); types.len()]));
        };
        let args = self.args(id, Func::BODY, types);
        let results = body(args);
        let complete = self.end(place, &results.values());
        let mut state = self.state();
        state.frames.pop();
        if complete {
            state.module.func_mut(id).infer_result_types();
        }
        (complete.then_some(id), results)
    }
}

impl State {
    /// Resolves operands to values of the current function; `None` if an operand is invalid, after recording
    /// the error.
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

    /// Returns the id of a value that the current region may use; `None` if the value has no type because of
    /// an earlier error. The error is the reason why the region may not use the value.
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
}
