//! Calls, branches and loops.

use farcall_sig::DType;

use super::{Lowering, Tracked, scalar, with_bounds};
use crate::diag::Diagnostic;
use crate::module::{Func, Inst, NewInst, Region, RegionId, ValueId};
use crate::op::Op;
use crate::types::{TensorType, Type};

impl<'m> Lowering<'m> {
    /// Inlines a function at a call.
    pub(super) fn inline(&mut self, inst: Inst<'m>, callee: &'m Func) -> Result<(), Diagnostic> {
        self.enter(inst)?;
        let arguments = self.operands(inst);
        let caller = std::mem::take(&mut self.values);
        self.values.extend(callee.params().iter().copied().zip(arguments));
        let returned = self.body(callee.body());
        self.values = caller;
        self.values.extend(inst.results().iter().copied().zip(returned?));
        self.depth -= 1;
        Ok(())
    }

    /// `if` and `case`: each branch also returns the sizes of its bounded results.
    pub(super) fn branches(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let operands = self.operands(inst).iter().map(|value| value.id).collect();
        let types: Vec<&Type> = inst.results().iter().map(|r| &inst.func()[*r]).collect();
        let regions: Result<Vec<RegionId>, Diagnostic> =
            inst.regions().map(|region| self.nested(inst, region, &[], &types)).collect();
        self.finish_control(inst, operands, regions?, &types)
    }

    /// `while`: the sizes of bounded values are carried, too.
    pub(super) fn while_loop(&mut self, inst: Inst<'m>) -> Result<(), Diagnostic> {
        let types: Vec<&Type> = inst.results().iter().map(|r| &inst.func()[*r]).collect();
        let initial = self.operands(inst);
        let initial = self.flat(inst, &initial, &types);
        let mut regions = Vec::new();
        for (i, region) in inst.regions().enumerate() {
            // The condition returns a predicate, and the body the carried values.
            let pred = Type::Tensor(TensorType::scalar(DType::Pred));
            let returns = if i == 0 { vec![&pred] } else { types.clone() };
            regions.push(self.nested(inst, region, &types, &returns)?);
        }
        self.finish_control(inst, initial, regions, &types)
    }

    fn finish_control(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<ValueId>,
        regions: Vec<RegionId>,
        types: &[&Type],
    ) -> Result<(), Diagnostic> {
        let new = NewInst::new(inst.op().clone(), operands).at(inst.span(), inst.loc().cloned());
        let new = NewInst { attrs: inst.attrs().clone(), ..new }.with_regions(regions);
        let id = self.to.push(self.out, new, flat_types(types));
        let results = self.to.inst(id).results().to_vec();
        self.values.extend(inst.results().iter().copied().zip(tracked(&results, types)));
        Ok(())
    }

    /// Lowers a region whose arguments and returned values have these types.
    fn nested(
        &mut self,
        inst: Inst<'m>,
        region: Region<'m>,
        args: &[&Type],
        returns: &[&Type],
    ) -> Result<RegionId, Diagnostic> {
        self.enter(inst)?;
        let to = self.to.new_region();
        let outer = std::mem::replace(&mut self.out, to);
        let ids: Vec<ValueId> = flat_types(args).into_iter().map(|ty| self.to.add_arg(to, ty)).collect();
        self.values.extend(region.args().iter().copied().zip(tracked(&ids, args)));
        let returned = self.body(region)?;
        let returned = self.flat(inst, &returned, returns);
        let span = region.terminator().map_or(inst.span(), Inst::span);
        self.to.push(to, NewInst::new(Op::Return, returned).at(span, None), []);
        self.out = outer;
        self.depth -= 1;
        Ok(to)
    }

    /// Returns the values, followed by the sizes of their dimensions with bounds.
    fn flat(&mut self, at: Inst<'_>, values: &[Tracked], types: &[&Type]) -> Vec<ValueId> {
        let mut ids: Vec<ValueId> = values.iter().map(|value| value.id).collect();
        for (value, ty) in values.iter().zip(types) {
            for (dim, bound) in bounds(ty) {
                let size = value.sizes.get(dim).copied().flatten();
                ids.push(size.unwrap_or_else(|| scalar(&mut self.at(at), bound)));
            }
        }
        ids
    }
}

/// The bounded dimensions of a type, with their bounds.
fn bounds(ty: &Type) -> impl Iterator<Item = (usize, usize)> {
    let dims = ty.tensor().into_iter().flat_map(|t| t.dims().enumerate());
    dims.filter_map(|(dim, size)| Some((dim, size.bound()?)))
}

/// Returns the types of the list that [`Lowering::flat`] returns for values of the declared types `types`.
fn flat_types(types: &[&Type]) -> Vec<Type> {
    let sizes = types.iter().flat_map(|ty| bounds(ty)).map(|_| TensorType::scalar(DType::S32).into());
    types.iter().map(|ty| with_bounds(ty)).chain(sizes).collect()
}

/// The inverse of [`Lowering::flat`]: returns the values, each with the sizes of its dimensions.
fn tracked(ids: &[ValueId], types: &[&Type]) -> Vec<Tracked> {
    let mut sizes = ids[types.len().min(ids.len())..].iter().copied();
    let one = |(id, ty): (&ValueId, &&Type)| {
        let mut value = Tracked::untracked(*id, ty.tensor().map_or(0, TensorType::rank));
        for (dim, _) in bounds(ty) {
            value.sizes[dim] = sizes.next();
        }
        value
    };
    ids.iter().zip(types).map(one).collect()
}
