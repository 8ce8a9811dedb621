//! Tile programs: operations on corresponding elements, computed a few hundred elements at a time, so that what goes
//! from one operation to the next stays in the cache.
//!
//! ```text
//! values (operands, then one per operation) ──Builder──▶ steps over registers ──finish──▶ Prepared
//! ```
//!
//! A program may compute whole rows at a time, if it combines the elements of each row. A *register* has room for one
//! element per element of a tile. A value is
//! - *full*: it has an element for each element of a tile, in the same order;
//! - of *rows*: it has an element for each row of a tile;
//! - *uniform*: its elements are all the same one, with which a register is filled before the first tile;
//! - *accumulated*: it is made of all rows, by every task in memory of its own, and known when all tasks are done;
//! - *other*: an operand of other elements, of which a step makes a value (a broadcast, say).

use std::mem::MaybeUninit;
use std::sync::Arc;

use farcall_ir::middle::rows;
use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::args::{Args, Prepared};
use super::elementwise;
use super::map::Work;
use super::movement::{Axis, fill, normal, row_major};
use super::number::Number;
use super::part::{Part, Parts};
use super::reduce::{self, Accumulator, Combine};
use super::types::{by_size, dispatch};

/// Bytes of a cache that the registers of a program should fill at most.
const CACHE: usize = 24 << 10;
/// Bytes of registers that lie on the stack at most; of longer rows, they lie in scratch memory.
const MOST: usize = 64 << 10;
/// Elements of a tile: a multiple of this, and at most so many.
const TILE: [usize; 2] = [16, 1024];
/// Dimensions of a broadcast at most.
const MAX_AXES: usize = 8;
/// What a task should take at least, in picoseconds.
const TASK: usize = 60_000_000;
/// Tasks of a program at most, and of one whose registers are in scratch memory.
const TASKS: [usize; 2] = [256, 16];

/// Bytes of the memory of accumulators, of all tasks together, that more tasks are not worth.
const PARTS: usize = 4 << 20;

/// Makes a tile program of operations, one after the other.
pub(super) struct Builder<'a> {
    /// Elements of every full value.
    n: usize,
    /// Elements of a row; all of them, if nothing is computed by rows.
    columns: usize,
    by_rows: bool,
    inputs: &'a [&'a TensorType],
    values: Vec<Value>,
    /// Slices that are put one after the other.
    parts: Vec<Part>,
    steps: Vec<Step>,
}

/// What a value is while a tile is computed.
#[derive(Clone, Copy)]
enum Value {
    Other(usize),
    At(Level, Slot),
    /// A slice.
    Part(usize),
    /// Made by a step.
    Accumulated(usize),
}

/// How many elements a value has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Uniform,
    Row,
    Full,
}

/// Who has the elements of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// An operand.
    Input(usize),
    /// The result of a step.
    Step(usize),
}

struct Step {
    task: Task,
    from: SmallVec<[Slot; 3]>,
    /// Bytes of an element of the result.
    size: usize,
    /// Steps that make uniform values come before the tiles.
    level: Level,
    /// Picoseconds for an element.
    cost: usize,
}

/// What fills a register.
enum Task {
    /// An operation.
    Work(Work),
    /// The only element of an operand.
    Splat(usize),
    /// Elements of an operand.
    Walk(usize, Walk),
    /// Slices of operands.
    Parts(Box<Parts>),
    /// One element.
    Constant([u8; 16]),
    /// Numbers of elements, by strides.
    Iota(Iota),
    /// The elements of another value.
    Copy,
    /// What takes elements in.
    Accumulate(Arc<Accumulator>),
}

