//! The walk through a function.

use std::collections::HashMap;

use farcall_sig::DType;

use super::{
    Callee, Failed, Refiner, Walked, custom_call, disguised, drop_unused_constants, dynamic, is_small,
    is_static,
};
use crate::diag::Diagnostic;
use crate::eval::{self, Denormals, NoHost, Value};
use crate::infer;
use crate::literal::Literal;
use crate::module::{Func, Inst, Region, ValueId};
use crate::op::{Binary, CustomCall, Op, Scan, Traits};
use crate::scalar::Scalar;
use crate::types::{DYNAMIC, TensorType, Type};

/// How a value is computed: by an operation without regions, from what, as what.
type Number = (Op, Vec<ValueId>, TensorType);

/// A function that is being made from another.
pub(super) struct Walk<'r, 'm> {
    pub(super) refiner: &'r mut Refiner<'m>,
    /// The function that is walked.
    from: &'m Func,
    /// The function that is made.
    pub(super) to: Func,
    /// Values of the one by values of the other.
    values: HashMap<ValueId, ValueId>,
    /// Elements of values of the new function.
    known: HashMap<ValueId, Literal>,
    /// Values that are another value plus something known: limits of slices, whose size is known though
    /// their start is not.
    sums: HashMap<ValueId, (ValueId, Literal)>,
    /// Small integer tensors by how they are computed, so that equal ones are one value: starts of slices
    /// are computed anew for their limits.
    numbers: HashMap<Number, ValueId>,
    /// Those, in the order in which they were found; a region's are forgotten where it ends.
    order: Vec<Number>,
    /// Shapes of results that are about to be made.
    shapes: HashMap<ValueId, Vec<usize>>,
    pure: bool,
}

impl<'m> Refiner<'m> {
    /// Walks a function on arguments of these types, of which some are known.
    pub(super) fn walk(
        &mut self,
        from: &'m Func,
        types: &[Type],
        known: &[Option<Literal>],
        name: String,
    ) -> Result<Walked, Failed> {
        let mut to = Func::new(name, from.span);
        to.public = from.public;
        to.param_attrs.clone_from(&from.param_attrs);
        to.result_attrs.clone_from(&from.result_attrs);
        to.attrs.clone_from(&from.attrs);
        if let Some((i, ty)) = types.iter().enumerate().find(|(_, ty)| !is_static(ty)) {
            let message = format!("parameter {i} of @{}, {ty}, has a dynamic dimension", from.name);
            let note = "the types of the inputs say what it is";
            return Err(vec![Diagnostic::new("dynamic-shape", from.span, message).note(note)]);
        }
        let mut walk = Walk {
            refiner: self,
            from,
            to,
            values: HashMap::new(),
            known: HashMap::new(),
            sums: HashMap::new(),
            numbers: HashMap::new(),
            order: Vec::new(),
            shapes: HashMap::new(),
            pure: true,
        };
        let body = walk.region(&from.body, types, known)?;
        let Walk { mut to, known, pure, .. } = walk;
        to.results = body.returned().iter().map(|v| to[*v].clone()).collect();
        let known = body.returned().iter().map(|v| known.get(v).cloned()).collect();
        to.body = body;
        drop_unused_constants(&mut to);
        Ok(Walked { func: to, known, pure })
    }
}

