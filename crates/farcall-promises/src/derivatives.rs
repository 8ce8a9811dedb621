//! Compares declared derivatives with central differences.
//!
//! One direction `v` is checked at a time. The difference `(f(x + h·v) − f(x − h·v)) / 2h` must equal the
//! tangent that a forward derivative returns for `v`. The product of this tangent with cotangents must equal
//! the product of `v` with the result of a reverse derivative for these cotangents. Products do not
//! conjugate, and only their real parts are compared, as in JAX. If half the step size gives another tangent,
//! or the slopes to the two sides differ, the op is not smooth at `x`, and the check is inconclusive.

use std::sync::Arc;

use farcall::ir::{Literal, Scalar};
use farcall::sig::AttrValues;
use num_complex::Complex;

use super::arrays::{largest, rounding, short};
use super::triangle::Triangle;
use super::{Call, CheckError, Checker, Outcome, Promise, Runner, sizes};
use farcall::registry::Target;
use farcall::{Argument, DerivativeCall, Linear, Saved};

/// Number of directions tried for each operand.
const DIRECTION_COUNT: u64 = 3;

/// The reason why differences are inconclusive.
const NOT_SMOOTH: &str =
    "at or near these operands, the op is not smooth, not finite, or fails; give other operands";

/// A call of a derivative op.
pub(super) struct Derivative<'a> {
    pub(super) target: &'a Arc<Target>,
    pub(super) operands: Vec<Literal>,
    pub(super) attrs: AttrValues,
    /// True for the forward op, which computes the results of the differentiated op, and residuals.
    pub(super) is_forward: bool,
}

type Values = Vec<Complex<f64>>;

impl<'a> Checker<'a> {
    /// Checks the derivatives of a call, and returns calls of its derivative ops.
    pub(super) fn derivatives(&mut self, call: &Call<'a>) -> Result<Vec<Derivative<'a>>, CheckError> {
        let declaration = call.op.declaration;
        let dims = sizes(&call.operands);
        let moving = declaration.differentiable(&super::types(&call.operands, &dims), &call.inference);
        let is_first = self.seen.len() == 1;
        self.found.extend(untried_transpose(call).filter(|_| is_first));
        self.found.extend(zero_derivatives(call)?);
        if moving.is_empty() || (declaration.vjp.is_none() && declaration.jvp.is_none()) {
            return Ok(Vec::new());
        }
        if !call.results.is_empty() && call.results.iter().all(|result| result.is_empty()) {
            let why = "these operands give results without elements; give larger operands";
            self.found.push(call.unchecked("derivatives".to_owned(), why.to_owned()));
            return Ok(Vec::new());
        }
        let linear = |moving: Vec<usize>| {
            let types = call.operands.iter().zip(&dims).map(|(x, dims)| (x.dtype(), dims.clone())).collect();
            Linear::new(call.op.target, types, &call.op.attrs, moving)
        };
        let all = linear(moving.clone())?;
        let mut calls = Vec::new();
        let mut values = call.results.clone();
        if let Some((forward, target)) = self.forward(&all) {
            let found = Runner::new(target, &forward).and_then(|op| op.run(&call.operands));
            let fix = "a forward op returns the op's results, then residuals: fix one of the two ops";
            let compared = format!("results of {} with its own", target.name());
            if let Ok(results) = &found {
                values.clone_from(results);
            }
            let results = found.map(|mut results| {
                results.truncate(call.results.len());
                results
            });
            let forward_op = call.judged("forward op".to_owned(), compared, results, &call.results, fix);
            let failed = forward_op.is_broken();
            self.found.push(forward_op);
            if failed {
                return Ok(Vec::new());
            }
            let operands = call.operands.clone();
            calls.push(Derivative { target, operands, attrs: forward, is_forward: true });
        }
        let point = Point { call, values: &values, unread: &[] };
        let mut symmetric = None;
        for &operand in &moving {
            let own = linear(vec![operand])?;
            let mut found = point.try_one(self, &own, operand);
            if found.iter().any(Promise::is_broken) {
                let symmetric = symmetric.get_or_insert_with(|| self.on_symmetric(call, &all, &moving));
                let again = symmetric.as_ref().map_or(Vec::new(), |s| s.point().try_one(self, &own, operand));
                for promise in found.iter_mut().filter(|promise| promise.is_broken()) {
                    let same = |p: &&Promise| p.promise == promise.promise && !p.is_broken();
                    if let Some(kept) = again.iter().find(same) {
                        promise.clone_from(kept);
                    }
                }
            }
            self.found.extend(found);
        }
        // The derivative ops are then checked themselves, on calls with all tangents and cotangents that
        // these ops take.
        let cotangents = point.cotangents(&all, 0);
        let tangents: Vec<Literal> = moving.iter().map(|i| point.direction(*i, 1 + *i as u64)).collect();
        let zero: Vec<bool> = cotangents.iter().map(Option::is_none).collect();
        for made in [all.tangent(), all.backward(&zero)].into_iter().flatten() {
            if let Some(target) = self.target(&made.op.target) {
                let operands = point.operands(&all, &made, &tangents, &cotangents);
                calls.push(Derivative { target, operands, attrs: made.op.attrs, is_forward: false });
            }
        }
        Ok(calls)
    }
}

/// A call on symmetric matrices. An op that reads only one triangle of its matrices may be an op of symmetric
/// matrices. The derivatives of such an op hold for symmetric changes only.
struct Symmetric<'a> {
    call: Call<'a>,
    unread: Vec<Option<Triangle>>,
    values: Vec<Literal>,
}

