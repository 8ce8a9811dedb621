//! Turns a plan into the form that the executor walks: constants in memory, kernels prepared, places
//! resolved.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use farcall_ir::Diagnostic;
use farcall_ir::memory::OutOfMemory;
use smallvec::SmallVec;

use super::collective::LoadedCollective;
use super::memory::AlignedBytes;
use farcall_host::custom_call::{CallError, CallSite};
use farcall_host::registry::{How, Registry};
use farcall_kernels::{ElementBytes, Line, Linked, Linking, NUMBERS, Place, PreparedKernel, StraightLine};
use farcall_plan::{ALIGNMENT, Base, BufferSlice, Plan, TensorSlice, Thunk, ThunkOp, ValidPlan};

/// A plan that cannot be loaded.
#[derive(Clone, Debug)]
pub enum InstantiateError {
    /// The plan's constants do not fit into memory.
    Memory(OutOfMemory),
    /// Targets are missing.
    Targets(Vec<Diagnostic>),
    /// Targets refuse the calls.
    Calls(Vec<CallError>),
}

/// A plan that is ready to run.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) plan: Arc<ValidPlan>,
    /// The call site of each custom call of the plan.
    pub(super) calls: Vec<Arc<CallSite>>,
    /// Places of the operands and results of each call.
    pub(super) places: CallPlaces,
    /// The executable form of the plan's thunks.
    pub(super) sequence: Sequence,
    /// Places of the results.
    pub(super) results: Vec<Place>,
    /// The plan's constants, with the alignment that custom calls may expect. After them, for each
    /// straight-line program: the constants of its steps, and the scalar constants among the inputs of its
    /// thunk.
    pub(super) constants: AlignedBytes,
    /// Size, in bytes, of the registers of straight-line programs. Only one such program runs at a time in a
    /// context, so all of them share the same registers.
    pub(super) registers: usize,
    /// Number of bytes of [`Base::Stack`] that the thunks use.
    pub(super) stack: usize,
    /// The loaded plans of the custom calls nested in instructions that the reference evaluator runs. Indexed
    /// by the instruction, in the order of [`Plan::references`], then by the call, in the order of
    /// [`ReferenceSite::calls`](farcall_plan::ReferenceSite::calls).
    pub(super) nested: Vec<Vec<Loaded>>,
    /// True if the plan has custom calls, nested ones included.
    pub(super) enters_handlers: bool,
    /// True if handlers may expect inputs that are aligned to [`ALIGNMENT`]. Built-in handlers do not.
    pub(super) aligns_inputs: bool,
    /// Nanoseconds that all runs have spent in the reference evaluator.
    pub(super) evaluator_nanoseconds: AtomicU64,
    /// True if thunks nest so deeply that a run takes much stack.
    pub(super) is_deep: bool,
}

/// A sequence of thunks that is ready to run.
#[derive(Debug)]
pub(super) struct Sequence {
    /// One step per thunk.
    pub(super) steps: Vec<Step>,
    /// The steps, grouped into stretches.
    pub(super) stretches: Vec<Stretch>,
}

/// Neighboring thunks that run together.
#[derive(Debug)]
pub(super) struct Stretch {
    /// Indices of the thunks in their sequence.
    pub(super) thunks: Range<usize>,
    /// The linked code of all thunks in the stretch. `None` if they must run one by one.
    pub(super) line: Option<Line>,
}

/// Place of an operand or result of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallPlace {
    /// Index of the operand or result in [`CallFrame::places`](farcall_host::custom_call::CallFrame::places).
    pub(super) number: u32,
    /// Index of the base address that `offset` is relative to.
    base: u32,
    offset: usize,
}

impl CallPlace {
    /// Returns the address of the operand or result.
    ///
    /// # Safety
    /// The plan must be validated, and `bases` must be the base addresses of one of its contexts.
    #[inline]
    pub(super) unsafe fn at(self, bases: &[*mut u8]) -> *mut u8 {
        debug_assert!(bases.len() > self.base as usize);
        // SAFETY: the caller guarantees that the plan is validated and that `bases` belongs to one of its
        // contexts (`# Safety` above), so the base address exists, and the place lies in the memory that
        // starts there.
        unsafe { bases.get_unchecked(self.base as usize).add(self.offset) }
    }
}

