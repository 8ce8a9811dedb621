//! Whether ops keep what they promise: a signature says how a call may be split, and derivatives are declared, but nothing of
//! that can be seen in a kernel. Here it is tried, on given operands.
//!
//! | promise | what is compared |
//! | --- | --- |
//! | `results` | the results in memory that held different things before |
//! | `n: map`, `*: sum`, … | the results for parts of the dimension, side by side or combined, with those of the whole |
//! | `vmap` | one call of two entries with two calls, where `vmap` makes one call |
//! | `threads` | the results on one thread and on two |
//! | `forward op` | its results with the op's |
//! | `jvp`, `vjp` | the declared derivatives with central differences |
//! | `nondiff x = zero` | central differences with zero |
//!
//! The ops that are its derivatives are checked too, on the operands that they get there. What was tried on some operands may
//! not hold for others; what is found to be broken is. An op that reads one triangle of square matrices may be one of symmetric
//! matrices: its derivatives may hold for all changes or for symmetric ones, and `compared` says which. Other forms that operands
//! may have to have (positive definite, say) are not seen: differences may leave them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use farcall_ir::{Literal, Scalar, TensorType};
use farcall_sig::Attrs;
use farcall_sig::signature::{
    BatchSummary, Batching, CallFactors, FactorKind, Inference, Mismatch, OperandType,
};

use self::arrays::{Difference, combined, concatenated, difference, later, other, part, rounding, stacked};
use crate::custom_call::{RunContext, ThreadPool};
use crate::registry::{Declaration, Registry, Target};
use crate::{CompileError, CompileOptions, Executable, OpError, RunError, op_program};

mod arrays;
mod derivatives;
mod triangle;

/// What became of a promise.
#[derive(Clone, PartialEq, Debug)]
pub struct Promise {
    /// The op that makes it.
    pub op: String,
    /// The promise: `k: sum`, `vmap`, `vjp by gemm_bwd in a`.
    pub promise: String,
    /// What was compared, in words.
    pub compared: String,
    /// The largest difference, in relation to the largest value; none if nothing could be compared.
    pub difference: Option<f64>,
    /// Whether it is kept.
    pub outcome: Outcome,
}

impl Promise {
    /// True if it is not kept.
    pub fn is_broken(&self) -> bool {
        matches!(self.outcome, Outcome::Broken(_))
    }
}

/// Whether a promise is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// On these operands.
    Kept,
    /// It is not; what is different, and how to mend it.
    Broken(String),
    /// These operands do not tell; why not.
    Unchecked(String),
}

/// Why an op cannot be checked on given operands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The call does not fit the op.
    #[error(transparent)]
    Op(#[from] OpError),
    /// Its program cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The op itself fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It happens more than once here.
    #[error("{op} has a side effect, and cannot be tried")]
    SideEffect {
        /// The op.
        op: String,
    },
}

/// Tries what an op promises, and what the ops of its library that are its derivatives do. `library` has these.
///
/// # Errors
/// If the op cannot be called on these operands at all.
pub fn check(
    library: &[Arc<Target>],
    target: &Arc<Target>,
    operands: Vec<Literal>,
    attrs: &Attrs,
) -> Result<Vec<Promise>, CheckError> {
    let mut checker = Checker { library, seen: Vec::new(), found: Vec::new() };
    checker.op(target, operands, attrs)?;
    Ok(checker.found)
}

struct Checker<'a> {
    library: &'a [Arc<Target>],
    /// The ops that were tried.
    seen: Vec<String>,
    found: Vec<Promise>,
}

/// An op with attributes, to be called on operands of any types.
struct Runner<'a> {
    target: &'a Arc<Target>,
    declaration: &'a Declaration,
    attrs: Attrs,
    registry: Registry,
    compiled: RefCell<HashMap<Vec<TensorType>, Executable>>,
}

/// A call that works.
struct Call<'a> {
    op: Runner<'a>,
    operands: Vec<Literal>,
    inference: Inference,
    results: Vec<Literal>,
}

impl<'a> Runner<'a> {
    fn new(target: &'a Arc<Target>, attrs: &Attrs) -> Result<Runner<'a>, CheckError> {
        let op = || target.name().to_owned();
        let declaration = target.declaration().ok_or_else(|| OpError::NoSignature { op: op() })?;
        if declaration.signature.has_side_effect() {
            return Err(CheckError::SideEffect { op: op() });
        }
        let attrs = declaration.signature.convert_attrs(attrs);
        let attrs = attrs.map_err(|mismatch| OpError::Mismatch { op: op(), mismatch })?;
        // What is registered under its name elsewhere may be another version by now.
        let registry = Registry::new();
        registry.replace(Target::clone(target));
        Ok(Runner { target, declaration, attrs, registry, compiled: RefCell::default() })
    }

    fn name(&self) -> &'a str {
        self.target.name()
    }

