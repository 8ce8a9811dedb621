//! Reductions by regions that no kernel knows, as loops of operations on tensors.
//!
//! ```text
//! reduce(x: [m, n], i) { r } over n   ──▶   y = i;  for each column: y = r(y, column)
//! reduce_window(x, i) { r }           ──▶   y = i;  for each place in the window: y = r(y, x, shifted)
//! map(x, y) { r }                     ──▶   r(x, y)
//! ```
//!
//! `r` of tensors is what it is of their elements, and becomes fusions. Elements are taken in one after the other, as
//! the evaluator does it and XLA:CPU does: programs may count on that, where a region is not associative (a sum of squares,
//! say). Windows that begin with the first element and grow (`cumlogsumexp`) are one loop over the elements.
//!
//! Sums and products of floats stay, which the evaluator carries in a wider type, and windows so large that it shares partial
//! results among them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::simplify::{filled_before, reshaped, splat_before};
use super::{Context, Pass, each_inst, is_applied_to_elements};
use crate::eval::Semantics;
use crate::expand;
use crate::module::{Func, Inst, InstId, NewInst, Region, RegionId, Rewriter, ValueId};
use crate::op::{Binary, Op, Pad, ReduceWindow, Scan, Slice};
use crate::reducer;
use crate::scalar::Scalar;
use crate::types::{TensorType, Type};
use farcall_sig::DType;

/// Regions that are applied to tensors.
pub static PASS: Pass =
    Pass { name: "folds", about: "reduces by any region, in loops of operations on tensors", run };

/// Instructions of a region at most.
const LONGEST: usize = 64;
/// Places of a window at most.
const PLACES: usize = 64;

fn run(func: &mut Func, cx: &Context) {
    let mut folded = false;
    each_inst(func, |r, region, id| {
        let inst = r.func().inst(id);
        let reduces = matches!(inst.op(), Op::Reduce { .. } | Op::ReduceWindow(_) | Op::Map { .. });
        if !reduces || is_applied_to_elements(r.func(), region) || has_kernel(inst, cx) {
            return;
        }
        let Some(applied) = Applied::of(inst, cx) else { return };
        let (op, operands) = (inst.op().clone(), inst.own_operands().to_vec());
        let fills = cx.numerics.semantics == Semantics::StableHlo;
        let mut at = At { r, id, applied, fills };
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
        // There are no other ones.
        expand::run_where(func, &|inst| matches!(inst.op(), Op::Scan(_)));
    }
}

type Values = SmallVec<[ValueId; 2]>;

/// True if something computes it as it is. Most reductions are by one operation, of which the host says so at once.
fn has_kernel(inst: Inst<'_>, cx: &Context) -> bool {
    let by_one = || {
        let by = inst.region(0).and_then(reducer::of)?;
        let [x, _] = inst.own_operands() else { return None };
        Some((cx.reduces)(by.inst.op(), inst.func().tensor(*x)?.dtype))
    };
    (matches!(inst.op(), Op::Reduce { .. }) && by_one() == Some(true)) || (cx.computes)(inst)
}

/// A region that can be applied to tensors: operations on elements alone, of values that are numbers.
struct Applied {
    region: RegionId,
    /// What its last arguments are, which come from around it.
    captures: Vec<ValueId>,
}

impl Applied {
    fn of(inst: Inst<'_>, cx: &Context) -> Option<Applied> {
        let (region, func) = (inst.region(0)?, inst.func());
        if carries_sums(region) || region.insts().take(LONGEST + 1).count() > LONGEST {
            return None;
        }
        let number = |v: &ValueId| func.tensor(*v).filter(|ty| ty.rank() == 0 && ty.quant.is_none());
        let fits = |inst: Inst<'_>| {
            let types: Option<SmallVec<[&TensorType; 3]>> = inst.operands().iter().map(number).collect();
            let result = inst.results().first().map_or(Some(None), |v| number(v).map(Some));
            let (Some(types), Some(result)) = (types, result) else { return false };
            match (inst.op(), result) {
                (Op::Constant(literal), _) => literal.len() == 1,
                (Op::Return | Op::Reshape, _) => true,
                (op, Some(result)) => op.is_elementwise() && (cx.fuses)(op, &types, result),
                _ => false,
            }
        };
        // Of no elements, there is nothing to take in; and what is not of the region's types would be converted.
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
            // Values first in both.
            _ => {
                operands == args
                    && operands[..results.len()] == operands[results.len()..]
                    && operands.starts_with(&results)
            }
        };
        let all = same && returned.eq(results.iter().map(|dtype| Some(*dtype))) && region.insts().all(fits);
        (all && region.args().iter().all(|v| number(v).is_some()))
            .then(|| Applied { region: region.id(), captures: inst.captures().to_vec() })
    }
}

