//! Tile programs after the allocation of registers. Each task of a program computes a range of elements, one
//! tile after another.

use std::mem::MaybeUninit;
use std::sync::Arc;

use farcall_ir::interrupt::Pace;
use smallvec::SmallVec;

use super::super::ir::{Access, Level, Location, Loop, LoopOp, Operand as Source, Slot};
use super::super::prepared::PreparedKernel;
use super::super::vector::combine::Accumulator;
use super::super::vector::fill::splat;
use super::super::vector::rounds::{self, Turn, Words};
use super::super::vector::{BLOCK, Operand, VectorLoop};
use super::registers::Registers;
use super::rounds::MAX_ADDED_OPERANDS;
use super::{Builder, SsaLoop};
use crate::args::Args;
use crate::cache::{
    CACHE_LINE_BYTES, MIN_UNCACHED_BYTES, copy_past, past_is_written, prefetch_to_second_level,
};

/// Maximum number of bytes that the registers of a program should have, so that they stay in the cache.
const CACHE_BYTES: usize = 24 << 10;
/// Maximum number of bytes of registers on the stack. Larger registers, for long rows, are in scratch memory.
const MAX_STACK_BYTES: usize = 64 << 10;
/// Granularity and maximum of the number of elements in a tile that need not consist of whole rows. The
/// number is a multiple of the granularity.
const TILE_ELEMENTS: [usize; 2] = [BLOCK, 1024];
/// Maximum number of elements of a tile if outputs are written with non-temporal stores. Memory is then read
/// and written in turns, one for each tile, and short turns are faster.
const MAX_STREAMED_TILE_ELEMENTS: usize = 512;
/// Minimum duration of a task in picoseconds.
const MIN_TASK_PICOSECONDS: usize = 60_000_000;
/// Maximum number of tasks of a program with registers on the stack, and with registers in scratch memory.
const MAX_TASKS: [usize; 2] = [256, 16];
/// Maximum number of bytes of the accumulators of all tasks together. Tasks whose accumulators need more
/// memory do not pay off.
const MAX_PARTS_BYTES: usize = 4 << 20;
/// Maximum number of parts in which the next tile is prefetched.
const MAX_FETCHES: usize = 8;
/// Size of the largest element type in bytes.
const MAX_ELEMENT_BYTES: usize = 16;

/// A loop with the locations of its operands and its result.
pub(crate) type PlacedLoop = Loop<Source, Location>;

/// The elements of a tile: a range of the elements of full values, and a range of rows.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    start: usize,
    len: usize,
    first_row: usize,
    rows: usize,
    columns: usize,
}

impl Tile {
    pub(crate) fn new(start: usize, len: usize, columns: usize) -> Tile {
        Tile { start, len, first_row: start / columns, rows: len / columns, columns }
    }

    /// Returns the first element that a value of this level has in the tile, and the number of its elements.
    #[inline]
    pub(crate) fn of(self, level: Level) -> (usize, usize) {
        match level {
            Level::Row => (self.first_row, self.rows),
            Level::Full | Level::Fixed => (self.start, self.len),
            Level::Uniform => (0, BLOCK.min(self.len)),
        }
    }
}

/// Memory of a task for registers and accumulators.
#[derive(Clone, Copy)]
struct Memory {
    registers: *mut u8,
    scratch: *mut u8,
    task: usize,
}

/// A full operand or output that is prefetched.
#[derive(Clone, Copy)]
struct Stream {
    location: Location,
    /// Size of an element in bytes.
    size: usize,
}

/// An accumulated result.
pub(crate) struct Total {
    pub(crate) accumulator: Arc<Accumulator>,
    /// Offset of the accumulators in the scratch memory.
    pub(crate) parts: usize,
    pub(crate) output: usize,
}