impl<'a> Builder<'a> {
    /// For operands of these types, and full values of `n` elements, in rows of so many.
    pub(super) fn new(inputs: &'a [&'a TensorType], n: usize, columns: Option<usize>) -> Builder<'a> {
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
                    let slot = builder.step(Task::Splat(i), [], ty.dtype.size(), Level::Uniform, 0);
                    Value::At(Level::Uniform, slot)
                }
                Some(level) => Value::At(level, Slot::Input(i)),
                None => Value::Other(i),
            };
            builder.values.push(value);
        }
        builder
    }

    /// What values of this type are, if they are not other ones. (One element may be that of the only row, too.)
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
        task: Task,
        from: impl IntoIterator<Item = Slot>,
        size: usize,
        level: Level,
        cost: usize,
    ) -> Slot {
        self.steps.push(Step { task, from: from.into_iter().collect(), size, level, cost });
        Slot::Step(self.steps.len() - 1)
    }

    /// The next operation, on earlier values (operands, then results of operations); `None` if it is not one that a
    /// tile can be computed of.
    pub(super) fn op(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<()> {
        let value = self.value(op, operands, ty)?;
        self.values.push(value);
        Some(())
    }

    /// The next operation, if it is a reduction by an operation of two elements: of rows, or of rows with one another.
    pub(super) fn reduce(
        &mut self,
        op: &Op,
        by: &Op,
        operands: &[(usize, &TensorType)],
        ty: &TensorType,
    ) -> Option<()> {
        let (Op::Reduce { dims }, [(x, from), (init, of_init)]) = (op, operands) else { return None };
        let same = from.dtype == ty.dtype && of_init.dtype == ty.dtype && of_init.elements() == Some(1);
        let combine = Combine::by(by, ty.dtype).filter(|_| same && from.elements() == Some(self.n))?;
        let Value::At(Level::Full | Level::Uniform, x) = *self.values.get(*x)? else { return None };
        let Value::At(level, init) = *self.values.get(*init)? else { return None };
        let size = ty.dtype.size();
        if !self.by_rows || rows::reduced(from, dims) != Some(self.columns) {
            let kept = rows::accumulated(from, dims).filter(|k| ty.elements() == Some(*k))?;
            let Slot::Step(init) = init else { return None };
            let Task::Constant(init) = self.steps[init].task else { return None };
            let accumulator = Arc::new(reduce::accumulator(combine, ty.dtype, kept, init)?);
            self.step(Task::Accumulate(accumulator), [x], size, Level::Full, 2 * reduce::COST);
            self.values.push(Value::Accumulated(self.steps.len() - 1));
            return Some(());
        }
        (ty.elements()?.checked_mul(self.columns) == Some(self.n)).then_some(())?;
        // There is one initial value.
        if level == Level::Full || (level == Level::Row && self.columns != self.n) {
            return None;
        }
        let work = reduce::rows(combine, ty.dtype, self.columns)?;
        let slot = self.step(Task::Work(work), [x, init], size, Level::Row, self.columns * reduce::COST);
        self.values.push(Value::At(Level::Row, slot));
        Some(())
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
                Some(self.made(Task::Constant(bytes), [], size, Level::Uniform, 0))
            }
            (Op::Iota { dim }, []) => {
                let iota = Iota::new(ty, *dim)?;
                Some(self.made(Task::Iota(iota), [], size, level, 500))
            }
            (Op::Reshape, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, ty),
            (Op::BitcastConvert, [(x, from)])
                if from.dtype.bits() == ty.dtype.bits() && from.dtype.bits() >= 8 =>
            {
                self.view(*x, from, ty)
            }
            (Op::Convert, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, ty),
            (Op::BroadcastInDim { dims }, [(x, from)]) => self.broadcast(*x, from, ty, dims),
            _ => self.compute(op, operands, ty),
        }
    }

    /// A slice of an operand, or some of them one after the other.
    fn moved(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let (parts, dim) = match (op, operands) {
            (Op::Slice(slice), [(x, from)]) => {
                let input = self.inputs.get(*x).filter(|input| *input == from)?;
                let part = Part::new(*x, input, Some(slice), ty)?;
                if ty.elements()? != self.n {
                    self.parts.push(part);
                    return Some(Value::Part(self.parts.len() - 1));
                }
                (vec![part], 0)
            }
            (Op::Concatenate { dim }, parts) if ty.elements()? == self.n => {
                let part = |(x, from): &(usize, &TensorType)| match self.values.get(*x)? {
                    Value::Part(part) => self.parts.get(*part).cloned(),
                    _ => Part::new(*x, self.inputs.get(*x).filter(|input| *input == from)?, None, from),
                };
                (parts.iter().map(part).collect::<Option<Vec<Part>>>()?, *dim)
            }
            _ => return None,
        };
        let (parts, size) = (Parts::new(&parts, dim, ty)?, ty.dtype.size());
        Some(self.made(Task::Parts(Box::new(parts)), [], size, Level::Full, 300))
    }

    fn made(
        &mut self,
        task: Task,
        from: impl IntoIterator<Item = Slot>,
        size: usize,
        level: Level,
        cost: usize,
    ) -> Value {
        Value::At(level, self.step(task, from, size, level, cost))
    }

    /// The same elements, seen otherwise.
    fn view(&self, x: usize, from: &TensorType, to: &TensorType) -> Option<Value> {
        (from.elements() == to.elements()).then_some(())?;
        self.values.get(x).copied()
    }

    fn broadcast(&mut self, x: usize, from: &TensorType, ty: &TensorType, dims: &[usize]) -> Option<Value> {
        // In another order, it is a transposition as well.
        if from.dtype != ty.dtype || dims.len() != from.rank() || !dims.is_sorted() {
            return None;
        }
        let (value, same) = (*self.values.get(x)?, from.elements() == ty.elements());
        match value {
            Value::At(Level::Uniform, _) => Some(value),
            Value::At(..) if same => Some(value),
            Value::At(Level::Row, slot)
                if self.level(ty)? == Level::Full && rows::repeated(from, ty, dims) == Some(self.columns) =>
            {
                let work = repeat(ty.dtype.size(), self.columns)?;
                Some(self.made(Task::Work(work), [slot], ty.dtype.size(), Level::Full, 100))
            }
            Value::Other(i) | Value::At(Level::Row, Slot::Input(i)) => {
                // It may have been seen as another shape.
                let input = self.inputs.get(i)?;
                (input.dtype == from.dtype && input.elements() == from.elements()).then_some(())?;
                let walk = Walk::broadcast(from, ty, dims)?;
                Some(self.made(Task::Walk(i, walk), [], ty.dtype.size(), self.level(ty)?, 300))
            }
            Value::At(..) | Value::Part(_) | Value::Accumulated(_) => None,
        }
    }

    fn compute(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let dtypes: SmallVec<[_; 3]> = operands.iter().map(|(_, t)| t.dtype).collect();
        let work = elementwise::work(op, &dtypes, ty.dtype)?;
        let (mut from, mut level) = (SmallVec::<[Slot; 3]>::new(), Level::Uniform);
        for (x, _) in operands {
            let Value::At(of, slot) = *self.values.get(*x)? else { return None };
            if of != Level::Uniform && level != Level::Uniform && of != level {
                return None;
            }
            level = level.max(of);
            from.push(slot);
        }
        Some(self.made(Task::Work(work), from, ty.dtype.size(), level, elementwise::cost(op, ty.dtype)))
    }

    /// The program whose outputs are these values.
    ///
    /// An output may lie exactly where an operand of as many elements of the same size lies.
    pub(super) fn finish(mut self, returned: &[usize], outputs: &[&TensorType]) -> Option<Prepared> {
        let (mut results, mut accumulated) = (Vec::with_capacity(returned.len()), Vec::new());
        for (output, (value, ty)) in returned.iter().zip(outputs).enumerate() {
            let (level, slot) = match *self.values.get(*value)? {
                Value::At(level, slot) => (level, slot),
                Value::Accumulated(step) => {
                    accumulated.push((step, output));
                    continue;
                }
                Value::Other(_) | Value::Part(_) => return None,
            };
            let level = match level {
                // One element is that of the only row, if there are rows.
                Level::Uniform => {
                    self.level(ty).map(|l| l.max(Level::Row)).filter(|l| self.by_rows || *l == Level::Full)?
                }
                level => level,
            };
            let elements = if level == Level::Full { self.n } else { self.n / self.columns };
            (ty.elements() == Some(elements)).then_some(())?;
            let slot = match slot {
                Slot::Input(_) => self.step(Task::Copy, [slot], ty.dtype.size(), level, 100),
                slot @ Slot::Step(_) => slot,
            };
            results.push((output, slot, level));
        }
        // What has not been made by a step alone is copied at the end: outputs may lie where operands do.
        let last_read = self.steps.iter().rposition(reads_operand).map_or(0, |i| i + 1);
        let mut direct: Vec<Option<usize>> = vec![None; self.steps.len()];
        for (output, slot, level) in results {
            match slot {
                Slot::Step(s)
                    if self.steps[s].level != Level::Uniform && s + 1 >= last_read && direct[s].is_none() =>
                {
                    direct[s] = Some(output);
                }
                slot => {
                    let size = outputs[output].dtype.size();
                    self.step(Task::Copy, [slot], size, level, 100);
                    direct.push(Some(output));
                }
            }
        }
        Program::new(self, &direct, &accumulated).map(Program::prepared)
    }
}

