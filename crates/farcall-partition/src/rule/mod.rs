//! Factor rules: how the dimensions of an operation's operands and results correspond.
//!
//! A *factor* is an independent dimension of the computation. `dot_general` of `[i, k]` and `[k, j]` has the
//! factors `i`, `j` and `k`. If devices divide a factor, each of them computes its part of the results from
//! its parts of the operands; for a *reduced* factor such as `k`, it computes a summand. A dimension without
//! a factor must be complete on every device. The notion is Shardy's.
//!
//! One file holds the rules of one family of operations, as in `farcall_ir::op`.

mod call;
mod collective;
mod contraction;
mod data;
mod indexing;
mod linalg;
mod reduction;

use farcall_ir::module::Inst;
use farcall_ir::op::{Binary, Derived, FormOp, Op};
use farcall_ir::{TensorType, ValueId};

pub use call::{CallRules, NoRules};
pub(crate) use reduction::combiner;

/// A factor of a [`Rule`], by its index.
pub(crate) type FactorId = usize;

/// The factors of each dimension of a tensor, from major to minor.
pub(crate) type TensorFactors = Vec<Vec<FactorId>>;

/// A dimension of an operand or result: the tensor's index in [`Rule::tensors`], and the dimension's index.
type Place = (usize, usize);

/// The correspondence between the dimensions of an instruction's operands and results.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rule {
    pub(crate) factors: Vec<Factor>,
    /// Factors of the operands, then of the results. Captured values are not included.
    pub(crate) tensors: Vec<TensorFactors>,
    /// Number of operands among `tensors`.
    pub(crate) operands: usize,
    /// Number of operands, the first ones, of which devices exchange elements.
    pub(crate) exchanged: usize,
    /// Operands that hold the index at which the device's part of a factor begins.
    pub(crate) offsets: Vec<(usize, FactorId)>,
    /// True if each result element depends on the elements at the same index only, so that propagation
    /// through the operation cannot be wrong.
    pub(crate) is_pointwise: bool,
}

/// A dimension of a computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Factor {
    /// Size of the factor; with windows, of the operand's dimension.
    pub(crate) size: usize,
    /// For a reduced factor, the function that combines the devices' values of results without the factor.
    pub(crate) combine: Option<Binary>,
    /// True if the parts of the factor's dimensions may have padding. The factor is the only one of each of
    /// its dimensions. If it is reduced, padding must be replaced by the identity of `combine`.
    pub(crate) can_be_uneven: bool,
    /// What devices exchange before the operation, along the operands' dimension of the factor.
    pub(crate) exchange: Exchange,
}

/// Elements that devices exchange before an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Exchange {
    /// The device's part of the results depends on its parts of the operands.
    #[default]
    None,
    /// It also depends on elements of the neighbors' parts.
    Windows(Windows),
    /// It depends on the parts of the device at the opposite end.
    Reverse,
}

/// Windows over a dimension of an operand, one for each index of the result's dimension or, in a reduced
/// factor, of the kernel's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Windows {
    /// Size of the operand's dimension.
    from: usize,
    /// Number of windows.
    to: usize,
    /// Distance of neighboring windows.
    pub(crate) stride: usize,
    /// Distance of the operand's elements, between which are zeros or initial values.
    dilation: usize,
    /// Number of elements before a part that its windows reach. If it is negative, the windows do not reach
    /// that many first elements of the part.
    pub(crate) before: i64,
    /// The same for elements after a part.
    pub(crate) after: i64,
    /// Padding of a part and the elements around it, which windows between dilated elements need.
    pub(crate) padding: (i64, i64),
}

/// Shape of windows along a dimension. Lengths are in elements of the dilated dimension, with what lies
/// between the operand's elements.
#[derive(Clone, Copy)]
struct WindowShape {
    /// Distance from the beginning of a window to the end of its last element.
    reach: usize,
    /// Distance of neighboring windows.
    stride: usize,
    /// Distance of the operand's elements.
    dilation: usize,
    /// Padding before the dimension. If it is negative, the windows begin behind the first elements.
    low: i64,
}