/// A tile program, ready to run.
pub(crate) struct Program {
    pub(crate) n: usize,
    pub(crate) columns: usize,
    /// Number of elements in a tile.
    pub(crate) tile: usize,
    /// Steps for uniform and fixed values. Each task runs them before its first tile.
    pub(crate) uniform: Vec<PlacedLoop>,
    pub(crate) steps: Vec<PlacedLoop>,
    /// Operands and outputs too large for the cache, which are prefetched.
    streams: Vec<Stream>,
    /// True if outputs are written with non-temporal stores.
    pub(crate) past: bool,
    /// Number of tasks.
    pub(crate) tasks: usize,
    /// Maximum number of elements that a task computes.
    chunk: usize,
    /// Size of the registers of a task in bytes.
    pub(crate) bytes: usize,
    /// Size of the registers of a task in bytes if they are in scratch memory; otherwise 0.
    pub(crate) registers: usize,
    pub(crate) totals: Vec<Total>,
    /// Size of the scratch memory in bytes: registers that are not on the stack, then accumulators.
    pub(crate) scratch: usize,
}

impl Program {
    /// Creates a program. `direct` has the output that each step writes directly, if any; `accumulated` has
    /// the accumulating steps with their outputs.
    pub(crate) fn new(
        builder: Builder<'_>,
        direct: &[Option<usize>],
        accumulated: &[(Slot, usize)],
    ) -> Option<Program> {
        let Builder { n, mut columns, mut by_rows, inputs, mut steps, .. } = builder;
        if let Some(period) = period(&steps, n).filter(|_| !by_rows) {
            (columns, by_rows) = (period, true);
        }
        if by_rows {
            before_tiles(&mut steps, direct, columns);
        }
        let by_rows = by_rows || steps.iter().any(|s| s.level == Level::Row);
        let past = steps.iter().any(|s| matches!(*s.op, LoopOp::StreamingCopy));
        let registers = Registers::assign(&steps, direct);
        let width = registers.width();
        let tile = match (by_rows, width) {
            (true, width) => whole_rows(width, n, columns),
            // A single operation needs no tiles: it goes over all elements at once.
            (false, 0) => n.max(1),
            (false, width) if past => tile(width, n).min(MAX_STREAMED_TILE_ELEMENTS),
            (false, width) => tile(width, n),
        };
        let (offsets, bytes) = registers.places(tile, columns)?;
        let on_stack = bytes <= MAX_STACK_BYTES;
        let part = steps
            .iter()
            .filter_map(|s| s.op.accumulator())
            .try_fold(0usize, |n, a| n.checked_add(a.bytes))?;
        let wanted = (work(&steps, inputs.len() + direct.iter().flatten().count(), n, columns)
            / MIN_TASK_PICOSECONDS)
            .clamp(1, if on_stack { MAX_TASKS[0] } else { MAX_TASKS[1] })
            .min((MAX_PARTS_BYTES / part.max(1)).max(2));
        let alone = width == 0 && !by_rows;
        let chunk = n.div_ceil(wanted).next_multiple_of(if alone { TILE_ELEMENTS[1] } else { tile });
        let tasks = n.div_ceil(chunk.max(1)).max(1);

        let stacks = if on_stack { 0 } else { tasks.checked_mul(bytes)? };
        let (parts, scratch) = accumulators(&steps, tasks, stacks)?;
        let total = |(slot, output): &(Slot, usize)| {
            let Slot::Loop(s) = *slot else { return None };
            let accumulator = Arc::clone(steps[s].op.accumulator()?);
            Some(Total { accumulator, parts: parts[s], output: *output })
        };
        let totals: Vec<Total> = accumulated.iter().map(total).collect::<Option<_>>()?;
        // Only accumulators of outputs are initialized and finished, so there must not be others.
        (steps.iter().filter(|s| s.op.accumulator().is_some()).count() == totals.len()).then_some(())?;
        let input = |i: usize| {
            let level = if inputs[i].elements() == Some(n) { Level::Full } else { Level::Row };
            (inputs[i].dtype.size(), level)
        };
        let made = locations(&steps, direct, &offsets, &parts);
        let mut steps = compile(steps, &made, input);
        let uniform: Vec<PlacedLoop> =
            steps.extract_if(.., |s| matches!(s.level, Level::Uniform | Level::Fixed)).collect();
        let streams = streams(&steps, n);
        let registers = if on_stack { 0 } else { bytes };
        Some(Program {
            n,
            columns,
            tile,
            uniform,
            steps,
            streams,
            past,
            tasks,
            chunk,
            bytes,
            registers,
            totals,
            scratch,
        })
    }