/// True if the step reads elements of an operand tile by tile.
fn reads_operand(step: &Step) -> bool {
    step.level != Level::Uniform
        && (matches!(step.task, Task::Walk(..) | Task::Parts(_))
            || step.from.iter().any(|s| matches!(s, Slot::Input(_))))
}

/// Where the elements of a value are.
#[derive(Clone, Copy)]
enum Location {
    /// Those of an operand, of this size.
    Input(usize, usize, Level),
    /// Those of an output, of this size.
    Output(usize, usize, Level),
    /// A register: the number of the first byte.
    Register(usize),
    /// Memory of an accumulator: where that of the first task begins, and its size.
    Part(usize, usize),
}

struct Compiled {
    task: Task,
    from: SmallVec<[Location; 3]>,
    to: Location,
    size: usize,
    level: Level,
}

/// A tile: which elements it has of full values, and of those of rows.
#[derive(Clone, Copy)]
struct Tile {
    start: usize,
    len: usize,
    first_row: usize,
    rows: usize,
}

impl Tile {
    fn new(start: usize, len: usize, columns: usize) -> Tile {
        Tile { start, len, first_row: start / columns, rows: len / columns }
    }

    /// First element, and how many.
    #[inline]
    fn of(self, level: Level) -> (usize, usize) {
        match level {
            Level::Row => (self.first_row, self.rows),
            Level::Full | Level::Uniform => (self.start, self.len),
        }
    }
}