impl Symmetric<'_> {
    fn point(&self) -> Point<'_, '_> {
        Point { call: &self.call, values: &self.values, unread: &self.unread }
    }
}

impl<'a> Checker<'a> {
    /// Returns the forward op, if it exists, and its attributes.
    fn forward(&self, linear: &Linear) -> Option<(AttrValues, &'a Arc<Target>)> {
        linear.forward().and_then(|op| Some((op.attrs, self.target(&op.target)?)))
    }

    /// Finds the operands of which the call reads only one triangle, and returns a call in which these
    /// operands are symmetric. `None` if there are no such operands, or if the op rejects the symmetric
    /// operands.
    fn on_symmetric(&self, call: &Call<'a>, all: &Linear, moving: &[usize]) -> Option<Symmetric<'a>> {
        let unread = (0..call.operands.len())
            .map(|i| moving.contains(&i).then(|| Triangle::unread(call, i)).flatten());
        let unread: Vec<Option<Triangle>> = unread.collect();
        unread.iter().any(Option::is_some).then_some(())?;
        let call = call.on_symmetric(&unread).ok()?;
        let values = match self.forward(all) {
            Some((attrs, target)) => {
                Runner::new(target, &attrs).and_then(|op| op.run(&call.operands)).ok()?
            }
            None => call.results.clone(),
        };
        Some(Symmetric { call, unread, values })
    }
}

/// Reports that this call does not check the transpose of a linear op. A transpose is checked together with
/// an op whose derivative uses it.
fn untried_transpose(call: &Call<'_>) -> Option<Promise> {
    let declaration = call.op.declaration;
    let transpose = declaration.transpose.as_ref().filter(|_| declaration.vjp.is_none())?;
    let why = "no derivative of this op uses it: check the op whose tangent op this is, because that op's reverse \
               derivative uses the transpose";
    Some(call.unchecked(format!("transpose {transpose}"), why.to_owned()))
}

/// Checks the promises that the derivatives with respect to some operands are zero.
fn zero_derivatives(call: &Call<'_>) -> Result<Vec<Promise>, CheckError> {
    let types = call.operands.iter().zip(sizes(&call.operands)).map(|(x, dims)| (x.dtype(), dims)).collect();
    let linear: Linear = Linear::new(call.op.target, types, &call.op.attrs, Vec::new())?;
    let point = Point { call, values: &call.results, unread: &[] };
    let moves = |i: &usize| {
        let dtype = call.operands[*i].dtype();
        dtype.is_float() || dtype.is_complex()
    };
    Ok(linear.zero().into_iter().filter(moves).map(|i| point.try_zero(&linear.results(), i)).collect())
}

/// A call with its results and residuals, at which derivatives are checked.
struct Point<'c, 'a> {
    call: &'c Call<'a>,
    /// For each operand that is made symmetric, the triangle that the op does not read; empty if no operand
    /// is made symmetric.
    unread: &'c [Option<Triangle>],
    /// Results, then residuals.
    values: &'c [Literal],
}

/// Findings of one check, over all directions.
#[derive(Default)]
struct Findings {
    largest: f64,
    tried: bool,
    broken: Option<String>,
    unchecked: Option<String>,
}

impl Point<'_, '_> {
    /// Checks the derivatives with respect to one operand.
    fn try_one(&self, checker: &Checker<'_>, linear: &Linear, operand: usize) -> Vec<Promise> {
        let declaration = self.call.op.declaration;
        let names = declaration.signature.operand_names(self.call.operands.len()).unwrap_or_default();
        let name = names.get(operand).map_or("", String::as_str);
        let mut found = Vec::new();
        let cotangents = self.cotangents(linear, 0);
        let zero: Vec<bool> = cotangents.iter().map(Option::is_none).collect();
        for (kind, made) in [("jvp", linear.tangent()), ("vjp", linear.backward(&zero))] {
            let Ok(made) = made else { continue };
            let Some(target) = checker.target(&made.op.target) else { continue };
            let mut of = Findings::default();
            for direction in 0..DIRECTION_COUNT {
                let tangent = self.direction(operand, 1 + direction);
                match self.in_direction(kind, target, linear, &made, operand, &tangent, direction) {
                    Ok(Some((difference, wrong))) => {
                        of.tried = true;
                        of.largest = of.largest.max(difference);
                        of.broken = of.broken.or(wrong);
                    }
                    Ok(None) => {
                        of.unchecked = Some(NOT_SMOOTH.to_owned());
                    }
                    Err(error) => of.broken = of.broken.or(Some(format!("its call fails ({error})"))),
                }
            }
            let promise = format!("{kind} by {} in {name}", target.name());
            let outcome = match (of.broken, of.unchecked) {
                (Some(wrong), _) => Outcome::Broken(format!("{wrong}; fix {}", target.name())),
                (None, Some(why)) if !of.tried => Outcome::Unchecked(why),
                (None, _) => Outcome::Kept,
            };
            found.push(Promise {
                op: self.call.op.name().to_owned(),
                promise,
                compared: match self.unread.get(operand) {
                    Some(Some(_)) => format!("derivatives with central differences, {name} symmetric"),
                    _ => "derivatives with central differences".to_owned(),
                },
                difference: of.tried.then_some(of.largest),
                outcome,
            });
        }
        found
    }

