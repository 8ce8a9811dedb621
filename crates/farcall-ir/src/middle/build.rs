//! Builds the middle form of a module.
//!
//! A single walk over all code that the entry reaches inlines calls, and inlines composites or replaces them
//! by custom calls ([`Lower`](super::Lower)). It flattens tuples, drops tokens and barriers, and replaces an
//! `if` or `case` with a constant predicate by its branch. Values that a region uses from outside become
//! arguments of the region. The walk keeps its frames on the heap, so deep chains of calls cannot overflow
//! the stack.

use rustc_hash::{FxHashMap, FxHashSet};

use farcall_sig::DType;

use crate::attr::AttrDict;
use crate::diag::{Diagnostic, Span};
use crate::literal::Literal;
use crate::module::{
    Func, FuncId, Inst, InstId, Module, NewInst, Region, RegionId, ValueDef, ValueId, ValueIds,
};
use crate::op::collective::Grid;
use crate::op::{Composite, CustomCall, FormOp, Op};
use crate::scalar::Scalar;
use crate::stack;
use crate::types::{FuncType, TensorType, Type};
use crate::verify::StaticModule;

use super::lower::{CompositeCall, Inline, Lower};

/// Maximum number of instructions of a program after its calls are inlined.
pub const MAX_INSTRUCTIONS: usize = 4_000_000;

/// Maximum nesting depth of regions after the calls are inlined.
pub const MAX_NESTING: usize = 1_000;

/// A constant with at most this many elements is duplicated in each region that uses it; a larger one is
/// captured. A constant whose elements are all equal is duplicated whatever its size.
const MAX_DUPLICATED_ELEMENTS: usize = 64;

/// Maximum number of active calls; the verifier's limit on the depth of call chains is lower.
const MAX_CALL_DEPTH: usize = 1_100;

/// Builds the middle form of `entry`, a function of the module. The result is a module whose only function
/// has the name of `entry`. Composites are inlined.
///
/// # Errors
/// - `compile`: a parameter cannot be passed.
/// - `compile-size`, `compile-depth`: the program is too large, or nested too deeply, after its calls are
///   inlined.
pub fn build(module: &StaticModule<'_>, entry: &Func) -> Result<Module, Diagnostic> {
    build_lowered(module, entry, &mut Inline)
}

/// Builds the middle form like [`build`]; `lower` decides for each composite whether it is inlined or
/// replaced by a custom call.
///
/// # Errors
/// The errors of [`build`] and of `lower`.
pub fn build_lowered(
    module: &StaticModule<'_>,
    entry: &Func,
    lower: &mut dyn Lower,
) -> Result<Module, Diagnostic> {
    stack::with_room(|| built(module, entry, lower))
}

fn built(module: &Module, entry: &Func, lower: &mut dyn Lower) -> Result<Module, Diagnostic> {
    let mut func = Func::with_header_of(entry);
    func.reserve_as(entry);
    let mut b = FormBuilder {
        module,
        lower,
        func,
        activations: Vec::new(),
        frames: Vec::new(),
        open: vec![OpenRegion::new(Func::BODY)],
        made: 0,
    };
    let mut activation = Activation::new(entry);
    for param in entry.params() {
        let value = b.arg(Func::BODY, entry.ty(*param), entry.span)?;
        activation.env[param.index()] = Some(value);
    }
    b.activations.push(activation);
    b.frames.push(Frame { next: entry.body().first(), exit: Exit::Entry });
    b.drive()?;
    let mut func = b.func;
    func.infer_result_types();
    func.set_param_attrs(of_tensors(
        entry.params().iter().map(|param| entry.ty(*param)),
        entry.param_attrs(),
    ));
    func.set_result_attrs(of_tensors(entry.results().iter(), entry.result_attrs()));
    let mut form = Module::new(std::sync::Arc::clone(&module.source));
    form.name.clone_from(&module.name);
    form.attrs.clone_from(&module.attrs);
    form.meshes.clone_from(&module.meshes);
    form.add_func(func);
    Ok(form)
}