/// Memory of a task besides that of operands and outputs.
#[derive(Clone, Copy)]
struct Memory {
    registers: *mut u8,
    scratch: *mut u8,
    task: usize,
}

/// A result that is accumulated.
struct Total {
    accumulator: Arc<Accumulator>,
    /// Where its parts begin in the scratch memory.
    parts: usize,
    output: usize,
}

struct Program {
    n: usize,
    columns: usize,
    /// Elements of a tile.
    tile: usize,
    /// What comes before the tiles.
    uniform: Vec<Compiled>,
    steps: Vec<Compiled>,
    /// Tasks, and elements of each.
    tasks: usize,
    chunk: usize,
    /// Bytes of the registers of a task.
    registers: usize,
    totals: Vec<Total>,
    /// Bytes of scratch memory: registers that are not on the stack, then parts of totals.
    scratch: usize,
}

impl Program {
    /// `direct` has the output that each step writes, if it writes one.
    /// `accumulated`: steps that accumulate, and their outputs.
    fn new(
        builder: Builder<'_>,
        direct: &[Option<usize>],
        accumulated: &[(usize, usize)],
    ) -> Option<Program> {
        let Builder { n, mut columns, mut by_rows, inputs, mut steps, .. } = builder;
        if let Some(period) = period(&steps, n).filter(|_| !by_rows) {
            (columns, by_rows) = (period, true);
        }
        if by_rows {
            before_tiles(&mut steps, direct, columns);
        }
        let by_rows = by_rows || steps.iter().any(|s| s.level == Level::Row);
        let registers = Registers::assign(&steps, direct);
        let width = steps.iter().map(|s| s.size).max().unwrap_or(1);
        let tile = match (by_rows, registers.full) {
            (true, full) => whole_rows(full * width, n, columns),
            // A single operation needs no tiles: it goes over all elements at once.
            (false, 0) => n.max(1),
            (false, full) => tile(full * width, n),
        };
        // What is left of the last line of the cache is left free.
        let row_register = (tile / columns * width).next_multiple_of(64);
        let end_of_full = registers.full.checked_mul(tile)?.checked_mul(width)?;
        let bytes = end_of_full.checked_add(registers.row.checked_mul(row_register)?)?;
        let level_of = |i: usize| if inputs[i].elements() == Some(n) { Level::Full } else { Level::Row };
        let on_stack = bytes <= MOST;
        let registers_of_task = bytes.next_multiple_of(64);
        let part =
            steps.iter().filter_map(Step::accumulator).try_fold(0usize, |n, a| n.checked_add(a.bytes))?;
        let wanted = (work(&steps, inputs.len() + direct.iter().flatten().count(), n, columns) / TASK)
            .clamp(1, if on_stack { TASKS[0] } else { TASKS[1] })
            .min((PARTS / part.max(1)).max(2));
        let alone = registers.full == 0 && !by_rows;
        let chunk = n.div_ceil(wanted).next_multiple_of(if alone { TILE[1] } else { tile });
        let tasks = n.div_ceil(chunk.max(1)).max(1);

        let mut scratch = if on_stack { 0 } else { tasks.checked_mul(registers_of_task)? };
        let mut parts = vec![0; steps.len()];
        for (step, at) in steps.iter().zip(&mut parts) {
            if let Some(accumulator) = step.accumulator() {
                *at = scratch;
                scratch = scratch.checked_add(tasks.checked_mul(accumulator.bytes)?)?;
            }
        }
        let location = |slot: Slot| match slot {
            Slot::Input(i) => Location::Input(i, inputs[i].dtype.size(), level_of(i)),
            Slot::Step(s) => match (steps[s].accumulator(), direct[s], steps[s].level) {
                (Some(accumulator), ..) => Location::Part(parts[s], accumulator.bytes),
                (None, Some(output), level) => Location::Output(output, steps[s].size, level),
                (None, None, Level::Row) => Location::Register(end_of_full + registers.of[s] * row_register),
                (None, None, _) => Location::Register(registers.of[s] * tile * width),
            },
        };
        let places: Vec<(SmallVec<[Location; 3]>, Location)> = steps
            .iter()
            .enumerate()
            .map(|(s, step)| (step.from.iter().map(|x| location(*x)).collect(), location(Slot::Step(s))))
            .collect();
        let total = |(s, output): &(usize, usize)| {
            let accumulator = Arc::clone(steps[*s].accumulator()?);
            Some(Total { accumulator, parts: parts[*s], output: *output })
        };
        let totals: Vec<Total> = accumulated.iter().map(total).collect::<Option<_>>()?;
        // Every one is begun and ended.
        (steps.iter().filter(|s| s.accumulator().is_some()).count() == totals.len()).then_some(())?;
        let (mut uniform, mut tiled) = (Vec::new(), Vec::new());
        for (step, (from, to)) in steps.into_iter().zip(places) {
            let Step { task, size, level, .. } = step;
            let compiled = Compiled { task, from, to, size, level };
            if level == Level::Uniform { uniform.push(compiled) } else { tiled.push(compiled) }
        }
        let registers = if on_stack { 0 } else { registers_of_task };
        Some(Program { n, columns, tile, uniform, steps: tiled, tasks, chunk, registers, totals, scratch })
    }