    pub(crate) fn prepared(self) -> Option<PreparedKernel> {
        match self.line() {
            Some(line) => self.in_steps(line),
            None => Some(self.in_tiles()),
        }
    }

    fn in_tiles(mut self) -> PreparedKernel {
        let (tasks, scratch) = (self.tasks, self.scratch);
        let totals = std::mem::take(&mut self.totals);
        let begun: Vec<(Arc<Accumulator>, usize)> =
            totals.iter().map(|t| (Arc::clone(&t.accumulator), t.parts)).collect();
        let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
            let memory =
                if scratch == 0 { std::ptr::null_mut() } else { args.ptr::<u8>(args.scratch_place()) };
            for (accumulator, parts) in &begun {
                // SAFETY: there is scratch memory for one accumulator per task.
                unsafe { accumulator.begin(memory.add(parts + task * accumulator.bytes)) };
            }
            let begin = task * self.chunk;
            let end = (begin + self.chunk).min(self.n);
            if begin >= end {
                return;
            }
            if self.registers == 0 {
                // SAFETY: the arguments are the kernel's, and the range belongs to this task.
                unsafe { self.on_stack(args, memory, task, begin, end) };
            } else {
                // SAFETY: there is scratch memory for the registers of each task; the range belongs to this
                // task.
                unsafe {
                    let registers = memory.add(task * self.registers);
                    self.range(args, Memory { registers, scratch: memory, task }, begin, end);
                }
            }
        });
        if totals.is_empty() {
            return prepared.with_scratch(scratch);
        }
        let end = move |args: &Args<'_>| {
            let memory = args.ptr::<u8>(args.scratch_place());
            for Total { accumulator, parts, output } in &totals {
                // SAFETY: each task has initialized its accumulator and added its elements.
                unsafe { accumulator.end(memory.add(*parts), tasks, args.output_ptr(*output)) };
            }
        };
        prepared.then(PreparedKernel::new(end)).with_scratch(scratch)
    }

    /// # Safety
    /// Same requirements as [`Program::range`].
    unsafe fn on_stack(&self, args: &Args<'_>, scratch: *mut u8, task: usize, begin: usize, end: usize) {
        #[repr(C, align(64))]
        struct Stack([MaybeUninit<u8>; MAX_STACK_BYTES]);
        let mut stack = Stack([const { MaybeUninit::uninit() }; MAX_STACK_BYTES]);
        let memory = Memory { registers: stack.0.as_mut_ptr().cast(), scratch, task };
        // SAFETY: the caller guarantees the range; the stack has room for the registers.
        unsafe { self.range(args, memory, begin, end) };
    }

    /// Computes the elements of a range.
    ///
    /// # Safety
    /// The arguments are memory of the kernel that the program was created for. `memory` has the registers
    /// and the scratch memory of a task, and no other task computes elements of the range.
    unsafe fn range(&self, args: &Args<'_>, memory: Memory, begin: usize, end: usize) {
        let first = Tile::new(begin, self.tile.min(end - begin), self.columns);
        for step in &self.uniform {
            // SAFETY: the caller guarantees the memory of each tile of the range (`# Safety` above).
            unsafe { step.run(args, memory, first) };
        }
        let (mut start, mut pace) = (begin, Pace::default());
        while start < end && !pace.is_due_after(self.tile) {
            let tile = Tile::new(start, self.tile.min(end - start), self.columns);
            start += tile.len;
            let next = Tile::new(start, self.tile.min(end - start), self.columns);
            for (i, step) in self.steps.iter().enumerate() {
                // SAFETY: the caller guarantees the memory of each tile of the range (`# Safety` above).
                unsafe {
                    if !self.streams.is_empty() {
                        self.fetch(args, memory, next, i);
                    }
                    step.run(args, memory, tile);
                }
            }
        }
        if self.past {
            past_is_written();
        }
    }

    /// Prefetches a part of `tile`, the next tile, before step number `step` of the current tile. All steps
    /// together prefetch the whole tile. Hardware prefetching does not cross pages, and does not cover cache
    /// lines that are written.
    ///
    /// # Safety
    /// Same requirements as [`PlacedLoop::run`].
    unsafe fn fetch(&self, args: &Args<'_>, memory: Memory, tile: Tile, step: usize) {
        let parts = self.steps.len().min(MAX_FETCHES);
        let [part, next] = [step, step + 1].map(|i| i * parts / self.steps.len());
        if part == next {
            return;
        }
        for stream in &self.streams {
            let lines = (tile.len * stream.size).div_ceil(CACHE_LINE_BYTES);
            // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
            let at = unsafe { memory.at(args, stream.location, tile) };
            for line in lines * part / parts..lines * next / parts {
                prefetch_to_second_level(at.wrapping_add(line * CACHE_LINE_BYTES));
            }
        }
    }
}