/// Places of the operands and results of all calls, tokens excluded.
#[derive(Debug, Default)]
pub(super) struct CallPlaces {
    /// Places in the arena and among the constants, each with the number of its call. Their addresses are the
    /// same in every run of a context.
    pub(super) fixed: Vec<(usize, CallPlace)>,
    /// Places whose addresses a run sets before it makes the call.
    moving: Vec<CallPlace>,
    /// For each call, the range of its places in `moving`.
    of_call: Vec<Range<u32>>,
}

impl CallPlaces {
    /// Collects the places of all calls. `called` has one entry for each thunk that is a call: the call's
    /// number, and the places of its operands and results, tokens excluded.
    fn new(calls: &[Arc<CallSite>], mut called: Vec<(u32, Arc<[Place]>)>) -> CallPlaces {
        called.sort_by_key(|(call, _)| *call);
        let mut places = CallPlaces { of_call: vec![0..0; calls.len()], ..CallPlaces::default() };
        for (call, at) in called {
            let call = call as usize;
            let site = &calls[call];
            let from = places.moving.len();
            let leaves = site.operands().iter().chain(site.results()).enumerate();
            for ((i, _), place) in leaves.filter(|(_, leaf)| !leaf.is_token()).zip(&*at) {
                let at = CallPlace { number: number(i), base: number(place.base), offset: place.offset };
                // The prepare and initialize stages of a call write other addresses to its frame, so each run
                // must set the addresses of a call with such stages again.
                if matches!(place.base, ARENA | CONSTANTS) && !site.has_run_stages() {
                    places.fixed.push((call, at));
                } else {
                    places.moving.push(at);
                }
            }
            places.of_call[call] = number(from)..number(places.moving.len());
        }
        places
    }

    /// Places whose addresses a run sets before it makes this call.
    #[inline]
    pub(super) fn moving(&self, call: usize) -> &[CallPlace] {
        let Range { start, end } = self.of_call[call];
        &self.moving[start as usize..end as usize]
    }
}

/// Converts the number of an item of a plan to `u32`. A plan has fewer than 2³² items of each kind.
fn number(i: usize) -> u32 {
    u32::try_from(i).expect("a plan of less than 2³² values")
}

/// A thunk that is ready to run.
#[derive(Debug)]
pub(super) struct Step {
    /// Number of the thunk, in the order of the plan's text.
    pub(super) number: u32,
    /// The prepared kernel, if a kernel computes the thunk.
    pub(super) kernel: Option<Arc<PreparedKernel>>,
    /// Number of the custom call, if the thunk is one.
    pub(super) call: Option<u32>,
    /// The collective, if the thunk is one.
    pub(super) collective: Option<Box<LoadedCollective>>,
    /// Places of the inputs, then of the outputs. Their bases are indices of base addresses, such as
    /// [`ARENA`].
    pub(super) places: Arc<[Place]>,
    /// The thunk's bodies. If the thunk is part of a [`Line`], the lines of its bodies have been moved into
    /// that line.
    pub(super) bodies: Vec<Sequence>,
}

/// Index of the arena among the base addresses of a run.
pub(super) const ARENA: usize = 0;
/// Index of the constants among the base addresses.
pub(super) const CONSTANTS: usize = 1;
/// Index of the registers of straight-line programs among the base addresses.
pub(super) const REGISTERS: usize = 2;
/// Index of the stack among the base addresses.
pub(super) const STACK: usize = 3;
/// Index of the first input among the base addresses; the results follow the inputs.
pub(super) const PARAMS: usize = 4;

