//! Turns a plan into what the executor walks: constants in memory, kernels prepared, places resolved.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use farcall_ir::Diagnostic;
use farcall_ir::memory::OutOfMemory;
use smallvec::SmallVec;

use super::memory::AlignedBytes;
use crate::custom_call::{CallError, CallSite};
use crate::kernels::{Element, KernelId, Line, Linked, Linking, NUMBERS, Place, Prepared, StraightLine};
use crate::plan::{ALIGNMENT, Base, Buffer, InvalidPlan, Plan, Slice, Thunk, ThunkOp};
use crate::registry::Registry;

/// Why a plan cannot be run.
#[derive(Clone, Debug)]
pub(crate) enum LoadError {
    /// It breaks a promise.
    Plan(InvalidPlan),
    /// Its constants do not fit into memory.
    Memory(OutOfMemory),
    /// Targets are missing.
    Targets(Vec<Diagnostic>),
    /// Targets refuse to be called so.
    Calls(Vec<CallError>),
}

/// A plan that is ready to run.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) plan: Arc<Plan>,
    /// A call site for each custom call of the plan.
    pub(super) calls: Vec<Arc<CallSite>>,
    /// Where the operands and results of each call are.
    pub(super) places: CallPlaces,
    /// What is run for the thunks of the plan.
    pub(super) sequence: Sequence,
    /// Where the results are.
    pub(super) results: Vec<Place>,
    /// The constants, aligned as custom calls may expect, then those of straight-line programs, with the numbers that they know.
    pub(super) constants: AlignedBytes,
    /// Bytes of the registers of straight-line programs, of which one runs at a time.
    pub(super) registers: usize,
    /// Bytes of [`Base::Stack`] that are used.
    pub(super) stack: usize,
    /// The plans of nested calls: per reference site, per call.
    pub(super) nested: Vec<Vec<Loaded>>,
    /// There are calls, whose handlers may expect aligned operands.
    pub(super) enters_handlers: bool,
    /// Nanoseconds that all runs have spent in the reference evaluator.
    pub(super) evaluator_nanoseconds: AtomicU64,
    /// Thunks nest so deeply that a run takes much stack.
    pub(super) is_deep: bool,
}

/// Thunks that are ready to run, one after the other.
#[derive(Debug)]
pub(super) struct Sequence {
    /// One for each thunk.
    pub(super) steps: Vec<Step>,
    /// The same steps in stretches.
    pub(super) stretches: Vec<Stretch>,
}

/// Neighbouring thunks.
#[derive(Debug)]
pub(super) struct Stretch {
    /// The number of the first one in its sequence, and of the one after the last.
    pub(super) thunks: Range<usize>,
    /// What all of them do, if nothing comes between the steps; without it, they run one by one.
    pub(super) line: Option<Line>,
}

/// Where an operand or result of a call is.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallPlace {
    /// Which one, as [`CallFrame::places`](crate::custom_call::CallFrame::places) counts.
    pub(super) number: u32,
    /// Which base address it counts from.
    base: u32,
    offset: usize,
}

impl CallPlace {
    /// Where it is.
    ///
    /// # Safety
    /// The plan is validated, and these are the base addresses of one of its contexts.
    #[inline]
    pub(super) unsafe fn at(self, bases: &[*mut u8]) -> *mut u8 {
        debug_assert!(bases.len() > self.base as usize);
        // SAFETY: the plan is validated: there is such a base, and the place lies inside of it.
        unsafe { bases.get_unchecked(self.base as usize).add(self.offset) }
    }
}

/// Where the operands and results of all calls are, but for tokens.
#[derive(Debug, Default)]
pub(super) struct CallPlaces {
    /// Those in the arena and among the constants, with the number of their call: they are in the same place in every run
    /// of a context.
    pub(super) fixed: Vec<(usize, CallPlace)>,
    /// Those that a run sets before it calls.
    moving: Vec<CallPlace>,
    /// For each call, which of them are its own.
    of_call: Vec<Range<u32>>,
}

impl CallPlaces {
    /// `called` has, for each thunk that is a call, its number and the places of what is not a token.
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
                // The stages before a run set others.
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

    /// Those that a run sets before it makes a call.
    #[inline]
    pub(super) fn moving(&self, call: usize) -> &[CallPlace] {
        let Range { start, end } = self.of_call[call];
        &self.moving[start as usize..end as usize]
    }
}

/// A number of something that a plan has, of which there are fewer than four billion.
fn number(i: usize) -> u32 {
    u32::try_from(i).expect("a plan of less than 2³² values")
}