/// Returns the longest period of full broadcasts, in elements, if it divides `n`. Periods that exceed the
/// maximum size of a tile are ignored. If the program computes rows of this length, broadcasts whose period
/// divides it are computed only once per task.
fn period(steps: &[SsaLoop], n: usize) -> Option<usize> {
    let periods = steps.iter().filter(|s| s.level == Level::Full).filter_map(|s| match &*s.op {
        LoopOp::Broadcast(_, movement) => Some(movement.period()),
        _ => None,
    });
    let longest = periods.filter(|p| (1..=TILE_ELEMENTS[1]).contains(p)).max()?;
    (longest < n && n.is_multiple_of(longest)).then_some(longest)
}

/// Schedules broadcasts ahead of the first tile if their elements are the same in every row, unless they are
/// results.
fn before_tiles(steps: &mut [SsaLoop], direct: &[Option<usize>], columns: usize) {
    for (step, _) in steps.iter_mut().zip(direct).filter(|(_, output)| output.is_none()) {
        if let (LoopOp::Broadcast(_, movement), Level::Full) = (&*step.op, step.level)
            && columns.is_multiple_of(movement.period())
        {
            step.level = Level::Fixed;
        }
    }
}

/// Returns the large operands and outputs that steps read and write tile by tile.
fn streams(steps: &[PlacedLoop], n: usize) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    for step in steps {
        let to = Some(step.result).filter(|_| !matches!(*step.op, LoopOp::StreamingCopy));
        for location in step.operands.iter().map(|x| x.location).chain(to) {
            if let Location::Input(_, size, Level::Full) | Location::Output(_, size, Level::Full) = location
                && n.saturating_mul(size) >= MIN_UNCACHED_BYTES
                && streams.iter().all(|s| s.location != location)
            {
                streams.push(Stream { location, size });
            }
        }
    }
    streams
}

/// Returns the offset of each step's accumulators in scratch memory, and the end of all accumulators. The
/// first accumulators are at offset `begin`.
fn accumulators(steps: &[SsaLoop], tasks: usize, begin: usize) -> Option<(Vec<usize>, usize)> {
    let (mut parts, mut end) = (vec![0; steps.len()], begin);
    for (step, at) in steps.iter().zip(&mut parts) {
        if let Some(accumulator) = step.op.accumulator() {
            *at = end;
            end = end.checked_add(tasks.checked_mul(accumulator.bytes)?)?;
        }
    }
    Some((parts, end))
}

/// Returns the location of each step's result: an output, a register, or accumulators.
fn locations(
    steps: &[SsaLoop],
    direct: &[Option<usize>],
    registers: &[usize],
    parts: &[usize],
) -> Vec<Source> {
    let location = |(s, step): (usize, &SsaLoop)| {
        let location = match (step.op.accumulator(), direct[s]) {
            (Some(accumulator), _) => Location::Accumulators(parts[s], accumulator.bytes),
            (None, Some(output)) => Location::Output(output, step.bytes, step.level),
            (None, None) => Location::Register(registers[s]),
        };
        Source { location, bytes: step.bytes, access: Access::Each }
    };
    steps.iter().enumerate().map(location).collect()
}