    /// Checks that the derivative with respect to one operand is zero.
    fn try_zero(&self, results: &[usize], operand: usize) -> Promise {
        let names = self.call.op.declaration.signature.operand_names(self.call.operands.len());
        let names = names.unwrap_or_default();
        let name = names.get(operand).map_or("", String::as_str);
        let (mut largest_slope, mut wrong) = (None, None);
        for direction in 0..DIRECTION_COUNT {
            let tangent = self.direction(operand, 1 + direction);
            let Ok(Some(slopes)) = self.numeric(operand, &tangent, results) else { continue };
            for (i, slope) in results.iter().zip(&slopes) {
                let scale = largest(slope).max(largest(&complex(&self.call.results[*i])));
                let steepest = slope.iter().map(|z| z.norm()).fold(0.0, f64::max);
                let relative = steepest / scale;
                largest_slope = Some(f64::max(relative, largest_slope.unwrap_or(0.0)));
                if relative > self.tolerance() && wrong.is_none() {
                    wrong = Some(format!(
                        "{} moves with {name}, by {} in a random direction; fix the declaration",
                        self.call.result(*i),
                        short(steepest)
                    ));
                }
            }
        }
        let outcome = match (wrong, largest_slope) {
            (Some(wrong), _) => Outcome::Broken(wrong),
            (None, Some(_)) => Outcome::Kept,
            (None, None) => Outcome::Unchecked(NOT_SMOOTH.to_owned()),
        };
        Promise {
            op: self.call.op.name().to_owned(),
            promise: format!("nondiff {name} = zero"),
            compared: "central differences with zero".to_owned(),
            difference: largest_slope,
            outcome,
        }
    }