    fn run(&self, operands: &[Literal]) -> Result<Vec<Literal>, CheckError> {
        self.run_on(operands, None)
    }

    fn run_on(&self, operands: &[Literal], run: Option<&RunContext>) -> Result<Vec<Literal>, CheckError> {
        let types: Vec<TensorType> = operands.iter().map(Literal::ty).collect();
        let known = self.compiled.borrow().get(&types).cloned();
        let executable = match known {
            Some(executable) => executable,
            None => {
                let module = op_program(self.target, &types, &self.attrs)?;
                let made = Executable::compile(&module, &self.registry, &CompileOptions::new())?;
                self.compiled.borrow_mut().insert(types, made.clone());
                made
            }
        };
        Ok(match run {
            Some(run) => executable.run_in(operands, run)?,
            None => executable.run(operands)?,
        })
    }

    fn with_attrs(&self, attrs: Attrs) -> Result<Runner<'a>, CheckError> {
        Runner::new(self.target, &attrs)
    }

    fn mismatch(&self, mismatch: Mismatch) -> CheckError {
        OpError::Mismatch { op: self.name().to_owned(), mismatch }.into()
    }
}

impl<'a> Call<'a> {
    fn new(target: &'a Arc<Target>, operands: Vec<Literal>, attrs: &Attrs) -> Result<Call<'a>, CheckError> {
        let op = Runner::new(target, attrs)?;
        let dims = sizes(&operands);
        let inference = op.declaration.infer(&types(&operands, &dims), &op.attrs);
        let inference = inference.map_err(|e| op.mismatch(e))?;
        let results = op.run(&operands)?;
        Ok(Call { op, operands, inference, results })
    }

    /// The name of a result.
    fn result(&self, i: usize) -> &str {
        &self.op.declaration.signature.results()[self.inference.results[i].decl].name.text
    }

    /// The first result that is different from what it should be, and the largest difference of all.
    fn compare(&self, found: &[Literal], expected: &[Literal]) -> (f64, Option<(usize, Difference)>) {
        let tolerance = rounding(self.operands.iter().chain(&self.results)).powf(0.6);
        let (mut largest, mut wrong) = (0.0, None);
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            let difference = difference(found, expected);
            largest = f64::max(largest, difference.relative);
            if difference.relative > tolerance && wrong.is_none() {
                wrong = Some((i, difference));
            }
        }
        (largest, wrong)
    }

    /// A promise about results, of which these were found and those expected.
    fn judged(
        &self,
        promise: String,
        compared: String,
        found: Result<Vec<Literal>, CheckError>,
        expected: &[Literal],
        mend: &str,
    ) -> Promise {
        let op = self.op.name().to_owned();
        let (difference, outcome) = match found {
            Err(error) => (None, Outcome::Broken(format!("the call fails ({error}); {mend}"))),
            Ok(found) => match self.compare(&found, expected) {
                (largest, None) if is_known(expected) => (Some(largest), Outcome::Kept),
                (_, None) => {
                    (None, Outcome::Unchecked("no result is a number; give other operands".to_owned()))
                }
                (largest, Some((i, difference))) => {
                    (Some(largest), Outcome::Broken(format!("{} is {difference}; {mend}", self.result(i))))
                }
            },
        };
        Promise { op, promise, compared, difference, outcome }
    }

    fn unchecked(&self, promise: String, why: String) -> Promise {
        let outcome = Outcome::Unchecked(why);
        Promise { op: self.op.name().to_owned(), promise, compared: String::new(), difference: None, outcome }
    }

    /// The dimensions that may be split.
    fn parts(&self) -> Vec<Promise> {
        let dims = sizes(&self.operands);
        let signature = &self.op.declaration.signature;
        let factors = signature.call_factors(&types(&self.operands, &dims), &self.inference);
        let names = signature.partition(self.operands.len()).map(|p| p.factors).unwrap_or_default();
        let batch = self.inference.batch.len();
        let name = |factor: usize| match factor.checked_sub(batch) {
            None => "*",
            Some(i) => names.get(i).map_or("?", |factor| &factor.name),
        };
        let split = (0..factors.factors.len()).filter(|i| factors.factors[*i].kind != FactorKind::Whole);
        split.map(|factor| self.in_parts(&factors, factor, name(factor))).collect()
    }