/// Replaces the operands of the steps by their locations. `made` has the location of each step's result, and
/// `input` returns the element size and the level of a program's operand.
fn compile(steps: Vec<SsaLoop>, made: &[Source], input: impl Fn(usize) -> (usize, Level)) -> Vec<PlacedLoop> {
    let levels: Vec<Level> = steps.iter().map(|s| s.level).collect();
    let source = |slot: Slot, by: &SsaLoop| {
        let (source, level) = match slot {
            Slot::Input(i) => {
                let (bytes, level) = input(i);
                (Source { location: Location::Input(i, bytes, level), bytes, access: Access::Each }, level)
            }
            Slot::Loop(s) => (made[s], levels[s]),
        };
        let access = match (level, by.level, &*by.op) {
            (Level::Uniform, ..) => Access::Uniform,
            (Level::Row, Level::Full, LoopOp::Compute(..)) => Access::Row,
            _ => Access::Each,
        };
        Source { access, ..source }
    };
    let compiled = steps.into_iter().zip(made).map(|(step, made)| {
        let operands: SmallVec<[Source; 3]> = step.operands.iter().map(|slot| source(*slot, &step)).collect();
        let SsaLoop { op, bytes, level, cost, .. } = step;
        Loop { op, operands, result: made.location, bytes, level, cost }
    });
    compiled.collect()
}

/// Returns the cost of a program in picoseconds, including memory accesses for operands and outputs.
fn work(steps: &[SsaLoop], memory: usize, n: usize, columns: usize) -> usize {
    let level = |level: Level| steps.iter().filter(move |s| s.level == level).map(|s| s.cost).sum::<usize>();
    let full = n.saturating_mul(level(Level::Full) + 300 * memory);
    full.saturating_add((n / columns).saturating_mul(level(Level::Row)))
}

/// Returns the number of elements in a tile of whole rows, if each element takes this number of bytes of
/// registers.
fn whole_rows(bytes: usize, n: usize, columns: usize) -> usize {
    let rows = (CACHE_BYTES / bytes.max(1)).min(TILE_ELEMENTS[1]) / columns;
    (rows.max(1) * columns).min(n.max(columns))
}

/// Returns the number of elements in a tile of any elements, if each element takes this number of bytes of
/// registers.
fn tile(bytes: usize, n: usize) -> usize {
    let [least, most] = TILE_ELEMENTS;
    let fits = (CACHE_BYTES / bytes.max(1)).clamp(least, most) / least * least;
    fits.min(n.next_multiple_of(least)).max(least)
}

impl PlacedLoop {
    /// Computes a tile.
    ///
    /// # Safety
    /// The arguments are memory of the kernel that the step was created for. `memory` has the registers and
    /// the scratch memory of this task, and no other task computes elements of the tile.
    #[inline]
    unsafe fn run(&self, args: &Args<'_>, memory: Memory, tile: Tile) {
        if let LoopOp::Slices(parts) = &*self.op {
            let (start, len) = tile.of(self.level);
            // SAFETY: the parts were prepared for the operands; the register has room for a tile.
            return unsafe {
                parts.run(|i| args.input_ptr(i), memory.at(args, self.result, tile), [start, len])
            };
        }
        if let LoopOp::HashRounds(turns) = &*self.op {
            // SAFETY: same requirements as this function.
            return unsafe { self.hash(turns, args, memory, tile) };
        }
        let mut from = [std::ptr::null(); 3];
        let input = self.op.input();
        if let Some(i) = input {
            from[0] = args.input_ptr::<u8>(i);
        }
        for (x, source) in from.iter_mut().skip(usize::from(input.is_some())).zip(&self.operands) {
            // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
            *x = unsafe { memory.at(args, source.location, tile).cast_const() };
        }
        // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
        unsafe { self.compute(from, memory.at(args, self.result, tile), tile) };
    }

