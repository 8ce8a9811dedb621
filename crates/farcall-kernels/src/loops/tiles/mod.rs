//! Tile programs: operations on corresponding elements, computed in *tiles* of a few hundred elements, so
//! that intermediate values stay in the cache.
//!
//! ```text
//! values (operands, then operations) ──Builder──▶ steps ──merge──▶ fewer ──Program──▶ steps over registers
//! ```
//!
//! A program may compute whole rows at a time, if it combines the elements of each row. A *register* is
//! memory for the elements that an intermediate value has in one tile. A value is
//! - *full*: it has an element for each element of a tile, in the same order;
//! - of *rows*: it has an element for each row of a tile;
//! - *uniform*: all its elements are equal; its register is filled with a block of copies before the first
//!   tile;
//! - *repeated*: it has an element for each element of a tile, but the elements of a row are equal, so that
//!   its register has only one element per row;
//! - *accumulated*: it depends on all rows; every task accumulates in its own memory, and the value is known
//!   when all tasks are done;
//! - *other*: an operand with another number of elements. A step computes a value from it, for example a
//!   broadcast.

mod expressions;
mod merge;
mod program;
mod registers;
mod rounds;
mod single;

use std::sync::Arc;

use farcall_ir::middle::rows;
use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::expression::{Expr, ScalarOp};
use super::ir::{Level, Loop, LoopOp, Slot};
use super::prepared::PreparedKernel;
use super::vector::combine::{self, Combine};
use super::vector::fill::Iota;
use super::vector::operations;
use super::vector::slices::{Part, Parts};
use crate::movement::Movement;
use crate::view::{self, View};
use program::Program;

/// Minimum length of a row for which a repeated value is stored as one element per row. For shorter rows, a
/// step writes the copies.
const MIN_REPEATED_COLUMNS: usize = 64;
/// Minimum number of elements for merging the rounds of a hash into one step. With fewer, a straight-line
/// program of many steps is at least as fast as a few steps in tiles.
const MIN_ROUNDS_ELEMENTS: usize = 256;
/// Minimum total size of the full operands and outputs, in bytes, for which outputs are written with
/// non-temporal stores. Fewer bytes stay in the cache.
const MIN_STREAMED_BYTES: usize = 1 << 26;

/// Builds a tile program from a sequence of operations.
pub(crate) struct Builder<'a> {
    /// Number of elements of every full value.
    n: usize,
    /// Number of elements in a row; all elements, if nothing is computed by rows.
    columns: usize,
    by_rows: bool,
    inputs: &'a [&'a TensorType],
    values: Vec<Value>,
    /// Slices that are concatenated later.
    parts: Vec<Part>,
    steps: Vec<SsaLoop>,
}

/// The form of a value (see the module's documentation).
#[derive(Clone, Copy)]
enum Value {
    Other(usize),
    At(Level, Slot),
    /// A slice, by its number among the builder's `parts`.
    Part(usize),
    /// A value of rows, repeated.
    Repeated(Slot),
    /// A value accumulated by the step with this number.
    Accumulated(usize),
}

/// A loop before registers are allocated.
type SsaLoop = Loop<Slot>;

