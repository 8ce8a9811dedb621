//! Partitioning: rewrites a function into the function that each device runs. `device` has the collectives,
//! `summands` the values that stay sums over devices, `divided_call` the calls that the host divides.
//!
//! Every value is replaced by the part that its tiling gives to a device. For each instruction, [`choose`]
//! picks the division of its factors that moves the fewest bytes. Operands are resharded to it, the operation
//! runs on parts, summands of reduced factors are combined, and results are resharded to the tilings that
//! propagation found for them.

mod device;
mod divided_call;
mod exchange;
mod summands;

use std::sync::Arc;

use farcall_ir::builder::Builder;
use farcall_ir::module::{Inst, Loc, NamedMesh, NewInst, Region, ValueMap};
use farcall_ir::op::{Binary, CollectiveBroadcast, Compare, ComparisonDirection, Groups, Op};
use farcall_ir::{
    AttrDict, DType, Diagnostic, Func, InstId, Literal, RegionId, Span, TensorType, Type, ValueId,
};
use rustc_hash::FxHashMap;

use crate::annotation::maximal_device;
use crate::choose::{Division, choose};
use crate::grid::{DeviceGrid, SubAxis};
use crate::local;
use crate::manual::Border;
use crate::partitioner;
use crate::propagate::{Shardings, even_prefix};
use crate::report::{Movement, Report};
use crate::rotation::Rotations;
use crate::rule::{CallRules, Rule, combiner, rule};
use crate::tiling::Tiling;

/// Attributes that state shardings, which the partitioned program does not have.
const STATED: [&str; 3] = ["sdy.sharding", "mhlo.sharding", "sdy.sharding_rule"];

/// Errors of an emitted instruction. They are faults of this crate, or sizes that cannot be divided.
pub(crate) type Emitted<T> = Result<T, Vec<Diagnostic>>;

/// A program with a sharding for each value.
#[derive(Clone, Copy)]
pub(crate) struct Program<'p> {
    pub(crate) grid: &'p DeviceGrid,
    pub(crate) func: &'p Func,
    pub(crate) shardings: &'p Shardings,
    pub(crate) borders: &'p FxHashMap<InstId, Border>,
    pub(crate) calls: &'p dyn CallRules,
    pub(crate) meshes: &'p [NamedMesh],
    /// Tilings of the parameters.
    pub(crate) inputs: &'p [Tiling],
    /// Tilings of the results.
    pub(crate) outputs: &'p [Tiling],
    /// Sub-axes along which the devices hold summands of a parameter.
    pub(crate) unreduced_inputs: &'p [Vec<SubAxis>],
    /// Sub-axes along which the devices hold summands of a result.
    pub(crate) unreduced_outputs: &'p [Vec<SubAxis>],
}

/// Writes the function that each device runs.
struct Emitter<'p> {
    program: Program<'p>,
    func: Func,
    /// Region that is being written.
    region: RegionId,
    /// Source of the instruction that is being partitioned.
    span: Span,
    loc: Option<Arc<Loc>>,
    name: &'static str,
    /// Regions that are being written, from the outermost.
    scopes: Vec<Scope>,
    next_channel: i64,
    report: Report,
    rotations: Rotations,
    /// Values that are only used as summands.
    wanted: summands::Wanted,
    /// Parts of values that the devices hold as summands along the wanted sub-axes, with their tilings.
    summands: FxHashMap<ValueId, (Tiling, ValueId)>,
}

/// Values in a region that is being written.
#[derive(Default)]
struct Scope {
    /// Parts of values, by their tilings. The first tiling of a value is the one from propagation.
    parts: FxHashMap<ValueId, Vec<(Tiling, ValueId)>>,
    /// Coordinates of the device along sub-axes.
    coordinates: FxHashMap<Vec<SubAxis>, ValueId>,
    partition: Option<ValueId>,
}

