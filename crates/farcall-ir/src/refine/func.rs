//! The walk through a function that specializes it.

use std::collections::HashMap;

use farcall_sig::DType;

use super::{
    Callee, Refiner, Stop, Walked, custom_call, drop_unused_constants, dynamic, is_small, is_static,
    shape_operands,
};
use crate::diag::{Diagnostic, Span};
use crate::eval::{self, Denormals, NoHost, Value};
use crate::infer;
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, InstId, NewInst, Region, RegionId, ValueId};
use crate::op::{Binary, CustomCall, Op, Scan, Traits};
use crate::scalar::Scalar;
use crate::types::{Dim, TensorType, Type};

/// A computation of a value by an operation without regions: the operation, its operands, and the result
/// type.
type Computation = (Op, Vec<ValueId>, TensorType);

/// State of specializing one function.
pub(super) struct Walk<'r, 'm> {
    pub(super) refiner: &'r mut Refiner<'m>,
    /// The original function.
    from: &'m Func,
    /// The specialized function under construction.
    pub(super) to: Func,
    /// Values of the original function mapped to values of the specialized one.
    values: HashMap<ValueId, ValueId>,
    /// Known elements of values of the specialized function.
    known: HashMap<ValueId, Literal>,
    /// Values known to be the sum of another value and known elements. The limit of a slice with an unknown
    /// start and a known size is such a sum.
    sums: HashMap<ValueId, (ValueId, Literal)>,
    /// Small integer tensors by their computation, so that a repeated computation gives the same value.
    /// Programs often repeat the computation of a slice's start for its limit.
    computations: HashMap<Computation, ValueId>,
    /// The keys of `computations` in the order of insertion; the keys of a region are removed at its end.
    order: Vec<Computation>,
    /// Known shapes of results that are yet to be created.
    shapes: HashMap<ValueId, Vec<usize>>,
    pure: bool,
}

impl<'m> Refiner<'m> {
    /// Walks a function with arguments of these types, some of which are known.
    pub(super) fn walk(
        &mut self,
        from: &'m Func,
        types: &[Type],
        known: &[Option<Literal>],
        name: String,
    ) -> Result<Walked, Stop> {
        let mut to = Func::with_header_of(from);
        to.name = name;
        if let Some((i, ty)) = types.iter().enumerate().find(|(_, ty)| !is_static(ty)) {
            let message = format!("parameter {i} of @{}, {ty}, has a dynamic dimension", from.name);
            let note = "the types of the inputs determine its size";
            return Err(Stop::UnknownShape(Diagnostic::new("dynamic-shape", from.span, message).note(note)));
        }
        let mut walk = Walk {
            refiner: self,
            from,
            to,
            values: HashMap::new(),
            known: HashMap::new(),
            sums: HashMap::new(),
            computations: HashMap::new(),
            order: Vec::new(),
            shapes: HashMap::new(),
            pure: true,
        };
        walk.region(from.body(), types, known, Func::BODY)?;
        let Walk { mut to, known, pure, .. } = walk;
        let returned = to.body().returned();
        let known = returned.iter().map(|v| known.get(v).cloned()).collect();
        to.infer_result_types();
        to.set_param_attrs(from.param_attrs().iter().cloned());
        drop_unused_constants(&mut to);
        Ok(Walked { func: to, known, pure })
    }
}

