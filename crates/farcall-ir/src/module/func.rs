//! Functions: flat tables of values, instructions and regions.

use std::ops::Index;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::table::Table;
use super::{Inst, InstId, Loc, Region, RegionId, ValueId, ValueIds, ValueMap};
use crate::attr::AttrDict;
use crate::diag::Span;
use crate::op::Op;
use crate::types::{TensorType, Type};

/// A function.
#[derive(Clone, Debug)]
pub struct Func {
    /// Name without `@`.
    pub name: String,
    /// True unless `private`.
    pub public: bool,
    /// Names that locations give to parameters (`params['w']`), as far as they do. Names decide nothing: functions that
    /// differ in them are equal.
    pub param_names: Vec<Option<Arc<str>>>,
    /// Attributes of the function.
    pub attrs: AttrDict,
    /// Where its name stands.
    pub span: Span,
    /// One per argument of the body.
    param_attrs: Vec<AttrDict>,
    results: Vec<Type>,
    /// One per result.
    result_attrs: Vec<AttrDict>,
    values: Vec<ValueData>,
    /// Names of values, as far as they have some.
    names: FxHashMap<ValueId, Arc<str>>,
    insts: Table<InstData>,
    regions: Vec<RegionData>,
}

#[derive(Clone, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDef,
}

/// Where a value is defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// It is this result of an instruction.
    Result(InstId, u32),
    /// It is this argument of a region.
    Arg(RegionId, u32),
    /// Nowhere: it stands for something that was not understood.
    Nowhere,
}

/// An instruction as a row of its function's table.
#[derive(Clone, Debug)]
pub(super) struct InstData {
    pub(super) op: Op,
    pub(super) operands: ValueIds,
    pub(super) results: ValueIds,
    pub(super) regions: Vec<RegionId>,
    pub(super) captures: u32,
    pub(super) attrs: AttrDict,
    pub(super) span: Span,
    pub(super) loc: Option<Arc<Loc>>,
    /// The region that it stands in.
    pub(super) parent: Option<RegionId>,
    pub(super) prev: Option<InstId>,
    pub(super) next: Option<InstId>,
}

/// A region as a row of its function's table.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionData {
    pub(super) args: ValueIds,
    pub(super) first: Option<InstId>,
    pub(super) last: Option<InstId>,
    /// The instruction that it belongs to; none for the function's body.
    pub(super) owner: Option<InstId>,
}

/// What an instruction is made from: everything but its results.
#[derive(Clone, Debug)]
pub struct NewInst {
    /// What it does.
    pub op: Op,
    /// What it takes.
    pub operands: ValueIds,
    /// Nested regions: reducers, loop bodies, branches.
    pub regions: Vec<RegionId>,
    /// How many of the operands, from the end, are handed to every region as its last arguments instead
    /// of being operands of the operation; see [`Inst::captures`].
    pub captures: u32,
    /// Attributes that are not part of the operation (`mhlo.frontend_attributes` and the like).
    pub attrs: AttrDict,
    /// Where its name stands in the text.
    pub span: Span,
    /// The location that it was given with `loc(…)`.
    pub loc: Option<Arc<Loc>>,
}

impl NewInst {
    /// An operation on operands, without regions and attributes.
    pub fn new(op: Op, operands: impl IntoIterator<Item = ValueId>) -> NewInst {
        NewInst {
            op,
            operands: operands.into_iter().collect(),
            regions: Vec::new(),
            captures: 0,
            attrs: AttrDict::new(),
            span: Span::default(),
            loc: None,
        }
    }

    /// The same with regions.
    pub fn with_regions(self, regions: impl Into<Vec<RegionId>>) -> NewInst {
        NewInst { regions: regions.into(), ..self }
    }

    /// The same at a place of the source.
    pub fn at(self, span: Span, loc: Option<Arc<Loc>>) -> NewInst {
        NewInst { span, loc, ..self }
    }
}

impl Func {
    /// A function without parameters and instructions.
    pub fn new(name: impl Into<String>, span: Span) -> Func {
        Func {
            name: name.into(),
            public: true,
            attrs: AttrDict::new(),
            span,
            param_attrs: Vec::new(),
            param_names: Vec::new(),
            results: Vec::new(),
            result_attrs: Vec::new(),
            values: Vec::new(),
            names: FxHashMap::default(),
            insts: Table::new(),
            regions: vec![RegionData::default()],
        }
    }

    /// A function with the name, results and attributes of another one, and an empty body.
    pub fn with_header_of(other: &Func) -> Func {
        Func {
            public: other.public,
            param_names: other.param_names.clone(),
            results: other.results.clone(),
            result_attrs: other.result_attrs.clone(),
            attrs: other.attrs.clone(),
            ..Func::new(other.name.clone(), other.span)
        }
    }

