//! Turns reductions by arbitrary regions into loops of operations on tensors.
//!
//! ```text
//! reduce(x: [m, n], i) { r } over n   ──▶   y = i;  for each column: y = r(y, column)
//! reduce_window(x, i) { r }           ──▶   y = i;  for each position in the window: y = r(y, shifted x)
//! map(x, y) { r }                     ──▶   r(x, y)
//! select_and_scatter(x, y, i) { r, s } ──▶  p = reduce_window(x, numbers) { r };  scatter(i, p, y) { s }
//! ```
//!
//! `r` is applied to whole tensors elementwise, and becomes fusions. Elements are combined one after the
//! other, as in the evaluator and XLA:CPU. Programs may rely on that order if a region is not associative (a
//! sum of squares, for example). Windows that begin at the first element and grow (`cumlogsumexp`) become one
//! loop over the elements; other large windows become a loop over the positions in the window.
//!
//! Sums and products of floats are left alone, since the evaluator accumulates them in a wider type.

mod selected;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::simplify::{filled_before, reshaped, splat_before};
use super::{Pass, PassOptions, each_inst, is_applied_to_elements};
use crate::eval::Semantics;
use crate::expand;
use crate::literal::Literal;
use crate::module::{Func, Inst, InstId, NewInst, Region, RegionId, Rewriter, ValueId};
use crate::op::{Binary, Op, Pad, ReduceWindow, Scan, Slice};
use crate::reducer;
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};
use farcall_sig::DType;

/// The pass for reductions by arbitrary regions.
pub static PASS: Pass = Pass {
    name: "region_loops",
    about: "turns reductions by arbitrary regions into loops over tensors",
    run,
};

/// Maximum number of instructions in a region.
const MAX_INSTRUCTIONS: usize = 256;
/// Maximum number of window positions that are unrolled.
const MAX_WRITTEN_PLACES: usize = 64;
/// Maximum number of positions in a window.
const MAX_PLACES: usize = 1 << 16;

fn run(func: &mut Func, cx: &PassOptions) {
    let mut folded = false;
    each_inst(func, |r, region, id| {
        let inst = r.func().inst(id);
        let reduces = matches!(
            inst.op(),
            Op::Reduce { .. } | Op::ReduceWindow(_) | Op::SelectAndScatter(_) | Op::Map { .. }
        );
        if !reduces || is_applied_to_elements(r.func(), region) || has_kernel(inst, cx) {
            return;
        }
        let id = match inst.op().clone() {
            Op::SelectAndScatter(s) if inst.regions().all(|region| is_foldable(region, cx)) => {
                match selected::take_apart(r, id, &s) {
                    Some(windows) => windows,
                    None => return,
                }
            }
            Op::SelectAndScatter(_) => return,
            _ => id,
        };
        let inst = r.func().inst(id);
        let Some(applied) = Applied::of(inst, cx) else { return };
        let (op, operands) = (inst.op().clone(), inst.own_operands().to_vec());
        let fills = cx.numerics.semantics == Semantics::StableHlo;
        let mut at = Lowering { r, id, applied, fills };
        let (xs, inits) = operands.split_at(operands.len() / 2);
        let values = match &op {
            Op::Reduce { dims } => Some(at.reduce(xs, inits, dims)),
            Op::ReduceWindow(w) => at.growing(xs, inits, w).or_else(|| at.windows(xs, inits, w)),
            _ => Some(at.apply(id, &operands)),
        };
        if let Some(values) = values {
            folded = true;
            r.replace(id, &values);
        }
    });
    if folded {
        // Programs have no other scans at this point.
        expand::run_where(func, &|inst| matches!(inst.op(), Op::Scan(_)));
    }
}

type Values = SmallVec<[ValueId; 2]>;

/// Returns true if a kernel computes the instruction unchanged. Most reductions use a single operation; for
/// these, [`PassOptions::reduces`] answers faster than [`PassOptions::computes`].
fn has_kernel(inst: Inst<'_>, cx: &PassOptions) -> bool {
    let by_one = || {
        let by = inst.region(0).and_then(reducer::of)?;
        let [x, _] = inst.own_operands() else { return None };
        Some((cx.reduces)(by.inst.op(), inst.func().tensor(*x)?.dtype))
    };
    (matches!(inst.op(), Op::Reduce { .. }) && by_one() == Some(true)) || (cx.computes)(inst)
}

/// A region that can be applied to whole tensors, because it has only elementwise operations on scalars.
struct Applied {
    region: RegionId,
    /// Values from outside that the region's last arguments stand for.
    captures: Vec<ValueId>,
}