/// True for sums and products of floats and complex numbers.
fn carries_sums(region: Region<'_>) -> bool {
    reducer::of(region).is_some_and(|by| {
        let sums = matches!(by.inst.op(), Op::Binary(Binary::Add | Binary::Multiply));
        let ty = by.inst.results().first().and_then(|v| by.inst.func().tensor(*v));
        sums && ty.is_some_and(|ty| ty.dtype.is_float() || ty.dtype.is_complex())
    })
}

/// Before an instruction.
struct At<'r, 'f> {
    r: &'r mut Rewriter<'f>,
    id: InstId,
    applied: Applied,
    /// Padding has initial values in it, and does not hold nothing.
    fills: bool,
}

impl At<'_, '_> {
    fn ty(&self, x: ValueId) -> TensorType {
        self.r.func().tensor(x).cloned().unwrap_or_else(|| TensorType::scalar(DType::Pred))
    }

    /// A number, everywhere in a tensor of these sizes, before an instruction.
    fn everywhere(&mut self, here: InstId, number: ValueId, sizes: &[usize]) -> ValueId {
        if sizes.is_empty() {
            return number;
        }
        let ty = self.ty(number).with_sizes(sizes);
        self.r.value_before(here, Op::BroadcastInDim { dims: Vec::new() }, [number], ty)
    }

    /// The region of tensors, which all have the same sizes, before an instruction where the captured numbers are known.
    fn apply(&mut self, here: InstId, args: &[ValueId]) -> Values {
        let captures = self.applied.captures.clone();
        self.apply_with(here, args, &captures)
    }

    /// The same where captured numbers are these.
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

    /// A loop over the elements of a dimension, which takes them in from these values on: what they become at last, or, if
    /// all are wanted, after each.
    fn fold(&mut self, xs: &[ValueId], inits: &[ValueId], dim: usize, all: bool) -> Values {
        let mut kept = self.ty(xs[0]).sizes().to_vec();
        let size = kept.remove(dim);
        let inits: Values = inits.iter().map(|init| self.everywhere(self.id, *init, &kept)).collect();
        let count = xs.len();
        let outputs = if all { count } else { 0 };
        let op = Scan {
            inputs: count,
            outputs,
            carries: count,
            dim,
            size: Some(size),
            is_reverse: false,
            is_associative: None,
        };
        // The region, with a return that becomes that of values when they are there.
        let captures = self.applied.captures.clone();
        let types: Vec<Type> = xs
            .iter()
            .map(|x| self.ty(*x).with_sizes(kept.as_slice()).into())
            .chain(inits.iter().chain(&captures).map(|x| self.ty(*x).into()))
            .collect();
        let (mut args, mut end) = (Vec::new(), self.id);
        let region = self.r.new_region(|func, region| {
            args = types.iter().map(|ty| func.add_arg(region, ty.clone())).collect();
            end = func.push(region, NewInst::new(Op::Return, []), []);
        });
        let results = xs.iter().take(outputs).chain(&inits).map(|x| self.ty(*x).into());
        let results: Vec<Type> = results.collect();
        let inst = self.r.func().inst(self.id);
        let operands: Vec<ValueId> = xs.iter().chain(&inits).chain(&captures).copied().collect();
        let new = NewInst {
            captures: captures.len() as u32,
            ..NewInst::new(Op::Scan(op), operands).with_regions([region]).at(inst.span(), inst.loc().cloned())
        };
        let scan = self.r.insert_before(self.id, new, results);
        let (given, captured) = args.split_at(2 * count);
        let (elements, so_far) = given.split_at(count);
        let next = self.apply_with(end, &[so_far, elements].concat(), captured);
        let returned: Vec<ValueId> = next.iter().take(outputs).chain(&next).copied().collect();
        self.r.set_operands(end, returned);
        self.r.func().inst(scan).results()[..count].into()
    }