    /// One of them, in parts of one entry, or of a few where there are many.
    fn in_parts(&self, factors: &CallFactors, factor: usize, name: &str) -> Promise {
        let kind = factors.factors[factor].kind;
        let promise = format!("{name}: {}", kind.name());
        let size = usize::try_from(factors.factors[factor].size).unwrap_or(0);
        if size < 2 {
            let why = format!("the size of {name} is {size}, which has no parts; give larger operands");
            return self.unchecked(promise, why);
        }
        let step = size.div_ceil(MOST_PARTS);
        let ranges: Vec<Range<usize>> = (0..size).step_by(step).map(|at| at..size.min(at + step)).collect();
        let one = |range: &Range<usize>| {
            let operands = self.operands.iter().zip(&factors.operands).enumerate();
            let operands = operands.map(|(i, (x, own))| match own.iter().position(|of| *of == factor) {
                Some(axis) => part(x, axis, range.clone()),
                None if factors.offsets.contains(&(i, factor)) => later(x, range.start),
                None => x.clone(),
            });
            self.op.run(&operands.collect::<Vec<_>>())
        };
        let found = ranges.iter().map(one).collect::<Result<Vec<_>, _>>().map(|parts| {
            let whole = (0..self.results.len()).map(|i| {
                let parts: Vec<&Literal> = parts.iter().map(|results| &results[i]).collect();
                match (factors.results[i].iter().position(|of| *of == factor), kind) {
                    (Some(axis), _) => concatenated(&parts, axis),
                    (None, FactorKind::Reduce(reducer)) => combined(&parts, reducer),
                    (None, _) => parts[0].clone(),
                }
            });
            whole.collect()
        });
        let mend = match kind {
            FactorKind::Reduce(reducer) => format!(
                "`{promise}` promises that the results that lack {name} are the {} of what its parts give: mend the kernel, \
                 or say `{name}: whole`",
                reducer.name()
            ),
            _ => format!(
                "`{promise}` promises that each entry along {name} follows from that of the operands alone: mend the kernel, \
                 or say `{name}: whole`"
            ),
        };
        self.judged(promise, format!("{} parts with the whole", ranges.len()), found, &self.results, &mend)
    }

    /// A larger call, where `vmap` makes one.
    fn batched(&self) -> Option<Promise> {
        let declaration = self.op.declaration;
        let flags = match declaration.batching() {
            BatchSummary::Native | BatchSummary::NativeUnless { .. } => {
                declaration.signature.batch_dims(&self.inference).operands
            }
            BatchSummary::ByHand => vec![true; self.operands.len()],
            BatchSummary::Loop { .. } | BatchSummary::Never => return None,
        };
        let mut dims = sizes(&self.operands);
        for (dims, _) in dims.iter_mut().zip(&flags).filter(|(_, batched)| **batched) {
            dims.insert(0, 2);
        }
        let promise = "vmap".to_owned();
        let compared = "one call of 2 entries with 2 calls".to_owned();
        let mend = match declaration.batching() {
            BatchSummary::ByHand => "the function of `#[batch]` says that it is: mend one of the two",
            _ => {
                "`*` promises that each entry of the batch is handled by itself, whatever number of dimensions it has: mend \
                 the kernel, or say `*: whole`"
            }
        };
        let rule = declaration.batch_rule(&types(&self.operands, &dims), &flags, &self.op.attrs);
        let rule = match rule.map_err(|e| self.op.mismatch(e)) {
            Ok(rule) => rule,
            Err(error) => return Some(self.judged(promise, compared, Err(error), &[], mend)),
        };
        let (places, attrs, axes) = match rule {
            Batching::Native { .. } => {
                let places = flags.iter().map(|batched| batched.then_some(0)).collect();
                (places, self.op.attrs.clone(), vec![0; self.results.len()])
            }
            Batching::Custom { operands, attrs, results } => (operands, attrs, results),
            Batching::Unbatched | Batching::Loop { .. } => return None,
        };
        let others = self.operands.iter().zip(&flags);
        let others: Vec<Literal> =
            others.map(|(x, batched)| if *batched { other(x) } else { x.clone() }).collect();
        let second = match self.op.run(&others) {
            Ok(results) => results,
            Err(error) => {
                return Some(self.unchecked(promise, format!("a second entry is refused: {error}")));
            }
        };
        let entries = self.results.iter().zip(&second).zip(&axes);
        let expected: Vec<Literal> = entries.map(|((a, b), axis)| stacked(&[a, b], *axis)).collect();
        let both = self.operands.iter().zip(&others).zip(places);
        let both: Vec<Literal> = both
            .map(|((a, b), place): (_, Option<usize>)| {
                place.map_or_else(|| a.clone(), |at| stacked(&[a, b], at))
            })
            .collect();
        let found = self.op.with_attrs(attrs).and_then(|op| op.run(&both));
        Some(self.judged(promise, compared, found, &expected, mend))
    }