    /// Returns a direction in which an operand may change.
    fn direction(&self, operand: usize, seed: u64) -> Literal {
        let tangent = noise(&self.call.operands[operand], seed);
        match self.unread.get(operand) {
            Some(Some(triangle)) => triangle.mirrored(&tangent),
            _ => tangent,
        }
    }

    /// Returns the error of a derivative in one direction, and a description of the error if it is too large.
    /// `None` if the direction is inconclusive.
    #[expect(clippy::too_many_arguments, reason = "one derivative, one operand, one direction")]
    fn in_direction(
        &self,
        kind: &str,
        target: &Arc<Target>,
        linear: &Linear,
        made: &DerivativeCall,
        operand: usize,
        tangent: &Literal,
        seed: u64,
    ) -> Result<Option<(f64, Option<String>)>, CheckError> {
        let results = linear.results();
        let Ok(Some(expected)) = self.numeric(operand, tangent, &results) else { return Ok(None) };
        let cotangents = self.cotangents(linear, seed);
        let operands = self.operands(linear, made, std::slice::from_ref(tangent), &cotangents);
        let given = Runner::new(target, &made.op.attrs)?.run(&operands)?;
        let tolerance = self.tolerance();
        let values = |i: usize| complex(&self.call.results[i]);
        if kind == "jvp" {
            let (mut worst, mut wrong) = (0.0, None);
            for ((at, i), expected) in results.iter().enumerate().zip(&expected) {
                let found = made.results[at]
                    .map_or_else(|| vec![Complex::default(); expected.len()], |k| complex(&given[k]));
                let scale = largest(&found).max(largest(expected)).max(largest(&values(*i)));
                let errors = found.iter().zip(expected).map(|(a, b)| (a - b).norm() / scale);
                let error = errors.fold(0.0, nan_or_max);
                if (error.is_nan() || error > tolerance) && wrong.is_none() {
                    let at = found.iter().zip(expected).position(|(a, b)| {
                        let error = (a - b).norm() / scale;
                        error.is_nan() || error > tolerance
                    });
                    let at = at.unwrap_or(0);
                    wrong = Some(format!(
                        "the tangent of {} is {} at element {at}, where differences give {}",
                        self.call.result(*i),
                        shown(found[at]),
                        shown(expected[at])
                    ));
                }
                worst = nan_or_max(worst, error);
            }
            return Ok(Some((worst, wrong)));
        }
        let (mut along, mut back, mut scale) = (0.0, 0.0, f64::MIN_POSITIVE);
        for ((i, expected), cotangent) in results.iter().zip(&expected).zip(&cotangents) {
            let Some(cotangent) = cotangent else { continue };
            for ((c, t), y) in complex(cotangent).iter().zip(expected).zip(values(*i)) {
                along += (c * t).re;
                scale += c.norm() * t.norm().max(y.norm());
            }
        }
        if let Some(k) = made.results[0] {
            for (g, v) in complex(&given[k]).iter().zip(complex(tangent)) {
                back += (g * v).re;
                scale += g.norm() * v.norm();
            }
        }
        let error = (along - back).abs() / scale;
        let wrong = (error.is_nan() || error > tolerance).then(|| {
            format!(
                "along a random direction it gives {}, where differences give {}",
                short(back),
                short(along)
            )
        });
        Ok(Some((error, wrong)))
    }

