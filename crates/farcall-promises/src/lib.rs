//! Checks of the promises that ops make. A signature promises how a call may be split, and an op may declare
//! derivatives. The compiler cannot see in a kernel whether these promises hold. This crate tests them on
//! given operands.
//!
//! | promise | compared values |
//! | --- | --- |
//! | `results` | the results in memory with different initial contents |
//! | `n: map`, `*: sum`, … | results for parts of the dimension, side by side or combined, with the whole |
//! | `vmap` | one call of two entries with two calls, where `vmap` makes one call |
//! | `threads` | the results on one thread and on two |
//! | `CUDA` | the results of the handler for CUDA with those of the handler for the host |
//! | `forward op` | the results of the forward op with those of the op |
//! | `jvp`, `vjp` | the declared derivatives with central differences |
//! | `nondiff x = zero` | central differences with zero |
//!
//! The derivative ops of an op are checked as well, on the operands that they get in this role. A promise
//! that holds for some operands may not hold for others, but a promise found to be broken is broken. An op
//! that reads only one triangle of square matrices may be an op of symmetric matrices. The derivatives of
//! such an op may hold for all changes or for symmetric changes only, and [`Promise::compared`] reports
//! which. Other restrictions on operands (such as positive definite matrices) are not recognized: the
//! operands of central differences may violate them.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use farcall::ir::op::CustomCall;
use farcall::ir::{Literal, Scalar, TensorType};
use farcall::sig::AttrValues;
use farcall::sig::signature::{
    BatchSummary, Batching, CallFactors, FactorKind, Inference, Mismatch, OperandType,
};

use self::arrays::{Difference, combined, concatenated, difference, later, other, part, rounding, stacked};
use farcall::custom_call::{RunContext, ThreadPool};
use farcall::registry::{Declaration, Registry, Target};
use farcall::{
    CompileError, CompileOptions, Executable, OpError, RunError, RunOptions, declared_call, op_program,
};

mod arrays;
mod derivatives;
mod triangle;

/// Result of checking a promise.
#[derive(Clone, PartialEq, Debug)]
pub struct Promise {
    /// Name of the op that makes the promise.
    pub op: String,
    /// The promise: `k: sum`, `vmap`, `vjp by gemm_bwd in a`.
    pub promise: String,
    /// Description of the compared values.
    pub compared: String,
    /// Largest difference, relative to the largest value; `None` if nothing could be compared.
    pub difference: Option<f64>,
    /// Outcome of the check.
    pub outcome: Outcome,
}

impl Promise {
    /// Returns true if the promise is broken.
    pub fn is_broken(&self) -> bool {
        matches!(self.outcome, Outcome::Broken(_))
    }
}

/// Outcome of checking a promise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The promise holds on these operands.
    Kept,
    /// The promise is broken. The text describes the difference and how to fix the op.
    Broken(String),
    /// The check is inconclusive on these operands, for this reason.
    Unchecked(String),
}

/// Reason why an op cannot be checked on given operands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The call does not fit the op.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The op's program cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The op itself fails.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The op has a side effect, but checks call it more than once.
    #[error("{op} has a side effect, and cannot be tried")]
    SideEffect {
        /// Name of the op.
        op: String,
    },
}

/// A device of another platform, which calls handlers of this platform.
pub trait PlatformDevice {
    /// Calls a handler, and returns its results. The types of the results are `results`. Operands and results
    /// are row-major here; the handler gets them in the layouts of the call.
    ///
    /// # Errors
    /// If there are no results.
    fn call(
        &self,
        target: &Arc<Target>,
        call: &CustomCall,
        operands: &[Literal],
        results: &[TensorType],
    ) -> Result<Vec<Literal>, DeviceCallError>;
}

/// Reason why a call on a [`PlatformDevice`] has no results.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceCallError {
    /// The handler fails, with this message.
    Failed(String),
    /// The device or the handler does not support the call, for this reason.
    Unsupported(String),
}

/// Handlers for other platforms, to be compared with the handlers for the host.
#[derive(Clone, Copy)]
pub struct PlatformHandlers<'a> {
    /// The handlers.
    pub targets: &'a [Arc<Target>],
    /// Device that calls them.
    pub device: &'a dyn PlatformDevice,
}

/// Checks the promises of an op, and of its derivative ops. The derivative ops are looked up in `library`,
/// and handlers for other platforms in `others`.
///
/// # Errors
/// If the op cannot be called on these operands at all.
pub fn check(
    library: &[Arc<Target>],
    others: Option<PlatformHandlers<'_>>,
    target: &Arc<Target>,
    operands: Vec<Literal>,
    attrs: &AttrValues,
) -> Result<Vec<Promise>, CheckError> {
    let mut checker = Checker { library, others, seen: Vec::new(), found: Vec::new() };
    checker.op(target, operands, attrs)?;
    Ok(checker.found)
}

struct Checker<'a> {
    library: &'a [Arc<Target>],
    others: Option<PlatformHandlers<'a>>,
    /// Names of the ops that were checked.
    seen: Vec<String>,
    found: Vec<Promise>,
}