/// A thunk that is ready to run.
#[derive(Debug)]
pub(super) struct Step {
    /// Number of the thunk, in order of the text.
    pub(super) number: u32,
    /// What computes it, if a kernel does.
    pub(super) kernel: Option<Arc<Prepared>>,
    /// Number of the call, if it is one.
    pub(super) call: Option<u32>,
    /// Inputs, then outputs. Their bases are the numbers below.
    pub(super) places: Arc<[Place]>,
    /// As the thunk has them. If it is part of a line, their lines are parts of that.
    pub(super) bodies: Vec<Sequence>,
}

/// Number of the arena among the base addresses of a run.
pub(super) const ARENA: usize = 0;
/// Number of the constants.
pub(super) const CONSTANTS: usize = 1;
/// Number of the registers of straight-line programs.
pub(super) const REGISTERS: usize = 2;
/// Number of the stack.
pub(super) const STACK: usize = 3;
/// Number of the first input; behind the inputs come the results.
pub(super) const PARAMS: usize = 4;

impl Loaded {
    /// Checks a plan and those of nested calls, and makes them ready: the targets' instantiate stages run.
    pub(super) fn new(
        plan: Arc<Plan>,
        prepared: Option<Vec<(KernelId, Prepared)>>,
        registry: &Registry,
    ) -> Result<Loaded, LoadError> {
        let prepared = plan.prepare(prepared).map_err(LoadError::Plan)?;
        let lines = prepared.iter().filter_map(Prepared::line);
        let registers = lines.clone().map(StraightLine::registers).max().unwrap_or(0);
        let own = prepared.iter().map(own_bytes).sum();
        let (constants, offsets, end) = constants(&plan, own).map_err(LoadError::Memory)?;
        let outs = PARAMS + plan.params.len();
        let prepared = prepared.into_iter();
        let called = Vec::new();
        let mut loader = Loader {
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
        let sequence = loader.sequence(&plan.thunks);
        let results = plan.results.iter().map(|r| loader.place(&r.slice)).collect();
        let (constants, called, stack) = (loader.constants, loader.called, loader.stack);
        let calls = calls(&plan, registry)?;
        let places = CallPlaces::new(&calls, called);
        let sites = plan.references.iter().map(|site| {
            let calls = site.calls.iter().map(|call| Loaded::new(Arc::clone(&call.plan), None, registry));
            calls.collect::<Result<Vec<Loaded>, LoadError>>()
        });
        let nested = sites.collect::<Result<Vec<Vec<Loaded>>, LoadError>>()?;
        let enters_handlers = !calls.is_empty() || nested.iter().any(|site| !site.is_empty());
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
            evaluator_nanoseconds: AtomicU64::new(0),
            is_deep: nesting(&plan.thunks) > MAX_SHALLOW,
            plan,
        })
    }
}

/// Maximum nesting of thunks that takes little stack.
const MAX_SHALLOW: usize = 16;

/// The depth to which thunks nest.
fn nesting(thunks: &[Thunk]) -> usize {
    thunks.iter().flat_map(|t| &t.bodies).map(|body| nesting(body) + 1).max().unwrap_or(0)
}

/// Makes the call sites.
fn calls(plan: &Plan, registry: &Registry) -> Result<Vec<Arc<CallSite>>, LoadError> {
    let mut missing = Vec::new();
    let mut targets = Vec::with_capacity(plan.calls.len());
    for spec in &plan.calls {
        match registry.resolve(&spec.call, &plan.platform) {
            Ok(target) => targets.push(target),
            Err(error) => missing.push(error.at(spec.span.unwrap_or_default())),
        }
    }
    if !missing.is_empty() {
        return Err(LoadError::Targets(missing));
    }
    let (mut sites, mut refused) = (Vec::with_capacity(targets.len()), Vec::new());
    for (spec, target) in plan.calls.iter().zip(targets) {
        match CallSite::new(target, &spec.call, &spec.operands, &spec.results, Arc::clone(&spec.place)) {
            Ok(site) => sites.push(Arc::new(match spec.span {
                Some(span) => site.with_span(span),
                None => site,
            })),
            Err(error) => refused.push(CallError { span: spec.span, ..error }),
        }
    }
    if refused.is_empty() { Ok(sites) } else { Err(LoadError::Calls(refused)) }
}

/// Lays out the constants, with room for `more` bytes after them; returns where each begins, and where they end.
fn constants(plan: &Plan, more: usize) -> Result<(AlignedBytes, Vec<usize>, usize), OutOfMemory> {
    let mut size = 0usize;
    let offsets = plan.constants.iter().map(|c| {
        let at = size;
        size = size.saturating_add(c.byte_len().next_multiple_of(ALIGNMENT));
        at
    });
    let offsets: Vec<usize> = offsets.collect();
    let mut block = AlignedBytes::new(size.saturating_add(more))?;
    for (c, at) in plan.constants.iter().zip(&offsets) {
        c.write_to(&mut block.as_mut_slice()[*at..at + c.byte_len()]);
    }
    Ok((block, offsets, size))
}

