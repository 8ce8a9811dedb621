//! Calls of declared ops, of arbitrary custom-call targets, of functions, and of blocks (composites).

use std::panic::Location;

use farcall_ir::op::{Composite, CustomCall, Op};
use farcall_ir::{AttrDict, Diagnostic, FuncId, Span, TensorType, Type};
use farcall_sig::{AttrValue, AttrValues};

use super::error::Place;
use super::graph::Graph;
use super::instruction::{Instruction, types};
use super::value::{Value, Values, shaped};
use crate::op_program::declared_call;
use farcall_host::registry::{ApiKind, Platform, Registry};

/// Builder for a call of a declared op, returned by [`Graph::op`].
#[derive(Debug)]
#[must_use = "the call is only added to the graph by `value`, `values` or `many`"]
pub struct OpCallBuilder<'g, 'r> {
    graph: &'g Graph,
    registry: &'r Registry,
    platform: Platform,
    place: Place,
    name: String,
    operands: Vec<Value<'g>>,
    attrs: AttrValues,
}

impl Graph {
    /// Calls the op of this name in a registry. The operands are in the order of the op's signature, which
    /// determines the types of the results.
    ///
    /// ```no_run
    /// use farcall::Registry;
    /// use farcall::build::Graph;
    /// use farcall::ir::{DType, TensorType};
    ///
    /// let registry = Registry::new();
    /// // SAFETY: the library is an example of this project, so its code is trusted.
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
    ) -> OpCallBuilder<'g, 'r> {
        OpCallBuilder {
            graph: self,
            registry,
            platform: Platform::Host,
            place: Location::caller(),
            name: name.to_owned(),
            operands: operands.values(),
            attrs: AttrValues::new(),
        }
    }

    /// Adds a `custom_call` of a target, which need not be declared, with results of these types.
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

    /// Adds a `composite`: a block with this tag and these options, whose default body is the closure applied
    /// to the operands. The closure must not capture values of the enclosing scope.
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

    /// Adds a function that the program can call, with parameters of these types; the closure returns the
    /// results. The closure must not capture values of the enclosing scope.
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

    /// Returns a name that no function has yet.
    fn free_name(&self, wanted: &str) -> String {
        let state = self.state();
        let mut names = std::iter::once(wanted.to_owned()).chain((1..).map(|n| format!("{wanted}_{n}")));
        names.find(|name| state.module.func(name).is_none()).unwrap_or_default()
    }
}

impl<'g> OpCallBuilder<'g, '_> {
    /// Sets an attribute. The value is converted to the declared type: an integer to any integer or float
    /// type that can hold it, an `f64` to an `f32` by rounding; see
    /// [`AttrType::convert`](farcall_sig::AttrType::convert). Attributes that are not set have the
    /// signature's defaults.
    pub fn attr(mut self, name: &str, value: impl Into<AttrValue>) -> Self {
        self.attrs.insert(name, value);
        self
    }

    /// Looks the op up for a platform other than the host.
    pub fn platform(self, platform: Platform) -> Self {
        OpCallBuilder { platform, ..self }
    }

    /// Adds the call and returns its result. An error is recorded if the number of results is not 1.
    pub fn value(self) -> Value<'g> {
        let [value] = self.values();
        value
    }

    /// Adds the call and returns its results. An error is recorded if the number of results is not `N`.
    pub fn values<const N: usize>(self) -> [Value<'g>; N] {
        let graph = self.graph;
        self.instruction().map_or_else(|| [graph.poison(); N], Instruction::values)
    }

    /// Adds the call and returns all of its results; none if the call is invalid.
    pub fn many(self) -> Vec<Value<'g>> {
        self.instruction().map_or_else(Vec::new, |instruction| instruction.many(0))
    }

    /// Adds the call. `None` if the call is invalid, after recording the error.
    fn instruction(self) -> Option<Instruction<'g>> {
        let OpCallBuilder { graph, place, .. } = self;
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

    /// Resolves the call and the types of its results; `None` if an operand is invalid.
    fn resolved(&self) -> Result<Option<(CustomCall, Vec<TensorType>)>, Box<Diagnostic>> {
        let known = types(&self.operands).into_iter().collect::<Option<Vec<Type>>>();
        let target = match self.registry.get(&self.name, &self.platform, ApiKind::Typed) {
            Some(target) => target,
            None => {
                self.registry.resolve(&CustomCall::new(&*self.name), &self.platform).map_err(|error| {
                    let advice = error.remedy().map(|remedy| remedy.to_string());
                    let diagnostic = error.at(Span::default(), "");
                    Box::new(advice.into_iter().fold(diagnostic, Diagnostic::note))
                })?
            }
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

/// A function of the program, returned by [`Graph::function`].
#[derive(Debug)]
pub struct Function<'g, R> {
    graph: &'g Graph,
    /// `None` if the function is invalid.
    id: Option<FuncId>,
    results: R,
}

impl<'g, R: Values<'g>> Function<'g, R> {
    /// Number of the function in the module, for operations that name functions; `None` if the function is
    /// invalid.
    pub fn id(&self) -> Option<FuncId> {
        self.id
    }

    /// Calls the function and returns its results, in the structure that its closure returned.
    #[track_caller]
    pub fn call(&self, operands: impl Values<'g>) -> R {
        let place = Location::caller();
        let Some(callee) = self.id else { return shaped(self.graph, &self.results, Vec::new()) };
        let instruction = self.graph.at(place, Op::Call { callee }, operands);
        let results = self.graph.result_types(callee);
        results.into_iter().fold(instruction, Instruction::result).like(&self.results)
    }
}