    fn prepared(mut self) -> Prepared {
        let (tasks, scratch) = (self.tasks, self.scratch);
        let totals = std::mem::take(&mut self.totals);
        let begun: Vec<(Arc<Accumulator>, usize)> =
            totals.iter().map(|t| (Arc::clone(&t.accumulator), t.parts)).collect();
        let prepared = Prepared::in_tasks(tasks, move |args, task| {
            let memory =
                if scratch == 0 { std::ptr::null_mut() } else { args.ptr::<u8>(args.scratch_place()) };
            for (accumulator, parts) in &begun {
                // SAFETY: there is scratch memory for a part of each task.
                (accumulator.begin)(unsafe { memory.add(parts + task * accumulator.bytes) });
            }
            let begin = task * self.chunk;
            let end = (begin + self.chunk).min(self.n);
            if begin >= end {
                return;
            }
            if self.registers == 0 {
                self.on_stack(args, memory, task, begin, end);
            } else {
                // SAFETY: there is scratch memory for the registers of each task.
                let registers = unsafe { memory.add(task * self.registers) };
                self.range(args, Memory { registers, scratch: memory, task }, begin, end);
            }
        });
        if totals.is_empty() {
            return if scratch == 0 { prepared } else { prepared.with_scratch(scratch) };
        }
        let end = move |args: &Args<'_>| {
            let memory = args.ptr::<u8>(args.scratch_place());
            for Total { accumulator, parts, output } in &totals {
                // SAFETY: the tasks have made their parts.
                (accumulator.end)(unsafe { memory.add(*parts) }, tasks, args.output_ptr(*output));
            }
        };
        prepared.finally(end).with_scratch(scratch)
    }

    fn on_stack(&self, args: &Args<'_>, scratch: *mut u8, task: usize, begin: usize, end: usize) {
        #[repr(C, align(64))]
        struct Stack([MaybeUninit<u8>; MOST]);
        let mut stack = Stack([const { MaybeUninit::uninit() }; MOST]);
        let memory = Memory { registers: stack.0.as_mut_ptr().cast(), scratch, task };
        self.range(args, memory, begin, end);
    }

    /// Computes the elements of a range.
    fn range(&self, args: &Args<'_>, memory: Memory, begin: usize, end: usize) {
        let first = Tile::new(begin, self.tile.min(end - begin), self.columns);
        for step in &self.uniform {
            step.run(args, memory, first);
        }
        let mut start = begin;
        while start < end {
            let tile = Tile::new(start, self.tile.min(end - start), self.columns);
            for step in &self.steps {
                step.run(args, memory, tile);
            }
            start += tile.len;
        }
    }
}

