//! Partitioning: rewrites a function into the function that each device runs.
//!
//! Every value is replaced by the part that its tiling gives to a device. For each instruction, [`choose`] picks the
//! division of its factors that moves the fewest bytes. Operands are resharded to it, the operation runs on
//! parts, summands of reduced factors are combined, and results are resharded to the tilings that propagation
//! found for them.

use std::sync::Arc;

use farcall_ir::builder::Builder;
use farcall_ir::module::{Inst, Loc, NamedMesh, NewInst, Region, ValueMap};
use farcall_ir::op::{
    AllGather, AllToAll, Binary, Channel, CollectiveBroadcast, CollectivePermute, Compare,
    ComparisonDirection, Groups, Op, ReduceScatter,
};
use farcall_ir::{
    AttrDict, DType, Diagnostic, Func, InstId, Literal, RegionId, Scalar, Span, TensorType, Type, ValueId,
};
use farcall_sig::DTypeClass;
use rustc_hash::FxHashMap;

use crate::annotation::maximal_device;
use crate::choose::{Division, choose};
use crate::grid::{DeviceGrid, SubAxis};
use crate::local;
use crate::manual::Border;
use crate::propagate::Shardings;
use crate::report::{Movement, Report};
use crate::reshard::{self, Step, scattered};
use crate::rule::{CallRules, combiner, rule};
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
    /// Sub-axes along which the devices hold summands of a parameter.
    pub(crate) unreduced_params: &'p [Vec<SubAxis>],
    /// Sub-axes along which the devices hold summands of a result.
    pub(crate) unreduced_results: &'p [Vec<SubAxis>],
}

