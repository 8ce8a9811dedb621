//! Calls: of declared ops, of any custom call's target, of functions, and blocks.

use std::panic::Location;

use farcall_ir::op::{Composite, CustomCall, Op};
use farcall_ir::{AttrDict, Diagnostic, FuncId, Span, TensorType, Type};
use farcall_sig::{AttrValue, Attrs};

use super::error::Place;
use super::graph::Graph;
use super::instruction::{Instruction, types};
use super::value::{Value, Values, shaped};
use crate::op_program::declared_call;
use crate::registry::{ApiKind, Platform, Registry};

/// A call of a declared op that is put together: [`Graph::op`].
#[derive(Debug)]
#[must_use = "it is not part of the graph yet"]
pub struct OpCall<'g, 'r> {
    graph: &'g Graph,
    registry: &'r Registry,
    platform: Platform,
    place: Place,
    name: String,
    operands: Vec<Value<'g>>,
    attrs: Attrs,
}

impl Graph {
    /// Calls the op of this name that a registry knows, with operands in the order of its signature, which determines the
    /// types of the results.
    ///
    /// ```no_run
    /// use farcall::Registry;
    /// use farcall::build::Graph;
    /// use farcall::ir::{DType, TensorType};
    ///
    /// let registry = Registry::new();
    /// // SAFETY: a library of this project.
    /// unsafe { registry.load("librms_norm_ops.so") }?;
    /// let graph = Graph::new("normalize");
    /// let x = graph.parameter("x", TensorType::new(DType::F32, [4, 64]));
    /// let scale = graph.parameter("scale", TensorType::new(DType::F32, [64]));
    /// let y = graph.op(&registry, "rms_norm", [x, scale]).attr("eps", 1e-5).value();
    /// let module = graph.finish(y)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn op<'g, 'r>(
        &'g self,
        registry: &'r Registry,
        name: &str,
        operands: impl Values<'g>,
    ) -> OpCall<'g, 'r> {
        OpCall {
            graph: self,
            registry,
            platform: Platform::Host,
            place: Location::caller(),
            name: name.to_owned(),
            operands: operands.values(),
            attrs: Attrs::new(),
        }
    }

    /// `custom_call`: a target that need not be declared, with results of these types.
    ///
    /// ```
    /// use farcall::build::Graph;
    /// use farcall::ir::op::CustomCall;
    /// use farcall::ir::{DType, TensorType};
    ///
    /// let graph = Graph::new("scaled");
    /// let x = graph.parameter("x", TensorType::new(DType::F32, [3]));
    /// let call = CustomCall { has_side_effect: true, ..CustomCall::new("scale") };
    /// let y = graph.custom_call(call, x, [TensorType::new(DType::F32, [3])])[0];
    /// # graph.finish(y)?;
    /// # Ok::<(), farcall::build::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn custom_call<'g>(
        &'g self,
        call: CustomCall,
        operands: impl Values<'g>,
        results: impl IntoIterator<Item = impl Into<Type>>,
    ) -> Vec<Value<'g>> {
        let instruction = self.at(Location::caller(), Op::CustomCall(Box::new(call)), operands);
        let results: Vec<Type> = results.into_iter().map(Into::into).collect();
        let count = results.len();
        results.into_iter().fold(instruction, Instruction::result).many(count)
    }

    /// `composite`: a block with this tag and these options, whose default body is what the closure makes of the operands. The
    /// closure uses nothing else from around it.
    #[track_caller]
    pub fn composite<'g, V: Values<'g>, R: Values<'g>>(
        &'g self,
        tag: &str,
        options: AttrDict,
        operands: V,
        body: impl FnOnce(V) -> R,
    ) -> R {
        let place = Location::caller();
        let values = operands.values();
        let name = self.free_name(tag);
        let (decomposition, like) =
            self.define(place, &name, &types(&values), |args| body(shaped(self, &operands, args)));
        let Some(decomposition) = decomposition else { return shaped(self, &like, Vec::new()) };
        let results = self.result_types(decomposition);
        let op = Composite { name: tag.to_owned(), attrs: options, decomposition, version: 0 };
        let instruction = self.at(place, Op::Composite(Box::new(op)), values);
        results.into_iter().fold(instruction, Instruction::result).like(&like)
    }

    /// A function that the program calls, with parameters of these types: what the closure makes of them. It uses nothing else
    /// from around it.
    ///
    /// ```
    /// # use farcall::build::Graph;
    /// # use farcall::ir::{DType, TensorType};
    /// let graph = Graph::new("twice");
    /// let ty = TensorType::new(DType::F32, [3]);
    /// let double = graph.function("double", [ty.clone()], |args| args[0] + args[0]);
    /// let x = graph.parameter("x", ty);
    /// let y = double.call(double.call(x));
    /// # graph.finish(y)?;
    /// # Ok::<(), farcall::build::BuildErrors>(())
    /// ```
    #[track_caller]
    pub fn function<'g, R: Values<'g>>(
        &'g self,
        name: &str,
        params: impl IntoIterator<Item = impl Into<Type>>,
        body: impl FnOnce(Vec<Value<'g>>) -> R,
    ) -> Function<'g, R> {
        let params: Vec<Option<Type>> = params.into_iter().map(|ty| Some(ty.into())).collect();
        let (id, results) = self.define(Location::caller(), name, &params, body);
        Function { graph: self, id, results }
    }

    fn result_types(&self, func: FuncId) -> Vec<Type> {
        self.state().module.get(func).map_or_else(Vec::new, |func| func.results().to_vec())
    }

    /// A name that no function has.
    fn free_name(&self, wanted: &str) -> String {
        let state = self.state();
        let mut names = std::iter::once(wanted.to_owned()).chain((1..).map(|n| format!("{wanted}_{n}")));
        names.find(|name| state.module.func(name).is_none()).unwrap_or_default()
    }
}