    /// All elements of all results.
    fn written(&self) -> Promise {
        let over = |byte| self.op.run_on(&self.operands, Some(&RunContext::new().with_unwritten(byte)));
        let (promise, compared) = ("results".to_owned(), "memory of ones with memory of zeros".to_owned());
        let mend =
            "memory of results holds anything at first: write every element, and do not add to what is there";
        match over(0) {
            Ok(expected) => self.judged(promise, compared, over(0xff), &expected, mend),
            Err(error) => self.judged(promise, compared, Err(error), &[], mend),
        }
    }

    fn threads(&self) -> Promise {
        let on = |threads| {
            let pool = Arc::new(ThreadPool::new(threads));
            self.op.run_on(&self.operands, Some(&RunContext::new().with_pool(pool)))
        };
        let (promise, compared) = ("threads".to_owned(), "2 threads with 1".to_owned());
        let mend = "what threads write must not depend on each other: mend the kernel";
        match on(1) {
            Ok(expected) => self.judged(promise, compared, on(2), &expected, mend),
            Err(error) => self.judged(promise, compared, Err(error), &[], mend),
        }
    }
}

/// True if results tell something: there are no numbers in them, or some that are.
fn is_known(results: &[Literal]) -> bool {
    let mut numbers = results.iter().flat_map(Literal::iter).map(Scalar::as_complex).peekable();
    numbers.peek().is_none() || numbers.any(|z| z.is_finite())
}

/// Calls of parts at most.
const MOST_PARTS: usize = 16;

impl<'a> Checker<'a> {
    fn op(
        &mut self,
        target: &'a Arc<Target>,
        operands: Vec<Literal>,
        attrs: &Attrs,
    ) -> Result<(), CheckError> {
        self.seen.push(target.name().to_owned());
        let call = Call::new(target, operands, attrs)?;
        self.found.push(call.written());
        self.found.extend(call.parts());
        self.found.extend(call.batched());
        self.found.push(call.threads());
        for derivative in self.derivatives(&call)? {
            if self.seen.iter().any(|name| name == derivative.target.name()) {
                continue;
            }
            let name = derivative.target.name().to_owned();
            let before = self.found.len();
            if let Err(error) = self.op(derivative.target, derivative.operands, &derivative.attrs) {
                let why = format!("it cannot be called as the derivative of {}: {error}", target.name());
                let outcome = Outcome::Unchecked(why);
                let (promise, compared) = ("call".to_owned(), String::new());
                let of = name.clone();
                self.found.push(Promise { op: of, promise, compared, difference: None, outcome });
            }
            if derivative.is_forward {
                self.tell_once(target.name(), &name, before);
            }
        }
        Ok(())
    }

    /// Leaves out what a forward op breaks, from `before` on, that its op breaks too: they are one kernel, or compute the same.
    fn tell_once(&mut self, op: &str, forward: &str, before: usize) {
        let (told, new) = self.found.split_at(before);
        let is_told =
            |p: &Promise| told.iter().any(|t| t.op == op && t.promise == p.promise && t.is_broken());
        let new: Vec<Promise> =
            new.iter().filter(|p| !(p.op == forward && p.is_broken() && is_told(p))).cloned().collect();
        self.found.truncate(before);
        self.found.extend(new);
    }

    /// An op of the library.
    fn target(&self, name: &str) -> Option<&'a Arc<Target>> {
        self.library.iter().find(|target| target.name() == name)
    }
}

fn sizes(operands: &[Literal]) -> Vec<Vec<i64>> {
    let size = |size: &usize| i64::try_from(*size).unwrap_or(i64::MAX);
    operands.iter().map(|x| x.dims().iter().map(size).collect()).collect()
}

fn types<'d>(operands: &[Literal], dims: &'d [Vec<i64>]) -> Vec<OperandType<'d>> {
    operands.iter().zip(dims).map(|(x, dims)| OperandType { dtype: x.dtype(), dims }).collect()
}