impl Applied {
    fn of(inst: Inst<'_>, cx: &PassOptions) -> Option<Applied> {
        let (region, func) = (inst.region(0)?, inst.func());
        let sums = !matches!(inst.op(), Op::Map { .. }) && carries_sums(region);
        if sums || !is_foldable(region, cx) {
            return None;
        }
        let number = |v: &ValueId| number(func, *v);
        // Tensors without elements need no loop, and elements whose types differ from the region's would have
        // to be converted.
        let args = region.own_args().iter().map(|v| number(v).map(|ty| ty.dtype));
        let args: Vec<DType> = args.collect::<Option<_>>()?;
        let dtype = |v: &ValueId| {
            let ty = func.tensor(*v).filter(|ty| ty.quant.is_none())?;
            ty.elements().filter(|n| *n > 0).map(|_| ty.dtype)
        };
        let operands: Vec<DType> = inst.own_operands().iter().map(dtype).collect::<Option<_>>()?;
        let results: Vec<DType> = inst.results().iter().map(dtype).collect::<Option<_>>()?;
        let returned = region.returned().iter().map(|v| number(v).map(|ty| ty.dtype));
        let same = match inst.op() {
            Op::Map { .. } => operands == args,
            // Arguments and operands are ordered alike: the tensors, then the initial values.
            _ => {
                operands == args
                    && operands[..results.len()] == operands[results.len()..]
                    && operands.starts_with(&results)
            }
        };
        let all = same && returned.eq(results.iter().map(|dtype| Some(*dtype)));
        all.then(|| Applied { region: region.id(), captures: inst.captures().to_vec() })
    }
}

/// The type of a value that is a scalar.
fn number(func: &Func, value: ValueId) -> Option<&TensorType> {
    func.tensor(value).filter(|ty| ty.rank() == 0 && ty.quant.is_none())
}

/// Returns true if a region consists of elementwise operations on scalars, and is not too large.
fn is_foldable(region: Region<'_>, cx: &PassOptions) -> bool {
    let number = |v: &ValueId| number(region.func(), *v);
    let fits = |inst: Inst<'_>| {
        let types: Option<SmallVec<[&TensorType; 3]>> = inst.operands().iter().map(number).collect();
        let result = inst.results().first().map_or(Some(None), |v| number(v).map(Some));
        let (Some(types), Some(result)) = (types, result) else { return false };
        match (inst.op(), result) {
            (Op::Constant(literal), _) => literal.len() == 1,
            (Op::Return | Op::Reshape, _) => true,
            (Op::BitcastConvert, Some(result)) => {
                let bits = |ty: &TensorType| ty.dtype.bits();
                bits(result) >= 8 && types.iter().all(|ty| bits(ty) == bits(result))
            }
            (op, Some(result)) => op.is_elementwise() && (cx.fuses)(op, &types, result),
            _ => false,
        }
    };
    region.insts().take(MAX_INSTRUCTIONS + 1).count() <= MAX_INSTRUCTIONS
        && region.args().iter().all(|v| number(v).is_some())
        && region.insts().all(fits)
}

/// Returns true for sums and products of floats and complex numbers.
fn carries_sums(region: Region<'_>) -> bool {
    reducer::of(region).is_some_and(|by| {
        let sums = matches!(by.inst.op(), Op::Binary(Binary::Add | Binary::Multiply));
        let ty = by.inst.results().first().and_then(|v| by.inst.func().tensor(*v));
        sums && ty.is_some_and(|ty| ty.dtype.is_float() || ty.dtype.is_complex())
    })
}

/// State of the lowering of one instruction; new instructions go before it.
struct Lowering<'r, 'f> {
    r: &'r mut Rewriter<'f>,
    id: InstId,
    applied: Applied,
    /// True if the padding of a window holds the initial value, false if it has no elements.
    fills: bool,
}