impl Loaded {
    /// Loads a plan and the plans of its nested calls. This runs the instantiate stages of the targets.
    pub(super) fn new(plan: Arc<ValidPlan>, registry: &Registry) -> Result<Loaded, InstantiateError> {
        let prepared = plan.kernels();
        let lines = prepared.iter().filter_map(|kernel| kernel.line());
        let registers = lines.clone().map(StraightLine::registers).max().unwrap_or(0);
        let own = prepared.iter().map(|kernel| own_bytes(kernel)).sum();
        let (constants, offsets, end) = constants(&plan, own).map_err(InstantiateError::Memory)?;
        let outs = PARAMS + plan.params().len();
        let prepared = prepared.iter();
        let called = Vec::new();
        let mut loader = Loader {
            plan: &plan,
            offsets: &offsets,
            outs,
            prepared,
            next: 0,
            called,
            registers,
            stack: 0,
            constants,
            end,
        };
        let sequence = loader.sequence(plan.thunks());
        let results = plan.results().iter().map(|r| loader.place(&r.slice)).collect();
        let (constants, called, stack) = (loader.constants, loader.called, loader.stack);
        let calls = calls(&plan, registry)?;
        let places = CallPlaces::new(&calls, called);
        let sites = plan.references().iter().map(|site| {
            let calls = site.calls.iter().map(|call| Loaded::new(Arc::clone(&call.plan), registry));
            calls.collect::<Result<Vec<Loaded>, InstantiateError>>()
        });
        let nested = sites.collect::<Result<Vec<Vec<Loaded>>, InstantiateError>>()?;
        let has_nested = nested.iter().any(|site| !site.is_empty());
        let enters_handlers = !calls.is_empty() || has_nested;
        let is_built_in = |call: &Arc<CallSite>| call.target().origin().how == How::BuiltIn;
        let aligns_inputs = has_nested || !calls.iter().all(is_built_in);
        Ok(Loaded {
            calls,
            places,
            sequence,
            results,
            constants,
            registers,
            stack,
            nested,
            enters_handlers,
            aligns_inputs,
            evaluator_nanoseconds: AtomicU64::new(0),
            is_deep: nesting(plan.thunks()) > MAX_SHALLOW_NESTING,
            plan,
        })
    }
}

/// Maximum nesting depth of thunks that run with little stack.
const MAX_SHALLOW_NESTING: usize = 16;

/// Returns the depth to which thunks nest.
fn nesting(thunks: &[Thunk]) -> usize {
    thunks.iter().flat_map(|t| &t.bodies).map(|body| nesting(body) + 1).max().unwrap_or(0)
}

/// Creates the call sites of the plan.
fn calls(plan: &Plan, registry: &Registry) -> Result<Vec<Arc<CallSite>>, InstantiateError> {
    let mut missing = Vec::new();
    let mut targets = Vec::with_capacity(plan.calls().len());
    for spec in plan.calls() {
        match registry.resolve(&spec.call, plan.platform()) {
            Ok(target) => targets.push(target),
            Err(error) => {
                let diagnostic = error.at(spec.span.unwrap_or_default(), &spec.place);
                // A call in a function that is inlined several times is reported once.
                if !missing.contains(&diagnostic) {
                    missing.push(diagnostic);
                }
            }
        }
    }
    if !missing.is_empty() {
        return Err(InstantiateError::Targets(missing));
    }
    let (mut sites, mut refused) = (Vec::with_capacity(targets.len()), Vec::new());
    for (spec, target) in plan.calls().iter().zip(targets) {
        match CallSite::new(target, &spec.call, &spec.operands, &spec.results, Arc::clone(&spec.place)) {
            Ok(site) => sites.push(Arc::new(match spec.span {
                Some(span) => site.with_span(span),
                None => site,
            })),
            Err(error) => refused.push(CallError { span: spec.span, ..error }),
        }
    }
    if refused.is_empty() { Ok(sites) } else { Err(InstantiateError::Calls(refused)) }
}

/// Lays out the constants, with room for `more` bytes after them. Returns the memory, the offset of each
/// constant, and the offset of the end of the last one.
fn constants(plan: &Plan, more: usize) -> Result<(AlignedBytes, Vec<usize>, usize), OutOfMemory> {
    let mut size = 0usize;
    let offsets = plan.constants().iter().map(|c| {
        let at = size;
        size = size.saturating_add(c.byte_len().next_multiple_of(ALIGNMENT));
        at
    });
    let offsets: Vec<usize> = offsets.collect();
    let mut block = AlignedBytes::new(size.saturating_add(more))?;
    for (c, at) in plan.constants().iter().zip(&offsets) {
        c.write_to(&mut block.as_mut_slice()[*at..at + c.byte_len()]);
    }
    Ok((block, offsets, size))
}