    /// Applies the rounds of a hash to the words of a tile.
    ///
    /// # Safety
    /// Same requirements as [`PlacedLoop::run`].
    unsafe fn hash(&self, turns: &[Turn], args: &Args<'_>, memory: Memory, tile: Tile) {
        let words = |x: &Source| Words {
            // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
            at: unsafe { memory.at(args, x.location, tile).cast_const().cast() },
            one: x.access == Access::Uniform,
        };
        let all: SmallVec<[Words; 2 + MAX_ADDED_OPERANDS]> = self.operands.iter().map(words).collect();
        let (&[a, b, ref operands @ ..], (_, len)) = (&all[..], tile.of(self.level)) else {
            unreachable!("two words at least")
        };
        // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
        let to = unsafe { memory.at(args, self.result, tile).cast::<u32>() };
        // SAFETY: full values have as many words as the tile, uniform values have one; the register has room
        // for two words per element, and overlaps none of the operands.
        unsafe { rounds::run(turns, operands, [a, b], [to, to.add(len)], len) };
    }

    /// Computes a tile. `from` has the address of the program's operand that the step reads directly
    /// ([`LoopOp::input`]), if any, followed by the addresses of the step's own operands.
    ///
    /// # Safety
    /// The addresses are valid for the elements of the tile: operands for reads, `to` for writes. `to` may be
    /// in exactly the place of an operand with elements of the same size.
    #[inline]
    pub(crate) unsafe fn compute(&self, from: [*const u8; 3], to: *mut u8, tile: Tile) {
        let (start, len) = tile.of(self.level);
        match &*self.op {
            // SAFETY: same requirements as this function.
            LoopOp::Compute(work, _) if self.is_by_row() => unsafe { self.row_by_row(work, from, to, tile) },
            LoopOp::Compute(work, _) | LoopOp::ReduceRows(work) => {
                let mut operands = [Operand::ABSENT; 3];
                for ((x, at), source) in operands.iter_mut().zip(from).zip(&self.operands) {
                    *x = Operand::new(at, source.access == Access::Uniform);
                }
                // SAFETY: the caller guarantees the elements of the tile (`# Safety` above).
                unsafe { work.run(&operands, to, len) };
            }
            // SAFETY: the operand has one element, and the register has room for the elements that its level
            // has in a tile.
            LoopOp::Splat(_) => unsafe { splat(from[0], to, self.bytes, len) },
            // SAFETY: the constant has 16 bytes, and no element is larger; the register has room for `len`
            // copies.
            LoopOp::Constant(element) => unsafe { splat(element.as_ptr(), to, self.bytes, len) },
            // SAFETY: a uniform value has an element; the register has room for `len` copies.
            LoopOp::Fill => unsafe { splat(from[0], to, self.bytes, len) },
            LoopOp::Repeat => {
                for row in 0..tile.rows {
                    // SAFETY: the operand has an element for each row, and there is room for a tile.
                    unsafe {
                        let to = to.add(row * tile.columns * self.bytes);
                        splat(from[0].add(row * self.bytes), to, self.bytes, tile.columns);
                    }
                }
            }
            // SAFETY: the movement was made for the operand and values of this level, and is in order
            // ([`Movement::in_order`]). The register or output does not overlap the operand, which has
            // another number of elements.
            LoopOp::Broadcast(_, movement) => unsafe {
                movement.run_numbers(from[0], to, start, start..start + len);
            },
            // SAFETY: the movement was made for the operand and values of this level, and is in order
            // ([`Movement::in_order`]). No output shares memory with a padded operand. The uniform value has
            // an element.
            LoopOp::Pad(_, inside) => unsafe {
                splat(from[1], to, self.bytes, len);
                inside.run_within(from[0], to, [start, len]);
            },
            LoopOp::Slices(_) | LoopOp::HashRounds(_) => unreachable!("they take any number of operands"),
            LoopOp::Begin | LoopOp::End | LoopOp::Move(_) | LoopOp::Window(_) | LoopOp::Shift => {
                unreachable!("they are only steps of straight-line programs")
            }
            // SAFETY: the operand has two words for each element.
            LoopOp::Half(half) => unsafe {
                std::ptr::copy_nonoverlapping(from[0].add(half * len * 4), to, len * 4)
            },
            // SAFETY: the register has room for a tile.
            LoopOp::Iota(iota) => unsafe { (iota.run)(iota, to, start, len) },
            // SAFETY: both sides have `len` elements; they may overlap, because an output may share the
            // memory of an operand.
            LoopOp::Copy => unsafe { std::ptr::copy(from[0], to, len * self.bytes) },
            // SAFETY: the register and the output have `len` elements.
            LoopOp::StreamingCopy => unsafe { copy_past(from[0], to, len * self.bytes) },
            // SAFETY: `to` is the accumulator of this task, which has been initialized; the operand has the
            // elements of a tile.
            LoopOp::Accumulate(accumulator) => unsafe {
                accumulator.add(from[0], len, start % accumulator.kept, to);
            },
        }
    }

