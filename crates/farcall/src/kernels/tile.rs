//! Tile programs: operations on corresponding elements, computed a few hundred elements at a time, so that what goes
//! from one operation to the next stays in the cache.
//!
//! ```text
//! values (operands, then one per operation) ──Builder──▶ steps over registers ──finish──▶ Prepared
//! ```
//!
//! A *register* has room for one element per element of a tile. A value is
//! - *full*: it has an element for each element of the outputs, in the same order;
//! - *uniform*: its elements are all the same one, with which a register is filled before the first tile;
//! - *other*: an operand of other elements, of which a step makes a full value (a broadcast, say).

use std::mem::MaybeUninit;

use farcall_ir::{Op, TensorType};
use smallvec::SmallVec;

use super::args::{Args, Prepared};
use super::elementwise;
use super::map::Work;
use super::movement::{Axis, fill, normal, row_major};
use super::number::Number;
use super::types::{by_size, dispatch};

/// Bytes of a cache that the registers of a program should fill at most.
const CACHE: usize = 24 << 10;
/// Bytes of the registers of a program at most: more than those of any that the pass `fuse` makes, on the stack.
const MOST: usize = 64 << 10;
/// Elements of a tile: a multiple of this, and at most so many.
const TILE: [usize; 2] = [16, 1024];
/// Dimensions of a broadcast at most.
const MAX_AXES: usize = 8;
/// What a task should take at least, in picoseconds.
const TASK: usize = 60_000_000;
/// Tasks of a program at most.
const TASKS: usize = 256;

/// Makes a tile program of operations, one after the other.
pub(super) struct Builder<'a> {
    /// Elements of every full value.
    n: usize,
    inputs: &'a [&'a TensorType],
    values: Vec<Value>,
    steps: Vec<Step>,
}

/// What a value is while a tile is computed.
#[derive(Clone, Copy)]
enum Value {
    /// An operand that is neither.
    Other(usize),
    Full(Slot),
    Uniform(Slot),
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
    /// It comes before the tiles.
    uniform: bool,
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
    /// One element.
    Constant([u8; 16]),
    /// Numbers of elements, by strides.
    Iota(Iota),
    /// The elements of another value.
    Copy,
}