impl<'p> Program<'p> {
    /// Writes the function that each device runs. New collectives have channels from `next_channel` on.
    pub(crate) fn emit(self, next_channel: i64) -> Emitted<(Func, Report)> {
        let from = self.func;
        let mut func = Func::new(from.name.clone(), from.span);
        func.public = from.public;
        func.attrs.clone_from(&from.attrs);
        func.param_names.clone_from(&from.param_names);
        let mut emitter = Emitter {
            rotations: exchange::rotations(&self),
            wanted: summands::wanted(&self),
            summands: FxHashMap::default(),
            program: self,
            func,
            region: Func::BODY,
            span: from.span,
            loc: None,
            name: "func.func",
            scopes: vec![Scope::default()],
            next_channel,
            report: Report::default(),
        };
        let mut args = Vec::new();
        for (param, tiling) in from.params().iter().zip(self.inputs) {
            args.push(emitter.func.add_arg(Func::BODY, emitter.part_type(*param, tiling)));
        }
        for (i, (param, arg)) in from.params().iter().zip(args).enumerate() {
            emitter.hold_sum(*param, &self.inputs[i], arg, &self.unreduced_inputs[i])?;
        }
        emitter.insts(from.body())?;
        let mut returned = Vec::new();
        for (i, value) in from.body().returned().iter().enumerate() {
            returned.push(emitter.summand_of(*value, &self.unreduced_outputs[i], &self.outputs[i])?);
        }
        emitter.at().inst(NewInst::new(Op::Return, returned))?;
        let Emitter { mut func, report, .. } = emitter;
        func.infer_result_types();
        func.set_param_attrs(from.param_attrs().iter().map(without_shardings));
        func.set_result_attrs(from.result_attrs().iter().map(without_shardings));
        Ok((func, report))
    }
}

impl<'p> Emitter<'p> {
    // --- state