    /// Returns true if rows are computed one after another, because an operand has one element per row.
    pub(crate) fn is_by_row(&self) -> bool {
        self.operands.iter().any(|x| x.access == Access::Row)
    }

    /// Computes full values from operands of which some have one element per row.
    ///
    /// # Safety
    /// Same requirements as [`PlacedLoop::compute`].
    unsafe fn row_by_row(&self, work: &VectorLoop, from: [*const u8; 3], to: *mut u8, tile: Tile) {
        #[repr(C, align(64))]
        struct Block([MaybeUninit<u8>; BLOCK * MAX_ELEMENT_BYTES]);
        let mut blocks = [const { Block([const { MaybeUninit::uninit() }; BLOCK * MAX_ELEMENT_BYTES]) }; 3];
        let mut operands = [Operand::ABSENT; 3];
        for row in 0..tile.rows {
            let sources = self.operands.iter().zip(from).zip(&mut operands).zip(&mut blocks);
            for (((source, at), operand), block) in sources {
                let size = source.bytes;
                *operand = match source.access {
                    // SAFETY: rows of a full value are contiguous.
                    Access::Each => Operand::each(unsafe { at.add(row * tile.columns * size) }),
                    Access::Uniform => Operand::repeated(at),
                    Access::Row => {
                        let block = block.0.as_mut_ptr().cast::<u8>();
                        // SAFETY: the operand has an element for each row; the block has room for `BLOCK`
                        // elements of any type.
                        unsafe { splat(at.add(row * size), block, size, BLOCK) };
                        Operand::repeated(block)
                    }
                };
            }
            // SAFETY: rows of the result are contiguous, and the result has room for a tile.
            unsafe { work.run(&operands, to.add(row * tile.columns * self.bytes), tile.columns) };
        }
    }
}

impl Memory {
    /// Returns the address of a tile's elements.
    ///
    /// # Safety
    /// The arguments are memory of the kernel that the location belongs to, and the tile is within the
    /// kernel's elements.
    #[inline(always)]
    unsafe fn at(self, args: &Args<'_>, location: Location, tile: Tile) -> *mut u8 {
        match location {
            Location::Input(i, size, level) => {
                // SAFETY: the operand has the number of elements that values of its level have, so the tile
                // is within it.
                unsafe { args.input_ptr::<u8>(i).add(tile.of(level).0 * size).cast_mut() }
            }
            Location::Output(i, size, level) => {
                // SAFETY: the output has the number of elements that values of its level have, so the tile is
                // within it.
                unsafe { args.output_ptr::<u8>(i).add(tile.of(level).0 * size) }
            }
            // SAFETY: a register has room for a tile.
            Location::Register(offset) => unsafe { self.registers.add(offset) },
            // SAFETY: every task has an accumulator.
            Location::Accumulators(offset, size) => unsafe { self.scratch.add(offset + self.task * size) },
        }
    }
}
