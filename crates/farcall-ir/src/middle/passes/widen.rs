//! Widening: operations on element types without kernels are computed in wider types.
//!
//! ```text
//! add(x, y) of i4          ──▶  convert(add(convert(x), convert(y)) of i8) to i4
//! convert(bf16 → complex)  ──▶  convert(convert(bf16 → f32) → complex)
//! dot(x: bf16, w: i4)      ──▶  dot(x, convert(convert(w → i8) → bf16))
//! ```
//!
//! Integers of fewer than eight bits are computed in eight bits, and floats of at most eight bits in `f32`
//! (`f8E8M0FNU`, whose powers of two have a larger range, in `f64`). The wider type represents every number
//! of the narrow type, and each result is rounded or truncated to the narrow type, so the results do not
//! change. The conversions become parts of the surrounding fusions. Operations that only move elements have
//! kernels for every type and stay as they are.

use farcall_sig::DType;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::simplify::splat_before;
use super::{Pass, PassOptions, running_regions};
use crate::eval::Semantics;
use crate::module::{Func, Inst, InstId, NewInst, RegionId, Rewriter, ValueId};
use crate::op::{Binary, FormOp, Op, Unary};
use crate::reducer;
use crate::scalar::Scalar;
use crate::types::{TensorType, Type, TypeList};

/// The widening pass.
pub static PASS: Pass =
    Pass { name: "widen", about: "computes element types without kernels in wider ones", run };

/// Minimum number of elements of a window whose floats are summed in a wider type and rounded once.
const MIN_WIDE_WINDOW: usize = 65;

fn run(func: &mut Func, cx: &PassOptions) {
    let regions = running_regions(func);
    let mut r = Rewriter::new(func);
    for region in regions {
        Widening { r: &mut r, cx, wide: FxHashMap::default() }.region(region);
    }
}

/// The type in which elements of a type without kernels are computed; `None` for types that have kernels.
fn wide(dtype: DType) -> Option<DType> {
    match dtype {
        DType::S2 | DType::S4 => Some(DType::S8),
        DType::U2 | DType::U4 => Some(DType::U8),
        DType::F8E8M0FNU => Some(DType::F64),
        dtype if dtype.is_float() && dtype.bits() <= 8 => Some(DType::F32),
        _ => None,
    }
}

/// The unsigned integer type with this number of bits.
fn unsigned(bits: u32) -> Option<DType> {
    Some(match bits {
        2 => DType::U2,
        4 => DType::U4,
        8 => DType::U8,
        16 => DType::U16,
        32 => DType::U32,
        64 => DType::U64,
        _ => return None,
    })
}

/// Number of bits of the largest integers that a float represents exactly.
fn precision(float: DType) -> u32 {
    match float {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        DType::F64 => 53,
        _ => 0,
    }
}

/// The next type that a conversion goes through. Each step has a kernel, and all steps together round once.
fn step(from: DType, to: DType) -> DType {
    if from.is_complex() {
        return if to.is_complex() { to } else { from.real() };
    }
    if let Some(wider) = wide(from) {
        let direct = if from.is_float() { to.is_float() } else { wide(to).is_some() && to.is_integer() };
        return if direct { to } else { wider };
    }
    let is_single = from.is_bool() || from.is_float() || from.bits() <= precision(DType::F32);
    match wide(to) {
        Some(byte) if to.is_integer() => return if from == byte { to } else { byte },
        Some(_) if from.is_float() => return to,
        Some(_) => return if is_single { DType::F32 } else { DType::F64 },
        None => {}
    }
    match from {
        _ if !to.is_complex() => to,
        DType::F32 | DType::F64 | DType::S32 | DType::S64 => to,
        _ if is_single => DType::F32,
        _ => DType::F64,
    }
}

/// Rewrites the instructions of one region.
struct Widening<'r, 'f, 'c> {
    r: &'r mut Rewriter<'f>,
    cx: &'c PassOptions,
    /// Wide copies of values with narrow types.
    wide: FxHashMap<ValueId, ValueId>,
}