impl Windows {
    /// Returns `to` windows over a dimension of `from` elements. Returns `None` for a dimension that cannot
    /// be divided.
    fn new((from, to): (usize, usize), shape: WindowShape) -> Option<Windows> {
        let number = |n: usize| i64::try_from(n).ok();
        let (reach, stride) = (number(shape.reach)?, number(shape.stride)?);
        let (dilation, low) = (number(shape.dilation)?, shape.low);
        if from == 0 || to == 0 || stride < 1 || dilation < 1 {
            return None;
        }
        // Number of dilated elements that the last window of a part reaches over the part's end.
        let high = reach.checked_sub(stride)?.checked_sub(low)?;
        let (before, after) = (low.div_euclid(dilation), (high.checked_sub(1)?).div_euclid(dilation) + 1);
        let start = low - before * dilation;
        // All dilated elements behind the last one that the windows reach, and those behind the last element.
        let end = high - ((after - 1) * dilation + 1);
        Some(Windows {
            from,
            to,
            stride: shape.stride,
            dilation: shape.dilation,
            before,
            after,
            padding: (start, end),
        })
    }

    /// Returns true if the windows of each of `parts` parts of the result begin in the same place of the
    /// operand's part, and reach no further than the neighboring parts. Each part has an element.
    fn fit(self, parts: usize) -> bool {
        let (from, to) = (self.from.div_ceil(parts), self.to.div_ceil(parts));
        to.checked_mul(self.stride).is_some_and(|size| Some(size) == from.checked_mul(self.dilation))
            && (parts - 1) * to < self.to
            && [self.before, self.after].iter().all(|n| n.unsigned_abs() <= from as u64)
            && from as i64 + self.before + self.after > 0
    }

    /// Returns true if no part has padding.
    fn is_even(self, parts: usize) -> bool {
        self.from.is_multiple_of(parts) && self.to.is_multiple_of(parts)
    }

    /// Returns the number of elements from neighbors.
    pub(crate) fn received(self) -> usize {
        (self.before.max(0) + self.after.max(0)) as usize
    }
}

impl Factor {
    /// A dimension of which each element is computed from the elements at the same index.
    fn new(size: usize) -> Factor {
        Factor { size, combine: None, can_be_uneven: false, exchange: Exchange::None }
    }

    /// Returns true if the factor can be divided into this number of parts.
    pub(crate) fn fits(self, parts: usize) -> bool {
        match self.exchange {
            // Zero padding of the kernel, times an infinite element of the image, would be NaN.
            Exchange::Windows(windows) => {
                windows.fit(parts) && (self.combine.is_none() || windows.is_even(parts))
            }
            Exchange::None | Exchange::Reverse => self.can_be_uneven || self.size.is_multiple_of(parts),
        }
    }
}

impl Rule {
    /// Returns the rule for an instruction in which no dimension has a factor.
    pub(crate) fn whole(inst: Inst<'_>) -> Rule {
        let func = inst.func();
        let dims = |values: &[ValueId]| -> Vec<TensorFactors> {
            values.iter().map(|v| vec![Vec::new(); func.tensor(*v).map_or(0, TensorType::rank)]).collect()
        };
        let mut tensors = dims(inst.own_operands());
        let operands = tensors.len();
        tensors.extend(dims(inst.results()));
        Rule { tensors, operands, exchanged: operands, ..Rule::default() }
    }

    /// Returns the rule of an operation that returns a tensor of these sizes unchanged.
    pub(crate) fn identity(sizes: &[usize]) -> Rule {
        let tensors = vec![vec![Vec::new(); sizes.len()]; 2];
        let mut rule = Rule { tensors, operands: 1, is_pointwise: true, ..Rule::default() };
        rule.factors_of(sizes, &[0, 1]);
        rule.factors.iter_mut().for_each(|factor| factor.can_be_uneven = true);
        rule
    }

    /// Permits padding in the parts of each factor that is the only one of its dimensions, whose sizes are
    /// given. Parts of a reversed dimension have none.
    fn permit_padding(&mut self, sizes: &[&[usize]]) {
        let mut permitted = vec![true; self.factors.len()];
        for (dims, sizes) in self.tensors.iter().zip(sizes) {
            for (factors, size) in dims.iter().zip(*sizes) {
                let is_only = |factor: &usize| factors.len() == 1 && self.factors[*factor].size == *size;
                factors.iter().for_each(|factor| permitted[*factor] &= is_only(factor));
            }
        }
        for (factor, permitted) in self.factors.iter_mut().zip(permitted) {
            factor.can_be_uneven = match factor.exchange {
                Exchange::None => permitted,
                Exchange::Windows(_) => true,
                Exchange::Reverse => false,
            };
        }
    }

    /// Adds a factor for these dimensions.
    fn factor(&mut self, size: usize, places: &[Place]) {
        let id = self.factors.len();
        self.factors.push(Factor::new(size));
        for (tensor, dim) in places {
            self.tensors[*tensor][*dim].push(id);
        }
    }

