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
    /// Names that locations give to parameters (`params['w']`), where known. Names have no semantics:
    /// functions that differ only in names are equal.
    pub param_names: Vec<Option<Arc<str>>>,
    /// Attributes of the function.
    pub attrs: AttrDict,
    /// Position of the function's name in the source.
    pub span: Span,
    /// One entry per argument of the body.
    param_attrs: Vec<AttrDict>,
    results: Vec<Type>,
    /// One entry per result.
    result_attrs: Vec<AttrDict>,
    values: Vec<ValueData>,
    /// Names of the values that have a name.
    names: FxHashMap<ValueId, Arc<str>>,
    insts: Table<InstData>,
    regions: Vec<RegionData>,
}

#[derive(Clone, Debug)]
struct ValueData {
    ty: Type,
    def: ValueDef,
}

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// The result with this index of an instruction.
    Result(InstId, u32),
    /// The argument with this index of a region.
    Arg(RegionId, u32),
    /// No definition: a parser could not resolve an operand and this value takes its place, or no instruction
    /// defines the value at present.
    Nowhere,
}

/// A row of the function's instruction table.
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
    /// Region that contains the instruction; `None` if detached.
    pub(super) parent: Option<RegionId>,
    pub(super) prev: Option<InstId>,
    pub(super) next: Option<InstId>,
}

/// A row of the function's region table.
#[derive(Clone, Debug, Default)]
pub(super) struct RegionData {
    pub(super) args: ValueIds,
    pub(super) first: Option<InstId>,
    pub(super) last: Option<InstId>,
    /// Instruction that the region belongs to; `None` for the function's body.
    pub(super) owner: Option<InstId>,
}

/// The parts of a new instruction, without its results.
#[derive(Clone, Debug)]
pub struct NewInst {
    /// Operation to execute.
    pub op: Op,
    /// Operands, including captures.
    pub operands: ValueIds,
    /// Nested regions: reducers, loop bodies, branches.
    pub regions: Vec<RegionId>,
    /// Number of trailing operands that are passed to every region as its last arguments instead of being
    /// operands of the operation; see [`Inst::captures`].
    pub captures: u32,
    /// Attributes that are not part of the operation (`mhlo.frontend_attributes` and the like).
    pub attrs: AttrDict,
    /// Position of the operation's name in the source.
    pub span: Span,
    /// Location given with `loc(…)`.
    pub loc: Option<Arc<Loc>>,
}

impl NewInst {
    /// Creates an operation on operands, without regions and attributes.
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

    /// Sets the regions.
    pub fn with_regions(self, regions: impl Into<Vec<RegionId>>) -> NewInst {
        NewInst { regions: regions.into(), ..self }
    }

    /// Sets the position in the source.
    pub fn at(self, span: Span, loc: Option<Arc<Loc>>) -> NewInst {
        NewInst { span, loc, ..self }
    }
}

impl Func {
    /// Creates a function without parameters and instructions.
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

    /// Creates a function with the name, results and attributes of another function, and an empty body.
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

    /// Returns the attributes of each parameter.
    pub fn param_attrs(&self) -> &[AttrDict] {
        &self.param_attrs
    }

    /// Returns the types of the results.
    pub fn results(&self) -> &[Type] {
        &self.results
    }

    /// Returns the attributes of each result.
    pub fn result_attrs(&self) -> &[AttrDict] {
        &self.result_attrs
    }