impl<'a> Builder<'a> {
    /// For operands of these types, and outputs of `n` elements.
    pub(super) fn new(inputs: &'a [&'a TensorType], n: usize) -> Builder<'a> {
        let mut builder =
            Builder { n, inputs, values: Vec::with_capacity(inputs.len() + 8), steps: Vec::new() };
        for (i, ty) in inputs.iter().enumerate() {
            let value = match ty.elements() {
                Some(m) if m == n => Value::Full(Slot::Input(i)),
                Some(1) => {
                    let slot = builder.step(Task::Splat(i), [], ty.dtype.size(), true, 0);
                    Value::Uniform(slot)
                }
                _ => Value::Other(i),
            };
            builder.values.push(value);
        }
        builder
    }

    fn step(
        &mut self,
        task: Task,
        from: impl IntoIterator<Item = Slot>,
        size: usize,
        uniform: bool,
        cost: usize,
    ) -> Slot {
        self.steps.push(Step { task, from: from.into_iter().collect(), size, uniform, cost });
        Slot::Step(self.steps.len() - 1)
    }

    /// The next operation, on earlier values (operands, then results of operations); `None` if it is not one that a
    /// tile can be computed of.
    pub(super) fn op(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<()> {
        let value = self.value(op, operands, ty)?;
        self.values.push(value);
        Some(())
    }

    fn value(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let n = ty.elements()?;
        if n != self.n && n != 1 {
            return None;
        }
        match (op, operands) {
            (Op::Constant(literal), []) if !literal.is_empty() && (literal.is_splat() || n == 1) => {
                let element = literal.element(0);
                let mut bytes = [0; 16];
                bytes.get_mut(..element.len())?.copy_from_slice(element);
                (literal.dtype() == ty.dtype && element.len() == ty.dtype.size()).then_some(())?;
                Some(Value::Uniform(self.step(Task::Constant(bytes), [], ty.dtype.size(), true, 0)))
            }
            (Op::Iota { dim }, []) => {
                let iota = Iota::new(ty, *dim)?;
                Some(Value::Full(self.step(Task::Iota(iota), [], ty.dtype.size(), false, 500)))
            }
            (Op::Reshape, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, n),
            (Op::BitcastConvert, [(x, from)])
                if from.dtype.bits() == ty.dtype.bits() && from.dtype.bits() >= 8 =>
            {
                self.view(*x, from, n)
            }
            (Op::Convert, [(x, from)]) if from.dtype == ty.dtype => self.view(*x, from, n),
            (Op::BroadcastInDim { dims }, [(x, from)]) => self.broadcast(*x, from, ty, dims),
            _ => self.compute(op, operands, ty),
        }
    }

    /// The same elements, seen otherwise.
    fn view(&self, x: usize, from: &TensorType, n: usize) -> Option<Value> {
        (from.elements() == Some(n)).then_some(())?;
        self.values.get(x).copied()
    }

    fn broadcast(&mut self, x: usize, from: &TensorType, ty: &TensorType, dims: &[usize]) -> Option<Value> {
        // In another order, it is a transposition as well.
        if from.dtype != ty.dtype || dims.len() != from.rank() || !dims.is_sorted() {
            return None;
        }
        match *self.values.get(x)? {
            Value::Uniform(slot) => Some(Value::Uniform(slot)),
            Value::Full(slot) => (from.elements() == ty.elements()).then_some(Value::Full(slot)),
            Value::Other(i) => {
                // It may have been seen as another shape.
                let input = self.inputs.get(i)?;
                (input.dtype == from.dtype && input.elements() == from.elements()).then_some(())?;
                let walk = Walk::broadcast(from, ty, dims)?;
                Some(Value::Full(self.step(Task::Walk(i, walk), [], ty.dtype.size(), false, 300)))
            }
        }
    }

    fn compute(&mut self, op: &Op, operands: &[(usize, &TensorType)], ty: &TensorType) -> Option<Value> {
        let dtypes: SmallVec<[_; 3]> = operands.iter().map(|(_, t)| t.dtype).collect();
        let work = elementwise::work(op, &dtypes, ty.dtype)?;
        let (mut from, mut uniform) = (SmallVec::<[Slot; 3]>::new(), true);
        for (x, _) in operands {
            from.push(match *self.values.get(*x)? {
                Value::Other(_) => return None,
                Value::Uniform(slot) => slot,
                Value::Full(slot) => {
                    uniform = false;
                    slot
                }
            });
        }
        let cost = elementwise::cost(op, ty.dtype);
        let slot = self.step(Task::Work(work), from, ty.dtype.size(), uniform, cost);
        Some(if uniform { Value::Uniform(slot) } else { Value::Full(slot) })
    }

    /// The program whose outputs are these values.
    ///
    /// An output may lie exactly where an operand of as many elements of the same size lies.
    pub(super) fn finish(mut self, returned: &[usize], outputs: &[&TensorType]) -> Option<Prepared> {
        let n = self.n;
        let mut results = Vec::with_capacity(returned.len());
        for (value, ty) in returned.iter().zip(outputs) {
            let slot = match *self.values.get(*value)? {
                Value::Full(slot) | Value::Uniform(slot) if ty.elements() == Some(n) => slot,
                _ => return None,
            };
            results.push(match slot {
                Slot::Input(_) => self.step(Task::Copy, [slot], ty.dtype.size(), false, 100),
                slot @ Slot::Step(_) => slot,
            });
        }
        // What has not been made by a step alone is copied at the end: outputs may lie where operands do.
        let last_read = self.steps.iter().rposition(reads_operand).map_or(0, |i| i + 1);
        let mut direct: Vec<Option<usize>> = vec![None; self.steps.len()];
        for (output, slot) in results.iter().enumerate() {
            match *slot {
                Slot::Step(s) if !self.steps[s].uniform && s + 1 >= last_read && direct[s].is_none() => {
                    direct[s] = Some(output);
                }
                slot => {
                    let size = outputs[output].dtype.size();
                    self.step(Task::Copy, [slot], size, false, 100);
                    direct.push(Some(output));
                }
            }
        }
        Program::new(self, &direct).map(Program::prepared)
    }
}

/// True if the step reads elements of an operand tile by tile.
fn reads_operand(step: &Step) -> bool {
    !step.uniform
        && (matches!(step.task, Task::Walk(..)) || step.from.iter().any(|s| matches!(s, Slot::Input(_))))
}

/// Where the elements of a value are.
#[derive(Clone, Copy)]
enum Location {
    /// Those of an operand, of this size.
    Input(usize, usize),
    /// Those of an output, of this size.
    Output(usize, usize),
    /// A register: the number of the first byte.
    Register(usize),
}

struct Compiled {
    task: Task,
    from: SmallVec<[Location; 3]>,
    to: Location,
    size: usize,
}

struct Program {
    n: usize,
    /// Elements of a tile.
    tile: usize,
    /// What comes before the tiles.
    uniform: Vec<Compiled>,
    steps: Vec<Compiled>,
    /// Tasks, and elements of each.
    tasks: usize,
    chunk: usize,
}