impl<'m> Walk<'_, 'm> {
    /// Walks a region with arguments of these types, some of which are known, and fills the empty region
    /// `to`.
    fn region(
        &mut self,
        from: Region<'m>,
        types: &[Type],
        known: &[Option<Literal>],
        to: RegionId,
    ) -> Result<(), Stop> {
        for (i, (old, ty)) in from.args().iter().zip(types).enumerate() {
            let new = self.to.add_arg(to, ty.clone());
            self.values.insert(*old, new);
            if let Some(Some(literal)) = known.get(i) {
                self.known.insert(new, literal.clone());
            }
        }
        let mark = self.order.len();
        for inst in from.insts() {
            self.inst(inst, to)?;
        }
        for computation in self.order.drain(mark..) {
            self.computations.remove(&computation);
        }
        Ok(())
    }

    /// Copies the instruction with its operands replaced by the new values, without regions.
    fn draft(&self, inst: Inst<'_>) -> NewInst {
        let operands: Vec<ValueId> = inst.operands().iter().map(|v| self.values[v]).collect();
        let new = NewInst::new(inst.op().clone(), operands).at(inst.span(), inst.loc().cloned());
        NewInst { attrs: inst.attrs().clone(), ..new }
    }

    fn inst(&mut self, inst: Inst<'m>, out: RegionId) -> Result<(), Stop> {
        self.refiner.count(inst)?;
        let new = self.draft(inst);
        match inst.op() {
            Op::Return => {
                self.to.push(out, new, []);
                Ok(())
            }
            Op::Call { callee } => self.call(*callee, inst, new, out),
            Op::Composite(composite) => self.call(composite.decomposition, inst, new, out),
            Op::CustomCall(call) => self.custom_call(call, inst, new, out),
            Op::If | Op::Case => self.branches(inst, new, out),
            Op::While => self.while_loop(inst, new, out),
            Op::GetDimensionSize { dim } => {
                self.dimension_size(inst, *dim, &new, out);
                Ok(())
            }
            _ => self.simple(inst, new, out),
        }
    }

    /// Handles an instruction that neither calls a function nor affects control flow.
    fn simple(&mut self, inst: Inst<'m>, mut new: NewInst, out: RegionId) -> Result<(), Stop> {
        for region in inst.regions() {
            let types: Vec<Type> = match inst.op() {
                Op::Scan(scan) => self.slices(scan, &new),
                Op::AsyncStart => new.operands.iter().map(|v| self.to[*v].clone()).collect(),
                _ => region.args().iter().map(|a| self.from[*a].clone()).collect(),
            };
            let region = self.nested(inst, region, &types, &[])?;
            new.regions.push(region);
        }
        self.pure &= !inst.op().info().is(Traits::SIDE_EFFECT);
        dynamic::to_static(self, inst, &mut new, out)?;
        let new = self.infer(inst, new)?;
        if self.fold(inst, new, out) || self.is_repeated(inst, new) {
            return Ok(());
        }
        self.remember_sum(new);
        self.to.append(out, new);
        Ok(())
    }

    /// Argument types of the region of a scan.
    fn slices(&self, scan: &Scan, new: &NewInst) -> Vec<Type> {
        let slice = |(i, value): (usize, &ValueId)| match self.to.tensor(*value) {
            Some(ty) if i < scan.inputs => {
                let dims = ty.dims().enumerate().filter(|(d, _)| *d != scan.dim).map(|(_, dim)| dim);
                Type::Tensor(ty.with_dims(dims))
            }
            _ => self.to[*value].clone(),
        };
        new.operands.iter().enumerate().map(slice).collect()
    }

    fn custom_call(
        &mut self,
        call: &CustomCall,
        inst: Inst<'m>,
        mut new: NewInst,
        out: RegionId,
    ) -> Result<(), Stop> {
        if custom_call::is_assertion(inst) {
            return custom_call::decide(self, call, &new);
        }
        if shape_operands::approx_top_k(self, call, inst, &new, out)? {
            return Ok(());
        }
        if !shape_operands::to_op(self, call, inst, &mut new)? {
            self.pure = false;
            custom_call::refine(self, call, inst, &mut new)?;
        }
        let new = self.infer(inst, new)?;
        self.to.append(out, new);
        Ok(())
    }

    fn dimension_size(&mut self, inst: Inst<'_>, dim: usize, new: &NewInst, out: RegionId) {
        let size = self.to.tensor(new.operands[0]).and_then(|t| t.get_dim(dim)?.size());
        let size = i64::try_from(size.unwrap_or(0)).unwrap_or(i64::MAX);
        let literal = Literal::scalar(DType::S32, Scalar::Signed(size));
        self.constant(inst.results()[0], literal, inst, out);
    }

    /// Specializes a region of an instruction.
    fn nested(
        &mut self,
        inst: Inst<'m>,
        region: Region<'m>,
        types: &[Type],
        known: &[Option<Literal>],
    ) -> Result<RegionId, Stop> {
        self.refiner.enter(inst)?;
        let to = self.to.new_region();
        self.region(region, types, known, to)?;
        self.refiner.depth -= 1;
        Ok(to)
    }

    // --- results

    /// Creates a detached instruction. Its result types follow from its operands and from the declared types.
    fn infer(&mut self, inst: Inst<'_>, new: NewInst) -> Result<InstId, Stop> {
        let mut types = Vec::with_capacity(inst.results().len());
        for result in inst.results() {
            let declared = &self.from[*result];
            types.push(match (declared, self.shapes.remove(result)) {
                (Type::Tensor(t), Some(dims)) => {
                    let said = Type::from(t.with_sizes(dims));
                    let ty = more_specific(declared, &said);
                    ty.ok_or_else(|| contradiction(&name_of(&new.op), &said, declared, new.span))?
                }
                _ => declared.clone(),
            });
        }
        self.infer_from(inst, new, types)
    }

    fn infer_from(&mut self, inst: Inst<'_>, new: NewInst, declared: Vec<Type>) -> Result<InstId, Stop> {
        let id = self.to.new_inst(new, declared);
        let new = self.to.inst(id);
        let (name, span) = (|| name_of(new.op()), new.span());
        let inferred = infer::result_type_list(new).map_err(Stop::Violations)?;
        let mut types = Vec::with_capacity(inferred.len());
        for (i, (result, inferred)) in new.results().iter().zip(&inferred).enumerate() {
            let declared = self.to[*result].clone();
            let Some(ty) = more_specific(&declared, inferred) else {
                let what = format!("result {i} of {}", name());
                return Err(contradiction(&what, inferred, &declared, span));
            };
            if !is_static(&ty) {
                let message = format!(
                    "{}: the shape of result {i}, {ty}, does not follow from the known inputs",
                    name()
                );
                return Err(Stop::UnknownShape(Diagnostic::new("dynamic-shape", span, message)));
            }
            types.push(ty);
        }
        let results = new.results().to_vec();
        results.iter().zip(types).for_each(|(result, ty)| self.to.set_ty(*result, ty));
        self.values.extend(inst.results().iter().copied().zip(results));
        Ok(id)
    }

    /// Binds a result to a value of the specialized function, which must match the declared type.
    pub(super) fn bind(&mut self, result: ValueId, value: ValueId, new: &NewInst) -> Result<(), Stop> {
        let (declared, found) = (&self.from[result], &self.to[value]);
        if more_specific(declared, found).is_none() {
            return Err(contradiction(&name_of(&new.op), found, declared, new.span));
        }
        self.values.insert(result, value);
        Ok(())
    }

    /// The declared type of a result.
    pub(super) fn declared(&self, result: ValueId) -> Option<&TensorType> {
        self.from.tensor(result)
    }

    /// Records the shape of a result that has not been created yet. The operands of its instruction determine
    /// the shape.
    pub(super) fn shape_is(&mut self, result: ValueId, dims: Vec<usize>) {
        self.shapes.insert(result, dims);
    }

    /// Replaces an instruction's result by a constant.
    fn constant(&mut self, result: ValueId, literal: Literal, at: Inst<'_>, out: RegionId) {
        let declared = self.from.tensor(result);
        let ty = declared.map_or_else(|| literal.ty(), |t| t.with_dims_of(&literal.ty()));
        let new = NewInst::new(Op::Constant(literal.clone()), []).at(at.span(), at.loc().cloned());
        let new = self.to.push(out, new, [ty.into()]);
        let value = self.to.inst(new).results()[0];
        self.values.insert(result, value);
        self.known.insert(value, literal);
    }

    /// The elements of an operand, if they are known.
    pub(super) fn known(&self, value: ValueId) -> Option<&Literal> {
        self.known.get(&value)
    }

    /// The integers of an operand, if they are known.
    pub(super) fn integers(&self, value: ValueId) -> Option<Vec<i64>> {
        self.known(value).map(|l| l.iter().map(|s| s.as_i64()).collect())
    }

    /// The known difference between `limit` and `start`.
    pub(super) fn difference(&self, start: ValueId, limit: ValueId) -> Option<Vec<i64>> {
        let (base, added) = self.sums.get(&limit)?;
        (*base == start).then(|| added.iter().map(|s| s.as_i64()).collect())
    }

    fn remember_sum(&mut self, new: InstId) {
        let new = self.to.inst(new);
        if let (Op::Binary(Binary::Add), [a, b], [sum]) = (new.op(), new.operands(), new.results()) {
            for (base, added) in [(a, b), (b, a)] {
                if let Some(added) = self.known.get(added) {
                    self.sums.insert(*sum, (*base, added.clone()));
                }
            }
        }
    }

    /// Folds an instruction with known operands. Returns true if constants replace the instruction. A small
    /// constant instruction is recorded as known, and kept.
    fn fold(&mut self, inst: Inst<'_>, new: InstId, out: RegionId) -> bool {
        let new = self.to.inst(new);
        if let (Op::Constant(literal), [result]) = (new.op(), new.results()) {
            if is_small(literal) {
                self.known.insert(*result, literal.clone());
            }
            return false;
        }
        // Instructions with regions may run for a long time, so they are not folded.
        let small = |v: &ValueId| {
            let ty = self.to.tensor(*v);
            // A tensor without elements may be large along its other dimensions.
            let few = |sizes: &[usize]| {
                sizes.iter().fold(1, |n: usize, d| n.saturating_mul((*d).max(1))) <= super::MAX_KNOWN_ELEMENTS
            };
            ty.is_some_and(|t| t.quant.is_none() && t.static_sizes().is_some_and(few))
        };
        let foldable = !new.results().is_empty()
            && new.region_ids().is_empty()
            && new.results().iter().all(small)
            && new.operands().iter().all(|v| self.known.contains_key(v) && small(v))
            && !new.op().info().is(Traits::OPAQUE);
        if !foldable {
            return false;
        }
        let operands: Vec<Value> =
            new.operands().iter().map(|v| Value::Tensor(self.known[v].clone())).collect();
        let module = self.refiner.module;
        let values = eval::eval_inst(module, new, &operands, &|_| None, &NoHost, Denormals::Ieee);
        // If evaluation fails, the instruction stays and fails at run time.
        let Ok(values) = values else { return false };
        let literals: Vec<Literal> = eval::tensors(&values);
        if literals.len() != new.results().len() || !literals.iter().all(is_small) {
            return false;
        }
        for (result, literal) in inst.results().iter().zip(literals) {
            self.constant(*result, literal, inst, out);
        }
        true
    }

    /// Returns true if an equal small tensor of integers has been computed already, and uses it.
    fn is_repeated(&mut self, inst: Inst<'_>, new: InstId) -> bool {
        let new = self.to.inst(new);
        let ([result], true) = (new.results(), new.region_ids().is_empty()) else { return false };
        let Some(ty) = self.to.tensor(*result) else { return false };
        let small = ty.quant.is_none()
            && (ty.dtype.is_integer() || ty.dtype.is_bool())
            && ty.elements().is_some_and(|n| n <= super::MAX_KNOWN_ELEMENTS);
        if !small || matches!(new.op(), Op::Constant(_)) || new.op().info().is(Traits::OPAQUE) {
            return false;
        }
        let computation = (new.op().clone(), new.operands().to_vec(), ty.clone());
        if let Some(same) = self.computations.get(&computation) {
            self.values.insert(inst.results()[0], *same);
            return true;
        }
        self.order.push(computation.clone());
        self.computations.insert(computation, *result);
        false
    }

    // --- calls

    fn call(&mut self, callee: FuncId, inst: Inst<'m>, new: NewInst, out: RegionId) -> Result<(), Stop> {
        let types = new.operands.iter().map(|v| self.to[*v].clone()).collect();
        let known = new.operands.iter().map(|v| self.known.get(v).cloned()).collect();
        let callee = self.refiner.callee(callee, types, known, inst)?;
        self.finish_call(inst, new, callee, out)
    }

    /// Specializes a function that an operation calls with arguments of the declared parameter types.
    pub(super) fn unspecialized(&mut self, id: FuncId, inst: Inst<'_>) -> Result<FuncId, Stop> {
        let func = &self.refiner.module[id];
        let types: Vec<Type> = func.params().iter().map(|p| func.ty(*p).clone()).collect();
        let known = vec![None; types.len()];
        Ok(self.refiner.callee(id, types, known, inst)?.id)
    }

    /// Inlines the body of a function as a region of an instruction.
    pub(super) fn inlined(&mut self, id: FuncId, inst: Inst<'m>) -> Result<RegionId, Stop> {
        let func = &self.refiner.module[id];
        let (from, values) = (self.from, std::mem::take(&mut self.values));
        self.from = func;
        let types: Vec<Type> = func.params().iter().map(|p| func.ty(*p).clone()).collect();
        let region = self.nested(inst, func.body(), &types, &[]);
        (self.from, self.values) = (from, values);
        region
    }

    fn finish_call(
        &mut self,
        inst: Inst<'_>,
        mut new: NewInst,
        callee: Callee,
        out: RegionId,
    ) -> Result<(), Stop> {
        if callee.pure && callee.known.iter().all(Option::is_some) {
            for (result, literal) in inst.results().iter().zip(callee.known.into_iter().flatten()) {
                self.constant(*result, literal, inst, out);
            }
            return Ok(());
        }
        self.pure &= callee.pure;
        match &mut new.op {
            Op::Composite(composite) => composite.decomposition = callee.id,
            op => *op = Op::Call { callee: callee.id },
        }
        let new = self.infer_from(inst, new, callee.results)?;
        self.finish(new, callee.known, out);
        Ok(())
    }

    // --- control flow

    fn branches(&mut self, inst: Inst<'m>, mut new: NewInst, out: RegionId) -> Result<(), Stop> {
        let known = self.known(new.operands[0]).and_then(|l| l.iter().next());
        if let Some(index) = known {
            // Only this branch can run, so it replaces the instruction.
            let Some(taken) = inst.region(inst.chosen(index)) else { return Ok(()) };
            let taken = self.nested(inst, taken, &[], &[])?;
            let returned = self.to.region(taken).returned().to_vec();
            for (i, (result, value)) in inst.results().iter().zip(&returned).enumerate() {
                let (declared, found) = (&self.from[*result], &self.to[*value]);
                if more_specific(declared, found).is_none() {
                    let what = format!("result {i} of {}", name_of(inst.op()));
                    return Err(contradiction(&what, found, declared, inst.span()));
                }
            }
            self.to.splice(taken, out);
            self.values.extend(inst.results().iter().copied().zip(returned));
            return Ok(());
        }
        for region in inst.regions() {
            let region = self.nested(inst, region, &[], &[])?;
            new.regions.push(region);
        }
        let new = self.infer(inst, new)?;
        self.to.append(out, new);
        Ok(())
    }

    fn while_loop(&mut self, inst: Inst<'m>, mut new: NewInst, out: RegionId) -> Result<(), Stop> {
        let types: Vec<Type> = new.operands.iter().map(|v| self.to[*v].clone()).collect();
        // Values that the body returns unchanged stay known.
        let body = inst.region(1);
        let constant = |i: usize| body.is_some_and(|b| b.returned().get(i) == b.args().get(i));
        let known: Vec<Option<Literal>> = new
            .operands
            .iter()
            .enumerate()
            .map(|(i, v)| self.known.get(v).filter(|_| constant(i)).cloned())
            .collect();
        for region in inst.regions() {
            let region = self.nested(inst, region, &types, &known)?;
            new.regions.push(region);
        }
        let new = self.infer(inst, new)?;
        self.finish(new, known, out);
        Ok(())
    }

    /// Appends an instruction to a region, and records the known elements of its results.
    fn finish(&mut self, new: InstId, known: Vec<Option<Literal>>, out: RegionId) {
        for (result, known) in self.to.inst(new).results().iter().zip(known) {
            if let Some(literal) = known {
                self.known.insert(*result, literal);
            }
        }
        self.to.append(out, new);
    }
}