impl Widening<'_, '_, '_> {
    fn region(&mut self, region: RegionId) {
        let insts: SmallVec<[InstId; 16]> = self.r.func().region(region).insts().map(Inst::id).collect();
        insts.into_iter().for_each(|id| self.inst(id));
    }

    fn inst(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let quantized = |v: &ValueId| inst.func().tensor(*v).is_some_and(|ty| ty.quant.is_some());
        if inst.own_operands().iter().chain(inst.results()).any(quantized) {
            return;
        }
        let xla = self.cx.numerics.semantics == Semantics::Xla;
        match inst.op() {
            Op::Convert => self.conversion(id),
            Op::BitcastConvert => self.bits(id),
            Op::Iota { .. } if self.is_complex(inst.results()) => self.complex_iota(id),
            Op::DotGeneral(_) => self.contraction(id, true),
            Op::Convolution(_) => self.contraction(id, false),
            Op::DynamicSlice { .. } | Op::Gather(_) | Op::Form(FormOp::WrappingGather(_)) => {
                self.operands(id, |i| i >= 1)
            }
            Op::DynamicUpdateSlice => self.operands(id, |i| i >= 2),
            op if op.as_scatter().is_some() && moves_updates(inst) => {
                let indices = inst.own_operands().len() / 2;
                self.operands(id, |i| i == indices);
            }
            // The evaluator computes these operations under the specification's semantics.
            Op::Scatter(_) | Op::Form(FormOp::WrappingScatter(_)) | Op::ReduceWindow(_) if !xla => {}
            Op::Iota { .. }
            | Op::Scatter(_)
            | Op::Form(FormOp::WrappingScatter(_))
            | Op::Reduce { .. }
            | Op::ReduceWindow(_)
            | Op::SelectAndScatter(_)
            | Op::Map { .. }
            | Op::Sort { .. }
            | Op::Form(FormOp::PartialSort { .. })
            | Op::TopK { .. } => self.whole(id),
            op if op.is_elementwise() => self.elementwise(id),
            _ => {}
        }
    }

    fn is_complex(&self, values: &[ValueId]) -> bool {
        values.iter().any(|v| self.dtype(*v).is_some_and(DType::is_complex))
    }

    fn ty(&self, value: ValueId) -> Option<&TensorType> {
        self.r.func().tensor(value)
    }

    fn dtype(&self, value: ValueId) -> Option<DType> {
        self.ty(value).map(|ty| ty.dtype)
    }

    /// Returns true if a value has a type without kernels.
    fn is_narrow(&self, value: ValueId) -> bool {
        self.dtype(value).and_then(wide).is_some()
    }

    /// Returns the value in its wider type, for use by the instruction `here`. A value whose type has kernels
    /// is returned unchanged.
    fn widened(&mut self, here: InstId, value: ValueId) -> ValueId {
        let Some(to) = self.dtype(value).and_then(wide) else { return value };
        if let Some(known) = self.wide.get(&value) {
            return *known;
        }
        let converted = self.cast(here, value, to);
        self.wide.insert(value, converted);
        converted
    }

    /// Adds a single conversion.
    fn cast(&mut self, here: InstId, value: ValueId, to: DType) -> ValueId {
        match self.ty(value).map(|ty| ty.with_dtype(to)) {
            Some(ty) => self.r.value_before(here, Op::Convert, [value], ty),
            None => value,
        }
    }

    /// Converts a value to another type in steps that have kernels.
    fn converted(&mut self, here: InstId, value: ValueId, to: DType) -> ValueId {
        let mut value = value;
        while let Some(from) = self.dtype(value).filter(|from| *from != to) {
            let next = step(from, to);
            // A float that becomes an integer is clamped to the bounds of the integer type.
            let clamps = from.is_float() && next != to && next.is_integer();
            value = self.cast(here, value, next);
            if clamps && let Some(ty) = self.ty(value).cloned() {
                let bits = to.bits();
                let [low, high] = match to.is_signed_integer() {
                    true => [-(1i64 << (bits - 1)), (1 << (bits - 1)) - 1],
                    false => [0, (1 << bits) - 1],
                };
                let bounds = [low, high].map(|n| splat_before(self.r, here, Scalar::Signed(n), ty.clone()));
                value = self.r.value_before(here, Op::Clamp, [bounds[0], value, bounds[1]], ty);
            }
        }
        value
    }

    /// Splits a conversion without a kernel into several conversions that have kernels.
    fn conversion(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let ([x], [y]) = (inst.operands(), inst.results()) else { return };
        let (x, y) = (*x, *y);
        let (Some(from), Some(to)) = (self.dtype(x), self.dtype(y)) else { return };
        if from == to || step(from, to) == to {
            return;
        }
        let value = self.converted(id, x, to);
        self.r.replace(id, &[value]);
    }

    /// Computes a complex iota as a real iota and a conversion.
    fn complex_iota(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let (op, [result]) = (inst.op().clone(), inst.results()) else { return };
        let Some(ty) = self.ty(*result).cloned() else { return };
        let real = self.r.value_before(id, op, [], ty.with_dtype(ty.dtype.real()));
        let value = self.cast(id, real, ty.dtype);
        self.r.replace(id, &[value]);
    }

    /// Lowers a `bitcast_convert` from or to a type of fewer than eight bits: shifts of unsigned integers
    /// split elements into narrower ones, or join them into wider ones.
    fn bits(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let ([x], [y]) = (inst.operands(), inst.results()) else { return };
        let (x, y) = (*x, *y);
        let (Some(from), Some(to)) = (self.ty(x).cloned(), self.ty(y).cloned()) else { return };
        let (f, t) = (from.dtype.bits(), to.dtype.bits());
        let (Some(whole), Some(part)) = (unsigned(f.max(t)), unsigned(f.min(t))) else { return };
        if f == t || f.min(t) >= 8 || from.dtype.is_bool() || to.dtype.is_bool() {
            return;
        }
        // Shifts have kernels for eight and more bits.
        let computed = wide(whole).unwrap_or(whole);
        let parts = if f > t { &to } else { &from }.with_dtype(computed);
        let dim = parts.rank() - 1;
        let number = self.r.value_before(id, Op::Iota { dim }, [], parts.clone());
        let width = splat_before(self.r, id, Scalar::Unsigned(f.min(t).into()), parts.clone());
        let shift = self.r.value_before(id, Op::Binary(Binary::Multiply), [number, width], parts.clone());
        let made = if f > t {
            let x = self.reinterpreted(id, x, whole);
            let x = self.converted(id, x, computed);
            let dims = (0..dim).collect();
            let x = self.r.value_before(id, Op::BroadcastInDim { dims }, [x], parts.clone());
            let x = self.r.value_before(id, Op::Binary(Binary::ShiftRightLogical), [x, shift], parts);
            self.converted(id, x, part)
        } else {
            let x = self.reinterpreted(id, x, part);
            let x = self.converted(id, x, computed);
            let x = self.r.value_before(id, Op::Binary(Binary::ShiftLeft), [x, shift], parts);
            let x = self.union(id, x, dim, to.with_dtype(computed));
            self.converted(id, x, whole)
        };
        let value = self.reinterpreted(id, made, to.dtype);
        self.r.replace(id, &[value]);
    }

    /// Reinterprets elements as a type of the same width.
    fn reinterpreted(&mut self, here: InstId, value: ValueId, to: DType) -> ValueId {
        let Some(ty) = self.ty(value).filter(|ty| ty.dtype != to) else { return value };
        let op = if ty.dtype.is_integer() && to.is_integer() { Op::Convert } else { Op::BitcastConvert };
        let ty = ty.with_dtype(to);
        self.r.value_before(here, op, [value], ty)
    }

    /// Combines the elements along a dimension by `or`.
    fn union(&mut self, here: InstId, value: ValueId, dim: usize, ty: TensorType) -> ValueId {
        let init = splat_before(self.r, here, Scalar::Unsigned(0), ty.with_sizes([]));
        let number = || Type::Tensor(TensorType::scalar(ty.dtype));
        let region = self.r.new_region(|func, region| {
            let args = [func.add_arg(region, number()), func.add_arg(region, number())];
            let or = func.push(region, NewInst::new(Op::Binary(Binary::Or), args), [number()]);
            let returned = func.inst(or).results().to_vec();
            func.push(region, NewInst::new(Op::Return, returned), []);
        });
        let at = self.r.func().inst(here);
        let reduce = NewInst::new(Op::Reduce { dims: vec![dim] }, [value, init]);
        let reduce = reduce.with_regions([region]).at(at.span(), at.loc().cloned());
        let reduce = self.r.insert_before(here, reduce, [Type::Tensor(ty)]);
        self.r.func().inst(reduce).results()[0]
    }

    /// Widens those operands of an instruction whose indices `which` accepts.
    fn operands(&mut self, id: InstId, which: impl Fn(usize) -> bool) {
        let operands = self.r.func().inst(id).operands().to_vec();
        let is_concerned = |(i, v): (usize, &ValueId)| which(i) && self.is_narrow(*v);
        if operands.iter().enumerate().any(is_concerned) {
            let widened = operands.into_iter().enumerate();
            let widened: Vec<ValueId> =
                widened.map(|(i, v)| if which(i) { self.widened(id, v) } else { v }).collect();
            self.r.set_operands(id, widened);
        }
    }

    /// Computes an elementwise operation in the wider type.
    fn elementwise(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let [result] = inst.results() else { return };
        let (result, op, operands) = (*result, inst.op().clone(), inst.operands().to_vec());
        let Some(ty) = self.ty(result).cloned() else { return };
        let Some(narrow) = operands.iter().copied().find(|v| self.is_narrow(*v)) else { return };
        let types: Option<SmallVec<[&TensorType; 3]>> = operands.iter().map(|v| self.ty(*v)).collect();
        let rounds_bits = matches!(op, Op::ReducePrecision { .. } | Op::Binary(Binary::NextAfter));
        if rounds_bits || types.is_some_and(|types| (self.cx.fuses)(&op, &types, &ty)) {
            return;
        }
        let Some(dtype) = self.dtype(narrow) else { return };
        // Results of these operations depend on the number of bits, which is larger in the wider type.
        let bits = match op {
            Op::Unary(Unary::Popcnt | Unary::CountLeadingZeros) | Op::Binary(Binary::ShiftRightLogical) => {
                Some(if dtype.bits() == 2 { DType::U2 } else { DType::U4 })
            }
            Op::Binary(Binary::ShiftRightArithmetic) => {
                Some(if dtype.bits() == 2 { DType::S2 } else { DType::S4 })
            }
            _ => None,
        };
        let mut widened: Vec<ValueId> = Vec::with_capacity(operands.len());
        for v in operands {
            let same_bits = match bits {
                Some(to) if self.dtype(v) != Some(to) => self.cast(id, v, to),
                _ => v,
            };
            widened.push(self.widened(id, same_bits));
        }
        let computed = bits.unwrap_or(ty.dtype);
        let wide_ty = wide(ty.dtype).and(wide(computed)).map_or(ty.clone(), |dtype| ty.with_dtype(dtype));
        let unused = i64::from(8 - dtype.bits());
        let number = |w: &mut Self| splat_before(w.r, id, Scalar::Signed(unused), wide_ty.clone());
        if op == Op::Binary(Binary::MulHi) {
            // The upper half of an eight-bit product, with one factor shifted to the top bits.
            let by = number(self);
            let shift = Op::Binary(Binary::ShiftLeft);
            widened[0] = self.r.value_before(id, shift, [widened[0], by], wide_ty.clone());
        }
        let mut value = self.r.value_before(id, op.clone(), widened, wide_ty.clone());
        if op == Op::Unary(Unary::CountLeadingZeros) {
            let by = number(self);
            value = self.r.value_before(id, Op::Binary(Binary::Subtract), [value, by], wide_ty.clone());
        }
        if wide_ty.dtype != ty.dtype {
            let rounded = self.cast(id, value, ty.dtype);
            if selects_a_number(&op) {
                self.wide.insert(rounded, value);
            }
            value = rounded;
        }
        self.r.replace(id, &[value]);
    }

    /// Computes an operation on tensors in the wider type, with all its operands, results, and region
    /// arguments.
    fn whole(&mut self, id: InstId) {
        let inst = self.r.func().inst(id);
        let (own, operands) = (inst.own_operands().len(), inst.operands().to_vec());
        let (results, regions) = (inst.results().to_vec(), inst.region_ids().to_vec());
        if !operands[..own].iter().chain(&results).any(|v| self.is_narrow(*v)) {
            return;
        }
        let keeps = keeps_digits(inst);
        // There is a next instruction, since the last instruction of a region is its return.
        let Some(next) = inst.next().map(|next| next.id()) else { return };
        self.operands(id, |i| i < own);
        for region in regions {
            self.applied(region, keeps);
        }
        let types: Vec<Option<TensorType>> = results.iter().map(|v| self.ty(*v).cloned()).collect();
        let widened =
            types.iter().flatten().map(|ty| wide(ty.dtype).map_or(ty.clone(), |to| ty.with_dtype(to)));
        let widened: TypeList = widened.map(Type::Tensor).collect();
        self.r.set_results(id, widened);
        for (value, ty) in results.into_iter().zip(types.into_iter().flatten()) {
            if wide(ty.dtype).is_some() {
                let narrow = self.r.value_before(next, Op::Convert, [value], ty);
                self.r.replace_uses(value, narrow);
                if let Some(made) = self.r.func().defining_inst(narrow).map(|inst| inst.id()) {
                    self.r.set_operands(made, [value]);
                }
            }
        }
    }

    /// Widens the arguments and results of a region that is applied to elements. If `keeps`, a region of a
    /// single operation does not round its results.
    fn applied(&mut self, region: RegionId, keeps: bool) {
        let view = self.r.func().region(region);
        let args: SmallVec<[ValueId; 4]> = view.own_args().iter().copied().collect();
        let one = reducer::of(view).filter(|by| keeps_in_region(by.inst, keeps)).map(|by| by.inst.id());
        let (Some(first), Some(end)) = (view.first().map(Inst::id), view.terminator().map(Inst::id)) else {
            return;
        };
        let insts: SmallVec<[InstId; 16]> = view.insts().map(Inst::id).collect();
        let mut inner = Widening { r: &mut *self.r, cx: self.cx, wide: FxHashMap::default() };
        for arg in args {
            let Some(ty) = inner.ty(arg).cloned() else { continue };
            let Some(to) = wide(ty.dtype) else { continue };
            if one.is_some() {
                inner.r.set_ty(arg, ty.with_dtype(to));
                continue;
            }
            let narrow = inner.r.value_before(first, Op::Convert, [arg], ty.clone());
            inner.r.replace_uses(arg, narrow);
            if let Some(made) = inner.r.func().defining_inst(narrow).map(|inst| inst.id()) {
                inner.r.set_operands(made, [arg]);
            }
            inner.r.set_ty(arg, ty.with_dtype(to));
            inner.wide.insert(narrow, arg);
        }
        if let Some(one) = one {
            let results = inner.r.func().inst(one).results().to_vec();
            for value in results {
                if let Some(ty) = inner.ty(value).cloned()
                    && let Some(to) = wide(ty.dtype)
                {
                    inner.r.set_ty(value, ty.with_dtype(to));
                }
            }
            return;
        }
        insts.into_iter().filter(|id| *id != end).for_each(|id| inner.inst(id));
        inner.operands(end, |_| true);
        // Drop conversions of arguments that are unused.
        let made: Vec<Inst<'_>> = inner.r.func().region(region).insts().collect();
        let made: Vec<InstId> =
            made.iter().rev().filter(|i| *i.op() == Op::Convert).map(|i| i.id()).collect();
        for id in made {
            let unused = inner.r.func().inst(id).results().iter().all(|v| !inner.r.is_used(*v));
            if unused {
                inner.r.erase(id);
            }
        }
    }

    /// Converts the factors of a product to types that have a kernel. If `converts`, the kernel itself widens
    /// the factors.
    fn contraction(&mut self, id: InstId, converts: bool) {
        let inst = self.r.func().inst(id);
        let ([x, y], [product]) = (inst.operands(), inst.results()) else { return };
        let (x, y, product, op) = (*x, *y, *product, inst.op().clone());
        let Some(ty) = self.ty(product).cloned() else { return };
        // Products of booleans are counted in integers; an element is true if its count is not zero.
        let of_bool = |dtype: DType, number: DType| if dtype.is_bool() { number } else { dtype };
        let factor = |dtype: DType| wide(dtype).unwrap_or(of_bool(dtype, DType::S8));
        let (Some(a), Some(b)) = (self.dtype(x).map(factor), self.dtype(y).map(factor)) else { return };
        let result = wide(ty.dtype).unwrap_or(of_bool(ty.dtype, DType::S32));
        let [left, right, to] = factors(a, b, result, converts);
        if self.dtype(x) == Some(left) && self.dtype(y) == Some(right) && ty.dtype == to {
            return;
        }
        let (x, y) = (self.widened(id, x), self.widened(id, y));
        let (x, y) = (self.converted(id, x, left), self.converted(id, y, right));
        let product = self.r.value_before(id, op, [x, y], ty.with_dtype(to));
        let product = self.converted(id, product, ty.dtype);
        self.r.replace(id, &[product]);
    }
}