impl<'a> Builder<'a> {
    /// Creates a builder for operands of these types, and full values of `n` elements in rows of `columns`
    /// elements.
    pub(crate) fn new(inputs: &'a [&'a TensorType], n: usize, columns: Option<usize>) -> Builder<'a> {
        let mut builder = Builder {
            n,
            columns: columns.unwrap_or(n).max(1),
            by_rows: columns.is_some(),
            inputs,
            values: Vec::with_capacity(inputs.len() + 8),
            parts: Vec::new(),
            steps: Vec::new(),
        };
        for (i, ty) in inputs.iter().enumerate() {
            let value = match builder.level(ty) {
                Some(Level::Uniform) => {
                    let slot = builder.step(LoopOp::Splat(i), [], ty.dtype.size(), Level::Uniform, 0);
                    Value::At(Level::Uniform, slot)
                }
                Some(level) => Value::At(level, Slot::Input(i)),
                None => Value::Other(i),
            };
            builder.values.push(value);
        }
        builder
    }

    /// Prepares a single operation on all inputs.
    pub(crate) fn single(
        op: &Op,
        inputs: &'a [&'a TensorType],
        output: &TensorType,
    ) -> Option<PreparedKernel> {
        let operands: SmallVec<[_; 3]> = inputs.iter().copied().enumerate().collect();
        let mut builder = Builder::new(inputs, output.elements()?, None);
        builder.op(op, &operands, output)?;
        builder.finish(&[operands.len()], &[output])
    }

    /// Returns the level of values of this type, if it has one. (A single element may also be the element of
    /// the only row.)
    fn level(&self, ty: &TensorType) -> Option<Level> {
        match ty.elements()? {
            m if m == self.n => Some(Level::Full),
            1 => Some(Level::Uniform),
            m if m.checked_mul(self.columns) == Some(self.n) => Some(Level::Row),
            _ => None,
        }
    }

    fn step(
        &mut self,
        op: LoopOp,
        operands: impl IntoIterator<Item = Slot>,
        bytes: usize,
        level: Level,
        cost: usize,
    ) -> Slot {
        let operands = operands.into_iter().collect();
        self.steps.push(Loop { op: Arc::new(op), operands, result: (), bytes, level, cost });
        Slot::Loop(self.steps.len() - 1)
    }

    /// Adds an operation on earlier values. Values are numbered: the program's operands come first, then the
    /// results of operations. `None` if the operation cannot be computed in tiles.
    pub(crate) fn op(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<()> {
        let value = self.value(op, operands, ty)?;
        self.values.push(value);
        Some(())
    }

    /// Adds a reduction by the operation `by` on two elements: a reduction of each row, or of the
    /// corresponding elements of all rows.
    pub(crate) fn reduce(
        &mut self,
        op: &Op,
        by: &Op,
        operands: &[(usize, &TensorType)],
        ty: &TensorType,
    ) -> Option<()> {
        let (Op::Reduce { dims }, [(x, from), (init, of_init)]) = (op, operands) else { return None };
        let same = from.dtype == ty.dtype && of_init.dtype == ty.dtype && of_init.elements() == Some(1);
        let combine = Combine::by(by, ty.dtype).filter(|_| same && from.elements() == Some(self.n))?;
        let size = ty.dtype.size();
        let x = self.full(*x, size)?;
        let Value::At(level, init) = *self.values.get(*init)? else { return None };
        if !self.by_rows || rows::reduced(from, dims) != Some(self.columns) {
            let kept = rows::accumulated(from, dims).filter(|k| ty.elements() == Some(*k))?;
            let Slot::Loop(init) = init else { return None };
            let LoopOp::Constant(init) = *self.steps[init].op else { return None };
            let accumulator = Arc::new(combine::accumulator(combine, ty.dtype, kept, init)?);
            self.step(LoopOp::Accumulate(accumulator), [x], size, Level::Full, 2 * combine::COST);
            self.values.push(Value::Accumulated(self.steps.len() - 1));
            return Some(());
        }
        (ty.elements()?.checked_mul(self.columns) == Some(self.n)).then_some(())?;
        // All rows must have the same initial value.
        if level == Level::Full || (level == Level::Row && self.columns != self.n) {
            return None;
        }
        let work = combine::rows(combine, ty.dtype, self.columns)?;
        let slot =
            self.step(LoopOp::ReduceRows(work), [x, init], size, Level::Row, self.columns * combine::COST);
        self.values.push(Value::At(Level::Row, slot));
        Some(())
    }

    /// Returns the slot with one element of a value per element of a tile. Adds a step that writes these
    /// elements if the value is stored in another form.
    fn full(&mut self, x: usize, size: usize) -> Option<Slot> {
        match *self.values.get(x)? {
            Value::At(Level::Full, slot) => Some(slot),
            Value::At(Level::Uniform, slot) => Some(self.step(LoopOp::Fill, [slot], size, Level::Full, 50)),
            Value::Repeated(slot) => Some(self.step(LoopOp::Repeat, [slot], size, Level::Full, 50)),
            _ => None,
        }
    }

    fn value(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        if let Op::Slice(_) | Op::Concatenate { .. } = op {
            return self.moved(op, operands, ty);
        }
        let (level, size) = (self.level(ty)?, ty.dtype.size());
        match (op, operands) {
            (Op::Constant(literal), [])
                if !literal.is_empty() && (literal.is_splat() || literal.len() == 1) =>
            {
                let element = literal.element(0);
                let mut bytes = [0; 16];
                bytes.get_mut(..element.len())?.copy_from_slice(element);
                (literal.dtype() == ty.dtype && element.len() == size).then_some(())?;
                Some(self.made(LoopOp::Constant(bytes), [], size, Level::Uniform, 0))
            }
            (Op::Iota { dim }, []) => {
                let iota = Iota::new(ty, *dim)?;
                Some(self.made(LoopOp::Iota(iota), [], size, level, 500))
            }
            (Op::Reshape, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, ty),
            (Op::BitcastConvert, [(x, from)])
                if from.dtype.bits() == ty.dtype.bits() && from.dtype.bits() >= 8 =>
            {
                self.view(*x, from, ty)
            }
            (Op::Convert, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, ty),
            (Op::BroadcastInDim { dims }, [(x, from)]) => self.broadcast(op, *x, from, ty, dims),
            (Op::Pad(pad), [(x, from), (by, of_by)]) => {
                let input = self.inputs.get(*x).filter(|input| *input == from && level == Level::Full)?;
                let Value::At(of, by) = *self.values.get(*by)? else { return None };
                // If the program has only one element, a full value can be the padding, too.
                (from.dtype == ty.dtype && of_by.dtype == ty.dtype).then_some(())?;
                (of == Level::Uniform || self.n == 1).then_some(())?;
                let inside = Movement::pad(input, ty, pad)?.in_order()?;
                let cost = 300 + 10_000 / inside.run_length().max(1);
                Some(self.made(LoopOp::Pad(*x, inside), [by], size, level, cost))
            }
            _ => self.compute(op, operands, ty),
        }
    }

    /// Adds a slice of an operand, or a concatenation of slices.
    fn moved(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let inputs = self.inputs;
        let input = |x: usize, from: &TensorType| inputs.get(x).filter(|input| **input == from).map(|_| x);
        let part = |input: usize, ty: &TensorType, movement: Option<Movement>| {
            Some(Part { input, ty: ty.clone(), movement: movement?.in_order()? })
        };
        let (parts, dim) = match (op, operands) {
            (Op::Slice(_), [(x, from)]) => {
                let part = part(input(*x, from)?, ty, view::movement(op, from, ty))?;
                if ty.elements()? != self.n {
                    self.parts.push(part);
                    return Some(Value::Part(self.parts.len() - 1));
                }
                (vec![part], 0)
            }
            (Op::Concatenate { dim }, parts) if ty.elements()? == self.n => {
                let part = |(x, from): &(usize, &TensorType)| match self.values.get(*x)? {
                    Value::Part(part) => self.parts.get(*part).cloned(),
                    _ => part(input(*x, from)?, from, View::whole(0, from).movement(from, from, 0)),
                };
                (parts.iter().map(part).collect::<Option<Vec<Part>>>()?, *dim)
            }
            _ => return None,
        };
        let (parts, size) = (Parts::new(parts, dim, ty)?, ty.dtype.size());
        Some(self.made(LoopOp::Slices(Box::new(parts)), [], size, Level::Full, 300))
    }

    fn made(
        &mut self,
        op: LoopOp,
        operands: impl IntoIterator<Item = Slot>,
        bytes: usize,
        level: Level,
        cost: usize,
    ) -> Value {
        Value::At(level, self.step(op, operands, bytes, level, cost))
    }

    /// Returns the same elements in another shape or type.
    fn view(&self, x: usize, from: &TensorType, to: &TensorType) -> Option<Value> {
        (from.elements() == to.elements()).then_some(())?;
        self.values.get(x).copied()
    }

    fn broadcast(
        &mut self,
        op: &Op,
        x: usize,
        from: &TensorType,
        ty: &TensorType,
        dims: &[usize],
    ) -> Option<Value> {
        // If the dimensions are in another order, the broadcast is also a transposition, which is refused.
        if from.dtype != ty.dtype || dims.len() != from.rank() || !dims.is_sorted() {
            return None;
        }
        let (value, same) = (*self.values.get(x)?, from.elements() == ty.elements());
        match value {
            Value::At(Level::Uniform, _) => Some(value),
            Value::At(..) | Value::Repeated(_) if same => Some(value),
            Value::At(Level::Row, slot)
                if self.level(ty)? == Level::Full && rows::repeated(from, ty, dims) == Some(self.columns) =>
            {
                if self.columns >= MIN_REPEATED_COLUMNS {
                    return Some(Value::Repeated(slot));
                }
                Some(self.made(LoopOp::Repeat, [slot], ty.dtype.size(), Level::Full, 100))
            }
            Value::Other(i) | Value::At(Level::Row, Slot::Input(i)) => {
                // The operand may have been viewed with another shape.
                let input = self.inputs.get(i)?;
                (input.dtype == from.dtype && input.elements() == from.elements()).then_some(())?;
                let movement = view::movement(op, from, ty)?.in_order()?;
                Some(self.made(LoopOp::Broadcast(i, movement), [], ty.dtype.size(), self.level(ty)?, 300))
            }
            Value::At(..) | Value::Repeated(_) | Value::Part(_) | Value::Accumulated(_) => None,
        }
    }

    fn compute(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let dtypes: SmallVec<[_; 3]> = operands.iter().map(|(_, t)| t.dtype).collect();
        let work = operations::work(op, &dtypes, ty.dtype)?;
        let values: Option<SmallVec<[Value; 3]>> =
            operands.iter().map(|(x, _)| self.values.get(*x).copied()).collect();
        let values = values?;
        // Without full operands, an operation on repeated values is computed once per row, and its result is
        // repeated, too.
        let apart = values.iter().any(|x| matches!(x, Value::At(Level::Full, _)));
        let (mut from, mut level, mut repeated) = (SmallVec::<[Slot; 3]>::new(), Level::Uniform, false);
        for value in values {
            let (of, slot) = match value {
                Value::At(of, slot) => (of, slot),
                Value::Repeated(slot) => {
                    repeated = true;
                    (if apart { Level::Full } else { Level::Row }, slot)
                }
                _ => return None,
            };
            if of != Level::Uniform && level != Level::Uniform && of != level {
                return None;
            }
            level = level.max(of);
            from.push(slot);
        }
        let compute = LoopOp::Compute(work, ScalarOp::new(op, &dtypes, ty.dtype).map(Expr::single));
        let slot = self.step(compute, from, ty.dtype.size(), level, operations::cost(op, ty.dtype));
        let alone = repeated && level == Level::Row;
        Some(if alone { Value::Repeated(slot) } else { Value::At(level, slot) })
    }

    /// Finishes the program, whose outputs are these values.
    ///
    /// The memory of an output may be exactly the memory of an operand that has as many elements of the same
    /// size.
    pub(crate) fn finish(mut self, returned: &[usize], outputs: &[&TensorType]) -> Option<PreparedKernel> {
        let (mut results, mut accumulated) = (Vec::with_capacity(returned.len()), Vec::new());
        for (output, (value, ty)) in returned.iter().zip(outputs).enumerate() {
            if let Value::Accumulated(step) = *self.values.get(*value)? {
                accumulated.push((Slot::Loop(step), output));
                continue;
            }
            let (level, slot) = self.result(*value, ty)?;
            let elements = if level == Level::Full { self.n } else { self.n / self.columns };
            (ty.elements() == Some(elements)).then_some(())?;
            results.push((output, slot, level));
        }
        let roots =
            results.iter_mut().map(|(_, slot, _)| slot).chain(accumulated.iter_mut().map(|(slot, _)| slot));
        merge::merge(&mut self.steps, self.n, self.by_rows, roots);
        // An output may be in the memory of an operand. A step therefore writes an output directly only if no
        // later step reads an operand. Other results are copied at the end.
        let last_read = self.steps.iter().rposition(reads_operand).map_or(0, |i| i + 1);
        let mut direct: Vec<Option<usize>> = vec![None; self.steps.len()];
        let full = self.inputs.iter().chain(outputs).filter(|ty| ty.elements() == Some(self.n));
        let bytes = full.filter_map(|ty| ty.bytes()).fold(0, usize::saturating_add);
        let past = bytes >= MIN_STREAMED_BYTES && !self.by_rows;
        for (output, slot, level) in results {
            match slot {
                Slot::Loop(_) if past && level == Level::Full => {
                    let size = outputs[output].dtype.size();
                    self.step(LoopOp::StreamingCopy, [slot], size, level, 100);
                    direct.push(Some(output));
                }
                Slot::Loop(s) if s + 1 >= last_read && direct[s].is_none() => {
                    direct[s] = Some(output);
                }
                slot => {
                    let size = outputs[output].dtype.size();
                    self.step(LoopOp::Copy, [slot], size, level, 100);
                    direct.push(Some(output));
                }
            }
        }
        Program::new(self, &direct, &accumulated)?.prepared()
    }

    /// Returns the level of a value that is an output of this type, and the slot with its elements.
    fn result(&mut self, value: usize, ty: &TensorType) -> Option<(Level, Slot)> {
        let size = ty.dtype.size();
        let (level, slot) = match *self.values.get(value)? {
            // A single element is the element of the only row, if there are rows.
            Value::At(Level::Uniform, slot) => {
                let level = self.level(ty)?.max(Level::Row);
                (self.by_rows || level == Level::Full).then_some(())?;
                return Some((level, self.step(LoopOp::Fill, [slot], size, level, 50)));
            }
            Value::At(level, slot) => (level, slot),
            Value::Repeated(_) => (Level::Full, self.full(value, size)?),
            Value::Other(_) | Value::Part(_) | Value::Accumulated(_) => return None,
        };
        Some(match slot {
            Slot::Input(_) => (level, self.step(LoopOp::Copy, [slot], size, level, 100)),
            Slot::Loop(_) => (level, slot),
        })
    }
}

/// Returns true if the step reads elements of an operand tile by tile.
fn reads_operand(step: &SsaLoop) -> bool {
    step.level != Level::Uniform
        && (matches!(*step.op, LoopOp::Broadcast(..) | LoopOp::Slices(_) | LoopOp::Pad(..))
            || step.operands.iter().any(|s| matches!(s, Slot::Input(_))))
}

/// Returns the bits of a 32-bit constant; `None` for other values.
fn word(steps: &[SsaLoop], slot: Slot) -> Option<u32> {
    match slot {
        Slot::Loop(s) => match &*steps[s].op {
            LoopOp::Constant([a, b, c, d, ..]) => Some(u32::from_ne_bytes([*a, *b, *c, *d])),
            _ => None,
        },
        Slot::Input(_) => None,
    }
}