/// Elements after which all broadcasts repeat, of programs with little more than them; rows of so many elements let them
/// be made once.
fn period(steps: &[Step], n: usize) -> Option<usize> {
    let periods = steps.iter().filter(|s| s.level == Level::Full).filter_map(|s| match &s.task {
        Task::Walk(_, walk) => Some(walk.period()),
        _ => None,
    });
    let longest = periods.filter(|p| (1..=TILE[1]).contains(p)).max()?;
    (longest < n && n.is_multiple_of(longest)).then_some(longest)
}

/// Lets broadcasts that are the same in every row be made before the first tile, unless they are results.
fn before_tiles(steps: &mut [Step], direct: &[Option<usize>], columns: usize) {
    for (step, _) in steps.iter_mut().zip(direct).filter(|(_, output)| output.is_none()) {
        if let (Task::Walk(_, walk), Level::Full) = (&step.task, step.level)
            && columns.is_multiple_of(walk.period())
        {
            step.level = Level::Uniform;
        }
    }
}

impl Step {
    fn accumulator(&self) -> Option<&Arc<Accumulator>> {
        match &self.task {
            Task::Accumulate(accumulator) => Some(accumulator),
            _ => None,
        }
    }
}

/// What a program takes, in picoseconds: an operand or an output is read or written from memory.
fn work(steps: &[Step], memory: usize, n: usize, columns: usize) -> usize {
    let level = |level: Level| steps.iter().filter(move |s| s.level == level).map(|s| s.cost).sum::<usize>();
    let full = n.saturating_mul(level(Level::Full) + 300 * memory);
    full.saturating_add((n / columns).saturating_mul(level(Level::Row)))
}

/// Elements of a tile of whole rows, if each takes this many bytes of registers.
fn whole_rows(bytes: usize, n: usize, columns: usize) -> usize {
    let rows = (CACHE / bytes.max(1)).min(TILE[1]) / columns;
    (rows.max(1) * columns).min(n.max(columns))
}

/// Elements of a tile, if each takes this many bytes of registers.
fn tile(bytes: usize, n: usize) -> usize {
    let [least, most] = TILE;
    let fits = (CACHE / bytes.max(1)).clamp(least, most) / least * least;
    fits.min(n.next_multiple_of(least)).max(least)
}

impl Compiled {
    #[inline]
    fn run(&self, args: &Args<'_>, memory: Memory, tile: Tile) {
        let (start, len) = tile.of(self.level);
        let at = |location: Location| -> *mut u8 {
            match location {
                Location::Input(i, size, level) => {
                    // SAFETY: the operand has as many elements as values of its level.
                    unsafe { args.input_ptr::<u8>(i).add(tile.of(level).0 * size).cast_mut() }
                }
                Location::Output(i, size, level) => {
                    // SAFETY: so has the output.
                    unsafe { args.output_ptr::<u8>(i).add(tile.of(level).0 * size) }
                }
                // SAFETY: a register has room for a tile.
                Location::Register(offset) => unsafe { memory.registers.add(offset) },
                // SAFETY: every task has a part.
                Location::Part(offset, size) => unsafe { memory.scratch.add(offset + memory.task * size) },
            }
        };
        let to = at(self.to);
        match &self.task {
            Task::Work(work) => {
                let mut from = [std::ptr::null::<u8>(); 3];
                for (x, location) in from.iter_mut().zip(&self.from) {
                    *x = at(*location);
                }
                work(from, to, len);
            }
            // SAFETY: the operand has one element, and the register has room for a tile.
            Task::Splat(i) => unsafe { splat(args.input_ptr(*i), to, self.size, len) },
            // SAFETY: elements have 16 bytes at most.
            Task::Constant(element) => unsafe { splat(element.as_ptr(), to, self.size, len) },
            // SAFETY: the walk was made for the operand and values of this level.
            Task::Walk(i, walk) => unsafe { (walk.run)(walk, args.input_ptr(*i), to, start, len) },
            // SAFETY: the parts were made for the operands; the register has room for a tile.
            Task::Parts(parts) => unsafe { parts.run(|i| args.input_ptr(i), to, start, len) },
            // SAFETY: the register has room for a tile.
            Task::Iota(iota) => unsafe { (iota.run)(iota, to, start, len) },
            // SAFETY: `len` elements on both sides; an operand may lie in the place of the output.
            Task::Copy => unsafe { std::ptr::copy(at(self.from[0]), to, len * self.size) },
            Task::Accumulate(accumulator) => {
                (accumulator.add)(at(self.from[0]), len, start % accumulator.kept, to);
            }
        }
    }
}