/// Bytes of the constants of a straight-line program that is linked, and of the numbers that it knows.
fn own_bytes(kernel: &Prepared) -> usize {
    let numbers = (kernel.numbers().len() * Element::SIZE).next_multiple_of(ALIGNMENT);
    kernel.line().map_or(0, |line| line.constant_bytes() + numbers)
}

/// The steps of sequences, which no longer have them; `None` if one of them needs something between its steps.
fn lines(bodies: &mut [Sequence]) -> Option<Vec<Vec<Linked>>> {
    let linear = |body: &Sequence| body.stretches.iter().all(|stretch| stretch.line.is_some());
    bodies.iter().all(linear).then_some(())?;
    let lines = bodies.iter_mut().map(|body| {
        let lines = body.stretches.iter_mut().filter_map(|stretch| stretch.line.take());
        lines.flat_map(Line::into_steps).collect()
    });
    Some(lines.collect())
}

struct Loader<'a> {
    /// Where each constant begins.
    offsets: &'a [usize],
    /// Number of the first result among the base addresses.
    outs: usize,
    /// What the thunks that compute run, in order of the text.
    prepared: std::vec::IntoIter<Prepared>,
    /// Number of the next thunk.
    next: u32,
    /// The thunks that are calls, with the call's number.
    called: Vec<(u32, Arc<[Place]>)>,
    /// Bytes of the registers.
    registers: usize,
    /// Bytes of the stack that are used so far.
    stack: usize,
    constants: AlignedBytes,
    /// Where the constants end that have been written so far.
    end: usize,
}

impl Loader<'_> {
    fn sequence(&mut self, thunks: &[Thunk]) -> Sequence {
        // Loops, not iterators: thunks nest deeply, and each level takes stack.
        let mut steps = Vec::with_capacity(thunks.len());
        for thunk in thunks {
            steps.push(self.step(thunk));
        }
        let stretches = self.stretches(thunks, &mut steps);
        Sequence { steps, stretches }
    }

    /// Puts neighbouring thunks that need nothing between them together.
    fn stretches(&mut self, thunks: &[Thunk], steps: &mut [Step]) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (i, (thunk, step)) in thunks.iter().zip(steps).enumerate() {
            let linked = self.link(thunk, step);
            match (stretches.last_mut(), linked) {
                (Some(Stretch { thunks, line: Some(line) }), Some(more)) => {
                    thunks.end = i + 1;
                    line.append(more);
                }
                (Some(Stretch { thunks, line: None }), None) => thunks.end = i + 1,
                (_, linked) => stretches.push(Stretch { thunks: i..i + 1, line: linked.map(Line::new) }),
            }
        }
        stretches
    }

    /// What a thunk does, if nothing comes between the steps of it.
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

    /// Adds the steps of a straight-line program.
    fn link_line(
        &mut self,
        kernel: &Prepared,
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
        line.link(&linking, linked)?;
        let (constants, numbers) = self.constants.as_mut_slice()[self.end..self.end + all].split_at_mut(size);
        line.write_constants(constants);
        for (number, to) in kernel.numbers().iter().zip(numbers.chunks_exact_mut(Element::SIZE)) {
            to.copy_from_slice(number.bytes());
        }
        self.end += all;
        Some(())
    }

    fn step(&mut self, t: &Thunk) -> Step {
        let number = self.next;
        self.next += 1;
        let kernel = if t.op.is_computed() { self.prepared.next().map(Arc::new) } else { None };
        let stack = t.outputs.iter().filter(|b| b.slice.base == Base::Stack).map(|b| b.slice.size);
        self.stack = stack.fold(self.stack, usize::max);
        let mut numbers = 0;
        let place = |b: &Buffer| match b.slice.base {
            Base::Number(_) => {
                numbers += 1;
                Place { base: NUMBERS, offset: (numbers - 1) * Element::SIZE, size: b.slice.size }
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
        Step { number, kernel, call, places, bodies }
    }

    fn place(&self, slice: &Slice) -> Place {
        let Slice { base, offset, size } = *slice;
        match base {
            Base::Arena => Place { base: ARENA, offset, size },
            Base::Stack => Place { base: STACK, offset, size },
            // Nobody reads it; numbers are the kernels'.
            Base::Iota(_) | Base::Number(_) => Place { base: ARENA, offset: 0, size: 0 },
            Base::Constant(id) => Place { base: CONSTANTS, offset: self.offsets[id.index()] + offset, size },
            Base::Param(id) => Place { base: PARAMS + id.index(), offset, size },
            Base::Result(id) => Place { base: self.outs + id.index(), offset, size },
        }
    }
}