/// Returns the types in which to compute a product: a kernel multiplies factors of the first two types to a
/// result of the third, and these types represent every product of the given types.
fn factors(a: DType, b: DType, to: DType, converts: bool) -> [DType; 3] {
    let is_half = |d: DType| matches!(d, DType::F16 | DType::BF16);
    let direct = a == b
        && (a == to
            || (is_half(a) && to == DType::F32)
            || (matches!(a, DType::S8 | DType::U8) && to == DType::S32));
    let widens = |d: DType| d == to || (d.class() == to.class() && d.bits() < to.bits());
    let all = [a, b, to];
    if direct || (converts && widens(a) && widens(b)) {
        return all;
    }
    if all.iter().any(|d| d.is_complex()) {
        let double = all.iter().any(|d| matches!(d, DType::F64 | DType::C128));
        return [if double { DType::C128 } else { DType::C64 }; 3];
    }
    if !all.iter().any(|d| d.is_float()) {
        let bits = all.map(|d| d.bits()).into_iter().max().unwrap_or(64);
        let signed = to.is_signed_integer();
        return [match (bits, signed) {
            (8, true) => DType::S8,
            (8, false) => DType::U8,
            (16, true) => DType::S16,
            (16, false) => DType::U16,
            (32, true) => DType::S32,
            (32, false) => DType::U32,
            (_, true) => DType::S64,
            (_, false) => DType::U64,
        }; 3];
    }
    // A 16-bit float with integers that it represents exactly: the product reads half as many bytes as in
    // `f32`.
    if let Some(half) = [a, b].into_iter().find(|d| is_half(*d))
        && [a, b].iter().all(|d| *d == half || (d.is_integer() && d.bits() <= precision(half)))
    {
        return [half, half, if to == half { half } else { DType::F32 }];
    }
    let double = |d: &DType| *d == DType::F64 || (d.is_integer() && d.bits() > precision(DType::F32));
    [if all.iter().any(double) { DType::F64 } else { DType::F32 }; 3]
}