/// An op with attributes, which can be called on operands of any types.
struct Runner<'a> {
    target: &'a Arc<Target>,
    declaration: &'a Declaration,
    attrs: AttrValues,
    registry: Registry,
    compiled: RefCell<HashMap<Vec<TensorType>, Executable>>,
}

/// A successful call of an op, with its results.
struct Call<'a> {
    op: Runner<'a>,
    operands: Vec<Literal>,
    inference: Inference,
    results: Vec<Literal>,
}

impl<'a> Runner<'a> {
    fn new(target: &'a Arc<Target>, attrs: &AttrValues) -> Result<Runner<'a>, CheckError> {
        let op = || target.name().to_owned();
        let declaration = target.declaration().ok_or_else(|| OpError::NoSignature { op: op() })?;
        if declaration.signature.has_side_effect() {
            return Err(CheckError::SideEffect { op: op() });
        }
        let attrs = declaration.signature.convert_attrs(attrs);
        let attrs = attrs.map_err(|mismatch| OpError::Mismatch { op: op(), mismatch })?;
        // Registers this target itself, since another version may be registered under its name by now.
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
        Ok(executable.run_with(operands, RunOptions::new().context(run))?)
    }

    fn with_attrs(&self, attrs: AttrValues) -> Result<Runner<'a>, CheckError> {
        Runner::new(self.target, &attrs)
    }

    fn mismatch(&self, mismatch: Mismatch) -> CheckError {
        OpError::Mismatch { op: self.name().to_owned(), mismatch }.into()
    }
}

impl<'a> Call<'a> {
    fn new(
        target: &'a Arc<Target>,
        operands: Vec<Literal>,
        attrs: &AttrValues,
    ) -> Result<Call<'a>, CheckError> {
        let op = Runner::new(target, attrs)?;
        let dims = sizes(&operands);
        let inference = op.declaration.infer(&types(&operands, &dims), &op.attrs);
        let inference = inference.map_err(|e| op.mismatch(e))?;
        let results = op.run(&operands)?;
        Ok(Call { op, operands, inference, results })
    }

    /// Returns the name of a result.
    fn result(&self, i: usize) -> &str {
        &self.op.declaration.signature.results()[self.inference.results[i].decl].name.text
    }

    /// Returns the largest difference, and the first result that differs by more than the tolerance, with its
    /// difference.
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

    /// Judges a promise by comparing the results found with the results expected.
    fn judged(
        &self,
        promise: String,
        compared: String,
        found: Result<Vec<Literal>, CheckError>,
        expected: &[Literal],
        fix: &str,
    ) -> Promise {
        let op = self.op.name().to_owned();
        let (difference, outcome) = match found {
            Err(error) => (None, Outcome::Broken(format!("the call fails ({error}); {fix}"))),
            Ok(found) => match self.compare(&found, expected) {
                (largest, None) if is_known(expected) => (Some(largest), Outcome::Kept),
                (_, None) => {
                    (None, Outcome::Unchecked("no result is a number; give other operands".to_owned()))
                }
                (largest, Some((i, difference))) => {
                    (Some(largest), Outcome::Broken(format!("{} is {difference}; {fix}", self.result(i))))
                }
            },
        };
        Promise { op, promise, compared, difference, outcome }
    }

    fn unchecked(&self, promise: String, why: String) -> Promise {
        let outcome = Outcome::Unchecked(why);
        Promise { op: self.op.name().to_owned(), promise, compared: String::new(), difference: None, outcome }
    }

    /// Checks each dimension that may be split.
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

    /// Checks a dimension by splitting it into parts. A part has one entry, or several if the dimension has
    /// more than [`MAX_PARTS`] entries.
    fn in_parts(&self, factors: &CallFactors, factor: usize, name: &str) -> Promise {
        let kind = factors.factors[factor].kind;
        let promise = format!("{name}: {}", kind.name());
        let size = usize::try_from(factors.factors[factor].size).unwrap_or(0);
        if size < 2 {
            let why = format!("the size of {name} is {size}, which has no parts; give larger operands");
            return self.unchecked(promise, why);
        }
        let step = size.div_ceil(MAX_PARTS);
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
        let fix = match kind {
            FactorKind::Reduce(reducer) => format!(
                "`{promise}` promises that results without {name} are the {} of the results for its parts: fix the kernel, \
                 or declare `{name}: whole`",
                reducer.name()
            ),
            _ => format!(
                "`{promise}` promises that each entry along {name} depends on the same entry of the operands only: fix the \
                 kernel, or declare `{name}: whole`"
            ),
        };
        self.judged(promise, format!("{} parts with the whole", ranges.len()), found, &self.results, &fix)
    }

    /// Checks a call with a batch dimension. Returns `None` if `vmap` makes no such call.
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
        let fix = match declaration.batching() {
            BatchSummary::ByHand => {
                "the `#[batch]` function promises equal results: fix the function or the kernel"
            }
            _ => {
                "`*` promises that each batch entry is computed independently, for any number of batch dimensions: fix the \
                 kernel, or declare `*: whole`"
            }
        };
        let rule = declaration.batch_rule(&types(&self.operands, &dims), &flags, &self.op.attrs);
        let rule = match rule.map_err(|e| self.op.mismatch(e)) {
            Ok(rule) => rule,
            Err(error) => return Some(self.judged(promise, compared, Err(error), &[], fix)),
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
        Some(self.judged(promise, compared, found, &expected, fix))
    }

    /// Checks that all elements of all results are written.
    fn written(&self) -> Promise {
        let over = |byte| self.op.run_on(&self.operands, Some(&RunContext::new().with_unwritten(byte)));
        let (promise, compared) = ("results".to_owned(), "memory of ones with memory of zeros".to_owned());
        let fix = "result memory is not initialized: write every element, and do not accumulate into it";
        match over(0) {
            Ok(expected) => self.judged(promise, compared, over(0xff), &expected, fix),
            Err(error) => self.judged(promise, compared, Err(error), &[], fix),
        }
    }

    fn threads(&self) -> Promise {
        let on = |threads| {
            let pool = Arc::new(ThreadPool::new(threads));
            self.op.run_on(&self.operands, Some(&RunContext::new().with_pool(pool)))
        };
        let (promise, compared) = ("threads".to_owned(), "2 threads with 1".to_owned());
        let fix = "the writes of different threads must be independent: fix the kernel";
        match on(1) {
            Ok(expected) => self.judged(promise, compared, on(2), &expected, fix),
            Err(error) => self.judged(promise, compared, Err(error), &[], fix),
        }
    }

    /// Checks that the handler for another platform has the same results.
    fn elsewhere(&self, other: &Arc<Target>, device: &dyn PlatformDevice) -> Promise {
        let promise = other.platform().to_string();
        let compared = format!("the handlers for {promise} and {}", self.op.target.platform());
        let types: Vec<TensorType> = self.operands.iter().map(Literal::ty).collect();
        let found = match declared_call(other, &types, &self.op.attrs) {
            Ok((call, results)) => device.call(other, &call, &self.operands, &results),
            Err(error) => Err(DeviceCallError::Failed(error.to_string())),
        };
        let fix = "the handlers of an op compute the same results on all platforms: fix the wrong one";
        let op = self.op.name().to_owned();
        match found {
            Ok(found) => self.judged(promise, compared, Ok(found), &self.results, fix),
            Err(DeviceCallError::Unsupported(why)) => self.unchecked(promise, why),
            Err(DeviceCallError::Failed(why)) => {
                let outcome = Outcome::Broken(format!("the handler for {promise} fails: {why}"));
                Promise { op, promise, compared, difference: None, outcome }
            }
        }
    }
}