/// Returns the number of bytes that linking a straight-line kernel adds to the constants: the constants of
/// its steps, and the scalar constants among its inputs.
fn own_bytes(kernel: &PreparedKernel) -> usize {
    let numbers = (kernel.numbers().len() * ElementBytes::SIZE).next_multiple_of(ALIGNMENT);
    kernel.line().map_or(0, |line| line.constant_bytes() + numbers)
}

/// Moves the linked steps out of the sequences. If a sequence has a stretch without a line, nothing is moved,
/// and the result is `None`.
fn lines(bodies: &mut [Sequence]) -> Option<Vec<Vec<Linked>>> {
    let linear = |body: &Sequence| body.stretches.iter().all(|stretch| stretch.line.is_some());
    bodies.iter().all(linear).then_some(())?;
    let lines = bodies.iter_mut().map(|body| {
        let mut lines = body.stretches.iter_mut().filter_map(|stretch| stretch.line.take());
        lines.try_fold(Vec::new(), |mut steps, line| {
            steps.append(&mut line.into_steps()?);
            Some(steps)
        })
    });
    lines.collect()
}

struct Loader<'a> {
    plan: &'a Plan,
    /// Offset of each constant.
    offsets: &'a [usize],
    /// Index of the first result among the base addresses.
    outs: usize,
    /// The prepared kernels of the compute thunks, in the order of the plan's text.
    prepared: std::slice::Iter<'a, Arc<PreparedKernel>>,
    /// Number of the next thunk.
    next: u32,
    /// Places of each thunk that is a custom call, with the number of the call.
    called: Vec<(u32, Arc<[Place]>)>,
    /// Size of the registers, in bytes.
    registers: usize,
    /// Maximum number of stack bytes used by a thunk so far.
    stack: usize,
    constants: AlignedBytes,
    /// Offset of the end of the constants that have been written so far.
    end: usize,
}