    /// The dimensions that are reduced as one, which comes first.
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

    /// Windows that all begin with the first element of one dimension, or before, and end with the next one.
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

    /// One place of the window after the other.
    fn windows(&mut self, xs: &[ValueId], inits: &[ValueId], w: &ReduceWindow) -> Option<Values> {
        let places = w.window.iter().try_fold(1usize, |n, size| n.checked_mul(*size))?;
        if places > PLACES {
            return None;
        }
        let results = self.r.func().inst(self.id).results().to_vec();
        let sizes = self.ty(results[0]).sizes().to_vec();
        let (mut padded, mut inside) = (Values::from(xs), None);
        if w.padding.iter().any(|p| *p != (0, 0)) || w.base_dilations.iter().any(|n| *n != 1) {
            let padding = Padding::of(w, self.ty(xs[0]).sizes())?;
            padded = xs.iter().zip(inits).map(|(x, init)| self.padded(*x, *init, &padding)).collect();
            // Where padding holds nothing, what is there is left out.
            if !self.fills {
                let ty = self.ty(xs[0]).with_dtype(DType::Pred);
                let all = splat_before(self.r, self.id, Scalar::Bool(true), ty.clone());
                let none = splat_before(self.r, self.id, Scalar::Bool(false), ty.with_sizes([]));
                inside = Some(self.padded(all, none, &padding));
            }
        }
        let mut values: Values = inits.iter().map(|init| self.everywhere(self.id, *init, &sizes)).collect();
        for place in 0..places {
            let mut rest = place;
            let mut start = vec![0; sizes.len()];
            for d in (0..sizes.len()).rev() {
                start[d] = rest % w.window[d] * w.window_dilations[d];
                rest /= w.window[d];
            }
            let last = |d: usize| start[d] + (sizes[d] - 1) * w.strides[d];
            let limit = (0..sizes.len()).map(|d| last(d) + 1).collect();
            let slice = Slice { start: start.clone(), limit, strides: w.strides.clone() };
            let elements: Values = padded.iter().map(|x| self.slice(*x, &slice)).collect();
            let args: Vec<ValueId> = values.iter().chain(&elements).copied().collect();
            let next = self.apply(self.id, &args);
            values = match inside {
                None => next,
                Some(inside) => {
                    let inside = self.slice(inside, &slice);
                    let chosen = next.iter().zip(&values).map(|(next, before)| {
                        let ty = self.ty(*next);
                        self.r.value_before(self.id, Op::Select, [inside, *next, *before], ty)
                    });
                    chosen.collect()
                }
            };
        }
        Some(values)
    }

    fn slice(&mut self, x: ValueId, slice: &Slice) -> ValueId {
        let ty = self.ty(x);
        if *slice == Slice::all(ty.sizes()) {
            return x;
        }
        let to = slice.of_type(&ty);
        self.r.value_before(self.id, Op::Slice(slice.clone()), [x], to)
    }

    /// With a value around and between the elements.
    fn padded(&mut self, x: ValueId, value: ValueId, padding: &Padding) -> ValueId {
        let ty = self.ty(x).with_sizes(padding.sizes.as_slice());
        self.r.value_before(self.id, Op::Pad(padding.op.clone()), [x, value], ty)
    }
}

/// The padding of windows' operands.
struct Padding {
    op: Pad,
    /// Sizes with it.
    sizes: Vec<usize>,
}

impl Padding {
    /// `None` for sizes that no tensor has.
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