/// Returns true if a comparison with these results can show an error: they contain a finite number, or no
/// elements at all.
fn is_known(results: &[Literal]) -> bool {
    let mut numbers = results.iter().flat_map(Literal::iter).map(Scalar::as_complex).peekable();
    numbers.peek().is_none() || numbers.any(|z| z.is_finite())
}

/// Maximum number of parts into which a dimension is split.
const MAX_PARTS: usize = 16;

impl<'a> Checker<'a> {
    fn op(
        &mut self,
        target: &'a Arc<Target>,
        operands: Vec<Literal>,
        attrs: &AttrValues,
    ) -> Result<(), CheckError> {
        self.seen.push(target.name().to_owned());
        let call = Call::new(target, operands, attrs)?;
        self.found.push(call.written());
        self.found.extend(call.parts());
        self.found.extend(call.batched());
        self.found.push(call.threads());
        for (other, device) in self.others(target.name()) {
            self.found.push(call.elsewhere(other, device));
        }
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
                self.drop_repeated(target.name(), &name, before);
            }
        }
        Ok(())
    }

    /// Drops, from position `before` on, the broken promises of a forward op that the differentiated op
    /// breaks, too: one report is enough, because the two ops share a kernel or compute the same results.
    fn drop_repeated(&mut self, op: &str, forward: &str, before: usize) {
        let (told, new) = self.found.split_at(before);
        let is_told =
            |p: &Promise| told.iter().any(|t| t.op == op && t.promise == p.promise && t.is_broken());
        let new: Vec<Promise> =
            new.iter().filter(|p| !(p.op == forward && p.is_broken() && is_told(p))).cloned().collect();
        self.found.truncate(before);
        self.found.extend(new);
    }

    /// Returns the handlers of an op for other platforms, with the device that calls them.
    fn others(&self, name: &str) -> Vec<(&'a Arc<Target>, &'a dyn PlatformDevice)> {
        let Some(PlatformHandlers { targets, device }) = self.others else { return Vec::new() };
        targets.iter().filter(|other| other.name() == name).map(|other| (other, device)).collect()
    }

    /// Returns the op of the library with this name.
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