    /// Returns the body. Its arguments are the parameters, and its last instruction is [`Op::Return`].
    pub fn body(&self) -> Region<'_> {
        self.region(Func::BODY)
    }

    /// Returns the author's name for a parameter: `jax.arg_info`, or the name in the parameter's location.
    pub fn param_name(&self, i: usize) -> Option<&str> {
        let info = self.param_attrs.get(i).and_then(|attrs| attrs.get("jax.arg_info")?.as_str());
        info.or_else(|| self.param_names.get(i)?.as_deref())
    }

    /// Id of the body in every function.
    pub const BODY: RegionId = RegionId::new(0);

    /// Returns a region.
    ///
    /// # Panics
    /// If the region is not in this function.
    pub fn region(&self, id: RegionId) -> Region<'_> {
        Region::new(self, id, &self.regions[id.index()])
    }

    /// Returns an instruction.
    ///
    /// # Panics
    /// If the instruction is not in this function.
    pub fn inst(&self, id: InstId) -> Inst<'_> {
        Inst::new(self, id, &self.insts[id.index()])
    }

    /// Returns the parameters.
    pub fn params(&self) -> &[ValueId] {
        &self.regions[0].args
    }

    /// Number of values, including results of removed instructions.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Number of instructions, including removed ones.
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// Number of regions, including regions of removed instructions.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// Returns every value.
    pub fn values(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// Returns the type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self[value]
    }

    /// Returns the tensor type of a value, if the value is a tensor.
    pub fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self[value].tensor()
    }

    /// Returns the name of a value, if [`Func::set_name`] set one.
    pub fn name_of(&self, value: ValueId) -> Option<&str> {
        self.names.get(&value).map(|name| &**name)
    }

    /// Returns the definition of a value.
    pub fn def(&self, value: ValueId) -> ValueDef {
        self.values[value.index()].def
    }

    /// Returns the instruction that produces a value, if any.
    pub fn defining_inst(&self, value: ValueId) -> Option<Inst<'_>> {
        match self.def(value) {
            ValueDef::Result(inst, _) => Some(self.inst(inst)),
            ValueDef::Arg(..) | ValueDef::Nowhere => None,
        }
    }

    /// Calls `visit` for every instruction, including those in nested regions, in the order of the text.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(Inst<'a>)) {
        self.body().walk(visit);
    }

    // --- building

    /// Reserves capacity for as many values as another function has, and for its first instructions.
    pub(crate) fn reserve_as(&mut self, other: &Func) {
        self.insts.reserve(other.insts.len());
        self.values.reserve(other.values.len());
    }

    /// Creates a value without a definition.
    pub(crate) fn new_value(&mut self, ty: Type) -> ValueId {
        self.define(ty, ValueDef::Nowhere)
    }

    fn define(&mut self, ty: Type, def: ValueDef) -> ValueId {
        let id = ValueId::new(self.values.len());
        self.values.push(ValueData { ty, def });
        id
    }

    /// Sets the attributes of parameters, starting with the first.
    pub fn set_param_attrs(&mut self, attrs: impl IntoIterator<Item = AttrDict>) {
        self.param_attrs.iter_mut().zip(attrs).for_each(|(to, attrs)| *to = attrs);
    }

    /// Returns the attributes of each parameter, mutably.
    pub fn param_attrs_mut(&mut self) -> &mut [AttrDict] {
        &mut self.param_attrs
    }

    /// Appends a result.
    pub fn add_result(&mut self, ty: Type, attrs: AttrDict) {
        self.results.push(ty);
        self.result_attrs.push(attrs);
    }

    /// Sets the types of the results. Attributes stay with the result of the same index.
    pub fn set_result_types(&mut self, types: impl IntoIterator<Item = Type>) {
        self.results = types.into_iter().collect();
        self.result_attrs.resize_with(self.results.len(), AttrDict::new);
    }

    /// Sets the result types to the types that the body returns. Attributes stay with the result of the same
    /// index.
    pub fn infer_result_types(&mut self) {
        let types: Vec<Type> = self.body().returned().iter().map(|v| self.ty(*v).clone()).collect();
        self.set_result_types(types);
    }

    /// Sets the attributes of results, starting with the first.
    pub fn set_result_attrs(&mut self, attrs: impl IntoIterator<Item = AttrDict>) {
        self.result_attrs.iter_mut().zip(attrs).for_each(|(to, attrs)| *to = attrs);
    }

    /// Returns the attributes of each result, mutably.
    pub fn result_attrs_mut(&mut self) -> &mut [AttrDict] {
        &mut self.result_attrs
    }

    /// Creates a region without arguments, instructions and owner.
    pub fn new_region(&mut self) -> RegionId {
        let id = RegionId::new(self.regions.len());
        self.regions.push(RegionData::default());
        id
    }

    /// Appends an argument to a region. An argument of the body is a parameter without attributes.
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

    /// Creates a detached instruction with results of these types.
    ///
    /// # Panics
    /// If one of its regions belongs to an instruction already.
    pub fn new_inst(&mut self, new: NewInst, results: impl IntoIterator<Item = Type>) -> InstId {
        let id = InstId::new(self.insts.len());
        for region in &new.regions {
            let owner = self.regions[region.index()].owner.replace(id);
            assert!(owner.is_none(), "the region already belongs to an instruction");
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

    /// Appends a new instruction to a region and returns its id.
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

    /// Appends a new instruction to a region. Its results are existing values without a definition.
    pub(crate) fn push_defining(&mut self, region: RegionId, new: NewInst, results: ValueIds) -> InstId {
        let id = self.push(region, new, []);
        for (i, value) in results.iter().enumerate() {
            self.set_def(*value, ValueDef::Result(id, u32::try_from(i).unwrap_or(u32::MAX)));
        }
        self.insts[id.index()].results = results;
        id
    }

    /// Appends a detached instruction to a region.
    ///
    /// # Panics
    /// If the instruction is not detached.
    pub fn append(&mut self, region: RegionId, inst: InstId) {
        let last = self.regions[region.index()].last;
        self.link(region, inst, last, None);
    }

    /// Inserts a detached instruction before `next`.
    ///
    /// # Panics
    /// If `inst` is not detached, or `next` is.
    pub fn insert_before(&mut self, inst: InstId, next: InstId) {
        let InstData { parent, prev, .. } = self.insts[next.index()];
        let region = parent.expect("the instruction to insert before is in no region");
        self.link(region, inst, prev, Some(next));
    }

    fn link(&mut self, region: RegionId, inst: InstId, prev: Option<InstId>, next: Option<InstId>) {
        let data = &mut self.insts[inst.index()];
        assert!(data.parent.is_none(), "the instruction is already in a region");
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

    /// Detaches an instruction from its region. The instruction keeps its results and regions, and can be
    /// inserted elsewhere.
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

    /// Moves the instructions of a region, except its return, to the end of another region.
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

    /// Sets the type of a value.
    ///
    /// # Panics
    /// If the value is not in this function.
    pub fn set_ty(&mut self, value: ValueId, ty: Type) {
        self.values[value.index()].ty = ty;
    }

    /// Names a value for human readers of the text. Names have no semantics: functions that differ only in
    /// names are equal, and printers change names that are taken or invalid in their format.
    pub fn set_name(&mut self, value: ValueId, name: impl Into<Arc<str>>) {
        self.names.insert(value, name.into());
    }

    /// Replaces the operation of an instruction, keeping operands and results.
    pub fn set_op(&mut self, inst: InstId, op: Op) {
        self.insts[inst.index()].op = op;
    }

    /// Sets the position in the source and the location of an instruction.
    pub(super) fn set_place(&mut self, inst: InstId, span: Span, loc: Option<Arc<Loc>>) {
        let data = &mut self.insts[inst.index()];
        (data.span, data.loc) = (span, loc);
    }

    /// Sets the position of an instruction in the source.
    ///
    /// # Panics
    /// If the instruction is not in this function.
    pub fn set_span(&mut self, inst: InstId, span: Span) {
        self.insts[inst.index()].span = span;
    }

    /// Returns the attributes of an instruction that are not part of its operation.
    pub fn attrs_mut(&mut self, inst: InstId) -> &mut AttrDict {
        &mut self.insts[inst.index()].attrs
    }

    /// Returns the operands of an instruction, mutably. Use a [`Rewriter`](super::Rewriter) where uses are
    /// tracked.
    pub fn operands_mut(&mut self, inst: InstId) -> &mut ValueIds {
        &mut self.insts[inst.index()].operands
    }

    /// Replaces operands throughout the function, following chains of replacements.
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

    /// Sets the operands of an instruction, the last `captures` of which are captured by its regions.
    pub(crate) fn set_captures(&mut self, inst: InstId, operands: ValueIds, captures: usize) {
        let data = &mut self.insts[inst.index()];
        data.operands = operands;
        data.captures = u32::try_from(captures).unwrap_or(u32::MAX);
    }

    /// Replaces the results of an instruction by some of its old results, in any order.
    pub(crate) fn keep_results(&mut self, inst: InstId, results: ValueIds) {
        for (i, value) in results.iter().enumerate() {
            self.set_def(*value, ValueDef::Result(inst, u32::try_from(i).unwrap_or(u32::MAX)));
        }
        self.insts[inst.index()].results = results;
    }

    /// Replaces the arguments of a region by some of its old arguments, in any order.
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

    /// Clears the owner of a region.
    pub(crate) fn disown(&mut self, region: RegionId) {
        self.regions[region.index()].owner = None;
    }

    pub(super) fn set_def(&mut self, value: ValueId, def: ValueDef) {
        self.values[value.index()].def = def;
    }

    /// Returns every operation, including operations of detached instructions.
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