    /// Adds a factor for each of these sizes. It belongs to the dimension with the same index in each tensor.
    pub(crate) fn factors_of(&mut self, sizes: &[usize], tensors: &[usize]) {
        for (d, size) in sizes.iter().enumerate() {
            let places: Vec<Place> = tensors.iter().map(|tensor| (*tensor, d)).collect();
            self.factor(*size, &places);
        }
    }

    /// Adds a factor for these dimensions, along which devices exchange elements.
    fn exchanged(&mut self, size: usize, places: &[Place], exchange: Exchange) {
        self.factor(size, places);
        if let Some(last) = self.factors.last_mut() {
            last.exchange = exchange;
        }
    }

    /// Adds a factor for these dimensions of operands and results, which windows connect; no factor if they
    /// cannot be divided.
    fn windows(&mut self, places: &[Place], windows: Option<Windows>) {
        match windows {
            None => {}
            // Each window has the element at the same index.
            Some(Windows { from, to, stride: 1, dilation: 1, before: 0, after: 0, .. }) if from == to => {
                self.factor(from, places);
            }
            Some(windows) => self.exchanged(windows.from, places, Exchange::Windows(windows)),
        }
    }

    /// Adds a reduced factor for dimensions of operands, which windows connect; no factor if they cannot be
    /// divided.
    fn reduced_windows(&mut self, places: &[Place], windows: Option<Windows>, combine: Binary) {
        let factors = self.factors.len();
        self.windows(places, windows);
        self.factors[factors..].iter_mut().for_each(|factor| factor.combine = Some(combine));
    }

    /// Adds a reduced factor for these dimensions.
    fn reduced(&mut self, size: usize, places: &[Place], combine: Binary) {
        self.factor(size, places);
        if let Some(last) = self.factors.last_mut() {
            last.combine = Some(combine);
        }
    }
}

/// An instruction whose rule is being made, with the sizes of its operands and results.
struct Call<'f> {
    inst: Inst<'f>,
    operands: Vec<&'f [usize]>,
    results: Vec<&'f [usize]>,
}