impl Program {
    /// `direct` has the output that each step writes, if it writes one.
    fn new(builder: Builder<'_>, direct: &[Option<usize>]) -> Option<Program> {
        let Builder { n, inputs, steps, .. } = builder;
        let registers = Registers::assign(&steps, direct);
        let width = steps.iter().map(|s| s.size).max().unwrap_or(1);
        // A single operation needs no tiles: it goes over all elements at once.
        let tile = if registers.count == 0 { n.max(1) } else { tile(registers.count * width, n) };
        let location = |slot: Slot| match slot {
            Slot::Input(i) => Location::Input(i, inputs[i].dtype.size()),
            Slot::Step(s) => match direct[s] {
                Some(output) => Location::Output(output, steps[s].size),
                None => Location::Register(registers.of[s] * tile * width),
            },
        };
        let places: Vec<(SmallVec<[Location; 3]>, Location)> = steps
            .iter()
            .enumerate()
            .map(|(s, step)| (step.from.iter().map(|x| location(*x)).collect(), location(Slot::Step(s))))
            .collect();
        // An operand or an output is read or written from memory.
        let memory = inputs.len() + direct.iter().flatten().count();
        let each = steps.iter().filter(|s| !s.uniform).map(|s| s.cost).sum::<usize>() + 300 * memory;
        let wanted = (n.saturating_mul(each) / TASK).clamp(1, TASKS);
        let chunk = n.div_ceil(wanted).next_multiple_of(if registers.count == 0 { TILE[1] } else { tile });
        if registers.count.checked_mul(tile)?.checked_mul(width)? > MOST {
            return None;
        }
        let tasks = n.div_ceil(chunk.max(1)).max(1);
        let (mut uniform, mut tiled) = (Vec::new(), Vec::new());
        for (step, (from, to)) in steps.into_iter().zip(places) {
            let compiled = Compiled { task: step.task, from, to, size: step.size };
            if step.uniform { uniform.push(compiled) } else { tiled.push(compiled) }
        }
        Some(Program { n, tile, uniform, steps: tiled, tasks, chunk })
    }

    fn prepared(self) -> Prepared {
        Prepared::in_tasks(self.tasks, move |args, task| {
            let begin = task * self.chunk;
            let end = (begin + self.chunk).min(self.n);
            if begin < end {
                self.range(args, begin, end);
            }
        })
    }

    /// Computes the elements of a range.
    fn range(&self, args: &Args<'_>, begin: usize, end: usize) {
        #[repr(C, align(64))]
        struct Memory([MaybeUninit<u8>; MOST]);
        let mut memory = Memory([const { MaybeUninit::uninit() }; MOST]);
        let registers: *mut u8 = memory.0.as_mut_ptr().cast();
        let first = self.tile.min(end - begin);
        for step in &self.uniform {
            step.run(args, registers, begin, first);
        }
        let mut start = begin;
        while start < end {
            let len = self.tile.min(end - start);
            for step in &self.steps {
                step.run(args, registers, start, len);
            }
            start += len;
        }
    }
}

/// Elements of a tile, if each takes this many bytes of registers.
fn tile(bytes: usize, n: usize) -> usize {
    let [least, most] = TILE;
    let fits = (CACHE / bytes.max(1)).clamp(least, most) / least * least;
    fits.min(n.next_multiple_of(least)).max(least)
}

impl Compiled {
    #[inline]
    fn run(&self, args: &Args<'_>, registers: *mut u8, start: usize, len: usize) {
        let at = |location: Location| -> *mut u8 {
            match location {
                // SAFETY: element `start` is one of the operand's, of which there are as many as of the outputs.
                Location::Input(i, size) => unsafe { args.input_ptr::<u8>(i).add(start * size).cast_mut() },
                // SAFETY: element `start` is one of the output's.
                Location::Output(i, size) => unsafe { args.output_ptr::<u8>(i).add(start * size) },
                // SAFETY: a register has room for a tile.
                Location::Register(offset) => unsafe { registers.add(offset) },
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
            // SAFETY: the walk was made for the operand and outputs of `n` elements.
            Task::Walk(i, walk) => unsafe { (walk.run)(walk, args.input_ptr(*i), to, start, len) },
            // SAFETY: the register has room for a tile.
            Task::Iota(iota) => unsafe { (iota.run)(iota, to, start, len) },
            // SAFETY: `len` elements on both sides; an operand may lie in the place of the output.
            Task::Copy => unsafe { std::ptr::copy(at(self.from[0]), to, len * self.size) },
        }
    }
}

/// Which registers the steps write.
struct Registers {
    /// The register of each step that has one.
    of: Vec<usize>,
    count: usize,
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
        let (mut of, mut free, mut count) = (vec![0; steps.len()], Vec::new(), 0);
        for s in (0..steps.len()).filter(|s| steps[*s].uniform) {
            of[s] = count;
            count += 1;
        }
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for s in (0..steps.len()).filter(|s| !steps[*s].uniform) {
            // Elements may be of another size than those that are read, so a step writes to no register that it reads.
            if direct[s].is_none() {
                of[s] = free.pop().unwrap_or(count);
                count = Ord::max(count, of[s] + 1);
                ends[last[s]].push(of[s]);
            }
            free.append(&mut ends[s]);
        }
        Registers { of, count }
    }
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