    // --- reading

    /// The attributes of each parameter.
    pub fn param_attrs(&self) -> &[AttrDict] {
        &self.param_attrs
    }

    /// The types of the results.
    pub fn results(&self) -> &[Type] {
        &self.results
    }

    /// The attributes of each result.
    pub fn result_attrs(&self) -> &[AttrDict] {
        &self.result_attrs
    }

    /// The body. Its arguments are the parameters, its last instruction is [`Op::Return`].
    pub fn body(&self) -> Region<'_> {
        self.region(Func::BODY)
    }

    /// The name that whoever wrote the program gave to a parameter: `jax.arg_info`, or that of its location.
    pub fn param_name(&self, i: usize) -> Option<&str> {
        let info = self.param_attrs.get(i).and_then(|attrs| attrs.get("jax.arg_info")?.as_str());
        info.or_else(|| self.param_names.get(i)?.as_deref())
    }

    /// The number of the body, in every function.
    pub const BODY: RegionId = RegionId::new(0);

    /// A region.
    ///
    /// # Panics
    /// If the region is not in this function.
    pub fn region(&self, id: RegionId) -> Region<'_> {
        Region::new(self, id, &self.regions[id.index()])
    }

    /// An instruction.
    ///
    /// # Panics
    /// If the instruction is not in this function.
    pub fn inst(&self, id: InstId) -> Inst<'_> {
        Inst::new(self, id, &self.insts[id.index()])
    }

    /// The parameters.
    pub fn params(&self) -> &[ValueId] {
        &self.regions[0].args
    }

    /// Number of values. Those of instructions that were removed count.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Number of instructions. Those that were removed count.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Number of regions. Those of instructions that were removed count.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self[value]
    }

    /// The tensor type of a value, if it is a tensor.
    pub fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self[value].tensor()
    }

    /// The name of a value, if [`Func::set_name`] gave it one.
    pub fn name_of(&self, value: ValueId) -> Option<&str> {
        self.names.get(&value).map(|name| &**name)
    }

    /// Where a value is defined.
    pub fn def(&self, value: ValueId) -> ValueDef {
        self.values[value.index()].def
    }

    /// The instruction that a value is a result of.
    pub fn defining_inst(&self, value: ValueId) -> Option<Inst<'_>> {
        match self.def(value) {
            ValueDef::Result(inst, _) => Some(self.inst(inst)),
            ValueDef::Arg(..) | ValueDef::Nowhere => None,
        }
    }

    /// Calls `visit` for every instruction, those of nested regions included, in order of the text.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Inst<'a>)) {
        self.body().walk(visit);
    }

    // --- building

    /// Makes room for as many values as another function has, and for its first instructions.
    pub(crate) fn reserve_as(&mut self, other: &Func) {
        self.insts.reserve(other.insts.len());
        self.values.reserve(other.values.len());
    }

    /// A new value that nothing defines.
    pub(crate) fn new_value(&mut self, ty: Type) -> ValueId {
        self.define(ty, ValueDef::Nowhere)
    }

    fn define(&mut self, ty: Type, def: ValueDef) -> ValueId {
        let id = ValueId::new(self.values.len());
        self.values.push(ValueData { ty, def });
        id
    }

    /// Gives parameters attributes, from the first one on.
    pub fn set_param_attrs(&mut self, attrs: impl IntoIterator<Item = AttrDict>) {
        self.param_attrs.iter_mut().zip(attrs).for_each(|(to, attrs)| *to = attrs);
    }

    /// The attributes of each parameter, to be changed.
    pub fn param_attrs_mut(&mut self) -> &mut [AttrDict] {
        &mut self.param_attrs
    }

    /// A new result, behind the others.
    pub fn add_result(&mut self, ty: Type, attrs: AttrDict) {
        self.results.push(ty);
        self.result_attrs.push(attrs);
    }

    /// Makes these the types of the results. Their attributes stay, by number.
    pub fn set_result_types(&mut self, types: impl IntoIterator<Item = Type>) {
        self.results = types.into_iter().collect();
        self.result_attrs.resize_with(self.results.len(), AttrDict::new);
    }

    /// Makes the results those that the body returns. Their attributes stay, by number.
    pub fn infer_result_types(&mut self) {
        let types: Vec<Type> = self.body().returned().iter().map(|v| self.ty(*v).clone()).collect();
        self.set_result_types(types);
    }

    /// Gives results attributes, from the first one on.
    pub fn set_result_attrs(&mut self, attrs: impl IntoIterator<Item = AttrDict>) {
        self.result_attrs.iter_mut().zip(attrs).for_each(|(to, attrs)| *to = attrs);
    }

    /// The attributes of each result, to be changed.
    pub fn result_attrs_mut(&mut self) -> &mut [AttrDict] {
        &mut self.result_attrs
    }

    /// A new region without arguments and instructions, which belongs to nothing yet.
    pub fn new_region(&mut self) -> RegionId {
        let id = RegionId::new(self.regions.len());
        self.regions.push(RegionData::default());
        id
    }

    /// A new argument of a region, behind the others. One of the body is a parameter, without attributes.
    pub fn add_arg(&mut self, region: RegionId, ty: Type) -> ValueId {
        if region == Func::BODY {
            self.param_attrs.push(AttrDict::new());
        }
        let number = self.regions[region.index()].args.len();
        let def = ValueDef::Arg(region, u32::try_from(number).unwrap_or(u32::MAX));
        let id = self.define(ty, def);
        self.regions[region.index()].args.push(id);
        id
    }

    /// A new instruction, which stands nowhere yet, with results of these types.
    ///
    /// # Panics
    /// If one of its regions belongs to an instruction already.
    pub fn new_inst(&mut self, new: NewInst, results: impl IntoIterator<Item = Type>) -> InstId {
        let id = InstId::new(self.insts.len());
        for region in &new.regions {
            let owner = self.regions[region.index()].owner.replace(id);
            assert!(owner.is_none(), "a region belongs to one instruction");
        }
        let NewInst { op, operands, regions, captures, attrs, span, loc } = new;
        let mut ids = ValueIds::new();
        for ty in results {
            let number = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            ids.push(self.define(ty, ValueDef::Result(id, number)));
        }
        self.insts.push(InstData {
            op,
            operands,
            results: ids,
            regions,
            captures,
            attrs,
            span,
            loc,
            parent: None,
            prev: None,
            next: None,
        });
        id
    }

    /// A new instruction at the end of a region; gives its number.
    pub fn push(
        &mut self,
        region: RegionId,
        new: NewInst,
        results: impl IntoIterator<Item = Type>,
    ) -> InstId {
        let id = self.new_inst(new, results);
        self.append(region, id);
        id
    }

    /// A new instruction at the end of a region, whose results are values that nothing defines as yet.
    pub(crate) fn push_defining(&mut self, region: RegionId, new: NewInst, results: ValueIds) -> InstId {
        let id = self.push(region, new, []);
        for (i, value) in results.iter().enumerate() {
            self.set_def(*value, ValueDef::Result(id, u32::try_from(i).unwrap_or(u32::MAX)));
        }
        self.insts[id.index()].results = results;
        id
    }

    /// Puts an instruction that stands nowhere at the end of a region.
    ///
    /// # Panics
    /// If it stands somewhere.
    pub fn append(&mut self, region: RegionId, inst: InstId) {
        let last = self.regions[region.index()].last;
        self.link(region, inst, last, None);
    }

    /// Puts an instruction that stands nowhere before another one.
    ///
    /// # Panics
    /// If it stands somewhere, or the other one nowhere.
    pub fn insert_before(&mut self, inst: InstId, next: InstId) {
        let InstData { parent, prev, .. } = self.insts[next.index()];
        let region = parent.expect("instructions are put before one that stands in a region");
        self.link(region, inst, prev, Some(next));
    }

    fn link(&mut self, region: RegionId, inst: InstId, prev: Option<InstId>, next: Option<InstId>) {
        let data = &mut self.insts[inst.index()];
        assert!(data.parent.is_none(), "an instruction stands in one place");
        (data.parent, data.prev, data.next) = (Some(region), prev, next);
        match prev {
            Some(prev) => self.insts[prev.index()].next = Some(inst),
            None => self.regions[region.index()].first = Some(inst),
        }
        match next {
            Some(next) => self.insts[next.index()].prev = Some(inst),
            None => self.regions[region.index()].last = Some(inst),
        }
    }

    /// Takes an instruction out of its region. It keeps its results and regions, and may be put
    /// somewhere else.
    pub fn detach(&mut self, inst: InstId) {
        let data = &mut self.insts[inst.index()];
        let (prev, next) = (data.prev.take(), data.next.take());
        let Some(region) = data.parent.take() else { return };
        match prev {
            Some(prev) => self.insts[prev.index()].next = next,
            None => self.regions[region.index()].first = next,
        }
        match next {
            Some(next) => self.insts[next.index()].prev = prev,
            None => self.regions[region.index()].last = prev,
        }
    }

    /// Moves every instruction of a region but its return to the end of another region.
    pub(crate) fn splice(&mut self, from: RegionId, to: RegionId) {
        let mut next = self.regions[from.index()].first;
        while let Some(inst) = next {
            next = self.insts[inst.index()].next;
            if self.insts[inst.index()].op != Op::Return {
                self.detach(inst);
                self.append(to, inst);
            }
        }
    }

    // --- changing

    /// Gives a value another type.
    ///
    /// # Panics
    /// If the value is not in this function.
    pub fn set_ty(&mut self, value: ValueId, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// Names a value for whoever reads the program as text. Names decide nothing: functions that differ in them are
    /// equal, and printers change those that are taken or that their format cannot write.
    pub fn set_name(&mut self, value: ValueId, name: impl Into<Arc<str>>) {
        self.names.insert(value, name.into());
    }

    /// Gives an instruction another operation. Operands and results stay.
    pub fn set_op(&mut self, inst: InstId, op: Op) {
        self.insts[inst.index()].op = op;
    }

    /// Gives an instruction a place in the source.
    pub(super) fn set_place(&mut self, inst: InstId, span: Span, loc: Option<Arc<Loc>>) {
        let data = &mut self.insts[inst.index()];
        (data.span, data.loc) = (span, loc);
    }

    /// Gives an instruction another place in the text.
    ///
    /// # Panics
    /// If the instruction is not in this function.
    pub fn set_span(&mut self, inst: InstId, span: Span) {
        self.insts[inst.index()].span = span;
    }

    /// The attributes of an instruction that are not part of its operation.
    pub fn attrs_mut(&mut self, inst: InstId) -> &mut AttrDict {
        &mut self.insts[inst.index()].attrs
    }

    /// The operands of an instruction. A [`Rewriter`](super::Rewriter) keeps track of uses.
    pub fn operands_mut(&mut self, inst: InstId) -> &mut ValueIds {
        &mut self.insts[inst.index()].operands
    }

    /// Puts other values in the place of operands, wherever they are used.
    pub fn replace_operands(&mut self, by: &ValueMap) {
        let last = |mut value: ValueId| {
            while let Some(next) = by.get(&value) {
                value = *next;
            }
            value
        };
        if !by.is_empty() {
            self.insts.iter_mut().flat_map(|i| &mut i.operands).for_each(|v| *v = last(*v));
        }
    }

    /// Gives an instruction these operands, the last `captures` of which its regions capture.
    pub(crate) fn set_captures(&mut self, inst: InstId, operands: ValueIds, captures: usize) {
        let data = &mut self.insts[inst.index()];
        data.operands = operands;
        data.captures = u32::try_from(captures).unwrap_or(u32::MAX);
    }

    /// Gives an instruction these results, which are results of it, in another order or fewer.
    pub(crate) fn keep_results(&mut self, inst: InstId, results: ValueIds) {
        for (i, value) in results.iter().enumerate() {
            self.set_def(*value, ValueDef::Result(inst, u32::try_from(i).unwrap_or(u32::MAX)));
        }
        self.insts[inst.index()].results = results;
    }

    /// Gives a region these arguments, which are arguments of it, in another order or fewer.
    pub(crate) fn set_args(&mut self, region: RegionId, args: ValueIds) {
        for (i, arg) in args.iter().enumerate() {
            self.set_def(*arg, ValueDef::Arg(region, u32::try_from(i).unwrap_or(u32::MAX)));
        }
        self.regions[region.index()].args = args;
    }

    pub(super) fn inst_data(&self, inst: InstId) -> &InstData {
        &self.insts[inst.index()]
    }

    pub(super) fn region_data(&self, region: RegionId) -> &RegionData {
        &self.regions[region.index()]
    }

    pub(super) fn inst_data_mut(&mut self, inst: InstId) -> &mut InstData {
        &mut self.insts[inst.index()]
    }

    /// Lets a region belong to nothing.
    pub(crate) fn disown(&mut self, region: RegionId) {
        self.regions[region.index()].owner = None;
    }

    pub(super) fn set_def(&mut self, value: ValueId, def: ValueDef) {
        self.values[value.index()].def = def;
    }

    /// Every operation, those of instructions that stand nowhere included.
    pub(super) fn ops_mut(&mut self) -> impl Iterator<Item = &mut Op> {
        self.insts.iter_mut().map(|i| &mut i.op)
    }
}

impl Index<ValueId> for Func {
    type Output = Type;

    fn index(&self, value: ValueId) -> &Type {
        &self.values[value.index()].ty
    }
}