impl<'g> OpCall<'g, '_> {
    /// Gives an attribute. It is brought to the declared type: an integer that fits to another one or a float, an `f64` rounded to
    /// an `f32`; see [`AttrType::convert`](farcall_sig::AttrType::convert). Those that are not given have the signature's
    /// defaults.
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.attrs.insert(name, value);
        self
    }

    /// Takes what is registered for another platform than the host.
    pub fn platform(self, platform: Platform) -> Self {
        OpCall { platform, ..self }
    }

    /// Makes the call; gives its result. It is an error if it has none, or several.
    pub fn value(self) -> Value<'g> {
        let [value] = self.values();
        value
    }

    /// Makes the call; gives its results. It is an error if they are not `N`.
    pub fn values<const N: usize>(self) -> [Value<'g>; N] {
        let graph = self.graph;
        self.instruction().map_or_else(|| [graph.poison(); N], Instruction::values)
    }

    /// Makes the call; gives its results, as many as it has: none if it is wrong.
    pub fn many(self) -> Vec<Value<'g>> {
        self.instruction().map_or_else(Vec::new, |instruction| instruction.many(0))
    }

    /// The call; none if it is wrong, which is noted.
    fn instruction(self) -> Option<Instruction<'g>> {
        let OpCall { graph, place, .. } = self;
        match self.resolved() {
            Ok(found) => {
                let (call, results) = found?;
                let instruction = graph.at(place, Op::CustomCall(Box::new(call)), self.operands);
                Some(results.into_iter().fold(instruction, Instruction::result))
            }
            Err(diagnostic) => {
                graph.state().errors.push(place, *diagnostic);
                None
            }
        }
    }

    /// The call with the types of its results; none if an operand is wrong.
    fn resolved(&self) -> Result<Option<(CustomCall, Vec<TensorType>)>, Box<Diagnostic>> {
        let known = types(&self.operands).into_iter().collect::<Option<Vec<Type>>>();
        let target = match self.registry.get(&self.name, &self.platform, ApiKind::Typed) {
            Some(target) => target,
            None => self
                .registry
                .resolve(&CustomCall::new(&*self.name), &self.platform)
                .map_err(|error| Box::new(error.at(Span::default())))?,
        };
        let Some(operands) = known else { return Ok(None) };
        let tensors: Result<Vec<TensorType>, Box<Diagnostic>> = operands
            .iter()
            .enumerate()
            .map(|(i, ty)| {
                let message = || format!("{}: operand {i} must be a tensor, found {ty}", self.name);
                ty.tensor().cloned().ok_or_else(|| Box::new(Diagnostic::global("op", message())))
            })
            .collect();
        let call = declared_call(&target, &tensors?, &self.attrs);
        call.map(Some).map_err(|error| Box::new(Diagnostic::global("op", error.to_string())))
    }
}

/// A function of the program: [`Graph::function`].
#[derive(Debug)]
pub struct Function<'g, R> {
    graph: &'g Graph,
    /// None if it is wrong.
    id: Option<FuncId>,
    results: R,
}

impl<'g, R: Values<'g>> Function<'g, R> {
    /// Its number in the module, for operations that name functions; none if it is wrong.
    pub fn id(&self) -> Option<FuncId> {
        self.id
    }

    /// Calls the function; gives what it returns, in the same structure.
    #[track_caller]
    pub fn call(&self, operands: impl Values<'g>) -> R {
        let place = Location::caller();
        let Some(callee) = self.id else { return shaped(self.graph, &self.results, Vec::new()) };
        let instruction = self.graph.at(place, Op::Call { callee }, operands);
        let results = self.graph.result_types(callee);
        results.into_iter().fold(instruction, Instruction::result).like(&self.results)
    }
}
