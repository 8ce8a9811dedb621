//! Checks that a run reads only bytes that it has written. Other bytes may be left over from an earlier run
//! or from an earlier value of the run, which used the same memory.
//!
//! The check follows the set of bytes that are certainly written, as intervals. A thunk adds its results to
//! the set, and removes its scratch memory, whose contents are unspecified. At the start of a loop, only the
//! bytes that are written before every iteration remain in the set; after the loop, the effects of its
//! condition are included. A choice adds the bytes that all branches write.
//!
//! The check walks the plan twice, without recursion, in time proportional to the size of the plan.
//! [`Summary`] computes the effects of loops and choices, innermost first; [`Check`] follows a run. All
//! branches start from the same set: the changes of one branch are undone before the next branch is checked.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Base, BufferSlice, InvalidPlan, Plan, TensorSlice, Thunk, ThunkOp};

/// Checks every read of the plan, and its results. The slices must be inside their bases.
///
/// # Errors
/// If unwritten bytes may be read. The error names the first thunk that may read such bytes, or the first
/// result that may have such bytes.
pub(super) fn check(plan: &Plan) -> Result<(), InvalidPlan> {
    let mut summary = Summary { open: vec![Effects::default()], inner: FxHashMap::default() };
    walk(&plan.parts.thunks, &mut summary);
    let mut check =
        Check { written: Bytes::default(), branches: Vec::new(), inner: summary.inner, unwritten: None };
    for (i, param) in plan.parts.params.iter().enumerate() {
        let (base, size) = (Base::Param(super::ParamId::new(i)), param.ty.bytes().unwrap_or(0));
        check.written.insert(BufferSlice { base, offset: 0, size });
    }
    walk(&plan.parts.thunks, &mut check);
    if let Some((thunk, slice)) = check.unwritten {
        let message = format!("{slice} is read, but may not have been written");
        return Err(InvalidPlan {
            place: plan.parts.source.place(thunk.span),
            kind: thunk.op.kind(),
            message,
        });
    }
    match plan.parts.results.iter().find(|r| !check.written.has(&r.slice)) {
        None => Ok(()),
        Some(r) => {
            let message = format!("{} is not written as a whole", r.slice);
            Err(InvalidPlan { place: "plan".to_owned(), kind: "plan", message })
        }
    }
}