impl<'m> Walk<'_, 'm> {
    /// A region on arguments of these types, of which some are known.
    fn region(
        &mut self,
        from: &'m Region,
        types: &[Type],
        known: &[Option<Literal>],
    ) -> Result<Region, Failed> {
        let mut args = Vec::with_capacity(types.len());
        for (i, (old, ty)) in from.args.iter().zip(types).enumerate() {
            let new = self.to.new_value(ty.clone());
            self.values.insert(*old, new);
            if let Some(Some(literal)) = known.get(i) {
                self.known.insert(new, literal.clone());
            }
            args.push(new);
        }
        let mut insts = Vec::with_capacity(from.insts.len());
        let mark = self.order.len();
        for inst in &from.insts {
            self.inst(inst, &mut insts)?;
        }
        for number in self.order.drain(mark..) {
            self.numbers.remove(&number);
        }
        Ok(Region { args, insts })
    }

    /// The instruction on the new values, as yet without regions and results. In a box, because the
    /// functions that recurse should need little stack.
    fn draft(&self, inst: &Inst) -> Box<Inst> {
        Box::new(Inst {
            op: inst.op.clone(),
            operands: inst.operands.iter().map(|v| self.values[v]).collect(),
            results: Vec::new(),
            regions: Vec::new(),
            attrs: inst.attrs.clone(),
            span: inst.span,
            loc: inst.loc.clone(),
        })
    }

    fn inst(&mut self, inst: &'m Inst, out: &mut Vec<Inst>) -> Result<(), Failed> {
        self.refiner.count(inst)?;
        let new = self.draft(inst);
        match &inst.op {
            Op::Return => {
                out.push(*new);
                Ok(())
            }
            Op::Call { callee } => self.call(callee, inst, new, out),
            Op::Composite(composite) => self.call(&composite.decomposition, inst, new, out),
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

    /// An instruction that neither calls nor decides what runs.
    fn simple(&mut self, inst: &'m Inst, mut new: Box<Inst>, out: &mut Vec<Inst>) -> Result<(), Failed> {
        for region in &inst.regions {
            let types: Vec<Type> = match &inst.op {
                Op::Scan(scan) => self.slices(scan, &new),
                Op::AsyncStart => new.operands.iter().map(|v| self.to[*v].clone()).collect(),
                _ => region.args.iter().map(|a| self.from[*a].clone()).collect(),
            };
            let region = self.nested(inst, region, &types, &[])?;
            new.regions.push(region);
        }
        self.pure &= !inst.op.info().is(Traits::SIDE_EFFECT);
        dynamic::to_static(self, inst, &mut new, out)?;
        self.infer(inst, &mut new)?;
        if self.fold(inst, &new, out) || self.is_repeated(inst, &new) {
            return Ok(());
        }
        self.remember_sum(&new);
        out.push(*new);
        Ok(())
    }

    /// What the region of a scan takes.
    fn slices(&self, scan: &Scan, new: &Inst) -> Vec<Type> {
        let slice = |(i, value): (usize, &ValueId)| match self.to.tensor(*value) {
            Some(ty) if i < scan.inputs => {
                let dims = ty.dims.iter().enumerate().filter(|(d, _)| *d != scan.dim).map(|(_, size)| *size);
                Type::Tensor(ty.with_dims(dims.collect::<Vec<_>>()))
            }
            _ => self.to[*value].clone(),
        };
        new.operands.iter().enumerate().map(slice).collect()
    }

    fn custom_call(
        &mut self,
        call: &CustomCall,
        inst: &'m Inst,
        mut new: Box<Inst>,
        out: &mut Vec<Inst>,
    ) -> Result<(), Failed> {
        if custom_call::is_assertion(inst) {
            return custom_call::decide(self, call, &new).map_err(|d| vec![d]);
        }
        if disguised::approx_top_k(self, call, inst, &new, out)? {
            return Ok(());
        }
        if !disguised::to_op(self, call, inst, &mut new)? {
            self.pure = false;
            custom_call::refine(self, call, inst, &mut new)?;
        }
        self.infer(inst, &mut new)?;
        out.push(*new);
        Ok(())
    }

    fn dimension_size(&mut self, inst: &Inst, dim: usize, new: &Inst, out: &mut Vec<Inst>) {
        let size = self.to.tensor(new.operands[0]).and_then(|t| t.dims.get(dim)).copied();
        let size = i64::try_from(size.unwrap_or(0)).unwrap_or(i64::MAX);
        let literal = Literal::scalar(DType::S32, Scalar::Signed(size));
        self.constant(inst.results[0], literal, new, out);
    }

    /// A region of an instruction.
    fn nested(
        &mut self,
        inst: &'m Inst,
        region: &'m Region,
        types: &[Type],
        known: &[Option<Literal>],
    ) -> Result<Region, Failed> {
        self.refiner.enter(inst)?;
        let region = self.region(region, types, known)?;
        self.refiner.depth -= 1;
        Ok(region)
    }

    // --- results

    /// Makes the results of an instruction: of the types that follow from its operands and what is
    /// declared.
    fn infer(&mut self, inst: &Inst, new: &mut Inst) -> Result<(), Failed> {
        let mut types = Vec::with_capacity(inst.results.len());
        for result in &inst.results {
            let declared = &self.from[*result];
            types.push(match (declared, self.shapes.remove(result)) {
                (Type::Tensor(t), Some(dims)) => {
                    let said = Type::from(t.with_dims(dims));
                    let ty = more_specific(declared, &said);
                    ty.ok_or_else(|| contradiction(&name_of(new), &said, declared, new))?
                }
                _ => declared.clone(),
            });
        }
        self.infer_from(inst, new, types)
    }

    fn infer_from(&mut self, inst: &Inst, new: &mut Inst, declared: Vec<Type>) -> Result<(), Failed> {
        new.results = declared.into_iter().map(|ty| self.to.new_value(ty)).collect();
        let inferred = infer::result_types(&self.to, new)?;
        for (i, (result, inferred)) in new.results.iter().zip(&inferred).enumerate() {
            let declared = self.to[*result].clone();
            let Some(ty) = more_specific(&declared, inferred) else {
                return Err(contradiction(
                    &format!("result {i} of {}", name_of(new)),
                    inferred,
                    &declared,
                    new,
                ));
            };
            if !is_static(&ty) {
                let message = format!(
                    "{}: the shape of result {i}, {ty}, does not follow from what is known of the inputs",
                    name_of(new)
                );
                return Err(vec![Diagnostic::new("dynamic-shape", new.span, message)]);
            }
            self.to.set_ty(*result, ty);
        }
        self.values.extend(inst.results.iter().copied().zip(new.results.iter().copied()));
        Ok(())
    }

    /// A value of the new function in the place of a result, whose declared type it must fit.
    pub(super) fn bind(&mut self, result: ValueId, value: ValueId, new: &Inst) -> Result<(), Failed> {
        let (declared, found) = (&self.from[result], &self.to[value]);
        if more_specific(declared, found).is_none() {
            return Err(contradiction(&name_of(new), found, declared, new));
        }
        self.values.insert(result, value);
        Ok(())
    }

    /// The declared type of a result.
    pub(super) fn declared(&self, result: ValueId) -> Option<&TensorType> {
        self.from.tensor(result)
    }

    /// Remembers the shape of a result that is about to be made: operands of its instruction say it.
    pub(super) fn shape_is(&mut self, result: ValueId, dims: Vec<usize>) {
        self.shapes.insert(result, dims);
    }

    /// A constant in the place of an instruction's result.
    fn constant(&mut self, result: ValueId, literal: Literal, new: &Inst, out: &mut Vec<Inst>) {
        let declared = self.from.tensor(result);
        let dims = literal.ty().dims;
        let ty = declared.map_or_else(|| literal.ty(), |t| t.with_dims(dims));
        let value = self.to.new_value(ty.into());
        self.values.insert(result, value);
        self.known.insert(value, literal.clone());
        out.push(Inst {
            op: Op::Constant(literal),
            operands: Vec::new(),
            results: vec![value],
            regions: Vec::new(),
            attrs: crate::AttrDict::new(),
            span: new.span,
            loc: new.loc.clone(),
        });
    }

    /// The elements of an operand, if they are known.
    pub(super) fn known(&self, value: ValueId) -> Option<&Literal> {
        self.known.get(&value)
    }

    /// The integers of an operand, if they are known.
    pub(super) fn integers(&self, value: ValueId) -> Option<Vec<i64>> {
        self.known(value).map(|l| l.iter().map(|s| s.as_i64()).collect())
    }

    /// What is known to be added to `start` to make `limit`.
    pub(super) fn difference(&self, start: ValueId, limit: ValueId) -> Option<Vec<i64>> {
        let (base, added) = self.sums.get(&limit)?;
        (*base == start).then(|| added.iter().map(|s| s.as_i64()).collect())
    }

    fn remember_sum(&mut self, new: &Inst) {
        if let (Op::Binary(Binary::Add), [a, b], [sum]) =
            (&new.op, new.operands.as_slice(), new.results.as_slice())
        {
            for (base, added) in [(a, b), (b, a)] {
                if let Some(added) = self.known.get(added) {
                    self.sums.insert(*sum, (*base, added.clone()));
                }
            }
        }
    }

    /// Computes an instruction whose operands are known. True if that gave constants, which take its
    /// place; small ones that it has anyway are remembered.
    fn fold(&mut self, inst: &Inst, new: &Inst, out: &mut Vec<Inst>) -> bool {
        if let (Op::Constant(literal), [result]) = (&new.op, new.results.as_slice()) {
            if is_small(literal) {
                self.known.insert(*result, literal.clone());
            }
            return false;
        }
        // What has a region may run for long.
        let small = |v: &ValueId| {
            let ty = self.to.tensor(*v);
            // A tensor without elements may be large along its other dimensions.
            let few = |t: &TensorType| {
                t.dims.iter().fold(1, |n: usize, d| n.saturating_mul((*d).max(1))) <= super::SMALL
            };
            ty.is_some_and(|t| t.quant.is_none() && t.is_static() && few(t))
        };
        let foldable = !new.results.is_empty()
            && new.regions.is_empty()
            && new.results.iter().all(small)
            && new.operands.iter().all(|v| self.known.contains_key(v) && small(v))
            && !new.op.info().is(Traits::OPAQUE);
        if !foldable {
            return false;
        }
        let operands: Vec<Value> =
            new.operands.iter().map(|v| Value::Tensor(self.known[v].clone())).collect();
        let module = self.refiner.module;
        let values = eval::eval_inst(module, &self.to, new, &operands, &|_| None, &NoHost, Denormals::Ieee);
        // What cannot be computed here fails where it runs.
        let Ok(values) = values else { return false };
        let literals: Vec<Literal> = eval::tensors(&values);
        if literals.len() != new.results.len() || !literals.iter().all(is_small) {
            return false;
        }
        for (result, literal) in inst.results.iter().zip(literals) {
            self.constant(*result, literal, new, out);
        }
        true
    }

    /// True if an equal small tensor of integers has been computed already: that one is taken.
    fn is_repeated(&mut self, inst: &Inst, new: &Inst) -> bool {
        let ([result], true) = (new.results.as_slice(), new.regions.is_empty()) else { return false };
        let Some(ty) = self.to.tensor(*result) else { return false };
        let small = ty.quant.is_none()
            && (ty.dtype.is_integer() || ty.dtype.is_bool())
            && ty.elements().is_some_and(|n| n <= super::SMALL);
        if !small || matches!(new.op, Op::Constant(_)) || new.op.info().is(Traits::OPAQUE) {
            return false;
        }
        let number = (new.op.clone(), new.operands.clone(), ty.clone());
        if let Some(same) = self.numbers.get(&number) {
            self.values.insert(inst.results[0], *same);
            return true;
        }
        self.order.push(number.clone());
        self.numbers.insert(number, *result);
        false
    }

    // --- calls

    fn call(
        &mut self,
        callee: &str,
        inst: &'m Inst,
        new: Box<Inst>,
        out: &mut Vec<Inst>,
    ) -> Result<(), Failed> {
        let types = new.operands.iter().map(|v| self.to[*v].clone()).collect();
        let known = new.operands.iter().map(|v| self.known.get(v).cloned()).collect();
        let callee = self.refiner.callee(callee, types, known, inst)?;
        self.finish_call(inst, new, callee, out)
    }

    /// The name of a function that is passed to something else, which calls it with what it declares.
    pub(super) fn unspecialized(&mut self, name: &str, inst: &Inst) -> Result<String, Failed> {
        let func = self.refiner.module.func(name);
        let types: Vec<Type> =
            func.into_iter().flat_map(|f| f.params().iter().map(|p| f.ty(*p).clone())).collect();
        let known = vec![None; types.len()];
        Ok(self.refiner.callee(name, types, known, inst)?.name)
    }

    /// The body of a function as a region of an instruction; `None` if there is no such function.
    pub(super) fn inlined(&mut self, name: &str, inst: &'m Inst) -> Result<Option<Region>, Failed> {
        let Some(func) = self.refiner.module.func(name) else { return Ok(None) };
        let (from, values) = (self.from, std::mem::take(&mut self.values));
        self.from = func;
        let types: Vec<Type> = func.params().iter().map(|p| func.ty(*p).clone()).collect();
        let region = self.nested(inst, &func.body, &types, &[]);
        (self.from, self.values) = (from, values);
        region.map(Some)
    }

    fn finish_call(
        &mut self,
        inst: &Inst,
        mut new: Box<Inst>,
        callee: Callee,
        out: &mut Vec<Inst>,
    ) -> Result<(), Failed> {
        if callee.pure && callee.known.iter().all(Option::is_some) {
            for (result, literal) in inst.results.iter().zip(callee.known.into_iter().flatten()) {
                self.constant(*result, literal, &new, out);
            }
            return Ok(());
        }
        self.pure &= callee.pure;
        match &mut new.op {
            Op::Composite(composite) => composite.decomposition = callee.name,
            op => *op = Op::Call { callee: callee.name },
        }
        self.infer_from(inst, &mut new, callee.results)?;
        for (result, known) in new.results.iter().zip(callee.known) {
            if let Some(literal) = known {
                self.known.insert(*result, literal);
            }
        }
        out.push(*new);
        Ok(())
    }

    // --- control flow

    fn branches(&mut self, inst: &'m Inst, mut new: Box<Inst>, out: &mut Vec<Inst>) -> Result<(), Failed> {
        let known = self.known(new.operands[0]).and_then(|l| l.iter().next());
        if let Some(index) = known {
            // The only branch that can run takes the place of the instruction.
            let last = inst.regions.len().saturating_sub(1);
            let taken = match inst.op {
                Op::If => usize::from(!index.as_bool()),
                _ => usize::try_from(index.as_i64()).unwrap_or(last),
            };
            let Some(taken) = inst.regions.get(taken.min(last)) else { return Ok(()) };
            let mut taken = self.nested(inst, taken, &[], &[])?;
            let returned = taken.returned().to_vec();
            for (i, (result, value)) in inst.results.iter().zip(&returned).enumerate() {
                let (declared, found) = (&self.from[*result], &self.to[*value]);
                if more_specific(declared, found).is_none() {
                    let what = format!("result {i} of {}", name_of(&new));
                    return Err(contradiction(&what, found, declared, &new));
                }
            }
            taken.insts.pop();
            out.append(&mut taken.insts);
            self.values.extend(inst.results.iter().copied().zip(returned));
            return Ok(());
        }
        for region in &inst.regions {
            let region = self.nested(inst, region, &[], &[])?;
            new.regions.push(region);
        }
        self.infer(inst, &mut new)?;
        out.push(*new);
        Ok(())
    }

    fn while_loop(&mut self, inst: &'m Inst, mut new: Box<Inst>, out: &mut Vec<Inst>) -> Result<(), Failed> {
        let types: Vec<Type> = new.operands.iter().map(|v| self.to[*v].clone()).collect();
        // What the body hands on as it came stays what it was.
        let body = inst.regions.get(1);
        let constant = |i: usize| body.is_some_and(|b| b.returned().get(i) == b.args.get(i));
        let known: Vec<Option<Literal>> = new
            .operands
            .iter()
            .enumerate()
            .map(|(i, v)| self.known.get(v).filter(|_| constant(i)).cloned())
            .collect();
        for region in &inst.regions {
            let region = self.nested(inst, region, &types, &known)?;
            new.regions.push(region);
        }
        self.infer(inst, &mut new)?;
        for (result, known) in new.results.iter().zip(known) {
            if let Some(literal) = known {
                self.known.insert(*result, literal);
            }
        }
        out.push(*new);
        Ok(())
    }
}

/// What is declared cannot be.
fn contradiction(what: &str, found: &Type, declared: &Type, at: &Inst) -> Failed {
    let message = format!("{what} is {found}, but {declared} is declared");
    vec![Diagnostic::new("dynamic-shape", at.span, message)]
}

/// What an instruction is called in messages.
fn name_of(inst: &Inst) -> String {
    match &inst.op {
        Op::CustomCall(call) => format!("{} @{}", inst.op.name(), call.target),
        op => op.name().to_owned(),
    }
}

/// The declared type with the dimensions that are known by inference; `None` if they contradict.
fn more_specific(declared: &Type, inferred: &Type) -> Option<Type> {
    match (declared, inferred) {
        (Type::Tensor(declared), Type::Tensor(inferred)) => {
            if declared.rank() != inferred.rank() {
                return None;
            }
            let pairs = declared.dims.iter().zip(inferred.dims.iter());
            let dims: Option<Vec<usize>> = pairs
                .map(|(declared, inferred)| match (*declared, *inferred) {
                    (DYNAMIC, known) | (known, DYNAMIC) => Some(known),
                    (a, b) => (a == b).then_some(a),
                })
                .collect();
            Some(static_part(declared, dims?).into())
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

/// A type with other dimensions. Bounds go with the dynamic dimensions that they are of.
fn static_part(ty: &TensorType, dims: Vec<usize>) -> TensorType {
    if dims == *ty.dims { ty.clone() } else { ty.with_dims(dims) }
}