impl Loader<'_> {
    fn sequence(&mut self, thunks: &[Thunk]) -> Sequence {
        // Loops rather than iterators: thunks nest deeply, and each level takes stack.
        let mut steps = Vec::with_capacity(thunks.len());
        for thunk in thunks {
            steps.push(self.step(thunk));
        }
        let stretches = self.stretches(thunks, &mut steps);
        Sequence { steps, stretches }
    }

    /// Groups the thunks into stretches. Neighboring thunks share a linked stretch if they can run without
    /// the executor between them.
    fn stretches(&mut self, thunks: &[Thunk], steps: &mut [Step]) -> Vec<Stretch> {
        let mut stretches: Vec<(Range<usize>, Option<Vec<Linked>>)> = Vec::new();
        for (i, (thunk, step)) in thunks.iter().zip(steps).enumerate() {
            let linked = self.link(thunk, step);
            match (stretches.last_mut(), linked) {
                (Some((thunks, Some(line))), Some(mut more)) => {
                    thunks.end = i + 1;
                    line.append(&mut more);
                }
                (Some((thunks, None)), None) => thunks.end = i + 1,
                (_, linked) => stretches.push((i..i + 1, linked)),
            }
        }
        let stretch = |(thunks, line): (_, Option<_>)| Stretch { thunks, line: line.map(Line::new) };
        stretches.into_iter().map(stretch).collect()
    }

    /// Links a thunk: converts it to steps of a [`Line`]. `None` if the executor must run the thunk, or a
    /// thunk in one of its bodies.
    fn link(&mut self, thunk: &Thunk, step: &mut Step) -> Option<Vec<Linked>> {
        let mut linked = Vec::new();
        match (&thunk.op, &step.kernel) {
            (ThunkOp::Copy, _) => Linked::copy(step.places[0], step.places[1], &mut linked)?,
            (ThunkOp::While, _) => {
                let [condition, body] = <[Vec<Linked>; 2]>::try_from(lines(&mut step.bodies)?).ok()?;
                Linked::repeat(step.places[0], condition, body, &mut linked)?;
            }
            (ThunkOp::Case, _) => {
                let branches = lines(&mut step.bodies)?;
                Linked::choose(step.places[0], thunk.inputs[0].ty.dtype, branches, &mut linked)?;
            }
            (_, Some(kernel)) => match kernel.line() {
                Some(line) => self.link_line(kernel, line, thunk, step, &mut linked)?,
                None => linked.push(Linked::kernel(kernel, &step.places, thunk.inputs.len())?),
            },
            (_, None) => return None,
        }
        Some(linked)
    }

    /// Links a straight-line program, and writes its constants.
    fn link_line(
        &mut self,
        kernel: &PreparedKernel,
        line: &StraightLine,
        thunk: &Thunk,
        step: &Step,
        linked: &mut Vec<Linked>,
    ) -> Option<()> {
        let (size, all) = (line.constant_bytes(), own_bytes(kernel));
        let constants = Place { base: CONSTANTS, offset: self.end, size };
        let registers = Place { base: REGISTERS, offset: 0, size: self.registers };
        let place = |at: &Place| match at.base {
            NUMBERS => Place { base: CONSTANTS, offset: self.end + size + at.offset, ..*at },
            _ => *at,
        };
        let places: SmallVec<[Place; 8]> = step.places.iter().map(place).collect();
        let linking = Linking { places: &places, inputs: thunk.inputs.len(), constants, registers };
        Linked::program(line, &linking, linked)?;
        let (constants, numbers) = self.constants.as_mut_slice()[self.end..self.end + all].split_at_mut(size);
        line.write_constants(constants);
        for (number, to) in kernel.numbers().iter().zip(numbers.chunks_exact_mut(ElementBytes::SIZE)) {
            to.copy_from_slice(number.bytes());
        }
        self.end += all;
        Some(())
    }

    fn step(&mut self, t: &Thunk) -> Step {
        let number = self.next;
        self.next += 1;
        let kernel = if t.op.has_kernel() { self.prepared.next().cloned() } else { None };
        let (kernel, collective) = match &t.op {
            ThunkOp::Collective(collective) => {
                (None, Some(Box::new(LoadedCollective::new(self.plan, t, collective, kernel))))
            }
            _ => (kernel, None),
        };
        let stack = t.outputs.iter().filter(|b| b.slice.base == Base::Stack).map(|b| b.slice.size);
        self.stack = stack.fold(self.stack, usize::max);
        let mut numbers = 0;
        let place = |b: &TensorSlice| match b.slice.base {
            Base::Number(_) => {
                numbers += 1;
                Place { base: NUMBERS, offset: (numbers - 1) * ElementBytes::SIZE, size: b.slice.size }
            }
            _ => self.place(&b.slice),
        };
        let places: Arc<[Place]> = t.inputs.iter().chain(&t.outputs).map(place).collect();
        let call = match &t.op {
            ThunkOp::CustomCall(call) => u32::try_from(call.id.index()).ok(),
            _ => None,
        };
        self.called.extend(call.map(|call| (call, Arc::clone(&places))));
        let mut bodies = Vec::with_capacity(t.bodies.len());
        for body in &t.bodies {
            bodies.push(self.sequence(body));
        }
        Step { number, kernel, call, collective, places, bodies }
    }

    fn place(&self, slice: &BufferSlice) -> Place {
        let BufferSlice { base, offset, size } = *slice;
        match base {
            Base::Arena => Place { base: ARENA, offset, size },
            Base::Stack => Place { base: STACK, offset, size },
            // Placeholders, never read: iotas have no elements in memory, and `step` gives scalar constants
            // other places if a kernel takes them.
            Base::Iota(_) | Base::Number(_) => Place { base: ARENA, offset: 0, size: 0 },
            Base::Constant(id) => Place { base: CONSTANTS, offset: self.offsets[id.index()] + offset, size },
            Base::Param(id) => Place { base: PARAMS + id.index(), offset, size },
            Base::Result(id) => Place { base: self.outs + id.index(), offset, size },
        }
    }
}