/// The error for a type that contradicts the declared one.
fn contradiction(what: &str, found: &Type, declared: &Type, at: Span) -> Stop {
    let message = format!("{what} is {found}, but {declared} is declared");
    Stop::UnknownShape(Diagnostic::new("dynamic-shape", at, message))
}

/// The name of an operation in messages.
fn name_of(op: &Op) -> String {
    match op {
        Op::CustomCall(call) => format!("{} @{}", op.name(), call.target),
        op => op.name().to_owned(),
    }
}

/// The declared type with dimensions filled in by inference; `None` if the types contradict each other.
fn more_specific(declared: &Type, inferred: &Type) -> Option<Type> {
    match (declared, inferred) {
        (Type::Tensor(declared), Type::Tensor(inferred)) => {
            if declared.rank() != inferred.rank() {
                return None;
            }
            let pairs = declared.dims().zip(inferred.dims());
            let dims: Option<Vec<Dim>> = pairs
                .map(|(declared, inferred)| declared.may_equal(inferred).then(|| declared.or(inferred)))
                .collect();
            Some(declared.with_dims(dims?).into())
        }
        (Type::Tuple(declared), Type::Tuple(inferred)) if declared.len() == inferred.len() => {
            let parts = declared.iter().zip(inferred.iter()).map(|(d, i)| more_specific(d, i));
            Some(Type::Tuple(parts.collect::<Option<Vec<Type>>>()?.into()))
        }
        (Type::Future(declared), Type::Future(inferred)) if declared.len() == inferred.len() => {
            let parts = declared.iter().zip(inferred.iter()).map(|(d, i)| more_specific(d, i));
            Some(Type::Future(parts.collect::<Option<Vec<Type>>>()?.into()))
        }
        _ => (declared == inferred).then(|| declared.clone()),
    }
}