/// Returns the attributes of the tensors of parameters or results, from those of the entry: the middle form
/// has no tokens, and counts the tensors of a tuple. The first tensor of a tuple has the tuple's attributes.
fn of_tensors<'t>(types: impl Iterator<Item = &'t Type>, attrs: &[AttrDict]) -> Vec<AttrDict> {
    fn tensors(ty: &Type) -> usize {
        match ty {
            Type::Tensor(_) => 1,
            Type::Tuple(parts) | Type::Future(parts) => parts.iter().map(tensors).sum(),
            _ => 0,
        }
    }
    let each = types.zip(attrs).flat_map(|(ty, attrs)| {
        let count = tensors(ty);
        (0..count).map(move |i| if i == 0 { attrs.clone() } else { AttrDict::default() })
    });
    each.collect()
}

/// The tensors that represent a value of the program.
#[derive(Clone, Debug)]
enum Binding {
    Tensor(ValueId),
    Token,
    Tuple(Vec<Binding>),
}

impl Binding {
    /// Collects the tensors of the value.
    fn leaves(&self, out: &mut ValueIds) {
        match self {
            Binding::Tensor(id) => out.push(*id),
            Binding::Token => {}
            Binding::Tuple(parts) => parts.iter().for_each(|p| p.leaves(out)),
        }
    }

    /// Builds a value of a type from tensors in order.
    fn of(ty: &Type, tensors: &mut impl Iterator<Item = ValueId>) -> Option<Binding> {
        Some(match ty {
            Type::Tensor(_) => Binding::Tensor(tensors.next()?),
            Type::Tuple(parts) | Type::Future(parts) => {
                Binding::Tuple(parts.iter().map(|p| Binding::of(p, tensors)).collect::<Option<_>>()?)
            }
            _ => Binding::Token,
        })
    }
}

/// A function that is being inlined, with the bindings of its values.
struct Activation<'m> {
    func: &'m Func,
    env: Vec<Option<Binding>>,
}

impl<'m> Activation<'m> {
    fn new(func: &'m Func) -> Activation<'m> {
        Activation { func, env: vec![None; func.value_count()] }
    }
}

/// A region of the program that is being walked.
struct Frame<'m> {
    next: Option<Inst<'m>>,
    exit: Exit<'m>,
}