/// Writes the function that each device runs.
struct Emitter<'p> {
    grid: &'p DeviceGrid,
    from: &'p Func,
    shardings: &'p Shardings,
    borders: &'p FxHashMap<InstId, Border>,
    calls: &'p dyn CallRules,
    meshes: &'p [NamedMesh],
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
    /// Writes the function that each device runs. `results` has the tilings of the results, and new collectives
    /// have channels from `next_channel` on.
    pub(crate) fn emit(self, results: &[Tiling], next_channel: i64) -> Emitted<(Func, Report)> {
        let Program { grid, func: from, shardings, borders, calls, meshes, .. } = self;
        let mut func = Func::new(from.name.clone(), from.span);
        func.public = from.public;
        func.attrs.clone_from(&from.attrs);
        func.param_names.clone_from(&from.param_names);
        let mut emitter = Emitter {
            grid,
            from,
            shardings,
            borders,
            calls,
            meshes,
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
        for param in from.params() {
            args.push(
                emitter.func.add_arg(Func::BODY, emitter.part_type(*param, &shardings.of(*param).tiling)),
            );
        }
        for ((param, arg), axes) in from.params().iter().zip(args).zip(self.unreduced_params) {
            let tiling = shardings.of(*param).tiling.clone();
            let part = emitter.sum(arg, axes)?;
            emitter.hold(*param, tiling, part);
        }
        emitter.insts(from.body())?;
        let mut returned = Vec::new();
        for ((value, tiling), axes) in from.body().returned().iter().zip(results).zip(self.unreduced_results)
        {
            let part = emitter.part(*value, tiling)?;
            returned.push(emitter.summand(part, axes)?);
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
        match self.from.ty(value) {
            Type::Tensor(ty) => Type::Tensor(self.part_of(ty, tiling)),
            other => other.clone(),
        }
    }

    fn part_of(&self, ty: &TensorType, tiling: &Tiling) -> TensorType {
        ty.with_sizes(tiling.part_sizes(self.grid, ty.sizes()))
    }

    fn hold(&mut self, value: ValueId, tiling: Tiling, part: ValueId) {
        let scope = self.scopes.last_mut().expect("a region is being written");
        scope.parts.entry(value).or_default().push((tiling, part));
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
        let ty = self.from.tensor(value).expect("values of the middle form are tensors").clone();
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
                _ => match self.borders.get(&inst.id()) {
                    Some(border) => self.border(inst, border)?,
                    None => self.operation(inst)?,
                },
            }
        }
        Ok(())
    }

    /// Partitions control flow: every value has the tiling of its group.
    fn control(&mut self, inst: Inst<'p>) -> Emitted<()> {
        let shardings = self.shardings;
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
    /// is the part that the program means, divided by the other sub-axes.
    fn border(&mut self, inst: Inst<'p>, border: &Border) -> Emitted<()> {
        let shardings = self.shardings;
        for (i, (operand, result)) in inst.operands().iter().zip(inst.results()).enumerate() {
            let manual = border.manual_dims(i);
            let of_result = &shardings.of(*result).tiling;
            let with_manual = |tiling: &Tiling| Tiling {
                dims: manual
                    .iter()
                    .zip(&tiling.dims)
                    .map(|(manual, axes)| [&manual[..], axes].concat())
                    .collect(),
            };
            if border.enters {
                let part = self.part(*operand, &with_manual(of_result))?;
                let part = self.summand(part, &border.shardings[i].unreduced)?;
                self.hold(*result, of_result.clone(), part);
            } else {
                // The part must be divided like the result, without the manual sub-axes.
                let stripped = manual.iter().zip(&of_result.dims).map(|(manual, axes)| {
                    axes.strip_prefix(manual.as_slice()).map_or_else(Vec::new, <[SubAxis]>::to_vec)
                });
                let of_part = Tiling { dims: stripped.collect() };
                let part = self.part(*operand, &of_part)?;
                let part = self.sum(part, &border.shardings[i].unreduced)?;
                let ty = self.from.tensor(*result).expect("values of the middle form are tensors").clone();
                let part = self.reshard(part, &ty, &with_manual(&of_part), of_result)?;
                self.hold(*result, of_result.clone(), part);
            }
        }
        Ok(())
    }

    /// Partitions an operation.
    fn operation(&mut self, inst: Inst<'p>) -> Emitted<()> {
        let shardings = self.shardings;
        if let Op::Constant(literal) = inst.op()
            && !literal.is_splat()
        {
            return self.sliced_constant(inst, literal);
        }
        if let Op::CustomCall(call) = inst.op()
            && call.has_side_effect
            && let Some(device) = maximal_device(self.meshes, inst.attrs())
            && device < self.grid.devices()
        {
            return self.on_one_device(inst, device);
        }
        let rule = rule(inst, self.calls);
        let values: Vec<ValueId> = inst.own_operands().iter().chain(inst.results()).copied().collect();
        let tilings: Vec<&Tiling> = values.iter().map(|v| &shardings.of(*v).tiling).collect();
        let types: Vec<&TensorType> = values.iter().filter_map(|v| self.from.tensor(*v)).collect();
        let division = choose(self.grid, &rule, &types, &tilings);
        if division.is_whole() && !matches!(inst.op(), Op::Constant(_)) && rule.factors.is_empty() {
            self.report_whole(inst);
        }
        let mut operands = Vec::new();
        for (i, operand) in inst.own_operands().iter().enumerate() {
            operands.push(self.part(*operand, &division.tilings[i])?);
        }
        for (operand, axes, entries) in division.offsets.iter().filter(|(_, axes, _)| !axes.is_empty()) {
            let ty = types[*operand].clone();
            let offset = self.offset(axes, *entries, ty.dtype)?;
            let offset = self.at().value_of(Op::BroadcastInDim { dims: Vec::new() }, [offset], ty)?;
            operands[*operand] = self.at().value(Op::Binary(Binary::Add), [operands[*operand], offset])?;
        }
        let initial = self.replace_initial_value(inst, &division, &mut operands)?;
        for capture in inst.captures() {
            let rank = self.from.tensor(*capture).map_or(0, TensorType::rank);
            operands.push(self.part(*capture, &Tiling::whole(rank))?);
        }
        let parts: Vec<TensorType> =
            types.iter().zip(&division.tilings).map(|(ty, tiling)| self.part_of(ty, tiling)).collect();
        let op = local::operation(inst.op(), &parts);
        let mut map = ValueMap::default();
        let mut regions: Vec<RegionId> = Vec::new();
        for region in inst.regions() {
            let region = self.func.import_region(self.from, region.id(), &mut map);
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
            for (function, axes) in &division.combined[i] {
                part = self.combine(part, types[tensor], *function, axes, &mut tiling, wanted)?;
                if let Some(initial) = initial {
                    let ty = self.part_of(types[tensor], &tiling);
                    let initial =
                        self.at().value_of(Op::BroadcastInDim { dims: Vec::new() }, [initial], ty)?;
                    part = self.at().value(Op::Binary(*function), [part, initial])?;
                }
            }
            let part = self.reshard(part, types[tensor], &tiling, wanted)?;
            self.hold(*value, wanted.clone(), part);
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

    /// Emits a call with an effect that only one device has, on complete operands. The other devices receive the
    /// results.
    fn on_one_device(&mut self, inst: Inst<'p>, device: usize) -> Emitted<()> {
        let whole =
            |this: &Self, v: &ValueId| Tiling::whole(this.from.tensor(*v).map_or(0, TensorType::rank));
        let mut operands = Vec::new();
        for operand in inst.own_operands() {
            operands.push(self.part(*operand, &whole(self, operand))?);
        }
        let types =
            |values: &[ValueId]| values.iter().map(|v| self.from.ty(*v).clone()).collect::<Vec<Type>>();
        let (arg_types, result_types) = (types(inst.own_operands()), types(inst.results()));
        let own = self.at().value_of(Op::PartitionId, [], TensorType::scalar(DType::U32))?;
        let number = self.number(device, DType::U32)?;
        let equal = Compare { direction: ComparisonDirection::Eq, kind: None };
        let is_own = self.at().value(Op::Compare(equal), [own, number])?;
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
                    let zeros = Literal::splat(ty.dtype, ty.sizes().to_vec(), Scalar::zero(ty.dtype));
                    values.push(self.at().value_of(Op::Constant(zeros), [], ty.clone())?);
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
        order.extend((0..self.grid.devices()).filter(|other| *other != device));
        for (value, part) in inst.results().iter().zip(made) {
            let ids: Vec<i64> = order.iter().map(|device| *device as i64).collect();
            let groups = Groups {
                ids: Literal::from_slice(DType::S64, [1, ids.len()], &ids),
                channel: Some(self.channel()),
                global_ids: false,
            };
            let op = Op::CollectiveBroadcast(Box::new(CollectiveBroadcast { groups, dynamic_root: false }));
            let ty = self.from.tensor(*value).expect("values of the middle form are tensors").clone();
            self.report_moved("collective_broadcast", &ty);
            let part = self.at().value_of(op, [part], ty)?;
            let tiling = whole(self, value);
            let wanted = &self.shardings.of(*value).tiling;
            let ty = self.from.tensor(*value).expect("values of the middle form are tensors").clone();
            let part = self.reshard(part, &ty, &tiling, wanted)?;
            self.hold(*value, wanted.clone(), part);
        }
        Ok(())
    }

    /// A constant with different elements is sliced from the complete constant.
    fn sliced_constant(&mut self, inst: Inst<'p>, literal: &Literal) -> Emitted<()> {
        let value = inst.results()[0];
        let ty = literal.ty();
        let [whole] = self.inst(NewInst::new(inst.op().clone(), []), vec![Type::Tensor(ty.clone())])?[..]
        else {
            return Ok(());
        };
        let tiling = &self.shardings.of(value).tiling;
        let part = self.reshard(whole, &ty, &Tiling::whole(ty.rank()), tiling)?;
        self.hold(value, tiling.clone(), part);
        self.hold(value, Tiling::whole(ty.rank()), whole);
        Ok(())
    }

    /// Replaces the initial value of a reduction that several devices share by the identity of its function.
    /// Returns the initial value, unless it is the identity.
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
        let ty = self.from.tensor(initial).expect("initial values are tensors").clone();
        let Some(identity) = local::identity(function, ty.dtype) else { return Ok(None) };
        // A zero may be added any number of times.
        let is_zero = |stated: &Literal| function == Binary::Add && *stated == Literal::zeros(ty.dtype, []);
        if let Some(Op::Constant(stated)) = self.from.defining_inst(initial).map(|inst| inst.op())
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
        // Sums in the type of the result may round or wrap, so they are computed in 64 bits.
        let wide = ty.with_dtype(DType::S64);
        let indices = self.at().value_of(Op::Iota { dim }, [], wide.clone())?;
        let offset = self.offset(axes, ty.sizes()[dim], DType::S64)?;
        let offset = self.at().value_of(Op::BroadcastInDim { dims: Vec::new() }, [offset], wide)?;
        let sum = self.at().value(Op::Binary(Binary::Add), [indices, offset])?;
        self.at().value_of(Op::Convert, [sum], ty.clone())
    }

    // --- devices

    /// Returns the first index of the device's part along a dimension: its coordinate along sub-axes times the
    /// size of a part.
    fn offset(&mut self, axes: &[SubAxis], part_size: usize, dtype: DType) -> Emitted<ValueId> {
        let at = self.coordinate(axes)?;
        let scalar = TensorType::scalar(dtype);
        let at = self.at().value_of(Op::Convert, [at], scalar.clone())?;
        let size = self.number(part_size, dtype)?;
        self.at().value_of(Op::Binary(Binary::Multiply), [at, size], scalar)
    }

    fn number(&mut self, n: usize, dtype: DType) -> Emitted<ValueId> {
        let scalar = match dtype.class() {
            DTypeClass::Unsigned => Scalar::Unsigned(n as u64),
            _ => Scalar::Signed(n as i64),
        };
        let literal = Literal::scalar(dtype, scalar);
        self.at().value_of(Op::Constant(literal), [], TensorType::scalar(dtype))
    }

    /// Returns the device's coordinate along sub-axes as one `ui32`.
    fn coordinate(&mut self, axes: &[SubAxis]) -> Emitted<ValueId> {
        if let Some(found) = self.scopes.last().and_then(|scope| scope.coordinates.get(axes)) {
            return Ok(*found);
        }
        let position = self.position()?;
        let scalar = TensorType::scalar(DType::U32);
        let binary = |this: &mut Self, function, a, b| {
            this.at().value_of(Op::Binary(function), [a, b], scalar.clone())
        };
        let mut sum: Option<ValueId> = None;
        let mut rest = axes;
        while !rest.is_empty() {
            // Neighboring sub-axes are one axis.
            let run =
                (1..rest.len()).find(|i| !self.grid.follows(rest[i - 1], rest[*i])).unwrap_or(rest.len());
            let (axes, after) = rest.split_at(run);
            rest = after;
            let (stride, size) = (self.grid.stride(axes[run - 1]), self.grid.parts(axes));
            let mut along = position;
            if stride > 1 {
                let stride = self.number(stride, DType::U32)?;
                along = binary(self, Binary::Divide, along, stride)?;
            }
            if stride * size < self.grid.devices() {
                let size = self.number(size, DType::U32)?;
                along = binary(self, Binary::Remainder, along, size)?;
            }
            sum = Some(match sum {
                None => along,
                Some(sum) => {
                    let size = self.number(size, DType::U32)?;
                    let shifted = binary(self, Binary::Multiply, sum, size)?;
                    binary(self, Binary::Add, shifted, along)?
                }
            });
        }
        let at = match sum {
            Some(sum) => sum,
            None => self.number(0, DType::U32)?,
        };
        let scope = self.scopes.last_mut().expect("a region is being written");
        scope.coordinates.insert(axes.to_vec(), at);
        Ok(at)
    }

    /// Returns the device's position in the grid.
    fn position(&mut self) -> Emitted<ValueId> {
        if let Some(found) = self.scopes.last().and_then(|scope| scope.partition) {
            return Ok(found);
        }
        let scalar = TensorType::scalar(DType::U32);
        let mut position = self.at().value_of(Op::PartitionId, [], scalar.clone())?;
        if !self.grid.is_row_major() {
            let count = self.grid.devices();
            let mut positions = vec![0_u32; count];
            (0..count).for_each(|position| positions[self.grid.device(position)] = position as u32);
            let table = Literal::from_slice(DType::U32, [count], &positions);
            let ty = table.ty();
            let table = self.at().value_of(Op::Constant(table), [], ty)?;
            let one = scalar.with_sizes([1]);
            let entry = self.at().value_of(Op::DynamicSlice { sizes: vec![1] }, [table, position], one)?;
            position = self.at().value_of(Op::Reshape, [entry], scalar)?;
        }
        self.scopes.last_mut().expect("a region is being written").partition = Some(position);
        Ok(position)
    }

    fn groups(&mut self, axes: &[SubAxis]) -> Groups {
        let groups = self.grid.groups(axes);
        let width = groups.first().map_or(0, Vec::len);
        let ids: Vec<i64> = groups.iter().flatten().map(|device| *device as i64).collect();
        Groups {
            ids: Literal::from_slice(DType::S64, [groups.len(), width], &ids),
            channel: Some(self.channel()),
            global_ids: true,
        }
    }

    fn channel(&mut self) -> Channel {
        let handle = self.next_channel;
        self.next_channel += 1;
        Channel { handle, kind: 1 }
    }

    // --- collectives

    /// Changes the tiling of a tensor.
    fn reshard(&mut self, part: ValueId, ty: &TensorType, from: &Tiling, to: &Tiling) -> Emitted<ValueId> {
        let mut now = from.clone();
        let mut part = part;
        for step in reshard::plan(self.grid, ty.sizes(), from, to) {
            reshard::apply(&mut now, &step);
            part = self.step(part, &step, &self.part_of(ty, &now))?;
        }
        Ok(part)
    }

    /// Emits a step of a resharding, whose result has the type `ty`.
    fn step(&mut self, part: ValueId, step: &Step, ty: &TensorType) -> Emitted<ValueId> {
        let (op, name) = match step {
            Step::Slice { dim, axes } => {
                let mut operands = vec![part];
                let elements = ty.sizes()[*dim].saturating_mul(self.grid.parts(axes));
                let index = if i32::try_from(elements).is_ok() { DType::S32 } else { DType::S64 };
                for d in 0..ty.rank() {
                    operands.push(match d == *dim {
                        true => self.offset(axes, ty.sizes()[d], index)?,
                        false => self.number(0, index)?,
                    });
                }
                let op = Op::DynamicSlice { sizes: ty.sizes().to_vec() };
                return self.at().value_of(op, operands, ty.clone());
            }
            Step::Gather { dim, axes } => {
                let groups = self.groups(axes);
                (Op::AllGather(Box::new(AllGather { dim: *dim, groups })), "all_gather")
            }
            Step::AllToAll { from, to, axes } => {
                // A channel alone makes the group's numbers partitions.
                let groups = Groups { global_ids: false, ..self.groups(axes) };
                let split_count = self.grid.parts(axes);
                let op = AllToAll { split_dim: *to, concat_dim: *from, split_count, groups };
                (Op::AllToAll(Box::new(op)), "all_to_all")
            }
            Step::Permute { from, to } => {
                let pairs = reshard::pairs(self.grid, from, to);
                let ids: Vec<i64> = pairs.iter().flat_map(|(from, to)| [*from as i64, *to as i64]).collect();
                let pairs = Literal::from_slice(DType::S64, [pairs.len(), 2], &ids);
                let op = CollectivePermute { pairs, channel: Some(self.channel()) };
                (Op::CollectivePermute(Box::new(op)), "collective_permute")
            }
        };
        self.report_moved(name, ty);
        self.at().value_of(op, [part], ty.clone())
    }

    /// Combines summands that the devices along `axes` hold. If the wanted tiling divides the sum along these
    /// sub-axes, each device receives its part only, and `tiling` changes.
    fn combine(
        &mut self,
        part: ValueId,
        ty: &TensorType,
        function: Binary,
        axes: &[SubAxis],
        tiling: &mut Tiling,
        wanted: &Tiling,
    ) -> Emitted<ValueId> {
        let mut part = part;
        let mut rest = axes.to_vec();
        for (dim, axes) in scattered(tiling, wanted, axes) {
            tiling.dims[dim].extend(&axes);
            rest.retain(|axis| !axes.contains(axis));
            let groups = self.groups(&axes);
            let op = Op::ReduceScatter(Box::new(ReduceScatter { dim, groups }));
            part = self.reduction(op, part, function, &self.part_of(ty, tiling), "reduce_scatter")?;
        }
        if !rest.is_empty() {
            let op = Op::AllReduce(Box::new(self.groups(&rest)));
            part = self.reduction(op, part, function, &self.part_of(ty, tiling), "all_reduce")?;
        }
        Ok(part)
    }

    fn reduction(
        &mut self,
        op: Op,
        part: ValueId,
        function: Binary,
        ty: &TensorType,
        name: &'static str,
    ) -> Emitted<ValueId> {
        let region = self.func.new_region();
        let scalar = Type::Tensor(ty.with_sizes([]));
        let args = [0, 1].map(|_| self.func.add_arg(region, scalar.clone()));
        let mut inside = Builder::at_end(&mut self.func, region).from_source(self.span, self.loc.clone());
        let sum = inside.value(Op::Binary(function), args)?;
        inside.inst(NewInst::new(Op::Return, [sum]))?;
        self.report_moved(name, ty);
        let new = NewInst::new(op, [part]).with_regions([region]);
        let made = self.inst(new, vec![Type::Tensor(ty.clone())])?;
        Ok(made[0])
    }

    /// Adds the summands that the devices along `axes` hold.
    fn sum(&mut self, part: ValueId, axes: &[SubAxis]) -> Emitted<ValueId> {
        let Some(ty) = self.func.tensor(part).filter(|_| !axes.is_empty()).cloned() else { return Ok(part) };
        let op = Op::AllReduce(Box::new(self.groups(axes)));
        self.reduction(op, part, Binary::Add, &ty, "all_reduce")
    }

    /// Turns a value that all devices along `axes` hold into summands: the first device keeps it, and the others
    /// have zeros.
    fn summand(&mut self, part: ValueId, axes: &[SubAxis]) -> Emitted<ValueId> {
        let Some(ty) = self.func.tensor(part).filter(|_| !axes.is_empty()).cloned() else { return Ok(part) };
        let at = self.coordinate(axes)?;
        let first = self.number(0, DType::U32)?;
        let equal = Compare { direction: ComparisonDirection::Eq, kind: None };
        let is_first = self.at().value(Op::Compare(equal), [at, first])?;
        let zeros = Literal::splat(ty.dtype, ty.sizes().to_vec(), Scalar::zero(ty.dtype));
        let zeros = self.at().value_of(Op::Constant(zeros), [], ty.clone())?;
        self.at().value_of(Op::Select, [is_first, part, zeros], ty)
    }

    // --- report

    fn report_moved(&mut self, collective: &'static str, ty: &TensorType) {
        let bytes = ty.bytes().unwrap_or(0);
        self.report.movements.push(Movement { collective, bytes, op: self.name, span: self.span });
    }

    fn report_whole(&mut self, inst: Inst<'p>) {
        if let Op::CustomCall(call) = inst.op() {
            let is_divided = |v: &&ValueId| !self.shardings.of(**v).tiling.is_whole();
            let divided: Vec<&ValueId> = inst.own_operands().iter().filter(is_divided).collect();
            let bytes = divided.iter().filter_map(|v| self.from.tensor(**v)?.bytes()).sum::<usize>();
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
