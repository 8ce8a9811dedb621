//! The walk that specializes a function: regions, calls and control flow.

use farcall_sig::DType;

use super::walk::{Walk, name_of};
use super::{
    Callee, Refiner, Stop, Walked, custom_call, drop_unused_constants, dynamic, is_static, shape_operands,
};
use crate::diag::Diagnostic;
use crate::literal::Literal;
use crate::module::{Func, FuncId, Inst, NewInst, Region, RegionId, ValueId};
use crate::op::{CustomCall, Op, Scan, Traits};
use crate::scalar::Scalar;
use crate::types::Type;

impl<'m> Refiner<'m> {
    /// Walks a function with arguments of these types. `known` has the elements of each argument, or `None`
    /// if they are not known.
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
        let mut walk = Walk::new(self, from, to);
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
    /// Walks a region with arguments of these types, and fills the empty region `to`. `known` has the known
    /// elements of the arguments.
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
        if let Some(top_k) = shape_operands::approx_top_k(self, call, inst, &new) {
            let comparator = self.inlined(top_k.comparator, inst)?;
            return top_k.write(self, comparator, inst, &new, out);
        }
        if shape_operands::to_op(self, call, inst, &mut new) {
            if let Op::ReduceWindow(_) = new.op {
                for reducer in &call.called_computations {
                    new.regions.push(self.inlined(*reducer, inst)?);
                }
            }
        } else {
            self.pure = false;
            let mut call = call.clone();
            for func in &mut call.called_computations {
                *func = self.unspecialized(*func, inst)?;
            }
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

    // --- calls

    fn call(&mut self, callee: FuncId, inst: Inst<'m>, new: NewInst, out: RegionId) -> Result<(), Stop> {
        let types = new.operands.iter().map(|v| self.to[*v].clone()).collect();
        let known = new.operands.iter().map(|v| self.known.get(v).cloned()).collect();
        let callee = self.refiner.callee(callee, types, known, inst)?;
        self.finish_call(inst, new, callee, out)
    }

    /// Specializes a function of a custom call. Its arguments have the declared parameter types, and their
    /// elements are not known.
    fn unspecialized(&mut self, id: FuncId, inst: Inst<'_>) -> Result<FuncId, Stop> {
        let func = &self.refiner.module[id];
        let types: Vec<Type> = func.params().iter().map(|p| func.ty(*p).clone()).collect();
        let known = vec![None; types.len()];
        Ok(self.refiner.callee(id, types, known, inst)?.id)
    }

    /// Inlines the body of a function as a region of an instruction.
    fn inlined(&mut self, id: FuncId, inst: Inst<'m>) -> Result<RegionId, Stop> {
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
                let what = || format!("result {i} of {}", name_of(inst.op()));
                self.check_declared(*result, *value, what, inst.span())?;
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
}