impl Lowering<'_, '_> {
    fn ty(&self, x: ValueId) -> TensorType {
        self.r.func().tensor(x).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    /// Broadcasts a scalar to a tensor of these sizes, before an instruction.
    fn everywhere(&mut self, here: InstId, number: ValueId, sizes: &[usize]) -> ValueId {
        if sizes.is_empty() {
            return number;
        }
        let ty = self.ty(number).with_sizes(sizes);
        self.r.value_before(here, Op::BroadcastInDim { dims: Vec::new() }, [number], ty)
    }

    /// Applies the region to tensors of equal sizes, before an instruction where the captured scalars are
    /// available.
    fn apply(&mut self, here: InstId, args: &[ValueId]) -> Values {
        let captures = self.applied.captures.clone();
        self.apply_with(here, args, &captures)
    }

    /// Applies the region like `apply`, with different captured scalars.
    fn apply_with(&mut self, here: InstId, args: &[ValueId], captures: &[ValueId]) -> Values {
        let sizes = args.first().map_or(Vec::new(), |x| self.ty(*x).sizes().to_vec());
        let captured = captures.iter().map(|x| self.everywhere(here, *x, &sizes));
        let args: Vec<ValueId> = args.iter().copied().chain(captured).collect();
        let region = self.r.func().region(self.applied.region);
        let insts: Vec<InstId> = region.insts().map(Inst::id).collect();
        let mut known: FxHashMap<ValueId, ValueId> = region.args().iter().copied().zip(args).collect();
        let mut returned = Values::new();
        for inst in insts {
            let inst = self.r.func().inst(inst);
            let op = inst.op().clone();
            let operands: Values = inst.operands().iter().filter_map(|x| known.get(x).copied()).collect();
            let Some(result) = inst.results().first().copied() else {
                returned = operands;
                break;
            };
            let ty = self.ty(result).with_sizes(sizes.as_slice());
            let value = match op {
                Op::Constant(number) => filled_before(self.r, here, number, ty),
                Op::Reshape => operands[0],
                op => self.r.value_before(here, op, operands, ty),
            };
            known.insert(result, value);
        }
        returned
    }

    /// Adds a loop that combines the elements of a dimension, starting from `inits`. Returns the final values
    /// or, if `all` is true, the values after each element.
    fn fold(&mut self, xs: &[ValueId], inits: &[ValueId], dim: usize, all: bool) -> Values {
        let mut kept = self.ty(xs[0]).sizes().to_vec();
        kept.remove(dim);
        let inits: Values = inits.iter().map(|init| self.everywhere(self.id, *init, &kept)).collect();
        let captures = self.applied.captures.clone();
        self.scan(xs, &inits, (dim, all), &captures, |at, end, elements, so_far, captured| {
            at.apply_with(end, &[so_far, elements].concat(), captured)
        })
    }

    /// Adds a loop over the slices of tensors along a dimension, before the instruction that is lowered.
    /// `step` computes the next values by adding instructions before a given instruction; its inputs are a
    /// slice of each tensor, the values, and captured values. Returns the last values or, if `all` is true,
    /// the values after each slice.
    fn scan(
        &mut self,
        xs: &[ValueId],
        inits: &[ValueId],
        (dim, all): (usize, bool),
        captures: &[ValueId],
        step: impl FnOnce(&mut Self, InstId, &[ValueId], &[ValueId], &[ValueId]) -> Values,
    ) -> Values {
        let (inputs, carries) = (xs.len(), inits.len());
        let outputs = if all { carries } else { 0 };
        let size = self.ty(xs[0]).sizes().get(dim).copied();
        let op = Scan { inputs, outputs, carries, dim, size, is_reverse: false, is_associative: None };
        let slice = |x: &ValueId| {
            let mut sizes = self.ty(*x).sizes().to_vec();
            sizes.remove(dim);
            self.ty(*x).with_sizes(sizes).into()
        };
        // The region, with a return whose operands are set once the values exist.
        let types: Vec<Type> =
            xs.iter().map(slice).chain(inits.iter().chain(captures).map(|x| self.ty(*x).into())).collect();
        let (mut args, mut end) = (Vec::new(), self.id);
        let region = self.r.new_region(|func, region| {
            args = types.iter().map(|ty| func.add_arg(region, ty.clone())).collect();
            end = func.push(region, NewInst::new(Op::Return, []), []);
        });
        let results = xs.iter().take(outputs).chain(inits).map(|x| self.ty(*x).into());
        let results: Vec<Type> = results.collect();
        let inst = self.r.func().inst(self.id);
        let operands: Vec<ValueId> = xs.iter().chain(inits).chain(captures).copied().collect();
        let new = NewInst {
            captures: captures.len() as u32,
            ..NewInst::new(Op::Scan(op), operands).with_regions([region]).at(inst.span(), inst.loc().cloned())
        };
        let scan = self.r.insert_before(self.id, new, results);
        let (elements, rest) = args.split_at(inputs);
        let (so_far, captured) = rest.split_at(carries);
        let next = step(self, end, elements, so_far, captured);
        let returned: Vec<ValueId> = next.iter().take(outputs).chain(&next).copied().collect();
        self.r.set_operands(end, returned);
        self.r.func().inst(scan).results()[..carries].into()
    }

    /// Lowers a reduction, with the reduced dimensions joined into one leading dimension.
    fn reduce(&mut self, xs: &[ValueId], inits: &[ValueId], dims: &[usize]) -> Values {
        let results = self.r.func().inst(self.id).results().to_vec();
        let rank = self.ty(xs[0]).rank();
        let mut order = dims.to_vec();
        order.sort_unstable();
        order.extend((0..rank).filter(|d| !dims.contains(d)));
        let lines = |x: &ValueId| {
            let ty = self.ty(*x);
            let sizes: Vec<usize> = order.iter().map(|d| ty.sizes()[*d]).collect();
            let (reduced, kept) = sizes.split_at(dims.len());
            let together = [reduced.iter().product(), kept.iter().product()];
            let op = Op::Transpose { permutation: order.clone() };
            let moved = match order.is_sorted() {
                true => *x,
                false => self.r.value_before(self.id, op, [*x], ty.with_sizes(sizes.as_slice())),
            };
            reshaped(self.r, self.id, moved, ty.with_sizes(together.as_slice()))
        };
        let xs: Values = xs.iter().map(lines).collect();
        let values = self.fold(&xs, inits, 0, false);
        let shaped = values.iter().zip(results).map(|(value, result)| {
            let ty = self.ty(result);
            reshaped(self.r, self.id, *value, ty)
        });
        shaped.collect()
    }

    /// Lowers windows along one dimension that all begin at or before its first element, each one element
    /// longer than the previous one.
    fn growing(&mut self, xs: &[ValueId], inits: &[ValueId], w: &ReduceWindow) -> Option<Values> {
        let sizes = self.ty(xs[0]).sizes().to_vec();
        let is_one = |d: &usize| w.window[*d] == 1 && w.padding[*d] == (0, 0);
        let dim = (0..sizes.len()).find(|d| !is_one(d))?;
        let apart = [&w.strides, &w.base_dilations, &w.window_dilations];
        let alone =
            (dim + 1..sizes.len()).all(|d| is_one(&d)) && apart.iter().all(|n| n.iter().all(|n| *n == 1));
        let grows = w.padding[dim] == (i64::try_from(sizes[dim]).ok()? - 1, 0) && w.window[dim] == sizes[dim];
        (alone && grows && !self.fills).then(|| self.fold(xs, inits, dim, true))
    }

    /// Lowers windows, one position in the window after the other.
    fn windows(&mut self, xs: &[ValueId], inits: &[ValueId], w: &ReduceWindow) -> Option<Values> {
        let places = w.window.iter().try_fold(1usize, |n, size| n.checked_mul(*size))?;
        if places > MAX_PLACES {
            return None;
        }
        let results = self.r.func().inst(self.id).results().to_vec();
        let sizes = self.ty(results[0]).sizes().to_vec();
        let mut padded = Values::from(xs);
        let is_padded = w.padding.iter().any(|p| *p != (0, 0)) || w.base_dilations.iter().any(|n| *n != 1);
        // If padding contains no elements, its positions are left out.
        let leaves_out = is_padded && !self.fills;
        if is_padded {
            let padding = Padding::of(w, self.ty(xs[0]).sizes())?;
            padded = xs.iter().zip(inits).map(|(x, init)| self.padded(*x, *init, &padding)).collect();
            if leaves_out {
                let ty = self.ty(xs[0]).with_dtype(DType::Pred);
                let all = splat_before(self.r, self.id, Scalar::Bool(true), ty.clone());
                let none = splat_before(self.r, self.id, Scalar::Bool(false), ty.with_sizes([]));
                let inside = self.padded(all, none, &padding);
                padded.push(inside);
            }
        }
        let values: Values = inits.iter().map(|init| self.everywhere(self.id, *init, &sizes)).collect();
        let starts = (0..places).map(|place| {
            let mut rest = place;
            let mut start = vec![0; sizes.len()];
            for d in (0..sizes.len()).rev() {
                start[d] = rest % w.window[d] * w.window_dilations[d];
                rest /= w.window[d];
            }
            start
        });
        if places > MAX_WRITTEN_PLACES {
            return Some(self.each_place(starts, &padded, &values, (&sizes, &w.strides), leaves_out));
        }
        let captures = self.applied.captures.clone();
        Some(starts.fold(values, |values, start| {
            let last = |d: usize| start[d] + (sizes[d] - 1) * w.strides[d];
            let limit = (0..sizes.len()).map(|d| last(d) + 1).collect();
            let slice = Slice { start: start.clone(), limit, strides: w.strides.clone() };
            let slices: Values = padded.iter().map(|x| self.slice(self.id, *x, &slice)).collect();
            self.take_in(self.id, &values, &slices, leaves_out, &captures)
        }))
    }

    /// Adds a loop over the positions in a window; `starts` yields the index of the first element at each
    /// position.
    fn each_place(
        &mut self,
        starts: impl Iterator<Item = Vec<usize>>,
        padded: &[ValueId],
        values: &[ValueId],
        (sizes, strides): (&[usize], &[usize]),
        leaves_out: bool,
    ) -> Values {
        let rank = sizes.len();
        let starts: Vec<i64> = starts.flatten().map(|i| i64::try_from(i).unwrap_or(i64::MAX)).collect();
        let table = Literal::from_slice(DType::S64, [starts.len() / rank.max(1), rank], &starts);
        let ty = TensorType::new(DType::S64, table.dims().to_vec());
        let table = self.r.value_before(self.id, Op::Constant(table), [], ty);
        let captures: Vec<ValueId> = padded.iter().chain(&self.applied.captures).copied().collect();
        let reach: Vec<usize> = sizes.iter().zip(strides).map(|(n, stride)| (n - 1) * stride + 1).collect();
        let strided = Slice { start: vec![0; rank], limit: reach.clone(), strides: strides.to_vec() };
        self.scan(&[table], values, (0, false), &captures, |at, end, start, so_far, captured| {
            let (padded, captured) = captured.split_at(padded.len());
            let starts: Values = (0..rank)
                .map(|d| {
                    let one = Slice { start: vec![d], limit: vec![d + 1], strides: vec![1] };
                    let one = at.slice(end, start[0], &one);
                    at.r.value_before(end, Op::Reshape, [one], TensorType::scalar(DType::S64))
                })
                .collect();
            let slices: Values = padded
                .iter()
                .map(|x| {
                    let op = Op::DynamicSlice { sizes: reach.clone() };
                    let operands: Vec<ValueId> = [*x].into_iter().chain(starts.iter().copied()).collect();
                    let ty = at.ty(*x).with_sizes(reach.as_slice());
                    let taken = at.r.value_before(end, op, operands, ty);
                    at.slice(end, taken, &strided)
                })
                .collect();
            at.take_in(end, so_far, &slices, leaves_out, captured)
        })
    }

    /// Applies the region to the values and the elements at one position in the window. If some elements are
    /// `left_out`, the last of `slices` marks the elements that exist.
    fn take_in(
        &mut self,
        here: InstId,
        values: &[ValueId],
        slices: &[ValueId],
        left_out: bool,
        captures: &[ValueId],
    ) -> Values {
        let (elements, inside) = slices.split_at(values.len());
        let next = self.apply_with(here, &[values, elements].concat(), captures);
        if !left_out {
            return next;
        }
        let chosen = next.iter().zip(values).map(|(next, before)| {
            let ty = self.ty(*next);
            self.r.value_before(here, Op::Select, [inside[0], *next, *before], ty)
        });
        chosen.collect()
    }

    fn slice(&mut self, here: InstId, x: ValueId, slice: &Slice) -> ValueId {
        let ty = self.ty(x);
        if *slice == Slice::all(ty.sizes()) {
            return x;
        }
        let to = slice.of_type(&ty);
        self.r.value_before(here, Op::Slice(slice.clone()), [x], to)
    }

    /// Pads a tensor with a value around and between its elements.
    fn padded(&mut self, x: ValueId, value: ValueId, padding: &Padding) -> ValueId {
        let ty = self.ty(x).with_sizes(padding.sizes.as_slice());
        self.r.value_before(self.id, Op::Pad(padding.op.clone()), [x, value], ty)
    }
}

/// Padding of the operands of a window reduction.
struct Padding {
    op: Pad,
    /// Sizes of the padded tensors.
    sizes: Vec<usize>,
}

impl Padding {
    /// Computes the padding; `None` if the sizes are too large for any tensor.
    fn of(w: &ReduceWindow, sizes: &[usize]) -> Option<Padding> {
        let interior = w.base_dilations.iter().map(|n| i64::try_from(*n).ok()?.checked_sub(1));
        let interior: Vec<i64> = interior.collect::<Option<_>>()?;
        let padded = sizes.iter().zip(&interior).zip(&w.padding).map(|((n, interior), (low, high))| {
            let n = i128::try_from(*n).ok()?;
            let between = (n - 1).checked_mul(i128::from(*interior))?;
            usize::try_from(n + between + i128::from(*low) + i128::from(*high)).ok()
        });
        let sizes = padded.collect::<Option<_>>()?;
        let [low, high] =
            [|p: &(i64, i64)| p.0, |p: &(i64, i64)| p.1].map(|f| w.padding.iter().map(f).collect());
        Some(Padding { op: Pad { low, high, interior }, sizes })
    }
}