/// Which registers the steps write.
struct Registers {
    /// The register of each step that has one, among those of its level.
    of: Vec<usize>,
    /// How many there are of full and uniform values, and of those of rows.
    full: usize,
    row: usize,
}

impl Registers {
    /// Uniform values keep theirs. Others are used again after the last step that reads them.
    fn assign(steps: &[Step], direct: &[Option<usize>]) -> Registers {
        let mut last: Vec<usize> = (0..steps.len()).collect();
        for (s, step) in steps.iter().enumerate() {
            for slot in &step.from {
                if let Slot::Step(x) = *slot {
                    last[x] = s;
                }
            }
        }
        // By level: full values, those of rows.
        let (mut of, mut free, mut count) = (vec![0; steps.len()], [Vec::new(), Vec::new()], [0, 0]);
        for s in (0..steps.len()).filter(|s| steps[*s].level == Level::Uniform) {
            of[s] = count[0];
            count[0] += 1;
        }
        let mut ends: Vec<Vec<(usize, usize)>> = vec![Vec::new(); steps.len()];
        for s in (0..steps.len()).filter(|s| steps[*s].level != Level::Uniform) {
            // Elements may be of another size than those that are read, so a step writes to no register that it reads.
            if direct[s].is_none() && steps[s].accumulator().is_none() {
                let level = usize::from(steps[s].level == Level::Row);
                of[s] = free[level].pop().unwrap_or(count[level]);
                count[level] = Ord::max(count[level], of[s] + 1);
                ends[last[s]].push((level, of[s]));
            }
            ends[s].drain(..).for_each(|(level, register)| free[level].push(register));
        }
        Registers { of, full: count[0], row: count[1] }
    }
}

/// What repeats each element for a row of so many.
fn repeat(size: usize, columns: usize) -> Option<Work> {
    by_size!(size, T => {
        let work: Work = Box::new(move |[from, _, _], to, n| {
            let (from, to) = (from.cast::<T>(), to.cast::<T>());
            for row in 0..n / columns {
                // SAFETY: the operand has an element for each row, and `n` elements can be written.
                unsafe { splat(from.add(row).cast(), to.add(row * columns).cast(), size, columns) };
            }
        });
        work
    })
}

/// # Safety
/// An element of this size can be read, and `n` of them written.
unsafe fn splat(from: *const u8, to: *mut u8, size: usize, n: usize) {
    let done = by_size!(size, T => {
        // SAFETY: the caller's promise; elements of these sizes need no other alignment than they have.
        let value = unsafe { from.cast::<T>().read_unaligned() };
        for i in 0..n {
            // SAFETY: the caller's promise.
            unsafe { to.cast::<T>().add(i).write(value) };
        }
    });
    debug_assert!(done.is_some(), "elements of {size} bytes");
}

/// Elements of an operand in the order of the outputs.
struct Walk {
    /// From outer to inner: size and stride in the operand.
    axes: SmallVec<[(usize, usize); MAX_AXES]>,
    run: unsafe fn(&Walk, *const u8, *mut u8, usize, usize),
}

impl Walk {
    /// Elements after which it repeats.
    fn period(&self) -> usize {
        let repeated = self.axes.iter().take_while(|(_, stride)| *stride == 0).count();
        self.axes[repeated..].iter().map(|(size, _)| size).product()
    }