    /// Returns the tangents of results by central differences; `None` if the op is not smooth or its results
    /// are not finite.
    fn numeric(
        &self,
        operand: usize,
        tangent: &Literal,
        results: &[usize],
    ) -> Result<Option<Vec<Values>>, CheckError> {
        let x = &self.call.operands[operand];
        let values = complex(x);
        let size = largest(&values).max(1.0);
        let step = self.rounding().cbrt() * size;
        let moved = |by: f64| {
            let moved = Literal::from_fn(x.dtype(), x.dims().to_vec(), |i| {
                let (x, v) = (values[i], tangent.get(i).as_complex());
                Scalar::Complex(x + v * by)
            });
            let mut operands = self.call.operands.clone();
            operands[operand] = moved;
            let values = self.call.op.run(&operands)?;
            Ok::<Vec<Values>, CheckError>(results.iter().map(|i| complex(&values[*i])).collect())
        };
        let half = step / 2.0;
        let (far, near) = ([moved(step)?, moved(-step)?], [moved(half)?, moved(-half)?]);
        let mut slopes = Vec::new();
        for (at, i) in results.iter().enumerate() {
            let here = complex(&self.call.results[*i]);
            let slope = |[up, down]: &[Vec<Values>; 2], step: f64| -> Values {
                up[at].iter().zip(&down[at]).map(|(up, down)| (up - down) / (2.0 * step)).collect()
            };
            let (whole, half_step) = (slope(&far, step), slope(&near, half));
            let scale = largest(&whole).max(largest(&half_step)).max(largest(&here));
            // The slopes for both step sizes agree, and so do the slopes to both sides. A slope that is not a
            // number never agrees.
            let is_smooth = |k: usize| {
                let bend = (near[0][at][k] + near[1][at][k] - here[k] * 2.0) / half;
                (whole[k] - half_step[k]).norm() <= self.tolerance() * scale
                    && bend.norm() <= self.rounding().powf(0.2) * scale
            };
            if !(0..here.len()).all(is_smooth) {
                return Ok(None);
            }
            slopes.push(half_step);
        }
        Ok(Some(slopes))
    }

    /// Returns a cotangent for each result that has a tangent; `None` for a result whose cotangent the
    /// reverse derivative does not take.
    fn cotangents(&self, linear: &Linear, seed: u64) -> Vec<Option<Literal>> {
        let results = linear.results();
        let takes = |at: usize| {
            let zero: Vec<bool> = (0..results.len()).map(|other| other != at).collect();
            linear.backward(&zero).is_ok()
        };
        let results = results.iter().enumerate();
        results
            .map(|(at, i)| takes(at).then(|| noise(&self.call.results[*i], 100 + seed + *i as u64)))
            .collect()
    }

    /// Returns the operands of a derivative op.
    fn operands(
        &self,
        linear: &Linear,
        made: &DerivativeCall,
        tangents: &[Literal],
        cotangents: &[Option<Literal>],
    ) -> Vec<Literal> {
        let saved = linear.saved();
        let one = |argument: &Argument| match argument {
            Argument::Value(i) => match saved.get(*i) {
                Some(Saved::Operand(i)) => self.call.operands[*i].clone(),
                Some(Saved::Result(i)) => self.values[*i].clone(),
                Some(Saved::Residual(i)) => self.values[self.call.results.len() + i].clone(),
                None => tangents[i - saved.len()].clone(),
            },
            Argument::Cotangent(at) => match &cotangents[*at] {
                Some(cotangent) => cotangent.clone(),
                None => zeros(&self.call.results[linear.results()[*at]]),
            },
            Argument::Zeros((dtype, dims)) => {
                let dims: Vec<usize> = dims.iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
                Literal::zeros(*dtype, dims)
            }
        };
        made.operands.iter().map(one).collect()
    }

    fn rounding(&self) -> f64 {
        rounding(self.call.operands.iter().chain(&self.call.results))
    }

    fn tolerance(&self) -> f64 {
        self.rounding().powf(0.4)
    }
}

fn zeros(like: &Literal) -> Literal {
    Literal::zeros(like.dtype(), like.dims().to_vec())
}

fn complex(x: &Literal) -> Values {
    x.iter().map(Scalar::as_complex).collect()
}

fn nan_or_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn shown(z: Complex<f64>) -> String {
    if z.im == 0.0 { short(z.re) } else { format!("{}{:+}i", short(z.re), z.im as f32) }
}

/// Returns a tensor of the type of `like`. Its elements are floats between -1 and 1, or complex numbers of
/// two such floats, and only depend on the seed.
fn noise(like: &Literal, seed: u64) -> Literal {
    // Applies SplitMix64's finalizer (Steele, Lea, Flood 2014) to the position of the number.
    let number = |i: usize| {
        let mut z = (seed << 32).wrapping_add(i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let dims = like.dims().to_vec();
    let is_complex = like.dtype().is_complex();
    Literal::from_fn(like.dtype(), dims, |i| match is_complex {
        true => Scalar::Complex(Complex::new(number(2 * i), number(2 * i + 1))),
        false => Scalar::Float(number(i)),
    })
}