impl<'f> Call<'f> {
    fn new(inst: Inst<'f>) -> Call<'f> {
        let func = inst.func();
        let sizes = |v: &ValueId| func.tensor(*v).and_then(TensorType::static_sizes).unwrap_or(&[]);
        Call {
            inst,
            operands: inst.own_operands().iter().map(sizes).collect(),
            results: inst.results().iter().map(sizes).collect(),
        }
    }

    /// Index of a result in [`Rule::tensors`].
    fn result(&self, i: usize) -> usize {
        self.operands.len() + i
    }

    /// Sizes of each dimension of the first operand and of the first result.
    fn dims(&self) -> impl Iterator<Item = (usize, (usize, usize))> {
        self.operands[0].iter().copied().zip(self.results[0].iter().copied()).enumerate()
    }

    /// Places of dimension `d` in the operands of a range and in all results.
    fn places(&self, operands: std::ops::Range<usize>, d: usize) -> Vec<Place> {
        operands.chain(self.result(0)..self.result(self.results.len())).map(|tensor| (tensor, d)).collect()
    }

    /// Adds factors for dimensions that have the same size in the first operand and the first result.
    fn equal_dims(&self, rule: &mut Rule) {
        for (d, (from, to)) in self.dims() {
            if from == to {
                rule.factor(from, &[(0, d), (self.result(0), d)]);
            }
        }
    }
}

/// Returns the rule of an instruction of the middle form, whose operands and results are tensors of static
/// shape. Control flow has none: its values keep one sharding.
pub(crate) fn rule(inst: Inst<'_>, calls: &dyn CallRules) -> Rule {
    if let Some(rule) = call::rule(inst, calls) {
        return rule;
    }
    let mut rule = Rule::whole(inst);
    let mut values = inst.own_operands().iter().chain(inst.results());
    if values.any(|v| inst.func().tensor(*v).is_some_and(|ty| ty.quant.is_some())) {
        // Scales may differ along a dimension.
        return rule;
    }
    let call = Call::new(inst);
    let rule_mut = &mut rule;
    match inst.op() {
        Op::Unary(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Select
        | Op::Clamp
        | Op::Convert
        | Op::Copy
        | Op::ReducePrecision { .. }
        | Op::Map { .. }
        | Op::Constant(_)
        | Op::Elided(_)
        | Op::Iota { .. }
        | Op::Derived(Derived::SinCos | Derived::ConstantLike(_))
        | Op::Form(FormOp::Copy) => elementwise(rule_mut, &call),
        Op::OptimizationBarrier => {
            for (i, sizes) in call.operands.iter().enumerate() {
                rule_mut.factors_of(sizes, &[i, call.result(i)]);
            }
            rule_mut.is_pointwise = true;
        }
        Op::BitcastConvert => data::bitcast(rule_mut, &call),
        Op::BroadcastInDim { dims } => data::broadcast(rule_mut, &call, dims),
        Op::Reshape => data::reshape(rule_mut, &call),
        Op::Transpose { permutation } => data::transpose(rule_mut, &call, permutation),
        Op::Reverse { dims } => data::reverse(rule_mut, &call, dims),
        Op::Slice(slice) => data::slice(rule_mut, &call, slice),
        Op::DynamicSlice { .. } => call.equal_dims(rule_mut),
        Op::Pad(pad) => data::pad(rule_mut, &call, pad),
        Op::Concatenate { dim } => data::all_but(rule_mut, &call, *dim),
        Op::DynamicUpdateSlice => indexing::update(rule_mut, &call),
        Op::Gather(gather) => indexing::gather(rule_mut, &call, gather),
        Op::Scatter(scatter) => indexing::scatter(rule_mut, &call, scatter),
        Op::Reduce { dims } => reduction::reduce(rule_mut, &call, dims),
        Op::ReduceWindow(op) => reduction::windows(rule_mut, &call, op),
        Op::SelectAndScatter(op) => reduction::select_and_scatter(rule_mut, &call, op),
        Op::Sort { dim, .. } => data::all_but(rule_mut, &call, *dim),
        Op::TopK { .. } => {
            let rank = call.operands[0].len();
            rule_mut.factors_of(&call.operands[0][..rank.saturating_sub(1)], &[0, 1, 2]);
        }
        Op::DotGeneral(op) => contraction::product(rule_mut, &call, op),
        Op::Convolution(op) => contraction::convolution(rule_mut, &call, op),
        Op::Cholesky { .. } => linalg::cholesky(rule_mut, &call),
        Op::TriangularSolve(op) => linalg::triangular_solve(rule_mut, &call, *op),
        Op::Fft { length, .. } => linalg::fft(rule_mut, &call, length),
        Op::AllReduce(_) | Op::CollectivePermute(_) | Op::CollectiveBroadcast(_) => {
            collective::all_but(rule_mut, &call, &[]);
        }
        Op::AllGather(op) => collective::all_but(rule_mut, &call, &[op.dim]),
        Op::ReduceScatter(op) => collective::all_but(rule_mut, &call, &[op.dim]),
        Op::AllToAll(op) => collective::all_but(rule_mut, &call, &[op.split_dim, op.concat_dim]),
        // Every device computes these on complete operands.
        Op::UniformQuantize
        | Op::UniformDequantize
        | Op::Scan(_)
        | Op::RngBitGenerator(_)
        | Op::Rng(_)
        | Op::CollectiveReduce(_)
        | Op::CustomCall(_)
        | Op::Transfer(_)
        | Op::PartitionId
        | Op::ReplicaId
        | Op::GetDimensionSize { .. }
        | Op::SetDimensionSize { .. }
        | Op::DynamicIota { .. }
        | Op::DynamicBroadcastInDim { .. }
        | Op::DynamicReshape
        | Op::DynamicPad
        | Op::RealDynamicSlice
        | Op::DynamicGather(_)
        | Op::DynamicConvolution(_)
        | Op::Derived(_)
        | Op::Form(_) => {}
        // Control flow, and operations that the middle form does not have.
        Op::If
        | Op::Case
        | Op::While
        | Op::Call { .. }
        | Op::Composite(_)
        | Op::Return
        | Op::AfterAll
        | Op::CreateToken
        | Op::Tuple
        | Op::GetTupleElement { .. }
        | Op::AsyncStart
        | Op::AsyncDone => {}
    }
    let sizes: Vec<&[usize]> = call.operands.iter().chain(&call.results).copied().collect();
    rule.permit_padding(&sizes);
    rule
}

/// Returns the number of elements that a window of `size` elements at this distance reaches over.
fn reach(size: usize, distance: usize) -> Option<usize> {
    size.checked_sub(1)?.checked_mul(distance)?.checked_add(1)
}

/// Adds factors for all dimensions. Operands and results have one shape, except scalar bounds and predicates.
fn elementwise(rule: &mut Rule, call: &Call<'_>) {
    let shape = call.results[0];
    let tensors: Vec<usize> =
        (0..rule.tensors.len()).filter(|tensor| rule.tensors[*tensor].len() == shape.len()).collect();
    rule.factors_of(shape, &tensors);
    rule.is_pointwise = true;
}