/// Continuation after a region of the program has been walked.
enum Exit<'m> {
    Entry,
    /// The returned values are the results of this call.
    Call(Inst<'m>),
    /// The region replaces this `if` or `case`, whose results are the returned values.
    OnlyBranch(Inst<'m>),
    /// The returned values are the contents of this instruction's future.
    Future(Inst<'m>),
    /// The region belongs to this instruction; the regions before it are done.
    Region {
        inst: Inst<'m>,
        operands: ValueIds,
        done: Vec<OpenRegion>,
    },
}

/// A region that is being built or is finished.
struct OpenRegion {
    region: RegionId,
    /// Maps each outside value that the region uses to its copy or argument in the region.
    inside: FxHashMap<ValueId, ValueId>,
    /// Captured values, in the order of their first use.
    captured: Vec<ValueId>,
}

impl OpenRegion {
    fn new(region: RegionId) -> OpenRegion {
        OpenRegion { region, inside: FxHashMap::default(), captured: Vec::new() }
    }
}

struct FormBuilder<'m, 'l> {
    module: &'m Module,
    lower: &'l mut dyn Lower,
    func: Func,
    activations: Vec<Activation<'m>>,
    frames: Vec<Frame<'m>>,
    open: Vec<OpenRegion>,
    made: usize,
}

impl<'m> FormBuilder<'m, '_> {
    /// Walks regions until the entry function returns.
    fn drive(&mut self) -> Result<(), Diagnostic> {
        while let Some(frame) = self.frames.last_mut() {
            let inst = frame.next;
            frame.next = inst.and_then(Inst::next);
            match inst {
                Some(inst) if *inst.op() != Op::Return => self.inst(inst)?,
                end => {
                    let (operands, span) =
                        end.map_or((&[][..], Span::default()), |i| (i.operands(), i.span()));
                    let values = self.get_all(operands, span)?;
                    self.leave(values, span)?;
                }
            }
        }
        Ok(())
    }

    fn inst(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let operands = || self.get_all(inst.operands(), inst.span());
        let results = match inst.op() {
            Op::Call { callee } => return self.call(inst, *callee, operands()?),
            Op::Composite(composite) => return self.composite(inst, composite),
            Op::OptimizationBarrier => operands()?,
            Op::Copy if self.keeps_type(inst) => operands()?,
            Op::CreateToken | Op::AfterAll => vec![Binding::Token],
            Op::Tuple => vec![Binding::Tuple(operands()?)],
            Op::GetTupleElement { index } => match operands()?.first() {
                Some(Binding::Tuple(parts)) if *index < parts.len() => vec![parts[*index].clone()],
                _ => {
                    return Err(internal(inst.span(), "get_tuple_element needs a tuple with this index"));
                }
            },
            Op::AsyncStart => return self.async_start(inst, operands()?),
            Op::AsyncDone => match operands()?.as_slice() {
                [Binding::Tuple(parts)] => parts.clone(),
                _ => return Err(internal(inst.span(), "async_done needs a future")),
            },
            Op::GetDimensionSize { dim } => {
                let ty = inst.operands().first().and_then(|v| self.program().tensor(*v));
                let size = ty.and_then(|t| t.get_dim(*dim)?.size()).unwrap_or(0);
                vec![self.number(i64::try_from(size).unwrap_or(i64::MAX), DType::S32, inst)?]
            }
            Op::ReplicaId if Grid::of(&self.module.attrs).replicas == 1 => {
                vec![self.number(0, DType::U32, inst)?]
            }
            Op::PartitionId if Grid::of(&self.module.attrs).partitions == 1 => {
                vec![self.number(0, DType::U32, inst)?]
            }
            Op::If | Op::Case if let Some(branch) = self.known_branch(inst) => {
                self.frames.push(Frame { next: branch.first(), exit: Exit::OnlyBranch(inst) });
                return Ok(());
            }
            _ => {
                let mut tensors = ValueIds::new();
                self.leaves(inst, &mut tensors)?;
                return match inst.region(0) {
                    Some(first) => self.enter_region(inst, first, tensors, Vec::new()),
                    None => self.emit(inst, tensors, Vec::new()),
                };
            }
        };
        self.bind(inst.results(), results, inst.span())
    }

    /// Returns false for a copy that gives quantized elements another scale.
    fn keeps_type(&self, copy: Inst<'_>) -> bool {
        let types =
            |values: &[ValueId]| values.iter().map(|v| self.program().ty(*v).clone()).collect::<Vec<_>>();
        types(copy.operands()) == types(copy.results())
    }

    fn number(&mut self, n: i64, dtype: DType, at: Inst<'_>) -> Result<Binding, Diagnostic> {
        let literal = Literal::scalar(dtype, Scalar::Signed(n).round_to(dtype));
        let ty = literal.ty();
        let new = NewInst::new(Op::Constant(literal), []).at(at.span(), at.loc().cloned());
        let inst = self.push(new, [ty.into()])?;
        Ok(Binding::Tensor(self.func.inst(inst).results()[0]))
    }

    fn call(&mut self, inst: Inst<'m>, callee: FuncId, operands: Vec<Binding>) -> Result<(), Diagnostic> {
        let Some(func) = self.module.get(callee) else {
            return Err(internal(inst.span(), "a call of a function that does not exist"));
        };
        if self.activations.len() > MAX_CALL_DEPTH {
            let message = "calls are nested too deep to be inlined";
            return Err(Diagnostic::new("compile-depth", inst.span(), message));
        }
        self.activations.push(Activation::new(func));
        self.bind(func.params(), operands, inst.span())?;
        self.frames.push(Frame { next: func.body().first(), exit: Exit::Call(inst) });
        Ok(())
    }

    /// Replaces a composite by a custom call, or inlines its decomposition.
    fn composite(&mut self, inst: Inst<'m>, composite: &Composite) -> Result<(), Diagnostic> {
        let Some(CompositeCall { call, operands, results }) = self.lower.lower(inst, composite)? else {
            let operands = self.get_all(inst.operands(), inst.span())?;
            return self.call(inst, composite.decomposition, operands);
        };
        let mut values = ValueIds::new();
        self.leaves(inst, &mut values)?;
        let given: Vec<TensorType> =
            inst.results().iter().flat_map(|r| self.program().ty(*r).tensors()).cloned().collect();
        if values.len() != operands.len() || given.len() != results.len() {
            let message = "a composite is replaced by a call with another number of operands or results";
            return Err(Diagnostic::new("internal", inst.span(), message));
        }
        for (value, ty) in values.iter_mut().zip(operands) {
            let here = self.here(*value);
            *value = self.converted(here, ty, inst)?;
        }
        let new = NewInst::new(Op::CustomCall(Box::new(call)), values).at(inst.span(), inst.loc().cloned());
        let made = self.push(new, results.into_iter().map(Type::Tensor))?;
        let made = ValueIds::from_slice(self.func.inst(made).results());
        let parts: Result<Vec<Binding>, Diagnostic> = made
            .into_iter()
            .zip(given)
            .map(|(value, ty)| Ok(Binding::Tensor(self.converted(value, ty, inst)?)))
            .collect();
        self.bind(inst.results(), parts?, inst.span())
    }

    /// Converts the elements of a value of the innermost region, unless the value already has the type `ty`.
    fn converted(&mut self, value: ValueId, ty: TensorType, at: Inst<'_>) -> Result<ValueId, Diagnostic> {
        if self.func.tensor(value) == Some(&ty) {
            return Ok(value);
        }
        let new = NewInst::new(Op::Convert, [value]).at(at.span(), at.loc().cloned());
        let inst = self.push(new, [Type::Tensor(ty)])?;
        Ok(self.func.inst(inst).results()[0])
    }

    /// Walks the region of an `async_start` in place, and binds the future to the values that the region
    /// returns.
    fn async_start(&mut self, inst: Inst<'m>, operands: Vec<Binding>) -> Result<(), Diagnostic> {
        let Some(body) = inst.region(0) else {
            return Err(internal(inst.span(), "async_start without a region"));
        };
        if !body.args().is_empty() {
            self.bind(body.args(), operands, inst.span())?;
        }
        self.frames.push(Frame { next: body.first(), exit: Exit::Future(inst) });
        Ok(())
    }

    /// Returns the branch that runs if the predicate of an `if` or `case` is constant. The other branches are
    /// not built: a program that is exported for several platforms has a branch for each platform, and the
    /// branches for other platforms may have custom calls that have no target on this platform.
    fn known_branch(&self, inst: Inst<'m>) -> Option<Region<'m>> {
        let env = &self.activations.last()?.env;
        let Binding::Tensor(index) = env.get(inst.operands().first()?.index())?.as_ref()? else {
            return None;
        };
        let Op::Constant(index) = self.func.defining_inst(*index)?.op() else { return None };
        let index = index.iter().next()?;
        inst.region(inst.chosen(index))
    }

    // --- regions

    fn enter_region(
        &mut self,
        inst: Inst<'m>,
        from: Region<'m>,
        operands: ValueIds,
        done: Vec<OpenRegion>,
    ) -> Result<(), Diagnostic> {
        if self.open.len() > MAX_NESTING {
            let message = format!("regions are nested deeper than {MAX_NESTING}");
            return Err(Diagnostic::new("compile-depth", inst.span(), message));
        }
        let region = self.func.new_region();
        let program = self.program();
        let args: Result<Vec<Binding>, Diagnostic> =
            from.args().iter().map(|a| self.arg(region, program.ty(*a), inst.span())).collect();
        self.bind(from.args(), args?, inst.span())?;
        self.open.push(OpenRegion::new(region));
        self.frames.push(Frame { next: from.first(), exit: Exit::Region { inst, operands, done } });
        Ok(())
    }

    /// Ends the innermost frame, which returned `values`.
    fn leave(&mut self, values: Vec<Binding>, span: Span) -> Result<(), Diagnostic> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        match frame.exit {
            Exit::Entry => self.push_return(&values, span),
            Exit::Call(inst) => {
                self.activations.pop();
                self.bind(inst.results(), values, inst.span())
            }
            Exit::OnlyBranch(inst) => self.bind(inst.results(), values, inst.span()),
            Exit::Future(inst) => self.bind(inst.results(), vec![Binding::Tuple(values)], inst.span()),
            Exit::Region { inst, operands, mut done } => {
                self.push_return(&values, span)?;
                done.extend(self.open.pop());
                match inst.region(done.len()) {
                    Some(next) => self.enter_region(inst, next, operands, done),
                    None => self.emit(inst, operands, done),
                }
            }
        }
    }

    fn push_return(&mut self, values: &[Binding], span: Span) -> Result<(), Diagnostic> {
        let mut tensors = ValueIds::new();
        values.iter().for_each(|p| p.leaves(&mut tensors));
        let operands: ValueIds = tensors.into_iter().map(|v| self.here(v)).collect();
        self.push(NewInst::new(Op::Return, operands).at(span, None), []).map(drop)
    }

    /// Returns the value that stands for `value` in the innermost region. A value from outside is captured by
    /// the innermost region, and by every region between the value's definition and the innermost region. A
    /// small constant is duplicated instead.
    fn here(&mut self, value: ValueId) -> ValueId {
        let region = match self.func.def(value) {
            ValueDef::Arg(region, _) => Some(region),
            ValueDef::Result(inst, _) => self.func.inst(inst).parent().map(Region::id),
            ValueDef::Nowhere => None,
        };
        let level = self.open.iter().rposition(|o| Some(o.region) == region).unwrap_or(0);
        let Some(top) = self.open.get_mut(level + 1..) else { return value };
        if top.is_empty() {
            return value;
        }
        let innermost = self.open.len() - 1;
        if let Some(known) = self.open[innermost].inside.get(&value) {
            return *known;
        }
        if let Some(Op::Constant(literal)) = self.func.defining_inst(value).map(Inst::op)
            && (literal.len() <= MAX_DUPLICATED_ELEMENTS || literal.is_splat())
        {
            let new = NewInst::new(Op::Constant(literal.clone()), []);
            let ty = self.func.ty(value).clone();
            let region = self.open[innermost].region;
            let inst = self.func.push(region, new, [ty]);
            let copy = self.func.inst(inst).results()[0];
            self.open[innermost].inside.insert(value, copy);
            return copy;
        }
        for open in &mut self.open[level + 1..] {
            if !open.inside.contains_key(&value) {
                let arg = self.func.add_arg(open.region, self.func.ty(value).clone());
                open.inside.insert(value, arg);
                open.captured.push(value);
            }
        }
        self.open[innermost].inside[&value]
    }

    /// Adds an instruction whose regions are finished, and binds its results.
    fn emit(
        &mut self,
        inst: Inst<'m>,
        mut operands: ValueIds,
        done: Vec<OpenRegion>,
    ) -> Result<(), Diagnostic> {
        operands.iter_mut().for_each(|v| *v = self.here(*v));
        let captured = self.same_captures(&done);
        let captures = u32::try_from(captured.len()).unwrap_or(u32::MAX);
        operands.extend(captured.into_iter().map(|v| self.here(v)));
        let op = match inst.op() {
            Op::CustomCall(call) => Op::CustomCall(Box::new(self.typed(inst, call))),
            Op::Copy => FormOp::Copy.into(),
            op => op.clone(),
        };
        let new = NewInst {
            op,
            operands,
            regions: done.iter().map(|d| d.region).collect(),
            captures,
            attrs: inst.attrs().clone(),
            span: inst.span(),
            loc: inst.loc().cloned(),
        };
        let program = self.program();
        let types = inst.results().iter().flat_map(|r| program.ty(*r).tensors());
        let made = self.push(new, types.cloned().map(Type::Tensor))?;
        let made = self.func.inst(made).results();
        let env = &mut self.activations.last_mut().expect("a function is being inlined").env;
        let mut values = made.iter().copied();
        for result in inst.results() {
            let part = Binding::of(program.ty(*result), &mut values);
            env[result.index()] =
                Some(part.ok_or_else(|| internal(inst.span(), "a wrong number of results"))?);
        }
        Ok(())
    }

    /// Makes every region of an instruction capture the union of the captured values, and returns this union.
    fn same_captures(&mut self, done: &[OpenRegion]) -> ValueIds {
        let mut seen = FxHashSet::default();
        let captured: ValueIds =
            done.iter().flat_map(|d| &d.captured).copied().filter(|v| seen.insert(*v)).collect();
        for d in done {
            let own = self.func.region(d.region).args().len() - d.captured.len();
            let mut args = ValueIds::from_slice(&self.func.region(d.region).args()[..own]);
            for value in &captured {
                args.push(match d.inside.get(value) {
                    Some(arg) => *arg,
                    None => self.func.add_arg(d.region, self.func.ty(*value).clone()),
                });
            }
            self.func.set_args(d.region, args);
        }
        captured
    }

    /// Returns a copy of the custom call. If the operands or results include tokens or tuples, the copy
    /// records the types of the operands and results.
    fn typed(&self, inst: Inst<'_>, call: &CustomCall) -> CustomCall {
        let program = self.program();
        let types = |ids: &[ValueId]| ids.iter().map(|v| program.ty(*v).clone()).collect::<Vec<_>>();
        let (params, results) = (types(inst.operands()), types(inst.results()));
        let plain = params.iter().chain(&results).all(|t| matches!(t, Type::Tensor(_)));
        // A call that was already in the middle form keeps its recorded types.
        let types = if plain { call.types.clone() } else { Some(FuncType { params, results }.into()) };
        CustomCall { types, called_computations: Vec::new(), ..call.clone() }
    }

    fn push(&mut self, new: NewInst, types: impl IntoIterator<Item = Type>) -> Result<InstId, Diagnostic> {
        self.made += 1;
        if self.made > MAX_INSTRUCTIONS {
            let message =
                format!("the program has more than {MAX_INSTRUCTIONS} steps when its calls are inlined");
            return Err(Diagnostic::new("compile-size", new.span, message));
        }
        let region = self.open.last().map_or(Func::BODY, |o| o.region);
        Ok(self.func.push(region, new, types))
    }

    // --- values

    /// Adds an argument to the region for each tensor in a type.
    fn arg(&mut self, region: RegionId, ty: &Type, span: Span) -> Result<Binding, Diagnostic> {
        match ty {
            Type::Tensor(_) => Ok(Binding::Tensor(self.func.add_arg(region, ty.clone()))),
            Type::Token => Ok(Binding::Token),
            Type::Tuple(parts) | Type::Future(parts) => {
                let parts: Result<Vec<Binding>, Diagnostic> =
                    parts.iter().map(|p| self.arg(region, p, span)).collect();
                Ok(Binding::Tuple(parts?))
            }
            other => {
                let message = format!("a parameter of type {other} cannot be passed");
                Err(Diagnostic::new("compile", span, message))
            }
        }
    }

    /// The function of the program that is being inlined.
    fn program(&self) -> &'m Func {
        self.activations.last().expect("a function is being inlined").func
    }

    /// Collects the tensors in an instruction's operands.
    fn leaves(&self, inst: Inst<'_>, out: &mut ValueIds) -> Result<(), Diagnostic> {
        let env = &self.activations.last().expect("a function is being inlined").env;
        for id in inst.operands() {
            let part = env.get(id.index()).and_then(Option::as_ref);
            part.ok_or_else(|| internal(inst.span(), "a value is used before it is defined"))?.leaves(out);
        }
        Ok(())
    }

    fn get_all(&self, ids: &[ValueId], span: Span) -> Result<Vec<Binding>, Diagnostic> {
        let env = &self.activations.last().expect("a function is being inlined").env;
        let missing = || internal(span, "a value is used before it is defined");
        ids.iter().map(|id| env.get(id.index()).cloned().flatten().ok_or_else(missing)).collect()
    }

    fn bind(&mut self, ids: &[ValueId], values: Vec<Binding>, span: Span) -> Result<(), Diagnostic> {
        if ids.len() != values.len() {
            return Err(internal(span, &format!("{} values for {} names", values.len(), ids.len())));
        }
        let env = &mut self.activations.last_mut().expect("a function is being inlined").env;
        for (id, value) in ids.iter().zip(values) {
            env[id.index()] = Some(value);
        }
        Ok(())
    }
}

/// The error for a program that the verifier should have rejected.
fn internal(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new("internal", span, format!("{what}; the verifier should have found this"))
}