/// A visitor of thunks, in the order of [`walk`].
trait Visit<'p> {
    /// A thunk without bodies.
    fn step(&mut self, thunk: &'p Thunk);
    /// A thunk with bodies, before its first body.
    fn enter(&mut self, thunk: &'p Thunk);
    /// The beginning of a body.
    fn begin(&mut self, thunk: &'p Thunk, body: usize);
    /// The end of a body.
    fn end(&mut self, thunk: &'p Thunk, body: usize);
    /// A thunk with bodies, after its last body.
    fn leave(&mut self, thunk: &'p Thunk);
}

/// A sequence of thunks that is being visited.
struct OpenSequence<'p> {
    thunks: std::slice::Iter<'p, Thunk>,
    /// The thunk that contains the sequence, and the index of its body; `None` for the whole plan.
    of: Option<(&'p Thunk, usize)>,
}

fn walk<'p>(thunks: &'p [Thunk], visit: &mut impl Visit<'p>) {
    let mut open = vec![OpenSequence { thunks: thunks.iter(), of: None }];
    while let Some(OpenSequence { thunks, of }) = open.last_mut() {
        let (thunk, body) = match (thunks.next(), *of) {
            (Some(thunk), _) if thunk.bodies.is_empty() => {
                visit.step(thunk);
                continue;
            }
            (Some(thunk), _) => {
                visit.enter(thunk);
                (thunk, 0)
            }
            (None, Some((thunk, body))) => {
                visit.end(thunk, body);
                open.pop();
                (thunk, body + 1)
            }
            (None, None) => return,
        };
        match thunk.bodies.get(body) {
            Some(next) => {
                visit.begin(thunk, body);
                open.push(OpenSequence { thunks: next.iter(), of: Some((thunk, body)) });
            }
            None => visit.leave(thunk),
        }
    }
}

// ---- Effects of loops and choices -----------------------------------------------------------------

/// Effects of a sequence on any set of written bytes.
#[derive(Default, Debug)]
struct Effects {
    /// Bytes that the sequence removes from the set and does not write again.
    spoiled: Bytes,
    /// Bytes that the sequence adds to the set.
    written: Bytes,
}

impl Effects {
    fn step(&mut self, thunk: &Thunk) {
        for scratch in scratch(thunk) {
            self.written.remove(scratch.slice);
            self.spoiled.insert(scratch.slice);
        }
        for result in results(thunk) {
            self.spoiled.remove(result.slice);
            self.written.insert(result.slice);
        }
    }

    /// Appends another sequence.
    fn then(&mut self, next: &Effects) {
        for slice in next.spoiled.slices() {
            self.written.remove(slice);
            self.spoiled.insert(slice);
        }
        for slice in next.written.slices() {
            self.spoiled.remove(slice);
            self.written.insert(slice);
        }
    }
}

/// The first walk: effects of loops and choices.
struct Summary {
    /// Effects of the unfinished bodies, the innermost last.
    open: Vec<Effects>,
    /// By the address of the thunk: for a choice, its effects; for a loop, the bytes that one iteration
    /// spoils for the next.
    inner: FxHashMap<*const Thunk, Effects>,
}

impl Summary {
    fn top(&mut self) -> &mut Effects {
        self.open.last_mut().expect("the effects of the whole plan are the first entry")
    }
}

impl<'p> Visit<'p> for Summary {
    fn step(&mut self, thunk: &'p Thunk) {
        self.top().step(thunk);
    }

    fn enter(&mut self, _: &'p Thunk) {}

    fn begin(&mut self, _: &'p Thunk, _: usize) {
        self.open.push(Effects::default());
    }

    fn end(&mut self, _: &'p Thunk, _: usize) {}

    fn leave(&mut self, thunk: &'p Thunk) {
        let bodies = self.open.split_off(self.open.len() - thunk.bodies.len());
        let effects = match (&thunk.op, &bodies[..]) {
            (ThunkOp::While, [condition, body]) => {
                // An iteration is the condition, then the body. Bytes that it spoils may be missing in the
                // next iteration.
                let mut round = Effects { spoiled: condition.spoiled.clone(), written: Bytes::default() };
                round.then(body);
                round.written = Bytes::default();
                // The condition of every iteration may end the loop.
                let mut whole = Effects { spoiled: round.spoiled.clone(), written: Bytes::default() };
                whole.then(condition);
                self.top().then(&whole);
                round
            }
            _ => {
                let mut all = Effects::default();
                for branch in &bodies {
                    branch.spoiled.slices().for_each(|slice| all.spoiled.insert(slice));
                }
                if let Some((first, others)) = bodies.split_first() {
                    let common = |written: Bytes, other: &Effects| written.common(&other.written);
                    all.written = others.iter().fold(first.written.clone(), common);
                }
                self.top().then(&all);
                all
            }
        };
        self.inner.insert(thunk, effects);
    }
}

// ---- The walk along a run -------------------------------------------------------------------------

/// The second walk: the written bytes at each thunk.
struct Check<'p> {
    written: Bytes,
    /// For each unfinished body that does not always run, the number of changes before it.
    branches: Vec<usize>,
    inner: FxHashMap<*const Thunk, Effects>,
    /// The first read of bytes that may be unwritten.
    unwritten: Option<(&'p Thunk, BufferSlice)>,
}

impl<'p> Check<'p> {
    fn read(&mut self, thunk: &'p Thunk) {
        if self.unwritten.is_none() {
            let missing = thunk.inputs.iter().find(|input| !self.written.has(&input.slice));
            self.unwritten = missing.map(|input| (thunk, input.slice));
        }
    }
}

impl<'p> Visit<'p> for Check<'p> {
    fn step(&mut self, thunk: &'p Thunk) {
        self.read(thunk);
        scratch(thunk).for_each(|scratch| self.written.remove(scratch.slice));
        results(thunk).for_each(|result| self.written.insert(result.slice));
    }

    fn enter(&mut self, thunk: &'p Thunk) {
        if thunk.op == ThunkOp::While {
            let round = self.inner.get(&std::ptr::from_ref(thunk));
            round.into_iter().flat_map(|r| r.spoiled.slices()).for_each(|slice| self.written.remove(slice));
        } else {
            self.read(thunk);
        }
    }

    fn begin(&mut self, thunk: &'p Thunk, body: usize) {
        // The condition of a loop always runs.
        if thunk.op != ThunkOp::While || body > 0 {
            self.branches.push(self.written.begin());
        }
    }

    fn end(&mut self, thunk: &'p Thunk, body: usize) {
        if thunk.op == ThunkOp::While && body == 0 {
            return self.read(thunk);
        }
        if let Some(begin) = self.branches.pop() {
            self.written.take_back(begin, !self.branches.is_empty());
        }
    }

    fn leave(&mut self, thunk: &'p Thunk) {
        let Some(effects) = self.inner.get(&std::ptr::from_ref(thunk)) else { return };
        if thunk.op != ThunkOp::While {
            effects.spoiled.slices().for_each(|slice| self.written.remove(slice));
            effects.written.slices().for_each(|slice| self.written.insert(slice));
        }
    }
}

/// The scratch memory of a thunk.
fn scratch(thunk: &Thunk) -> impl Iterator<Item = &TensorSlice> {
    thunk.outputs[thunk.results().len()..].iter()
}

/// Results of a thunk without bodies. Kernels, the evaluator and handlers write all bytes of their results.
fn results(thunk: &Thunk) -> impl Iterator<Item = &TensorSlice> {
    thunk.results().iter()
}

// ---- Sets of bytes -------------------------------------------------------------------------------

/// A set of bytes in writable memory, as intervals that neither overlap nor touch. The map holds the end of
/// each interval, by the interval's base and start.
#[derive(Clone, Default, Debug)]
struct Bytes {
    intervals: BTreeMap<(Base, usize), usize>,
    /// Changes of the map since the outermost open branch began.
    changes: Vec<Change>,
    is_noting: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Added((Base, usize)),
    Removed((Base, usize), usize),
}

impl Bytes {
    /// Returns true if all bytes of a slice are in the set. Constants and operands without memory always
    /// count as written. So does the stack, which never holds values.
    fn has(&self, slice: &BufferSlice) -> bool {
        let BufferSlice { base, offset, size } = *slice;
        match base {
            Base::Stack | Base::Constant(_) | Base::Number(_) | Base::Iota(_) => true,
            Base::Arena | Base::Param(_) | Base::Result(_) => {
                size == 0 || self.before(base, offset).is_some_and(|(_, end)| end >= offset + size)
            }
        }
    }

    /// Returns the start and end of the last interval that begins at or before this position.
    fn before(&self, base: Base, offset: usize) -> Option<(usize, usize)> {
        let ((of, start), end) = self.intervals.range(..=(base, offset)).next_back()?;
        (*of == base).then_some((*start, *end))
    }

    fn insert(&mut self, slice: BufferSlice) {
        let (mut start, mut end) = (slice.offset, slice.offset + slice.size);
        if slice.size == 0 {
            return;
        }
        while let Some((first, last)) = self.before(slice.base, end).filter(|(_, last)| *last >= start) {
            (start, end) = (start.min(first), end.max(last));
            self.take((slice.base, first));
        }
        self.put((slice.base, start), end);
    }

    fn remove(&mut self, slice: BufferSlice) {
        let (start, end) = (slice.offset, slice.offset + slice.size);
        if slice.size == 0 {
            return;
        }
        while let Some((first, last)) = self.before(slice.base, end - 1).filter(|(_, last)| *last > start) {
            self.take((slice.base, first));
            if first < start {
                self.put((slice.base, first), start);
            }
            if last > end {
                self.put((slice.base, end), last);
            }
        }
    }

    fn slices(&self) -> impl Iterator<Item = BufferSlice> {
        self.intervals.iter().map(|((base, start), end)| BufferSlice {
            base: *base,
            offset: *start,
            size: end - start,
        })
    }

    /// Returns the bytes that are in both sets.
    fn common(&self, other: &Bytes) -> Bytes {
        let mut common = Bytes::default();
        let (mut left, mut right) = (self.intervals.iter().peekable(), other.intervals.iter().peekable());
        while let (Some(((a, from), until)), Some(((b, start), end))) = (left.peek(), right.peek()) {
            let (first, last) = ((*from).max(*start), (**until).min(**end));
            if a == b && first < last {
                common.insert(BufferSlice { base: *a, offset: first, size: last - first });
            }
            if (a, *until) <= (b, *end) {
                left.next();
            } else {
                right.next();
            }
        }
        common
    }

    fn put(&mut self, at: (Base, usize), end: usize) {
        self.intervals.insert(at, end);
        if self.is_noting {
            self.changes.push(Change::Added(at));
        }
    }

    fn take(&mut self, at: (Base, usize)) {
        if let Some(end) = self.intervals.remove(&at)
            && self.is_noting
        {
            self.changes.push(Change::Removed(at, end));
        }
    }

    /// Starts to record changes, and returns the number of changes so far.
    fn begin(&mut self) -> usize {
        self.is_noting = true;
        self.changes.len()
    }

    /// Undoes all changes except for the first `begin` changes.
    fn take_back(&mut self, begin: usize, is_noting: bool) {
        while self.changes.len() > begin {
            match self.changes.pop() {
                Some(Change::Added(at)) => drop(self.intervals.remove(&at)),
                Some(Change::Removed(at, end)) => drop(self.intervals.insert(at, end)),
                None => break,
            }
        }
        self.is_noting = is_noting;
    }
}

#[cfg(test)]
mod tests {
    use farcall_ir::{DType, Span, TensorType};

    use super::super::{ParamId, ResultId};
    use super::*;
    use crate::tests::compile;

    const INPUT: Base = Base::Param(ParamId::new(0));
    const OUTPUT: Base = Base::Result(ResultId::new(0));

    fn buffer(slice: BufferSlice) -> TensorSlice {
        TensorSlice { slice, ty: TensorType::new(DType::U8, [slice.size]) }
    }

    fn thunk(op: ThunkOp, inputs: &[BufferSlice], outputs: &[BufferSlice], bodies: Vec<Vec<Thunk>>) -> Thunk {
        let buffers = |slices: &[BufferSlice]| slices.iter().map(|slice| buffer(*slice)).collect();
        Thunk {
            op,
            inputs: buffers(inputs),
            outputs: buffers(outputs),
            bodies,
            span: Span::default(),
            loc: None,
        }
    }

    fn write(at: BufferSlice) -> Thunk {
        thunk(ThunkOp::Copy, &[], &[at], Vec::new())
    }

    fn read(at: BufferSlice) -> Thunk {
        thunk(ThunkOp::Copy, &[at], &[BufferSlice { base: OUTPUT, ..at }], Vec::new())
    }

    fn choice(branches: Vec<Vec<Thunk>>) -> Thunk {
        thunk(ThunkOp::Case, &[BufferSlice { base: INPUT, ..slice(0, 4) }], &[], branches)
    }

    fn repeat(condition: Vec<Thunk>, body: Vec<Thunk>) -> Thunk {
        thunk(ThunkOp::While, &[slice(0, 1)], &[], vec![condition, body])
    }

    /// Returns a plan with an input and a result of 64 bytes, and a thunk with scratch memory.
    fn compiled() -> (Plan, Thunk) {
        let program = "func.func @main(%x: tensor<8xi64>) -> tensor<8xi64> {
  %0 = \"stablehlo.sort\"(%x) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %c = stablehlo.compare LT, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<8xi64>) -> tensor<8xi64>
  return %0 : tensor<8xi64>
}";
        let plan = compile(program);
        let scratches = plan
            .parts
            .thunks
            .iter()
            .find(|t| scratch(t).count() == 1)
            .expect("the plan has a sort with scratch memory")
            .clone();
        (plan, scratches)
    }

    /// Function that creates a thunk with this scratch memory.
    type Spoil<'a> = &'a dyn Fn(BufferSlice) -> Thunk;
    type Sequence<'a> = &'a dyn Fn(Spoil<'_>) -> Vec<Thunk>;

    /// Returns the message for a plan of these thunks with a result of `size` bytes; empty for a valid plan.
    fn missing(size: usize, thunks: Sequence<'_>) -> String {
        let (mut plan, scratches) = compiled();
        let spoil =
            |at: BufferSlice| Thunk { inputs: Vec::new(), outputs: vec![buffer(at)], ..scratches.clone() };
        plan.parts.thunks = thunks(&spoil);
        plan.parts.results = vec![buffer(BufferSlice { base: OUTPUT, ..slice(0, size) })];
        check(&plan).err().map(|e| e.message).unwrap_or_default()
    }

    #[test]
    fn bytes_are_written_before_they_are_read() {
        let early = |at: BufferSlice| format!("{at} is read, but may not have been written");
        let (a, half, other) = (slice(0, 64), slice(0, 32), slice(32, 32));
        assert_eq!(missing(64, &|_| vec![write(a), read(a)]), "");
        assert_eq!(missing(64, &|_| vec![read(a)]), early(a));
        assert_eq!(missing(64, &|_| vec![write(half), read(a)]), early(a));
        assert_eq!(missing(64, &|_| vec![write(other), write(half), read(a)]), "");
        assert_eq!(missing(64, &|spoil| vec![write(a), spoil(slice(60, 8)), read(a)]), early(a));
        assert_eq!(missing(32, &|spoil| vec![write(a), spoil(other), read(half)]), "");
        assert_eq!(missing(64, &|_| vec![write(a), read(half)]), "out0 is not written as a whole");
        // The memory of a result counts as unwritten until the run writes it.
        let out = BufferSlice { base: OUTPUT, ..a };
        assert_eq!(
            missing(64, &|_| vec![thunk(ThunkOp::Copy, &[out], &[a], Vec::new()), write(out)]),
            early(out)
        );
    }

    #[test]
    fn a_choice_writes_the_bytes_that_all_branches_write() {
        let early = |at: BufferSlice| format!("{at} is read, but may not have been written");
        let (a, half) = (slice(0, 64), slice(0, 32));
        let both = |spoil: Spoil<'_>| vec![vec![write(a)], vec![spoil(a), write(half), write(a)]];
        assert_eq!(missing(64, &|spoil| vec![choice(both(spoil)), read(a)]), "");
        assert_eq!(missing(64, &|_| vec![choice(vec![vec![write(a)], vec![]]), read(a)]), early(a));
        assert_eq!(missing(32, &|_| vec![choice(vec![vec![write(a)], vec![write(half)]]), read(half)]), "");
        assert_eq!(missing(64, &|_| vec![choice(vec![vec![write(a)], vec![read(a)]])]), early(a));
        assert_eq!(
            missing(64, &|spoil| vec![write(a), choice(vec![vec![spoil(half)], vec![]]), read(a)]),
            early(a)
        );
        let branch = || vec![choice(vec![vec![write(a)], vec![write(a)]])];
        assert_eq!(missing(64, &|_| vec![choice(vec![branch(), branch()]), read(a)]), "");
    }

    #[test]
    fn a_loop_may_not_run_and_may_run_again() {
        let early = |at: BufferSlice| format!("{at} is read, but may not have been written");
        let (pred, a) = (slice(0, 1), slice(64, 64));
        assert_eq!(missing(0, &|_| vec![repeat(vec![write(pred)], vec![])]), "");
        assert_eq!(missing(0, &|_| vec![repeat(vec![], vec![write(pred)])]), early(pred));
        assert_eq!(missing(0, &|_| vec![repeat(vec![write(pred)], vec![write(a)]), read(a)]), early(a));
        assert_eq!(
            missing(0, &|_| vec![write(a), repeat(vec![write(pred)], vec![read(a), write(a)]), read(a)]),
            ""
        );
        assert_eq!(missing(0, &|_| vec![repeat(vec![write(pred), write(a)], vec![read(a)]), read(a)]), "");
        // An iteration may spoil bytes that the next iteration reads, unless it writes them again.
        let in_rounds = |body: Sequence<'_>| {
            missing(0, &|spoil| vec![write(a), repeat(vec![write(pred), read(a)], body(spoil))])
        };
        assert_eq!(in_rounds(&|spoil| vec![spoil(a)]), early(a));
        assert_eq!(in_rounds(&|spoil| vec![spoil(a), write(a)]), "");
        assert_eq!(in_rounds(&|spoil| vec![choice(vec![vec![spoil(a)], vec![]])]), early(a));
        assert_eq!(in_rounds(&|spoil| vec![repeat(vec![write(pred)], vec![spoil(a)]), write(a)]), "");
        assert_eq!(in_rounds(&|spoil| vec![repeat(vec![write(pred)], vec![spoil(a), write(a)])]), "");
        assert_eq!(in_rounds(&|spoil| vec![repeat(vec![write(pred)], vec![write(a), spoil(a)])]), early(a));
    }

    /// Checks that the time is proportional to the size of the plan, which has nested choices and loops, and
    /// many values before them.
    #[test]
    fn many_thunks_take_little_time() {
        let values: Vec<BufferSlice> = (0..20_000).map(|i| slice(128 * i, 64)).collect();
        let mut inner = vec![write(slice(0, 1))];
        for _ in 0..500 {
            let other = inner.iter().take(1).cloned().collect();
            inner = vec![
                write(slice(0, 1)),
                choice(vec![inner, other]),
                repeat(vec![], vec![write(slice(0, 1))]),
            ];
        }
        let start = std::time::Instant::now();
        let all = || {
            values.iter().map(|at| write(*at)).chain(inner.clone()).chain(values.iter().map(|at| read(*at)))
        };
        assert_eq!(missing(0, &|_| all().collect()), "");
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "the check took {:?}", start.elapsed());
    }

    fn slice(offset: usize, size: usize) -> BufferSlice {
        BufferSlice { base: Base::Arena, offset, size }
    }

    fn intervals(bytes: &Bytes) -> Vec<(usize, usize)> {
        bytes.slices().map(|s| (s.offset, s.offset + s.size)).collect()
    }

    #[test]
    fn intervals_that_touch_are_one_and_changes_can_be_taken_back() {
        let mut bytes = Bytes::default();
        bytes.insert(slice(8, 8));
        bytes.insert(slice(32, 8));
        let begin = bytes.begin();
        bytes.insert(slice(16, 16));
        assert_eq!(intervals(&bytes), [(8, 40)]);
        let inner = bytes.begin();
        bytes.remove(slice(12, 4));
        bytes.remove(slice(0, 9));
        bytes.remove(slice(39, 100));
        assert_eq!(intervals(&bytes), [(9, 12), (16, 39)]);
        assert!(bytes.has(&slice(16, 23)) && !bytes.has(&slice(11, 6)) && bytes.has(&slice(0, 0)));
        bytes.take_back(inner, true);
        assert_eq!(intervals(&bytes), [(8, 40)]);
        bytes.take_back(begin, false);
        assert_eq!(intervals(&bytes), [(8, 16), (32, 40)]);
    }

    #[test]
    fn common_bytes() {
        let set = |slices: &[(usize, usize)]| {
            let mut bytes = Bytes::default();
            slices.iter().for_each(|(from, until)| bytes.insert(slice(*from, until - from)));
            bytes
        };
        let common = set(&[(0, 10), (20, 30), (40, 50)]).common(&set(&[(5, 25), (29, 45), (50, 60)]));
        assert_eq!(intervals(&common), [(5, 10), (20, 25), (29, 30), (40, 45)]);
        assert_eq!(intervals(&set(&[(0, 10)]).common(&Bytes::default())), []);
    }
}