    fn at(&mut self) -> Builder<'_> {
        Builder::at_end(&mut self.func, self.region).from_source(self.span, self.loc.clone())
    }

    /// Returns the type of a value's part.
    fn part_type(&self, value: ValueId, tiling: &Tiling) -> Type {
        match self.program.func.ty(value) {
            Type::Tensor(ty) => Type::Tensor(self.part_of(ty, tiling)),
            other => other.clone(),
        }
    }

    fn part_of(&self, ty: &TensorType, tiling: &Tiling) -> TensorType {
        ty.with_sizes(tiling.part_sizes(self.program.grid, ty.sizes()))
    }

    fn hold(&mut self, value: ValueId, tiling: Tiling, part: ValueId) {
        let scope = self.scopes.last_mut().expect("a region is being written");
        scope.parts.entry(value).or_default().push((tiling, part));
    }

    /// Keeps a part of a value, resharded to the tiling that propagation found for the value.
    fn hold_resharded(&mut self, value: ValueId, own: &Tiling, part: ValueId) -> Emitted<()> {
        let wanted = &self.program.shardings.of(value).tiling;
        let ty = self.tensor(value).clone();
        let resharded = self.reshard(part, &ty, own, wanted)?;
        self.hold(value, wanted.clone(), resharded);
        if own != wanted {
            self.hold(value, own.clone(), part);
        }
        Ok(())
    }

    /// Returns the type of a complete value.
    fn tensor(&self, value: ValueId) -> &'p TensorType {
        self.program.func.tensor(value).expect("values of the middle form are tensors")
    }

    /// Returns the type of a value of the device's program.
    fn type_of_part(&self, part: ValueId) -> &TensorType {
        self.func.tensor(part).expect("parts are tensors")
    }

    /// Returns the first part of a value, and its tiling.
    fn first_part(&self, value: ValueId) -> (Tiling, ValueId) {
        let mut scopes = self.scopes.iter().rev();
        let found = scopes.find_map(|scope| scope.parts.get(&value)?.first());
        found.expect("values are defined before they are used").clone()
    }

    /// Returns the part of a value that a tiling gives to the device.
    fn part(&mut self, value: ValueId, tiling: &Tiling) -> Emitted<ValueId> {
        for scope in self.scopes.iter().rev() {
            let parts = scope.parts.get(&value).map_or(&[][..], Vec::as_slice);
            if let Some((_, part)) = parts.iter().find(|(own, _)| own == tiling) {
                return Ok(*part);
            }
        }
        let (own, part) = self.first_part(value);
        let ty = self.tensor(value).clone();
        let part = self.reshard(part, &ty, &own, tiling)?;
        self.hold(value, tiling.clone(), part);
        Ok(part)
    }

    // --- instructions

    fn insts(&mut self, region: Region<'p>) -> Emitted<()> {
        for inst in region.insts() {
            (self.span, self.loc, self.name) = (inst.span(), inst.loc().cloned(), inst.op().name());
            match inst.op() {
                Op::Return => {}
                Op::While | Op::If | Op::Case => self.control(inst)?,
                _ => match self.program.borders.get(&inst.id()) {
                    Some(border) => self.border(inst, border)?,
                    None => self.operation(inst)?,
                },
            }
        }
        Ok(())
    }

    /// Partitions control flow: every value has the tiling of its group.
    fn control(&mut self, inst: Inst<'p>) -> Emitted<()> {
        let shardings = self.program.shardings;
        let mut operands = Vec::new();
        for operand in inst.operands() {
            operands.push(self.part(*operand, &shardings.of(*operand).tiling)?);
        }
        let outer = self.region;
        let mut regions = Vec::new();
        for region in inst.regions() {
            let new = self.func.new_region();
            self.region = new;
            self.scopes.push(Scope::default());
            for arg in region.args() {
                let tiling = shardings.of(*arg).tiling.clone();
                let ty = self.part_type(*arg, &tiling);
                let part = self.func.add_arg(new, ty);
                self.hold(*arg, tiling, part);
            }
            self.insts(region)?;
            let mut returned = Vec::new();
            for value in region.returned() {
                returned.push(self.part(*value, &shardings.of(*value).tiling)?);
            }
            self.at().inst(NewInst::new(Op::Return, returned))?;
            self.scopes.pop();
            regions.push(new);
        }
        self.region = outer;
        (self.span, self.loc) = (inst.span(), inst.loc().cloned());
        let mut new = NewInst::new(inst.op().clone(), operands).with_regions(regions);
        new.captures = inst.captures().len() as u32;
        new.attrs = without_shardings(inst.attrs());
        let types: Vec<Type> =
            inst.results().iter().map(|v| self.part_type(*v, &shardings.of(*v).tiling)).collect();
        let made = self.inst(new, types)?;
        for (value, part) in inst.results().iter().zip(made) {
            self.hold(*value, shardings.of(*value).tiling.clone(), part);
        }
        Ok(())
    }

    /// Passes values into or out of a computation on parts. Nothing is computed: the device's part of a value
    /// is the program's own part, divided further by the sub-axes that are not manual.
    fn border(&mut self, inst: Inst<'p>, border: &Border) -> Emitted<()> {
        let shardings = self.program.shardings;
        for (i, (operand, result)) in inst.operands().iter().zip(inst.results()).enumerate() {
            let manual = border.manual_dims(i);
            let (of_result, ty) = (&shardings.of(*result).tiling, self.tensor(*result).clone());
            let with_manual = |tiling: &Tiling| Tiling {
                dims: manual
                    .iter()
                    .zip(&tiling.dims)
                    .map(|(manual, axes)| [&manual[..], axes].concat())
                    .collect(),
            };
            // The part is divided like the result, without the manual sub-axes. Its padding would be at another
            // place than that of the complete value, so only parts without padding cross the border.
            let part_ty = if border.enters { &ty } else { self.tensor(*operand) };
            let inner =
                manual.iter().zip(&of_result.dims).zip(part_ty.sizes()).map(|((manual, axes), size)| {
                    let axes = if border.enters { Some(&axes[..]) } else { axes.strip_prefix(&manual[..]) };
                    let axes = axes.unwrap_or_default();
                    let is_even = manual.is_empty() || size.is_multiple_of(self.program.grid.parts(axes));
                    if is_even { axes.to_vec() } else { Vec::new() }
                });
            let inner = Tiling { dims: inner.collect() };
            if border.enters {
                let unreduced = &border.shardings[i].unreduced;
                let part = self.summand_of(*operand, unreduced, &with_manual(&inner))?;
                self.hold_resharded(*result, &inner, part)?;
            } else {
                let part = self.part(*operand, &inner)?;
                self.hold_sum(*result, &with_manual(&inner), part, &border.shardings[i].unreduced)?;
            }
        }
        Ok(())
    }

    /// Partitions an operation.
    fn operation(&mut self, inst: Inst<'p>) -> Emitted<()> {
        if self.passes_summands(inst) {
            return Ok(());
        }
        if let Some(rotation) = self.rotations.get(inst) {
            return self.rotate(inst, rotation);
        }
        if self.rotations.make_unused(inst) {
            return Ok(());
        }
        let shardings = self.program.shardings;
        if let Op::Constant(literal) = inst.op()
            && !literal.is_splat()
        {
            return self.sliced_constant(inst, literal);
        }
        if matches!(inst.op(), Op::CustomCall(_))
            && inst.results().is_empty()
            && self.program.calls.is_called_on_parts(inst)
        {
            return self.call_on_parts(inst);
        }
        if let Op::CustomCall(call) = inst.op()
            && call.has_side_effect
            && let Some(device) = maximal_device(self.program.meshes, inst.attrs())
            && device < self.program.grid.devices()
        {
            return self.on_one_device(inst, device);
        }
        if let Op::CustomCall(call) = inst.op()
            && let Some(partitioner) = partitioner::registered(&call.target)
        {
            return self.divided_call(inst, call, &*partitioner);
        }
        let rule = rule(inst, self.program.calls);
        let values: Vec<ValueId> = inst.own_operands().iter().chain(inst.results()).copied().collect();
        let tilings: Vec<&Tiling> = values.iter().map(|v| &shardings.of(*v).tiling).collect();
        let types: Vec<&TensorType> = values.iter().filter_map(|v| self.program.func.tensor(*v)).collect();
        let division = choose(self.program.grid, &rule, &types, &tilings);
        if division.is_whole() && !matches!(inst.op(), Op::Constant(_)) && rule.factors.is_empty() {
            self.report_whole(inst);
        }
        let mut operands = Vec::new();
        for (i, operand) in inst.own_operands().iter().enumerate() {
            let part = self.part(*operand, &division.tilings[i])?;
            operands.push(self.without_padding(part, types[i], &division.tilings[i], &rule, i)?);
        }
        for (operand, axes, entries) in division.offsets.iter().filter(|(_, axes, _)| !axes.is_empty()) {
            let ty = types[*operand].clone();
            let offset = self.offset(axes, *entries, ty.dtype)?;
            let offset = self.splat(offset, ty)?;
            operands[*operand] = self.at().value(Op::Binary(Binary::Add), [operands[*operand], offset])?;
        }
        self.exchange(inst, &rule, &types, &division, &mut operands)?;
        let initial = self.replace_initial_value(inst, &division, &mut operands)?;
        for capture in inst.captures() {
            let rank = self.program.func.tensor(*capture).map_or(0, TensorType::rank);
            operands.push(self.part(*capture, &Tiling::whole(rank))?);
        }
        let parts: Vec<TensorType> =
            types.iter().zip(&division.tilings).map(|(ty, tiling)| self.part_of(ty, tiling)).collect();
        let op = exchange::local_windows(local::operation(inst.op(), &parts), &rule, &division, &parts);
        let mut map = ValueMap::default();
        let mut regions: Vec<RegionId> = Vec::new();
        for region in inst.regions() {
            let region = self.func.import_region(self.program.func, region.id(), &mut map);
            self.strip_shardings(region);
            regions.push(region);
        }
        let mut new = NewInst::new(op, operands).with_regions(regions);
        new.captures = inst.captures().len() as u32;
        new.attrs = without_shardings(inst.attrs());
        let results = parts[rule.operands..].iter().cloned().map(Type::Tensor);
        let made = match inst.op() {
            Op::Iota { dim } if !division.tilings[0].dims[*dim].is_empty() => {
                vec![self.offset_iota(*dim, &parts[0], &division.tilings[0].dims[*dim])?]
            }
            _ => self.inst(new, results.collect())?,
        };
        for (i, value) in inst.results().iter().enumerate() {
            let tensor = rule.operands + i;
            let wanted = &shardings.of(*value).tiling;
            let mut tiling = division.tilings[tensor].clone();
            let mut part = made[i];
            if initial.is_none() && self.keeps_summands(*value, &division.combined[i], &tiling) {
                self.hold_summand(*value, tiling, part);
                continue;
            }
            for (function, axes) in &division.combined[i] {
                part = self.combine(part, types[tensor], *function, axes, &mut tiling, wanted)?;
                if let Some(initial) = initial {
                    let initial = self.splat(initial, self.part_of(types[tensor], &tiling))?;
                    part = self.at().value(Op::Binary(*function), [part, initial])?;
                }
            }
            self.hold_resharded(*value, &tiling, part)?;
        }
        Ok(())
    }

    /// Removes the shardings that a copied region states. The values in it are single elements.
    fn strip_shardings(&mut self, region: RegionId) {
        let mut insts = Vec::new();
        self.func.region(region).walk(&mut |inst| insts.push(inst.id()));
        for inst in insts {
            let attrs = self.func.attrs_mut(inst);
            STATED.iter().for_each(|name| drop(attrs.remove(name)));
        }
    }

    fn inst(&mut self, new: NewInst, types: Vec<Type>) -> Emitted<Vec<ValueId>> {
        let (span, loc) = (self.span, self.loc.clone());
        let id = self.at().inst_of(new.at(span, loc), types.clone())?;
        let made = self.func.inst(id).results().to_vec();
        // Types that depend on the values of constants are inferred as dynamic.
        for (value, ty) in made.iter().zip(types) {
            self.func.set_ty(*value, ty);
        }
        Ok(made)
    }

    /// Emits a call without results that every device makes with its parts of the operands.
    fn call_on_parts(&mut self, inst: Inst<'p>) -> Emitted<()> {
        let mut parts = Vec::new();
        for operand in inst.own_operands() {
            // The function must not see padding.
            let grid = self.program.grid;
            let mut tiling = self.program.shardings.of(*operand).tiling.clone();
            for (axes, size) in tiling.dims.iter_mut().zip(self.tensor(*operand).sizes()) {
                *axes = even_prefix(grid, axes, *size).to_vec();
            }
            parts.push(self.part(*operand, &tiling)?);
        }
        let mut call = NewInst::new(inst.op().clone(), parts);
        call.attrs = without_shardings(inst.attrs());
        self.inst(call, Vec::new())?;
        Ok(())
    }

    /// Emits a call with an effect that only one device has, on complete operands. The other devices receive
    /// the results.
    fn on_one_device(&mut self, inst: Inst<'p>, device: usize) -> Emitted<()> {
        let whole = |this: &Self, v: &ValueId| {
            Tiling::whole(this.program.func.tensor(*v).map_or(0, TensorType::rank))
        };
        let mut operands = Vec::new();
        for operand in inst.own_operands() {
            operands.push(self.part(*operand, &whole(self, operand))?);
        }
        let types = |values: &[ValueId]| {
            values.iter().map(|v| self.program.func.ty(*v).clone()).collect::<Vec<Type>>()
        };
        let (arg_types, result_types) = (types(inst.own_operands()), types(inst.results()));
        let own = self.at().value_of(Op::PartitionId, [], TensorType::scalar(DType::U32))?;
        let is_own = self.equals(own, device)?;
        let outer = self.region;
        let mut regions = Vec::new();
        for calls in [true, false] {
            self.region = self.func.new_region();
            let args: Vec<ValueId> =
                arg_types.iter().map(|ty| self.func.add_arg(self.region, ty.clone())).collect();
            let mut values = Vec::new();
            if calls {
                let mut call = NewInst::new(inst.op().clone(), args);
                call.attrs = without_shardings(inst.attrs());
                values = self.inst(call, result_types.clone())?;
            } else {
                for ty in result_types.iter().filter_map(Type::tensor) {
                    values.push(self.zeros(ty)?);
                }
            }
            self.at().inst(NewInst::new(Op::Return, values))?;
            regions.push(self.region);
        }
        self.region = outer;
        let captures = operands.len() as u32;
        let mut branch = NewInst::new(Op::If, [vec![is_own], operands].concat()).with_regions(regions);
        branch.captures = captures;
        let made = self.inst(branch, result_types)?;
        let mut order = vec![device];
        order.extend((0..self.program.grid.devices()).filter(|other| *other != device));
        for (value, part) in inst.results().iter().zip(made) {
            let ids: Vec<i64> = order.iter().map(|device| *device as i64).collect();
            let groups = Groups {
                ids: Literal::from_slice(DType::S64, [1, ids.len()], &ids),
                channel: Some(self.channel()),
                global_ids: false,
            };
            let op = Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups, dynamic_root: false }));
            let ty = self.tensor(*value).clone();
            self.report_moved("collective_broadcast", &ty);
            let part = self.at().value_of(op, [part], ty)?;
            self.hold_resharded(*value, &whole(self, value), part)?;
        }
        Ok(())
    }

    /// Emits the part of a constant with different elements: a slice of the complete constant.
    fn sliced_constant(&mut self, inst: Inst<'p>, literal: &Literal) -> Emitted<()> {
        let value = inst.results()[0];
        let ty = literal.ty();
        let [whole] = self.inst(NewInst::new(inst.op().clone(), []), vec![Type::Tensor(ty.clone())])?[..]
        else {
            return Ok(());
        };
        self.hold_resharded(value, &Tiling::whole(ty.rank()), whole)
    }

    /// If several devices share a reduction, replaces its initial value by the identity element of its
    /// function, so that the initial value is not counted on each device. Returns the replaced initial value;
    /// `None` if nothing is replaced.
    fn replace_initial_value(
        &mut self,
        inst: Inst<'p>,
        division: &Division,
        operands: &mut [ValueId],
    ) -> Emitted<Option<ValueId>> {
        let Op::Reduce { .. } = inst.op() else { return Ok(None) };
        let function = inst.region(0).and_then(combiner);
        let is_combined = division.combined.iter().any(|combined| !combined.is_empty());
        let (Some(function), true) = (function, is_combined) else { return Ok(None) };
        let initial = inst.own_operands()[1];
        let ty = self.tensor(initial).clone();
        let Some(identity) = local::identity(function, ty.dtype) else { return Ok(None) };
        // A zero may be added any number of times.
        let is_zero = |stated: &Literal| function == Binary::Add && *stated == Literal::zeros(ty.dtype, []);
        if let Some(Op::Constant(stated)) = self.program.func.defining_inst(initial).map(|inst| inst.op())
            && (stated.bytes() == identity.bytes() || is_zero(stated))
        {
            return Ok(None);
        }
        let given = operands[1];
        operands[1] = self.at().value_of(Op::Constant(identity), [], ty)?;
        Ok(Some(given))
    }

    /// Emits the part of an `iota` whose dimension is divided along these sub-axes.
    fn offset_iota(&mut self, dim: usize, ty: &TensorType, axes: &[SubAxis]) -> Emitted<ValueId> {
        let indices = self.indices(dim, ty.sizes(), axes)?;
        self.at().value_of(Op::Convert, [indices], ty.clone())
    }

    /// Replaces padding along reduced factors by the identity of their functions.
    fn without_padding(
        &mut self,
        part: ValueId,
        ty: &TensorType,
        tiling: &Tiling,
        rule: &Rule,
        operand: usize,
    ) -> Emitted<ValueId> {
        let mut part = part;
        let sizes = tiling.part_sizes(self.program.grid, ty.sizes());
        for (d, factors) in rule.tensors[operand].iter().enumerate() {
            let axes = &tiling.dims[d];
            let combine = factors.iter().find_map(|factor| rule.factors[*factor].combine);
            let (Some(combine), size) = (combine, ty.sizes()[d]) else { continue };
            if size == sizes[d] * self.program.grid.parts(axes) {
                continue;
            }
            let Some(identity) = local::identity(combine, ty.dtype) else { continue };
            let identity = self.at().value_of(Op::Constant(identity), [], ty.with_sizes([]))?;
            part = self.with_padding(part, d, size, axes, identity)?;
        }
        Ok(part)
    }

    /// Replaces the padding of a part by a scalar. The dimension has `size` elements without padding.
    fn with_padding(
        &mut self,
        part: ValueId,
        dim: usize,
        size: usize,
        axes: &[SubAxis],
        scalar: ValueId,
    ) -> Emitted<ValueId> {
        let ty = self.type_of_part(part).clone();
        let indices = self.indices(dim, ty.sizes(), axes)?;
        let size = self.number(size, DType::S64)?;
        let size = self.splat(size, TensorType::new(DType::S64, ty.sizes().to_vec()))?;
        let less = Compare { direction: ComparisonDirection::Lt, kind: None };
        let is_element = self.at().value(Op::Compare(less), [indices, size])?;
        let scalar = self.splat(scalar, ty.clone())?;
        self.at().value_of(Op::Select, [is_element, part, scalar], ty)
    }

    // --- report

    fn report_moved(&mut self, collective: &'static str, ty: &TensorType) {
        let bytes = ty.bytes().unwrap_or(0);
        self.report.movements.push(Movement { collective, bytes, op: self.name, span: self.span });
    }

    fn report_whole(&mut self, inst: Inst<'p>) {
        if let Op::CustomCall(call) = inst.op() {
            let is_divided = |v: &&ValueId| !self.program.shardings.of(**v).tiling.is_whole();
            let divided: Vec<&ValueId> = inst.own_operands().iter().filter(is_divided).collect();
            let bytes = divided.iter().filter_map(|v| self.program.func.tensor(**v)?.bytes()).sum::<usize>();
            if bytes > 0 {
                self.report.whole_calls.push((call.target.to_string(), bytes, inst.span()));
            }
        }
    }
}

fn without_shardings(attrs: &AttrDict) -> AttrDict {
    let mut attrs = attrs.clone();
    for name in STATED {
        attrs.remove(name);
    }
    attrs
}