    /// A broadcast whose dimensions stay in order.
    fn broadcast(from: &TensorType, to: &TensorType, dims: &[usize]) -> Option<Walk> {
        let strides = row_major(from.sizes());
        let fits = |(i, d): (usize, &usize)| {
            to.sizes().get(*d).is_some_and(|n| from.sizes()[i] == *n || from.sizes()[i] == 1)
        };
        if !dims.iter().enumerate().all(fits) || dims.windows(2).any(|d| d[0] == d[1]) {
            return None;
        }
        let axes: Vec<Axis> = normal(fill(to, |d| match dims.iter().position(|x| *x == d) {
            Some(i) if from.sizes()[i] == to.sizes()[d] => strides[i],
            _ => 0,
        }));
        // A run allocates nothing.
        (axes.len() <= MAX_AXES).then_some(())?;
        let axes =
            axes.iter().map(|a| Some((a.size, usize::try_from(a.src).ok()?))).collect::<Option<_>>()?;
        let run =
            by_size!(to.dtype.size(), T => walk::<T> as unsafe fn(&Walk, *const u8, *mut u8, usize, usize))?;
        Some(Walk { axes, run })
    }
}

/// Writes the elements from number `start` on.
///
/// # Safety
/// `from` is a tensor that the walk was made for; elements are of the size of `T`, and `len` of them can be written.
unsafe fn walk<T: Copy>(walk: &Walk, from: *const u8, to: *mut u8, start: usize, len: usize) {
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    let Some(((inner, step), outer)) = walk.axes.split_last() else { return };
    // The index of element `start`, from inner to outer.
    let mut rest = start / inner;
    let mut index: SmallVec<[usize; MAX_AXES]> = SmallVec::from_elem(0, outer.len());
    let mut base = 0;
    for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
        *i = rest % size;
        rest /= size;
        base += *i * stride;
    }
    let (mut column, mut written) = (start % inner, 0);
    while written < len {
        let run = (inner - column).min(len - written);
        // SAFETY: elements of one line of the operand, and of the tile.
        unsafe { line(from.add(base + column * step), *step, to.add(written), run) };
        written += run;
        column = 0;
        for (i, (size, stride)) in index.iter_mut().zip(outer).rev() {
            *i += 1;
            base += stride;
            if *i < *size {
                break;
            }
            base -= size * stride;
            *i = 0;
        }
    }
}

/// # Safety
/// Elements can be read `step` apart, and as many written.
#[inline]
unsafe fn line<T: Copy>(from: *const T, step: usize, to: *mut T, n: usize) {
    match step {
        // SAFETY: the caller's promise; a register or an output is apart from the operand that is walked.
        1 => unsafe { std::ptr::copy_nonoverlapping(from, to, n) },
        0 => {
            // SAFETY: the caller's promise.
            let value = unsafe { from.read() };
            for i in 0..n {
                // SAFETY: the caller's promise.
                unsafe { to.add(i).write(value) };
            }
        }
        _ => {
            for i in 0..n {
                // SAFETY: the caller's promise.
                unsafe { to.add(i).write(from.add(i * step).read()) };
            }
        }
    }
}

/// `(element / stride) % size`
struct Iota {
    stride: usize,
    size: usize,
    run: unsafe fn(&Iota, *mut u8, usize, usize),
}

impl Iota {
    fn new(ty: &TensorType, dim: usize) -> Option<Iota> {
        let size = *ty.sizes().get(dim)?;
        let stride = ty.sizes()[dim + 1..].iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        let run =
            dispatch!(ty.dtype, [ints, floats], T => iota::<T> as unsafe fn(&Iota, *mut u8, usize, usize))?;
        Some(Iota { stride: stride.max(1), size: size.max(1), run })
    }
}

/// # Safety
/// `len` elements of type `T` can be written.
unsafe fn iota<T: Number>(iota: &Iota, to: *mut u8, start: usize, len: usize) {
    let to = to.cast::<T>();
    let mut value = (start / iota.stride) % iota.size;
    let (mut left, mut written) = (iota.stride - start % iota.stride, 0);
    while written < len {
        let run = left.min(len - written);
        let element = T::from_index(value);
        for i in written..written + run {
            // SAFETY: `i < len`.
            unsafe { to.add(i).write(element) };
        }
        written += run;
        left = iota.stride;
        value = if value + 1 == iota.size { 0 } else { value + 1 };
    }
}