/// Returns true if each element of the result is an element of an operand, so that rounding to the narrow
/// type does not change it.
fn selects_a_number(op: &Op) -> bool {
    matches!(op, Op::Binary(Binary::Maximum | Binary::Minimum) | Op::Clamp)
}

/// Returns true for a scatter whose updates replace elements.
fn moves_updates(inst: Inst<'_>) -> bool {
    let Some(region) = inst.region(0) else { return false };
    let half = region.own_args().len() / 2;
    region.returned() == &region.own_args()[half..] && region.exactly::<1>().is_some()
}

/// Returns true for reductions that round floats only once, after the last addition.
fn keeps_digits(inst: Inst<'_>) -> bool {
    match inst.op() {
        Op::Reduce { .. } => true,
        Op::ReduceWindow(w) => w.window.iter().fold(1usize, |n, w| n.saturating_mul(*w)) >= MIN_WIDE_WINDOW,
        _ => false,
    }
}

/// Returns true if the only operation of a region may be applied repeatedly without rounding in between.
/// Integers need to be truncated only once, since the low bits of a result do not depend on the high bits of
/// the operands.
fn keeps_in_region(inst: Inst<'_>, keeps: bool) -> bool {
    let dtype = inst.results().first().and_then(|v| inst.func().tensor(*v)).map(|ty| ty.dtype);
    let Op::Binary(op) = inst.op() else { return matches!(inst.op(), Op::Compare(_)) };
    match op {
        Binary::Maximum | Binary::Minimum => true,
        Binary::Add | Binary::Multiply => keeps || dtype.is_some_and(|dtype| dtype.is_integer()),
        Binary::And | Binary::Or | Binary::Xor => true,
        _ => false,
    }
}
