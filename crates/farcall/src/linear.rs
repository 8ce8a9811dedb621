//! The derivative of one call of an op: the values it needs, and the calls of its derivative ops.
//!
//! ```text
//! op, or its forward op ──▶ results, residuals ──▶ saved values
//! tangents of operands, saved values ──tangent op──▶ tangents of results
//! cotangents of results, saved values ──backward op──▶ cotangents of operands
//! ```
//!
//! At a point, a derivative is a linear map. Its operands are the values that were *saved* at that point,
//! followed by the tangents of the *moving* operands, with respect to which the derivative is taken. The
//! tangents of all other operands are zero. Only results of real or complex types have tangents. An operand
//! in which the derivative is declared to be zero is never a moving operand. Sizes may be symbolic
//! ([`Size`]). Indices count the operands and results of the call, not of the declaration: a variadic operand
//! of the declaration may be several operands of the call.

use std::sync::Arc;

use farcall_sig::signature::{Batching, Inference, JvpSource, Mismatch, OperandType, Size, VjpSource};
use farcall_sig::{AttrValues, DType};

use crate::{CodedError, ErrorCode, OpError};
use farcall_host::registry::{Declaration, Target, VjpTargets};

/// The derivative of one call with respect to some of its operands.
#[derive(Clone, Debug)]
pub struct Linear<S = i64> {
    target: Arc<Target>,
    operands: Vec<Tensor<S>>,
    moving: Vec<usize>,
    call: Inference<S>,
}

/// Element type and dimensions.
type Tensor<S> = (DType, Vec<S>);

/// A value saved at the point of a derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// An operand of the call.
    Operand(usize),
    /// A result of the call.
    Result(usize),
    /// A residual: a result of the forward op in addition to the results of the call.
    Residual(usize),
}

/// An operand of a derivative op.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument<S = i64> {
    /// A value, by its index in this list: the saved values, then the tangents of the moving operands.
    Value(usize),
    /// The cotangent of a result, by the result's index among the results that have tangents.
    Cotangent(usize),
    /// Zeros of this type.
    Zeros(Tensor<S>),
}

/// A call of an op that belongs to the derivative, such as the forward op.
#[derive(Clone, PartialEq, Debug)]
pub struct OpCall {
    /// The op.
    pub target: String,
    /// The attributes of the differentiated call that this op declares.
    pub attrs: AttrValues,
}

/// A call of a derivative op.
#[derive(Clone, PartialEq, Debug)]
pub struct DerivativeCall<S = i64> {
    /// The derivative op.
    pub op: OpCall,
    /// The operands of the call.
    pub operands: Vec<Argument<S>>,
    /// Indices of results of the derivative op. For a tangent op: the tangent of each result that has one.
    /// For a backward op or a transpose: the cotangent of each moving operand, if the op computes it.
    pub results: Vec<Option<usize>>,
}

/// A derivative batched over a mapped axis as one larger derivative.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinearBatch<S = i64> {
    /// For each value, true if the value gets the mapped axis as its first dimension (by broadcasting if the
    /// value is not mapped).
    pub batched: Vec<bool>,
    /// Types of the operands of the larger call.
    pub operands: Vec<Tensor<S>>,
}

/// A derivative that does not exist.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DerivativeError {
    /// The op declares no derivative.
    #[error("has no gradient: add #[vjp(backward = …)] or #[jvp(tangent = …)] to its declaration")]
    None,
    /// The op declares only a reverse derivative.
    #[error("has no forward derivative: add #[jvp(tangent = …)] to its declaration")]
    NoForward,
    /// The op declares only a forward derivative, and its tangent op has no transpose.
    #[error(
        "has no reverse derivative: add #[transpose(…)] to the declaration of {tangent}, its tangent op, or \
         #[vjp(backward = …)] to its own"
    )]
    NoReverse {
        /// The tangent op.
        tangent: String,
    },
    /// The op declares no forward derivative. The second derivative is the derivative of the forward
    /// derivative.
    #[error(
        "has no second derivative: that is the derivative of its forward derivative, which it does not declare (add \
         #[jvp(tangent = …)] to its declaration, and #[jvp(…)] to that op's)"
    )]
    NoSecond,
    /// An operand that is not differentiable.
    #[error("is not differentiable in {operand}, by declaration")]
    Operand {
        /// Name of the operand.
        operand: String,
    },
    /// The op is not known to be linear in an operand.
    #[error(
        "cannot be transposed with respect to {operand}: if it is linear in {operand}, add #[transpose(…)] to its \
         declaration"
    )]
    NotLinear {
        /// Name of the operand.
        operand: String,
    },
    /// A result whose cotangent the backward op does not take.
    #[error(
        "is not differentiable in its result {result}: {backward}, its backward op, does not take d{result}"
    )]
    Result {
        /// Name of the result.
        result: String,
        /// The backward op.
        backward: String,
    },
}

impl CodedError for DerivativeError {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotDifferentiable
    }
}

impl<S: Size> Linear<S> {
    /// Creates the derivative of a call with respect to the operands `moving`, in ascending order. Operands
    /// in which the derivative is declared to be zero are removed from `moving`.
    ///
    /// # Errors
    /// If the target has no signature, the call does not match the signature, or `moving` is not an ascending
    /// list of the call's operands.
    pub fn new(
        target: &Arc<Target>,
        operands: Vec<Tensor<S>>,
        attrs: &AttrValues,
        moving: Vec<usize>,
    ) -> Result<Linear<S>, OpError> {
        let op = || target.name().to_owned();
        let declaration = target.declaration().ok_or_else(|| OpError::NoSignature { op: op() })?;
        let call = declaration
            .infer(&types(&operands), attrs)
            .map_err(|mismatch| OpError::Mismatch { op: op(), mismatch })?;
        let count = operands.len();
        if !moving.is_sorted_by(|a, b| a < b) || moving.last().is_some_and(|last| *last >= count) {
            return Err(OpError::Moving { op: op(), count });
        }
        let is_zero = |i: &usize| declaration.has_zero_derivative(call.operands[*i]);
        let moving = moving.into_iter().filter(|i| !is_zero(i)).collect();
        Ok(Linear { target: Arc::clone(target), operands, moving, call })
    }

    /// The inference of the call from the op's signature.
    pub fn call(&self) -> &Inference<S> {
        &self.call
    }

    /// The op that computes the results followed by the residuals; `None` if the op itself is enough.
    pub fn forward(&self) -> Option<OpCall> {
        let vjp = self.declaration().vjp.as_ref()?;
        Some(self.op(vjp.forward.as_deref()?, &vjp.forward_op()?.signature))
    }

    /// Number of residuals.
    pub fn residuals(&self) -> usize {
        self.declaration().vjp.as_ref().map_or(0, |vjp| vjp.rule.residuals)
    }

    /// Indices of the results that have tangents.
    pub fn results(&self) -> Vec<usize> {
        let results = self.call.results.iter().enumerate();
        results.filter(|(_, result)| is_continuous(result.dtype)).map(|(i, _)| i).collect()
    }

    /// Indices of the operands in which the derivative is declared to be zero. All higher derivatives in
    /// these operands are zero, too.
    pub fn zero(&self) -> Vec<usize> {
        let declaration = self.declaration();
        let slots = self.call.operands.iter().enumerate();
        slots.filter(|(_, slot)| declaration.has_zero_derivative(**slot)).map(|(i, _)| i).collect()
    }

    /// Indices of the operands that the derivative is taken with respect to.
    pub fn moving(&self) -> &[usize] {
        &self.moving
    }

    /// The values that derivatives need: operands, then results, then residuals.
    pub fn saved(&self) -> Vec<Saved> {
        let declaration = self.declaration();
        let jvp: &[JvpSource] = declaration.jvp.as_ref().map_or(&[], |jvp| &jvp.rule.operands);
        let vjp: &[VjpSource] = declaration.vjp.as_ref().map_or(&[], |vjp| &vjp.rule.operands);
        let operand =
            |slot| jvp.contains(&JvpSource::Operand(slot)) || vjp.contains(&VjpSource::Operand(slot));
        let result = |slot| jvp.contains(&JvpSource::Result(slot)) || vjp.contains(&VjpSource::Result(slot));
        let operands = self.call.operands.iter().enumerate().filter(|(_, slot)| operand(**slot));
        let results = self.call.results.iter().enumerate().filter(|(_, r)| result(r.decl));
        operands
            .map(|(i, _)| Saved::Operand(i))
            .chain(results.map(|(i, _)| Saved::Result(i)))
            .chain((0..self.residuals()).map(Saved::Residual))
            .collect()
    }

    /// The call that computes the tangents of the results.
    ///
    /// # Errors
    /// If the op has no forward derivative.
    pub fn tangent(&self) -> Result<DerivativeCall<S>, OpError> {
        self.check_moving()?;
        let jvp = self.declaration().jvp.as_ref().ok_or_else(|| self.lacks(DerivativeError::NoForward))?;
        let saved = self.saved();
        let mut operands = Vec::new();
        for source in &jvp.rule.operands {
            match *source {
                JvpSource::Operand(slot) => {
                    operands.extend(self.operands_of(slot).map(|i| value(&saved, Saved::Operand(i))));
                }
                JvpSource::Result(slot) => {
                    operands.extend(self.results_of(slot).map(|i| value(&saved, Saved::Result(i))));
                }
                JvpSource::Tangent(slot) => operands.extend(self.operands_of(slot).map(|i| {
                    match self.moving.iter().position(|moving| *moving == i) {
                        Some(at) => Argument::Value(saved.len() + at),
                        None => Argument::Zeros(self.operands[i].clone()),
                    }
                })),
            }
        }
        let signature = &jvp.tangent_op().signature;
        let mut given =
            ResultsByDecl::new(signature.result_slots(operands.len()).map_err(|e| self.mismatch(e))?);
        let results = self.results().into_iter();
        let results = results.map(|i| given.next(jvp.rule.tangents[self.call.results[i].decl]?)).collect();
        Ok(DerivativeCall { op: self.op(&jvp.tangent, signature), operands, results })
    }

    /// The call that computes the cotangents of the moving operands. `zero` has an entry for each result that
    /// has a tangent: true if the result's cotangent is zero.
    ///
    /// # Errors
    /// If the op has no reverse derivative.
    pub fn backward(&self, zero: &[bool]) -> Result<DerivativeCall<S>, OpError> {
        self.check_moving()?;
        let vjp = self.declaration().vjp.as_ref().ok_or_else(|| self.no_reverse())?;
        let saved = self.saved();
        self.reverse(vjp, zero, |needed| Ok(value(&saved, needed)))
    }

    /// The call that transposes the op itself with respect to the moving operands, in which the op is linear.
    /// The results of the call are the cotangents of these operands. Here, an [`Argument::Value`] is the
    /// index of an operand of the call. The values of the moving operands are unknown. `zero` has the same
    /// meaning as for [`backward`](Self::backward).
    ///
    /// The returned call is a call of the op's transpose, of the transpose of its tangent op, or of its
    /// backward op. The derivative of a linear map is the same at each point, so zeros stand for unknown
    /// operands and for results. A declaration must say that the op is linear: a transpose, or a tangent op
    /// or backward op that does not take the unknown operands. The transpose of a tangent op only says that
    /// the tangent op is linear; as in JAX, the caller guarantees that the op is linear, too.
    ///
    /// # Errors
    /// If no declaration says that the op is linear in these operands.
    pub fn transpose(&self, zero: &[bool]) -> Result<DerivativeCall<S>, OpError> {
        let declaration = self.declaration();
        let depends = |source: &JvpSource| match *source {
            JvpSource::Operand(slot) => self.moving.iter().any(|i| self.call.operands[*i] == slot),
            JvpSource::Result(_) => true,
            JvpSource::Tangent(_) => false,
        };
        let is_affine = declaration.jvp.as_ref().is_some_and(|jvp| !jvp.rule.operands.iter().any(depends));
        for transposition in &declaration.transposes {
            let is_linear = transposition.declared || is_affine;
            let gives = |i: &usize| transposition.targets.rule.cotangents[self.call.operands[*i]].is_some();
            if !self.moving.iter().all(gives) {
                continue;
            }
            let call = self.reverse(&transposition.targets, zero, |needed| match needed {
                Saved::Operand(i) if !self.moving.contains(&i) => Ok(Argument::Value(i)),
                Saved::Operand(i) if is_linear => Ok(Argument::Zeros(self.operands[i].clone())),
                Saved::Result(i) if is_linear => {
                    let result = &self.call.results[i];
                    Ok(Argument::Zeros((result.dtype, result.dims.clone())))
                }
                _ => Err(self.not_linear()),
            });
            match call {
                Err(OpError::Derivative { what: DerivativeError::NotLinear { .. }, .. }) => {}
                call => return call,
            }
        }
        Err(self.not_linear())
    }

    /// The call of a backward op. `saved` maps each saved value to an operand of that call.
    fn reverse(
        &self,
        vjp: &VjpTargets,
        zero: &[bool],
        saved: impl Fn(Saved) -> Result<Argument<S>, OpError>,
    ) -> Result<DerivativeCall<S>, OpError> {
        let results = self.results();
        let is_zero = |at: usize| zero.get(at).copied().unwrap_or(true);
        for (at, i) in results.iter().enumerate() {
            let decl = self.call.results[*i].decl;
            if !is_zero(at) && !vjp.rule.operands.contains(&VjpSource::Cotangent(decl)) {
                let result = self.declaration().signature.results()[decl].name.text.clone();
                return Err(self.lacks(DerivativeError::Result { result, backward: vjp.backward.clone() }));
            }
        }
        let cotangent = |i: usize| match results.iter().position(|result| *result == i) {
            Some(at) if !is_zero(at) => Argument::Cotangent(at),
            _ => Argument::Zeros((self.call.results[i].dtype, self.call.results[i].dims.clone())),
        };
        let mut operands = Vec::new();
        for source in &vjp.rule.operands {
            match *source {
                VjpSource::Operand(slot) => {
                    for i in self.operands_of(slot) {
                        operands.push(saved(Saved::Operand(i))?);
                    }
                }
                VjpSource::Result(slot) => {
                    for i in self.results_of(slot) {
                        operands.push(saved(Saved::Result(i))?);
                    }
                }
                VjpSource::Residual(i) => operands.push(saved(Saved::Residual(i))?),
                VjpSource::Cotangent(slot) => operands.extend(self.results_of(slot).map(cotangent)),
            }
        }
        let signature = &vjp.backward_op().signature;
        let mut given =
            ResultsByDecl::new(signature.result_slots(operands.len()).map_err(|e| self.mismatch(e))?);
        let all: Vec<Option<usize>> = (self.call.operands.iter())
            .map(|slot| vjp.rule.cotangents[*slot].and_then(|decl| given.next(decl)))
            .collect();
        let results = self.moving.iter().map(|i| all[*i]).collect();
        Ok(DerivativeCall { op: self.op(&vjp.backward, signature), operands, results })
    }

    /// Checks that the op has a tangent op, whose derivative is the derivative with respect to the saved
    /// values.
    ///
    /// # Errors
    /// If the op has no tangent op.
    pub fn second(&self) -> Result<(), OpError> {
        match self.declaration().jvp {
            Some(_) => Ok(()),
            None => Err(self.lacks(DerivativeError::NoSecond)),
        }
    }

    /// Batches the derivative over a mapped axis of `size`. `mapped` has an entry for each saved value, then
    /// for each tangent: true if the value has the axis. If the op and its forward op are batched natively,
    /// the result is one larger derivative whose operands have the axis wherever they have batch dimensions.
    /// Otherwise the result is `None`, and the caller must loop over the axis.
    ///
    /// # Errors
    /// If the size is negative, or a batching function gives an invalid answer.
    pub fn batch(&self, mapped: &[bool], size: &S) -> Result<Option<LinearBatch<S>>, OpError> {
        if let Some(size) = size.known().filter(|size| *size < 0) {
            return Err(OpError::AxisSize { op: self.target.name().to_owned(), size });
        }
        let declaration = self.declaration();
        let has_batch = declaration.signature.batch_dims(&self.call).operands;
        // The operand that each value belongs to; `None` for results and residuals, which always get the
        // axis.
        let saved = self.saved().into_iter().map(|saved| match saved {
            Saved::Operand(i) => Some(i),
            Saved::Result(_) | Saved::Residual(_) => None,
        });
        let values: Vec<Option<usize>> = saved.chain(self.moving.iter().copied().map(Some)).collect();
        let mut flags = has_batch.clone();
        for (operand, _) in values.iter().zip(mapped).filter(|(_, mapped)| **mapped) {
            if let Some(i) = operand {
                flags[*i] = true;
            }
        }
        let front = self.with_axis(&flags, size);
        let forward = declaration.vjp.as_ref().and_then(|vjp| vjp.forward_op());
        for op in [Some(declaration), forward].into_iter().flatten() {
            let attrs = select(&self.call.attrs, op);
            let rule = op.batch_rule(&types(&front), &flags, &attrs).map_err(|e| self.mismatch(e))?;
            if !matches!(rule, Batching::Native { .. }) {
                return Ok(None);
            }
        }
        let batched = values.iter().map(|operand| operand.is_none_or(|i| has_batch[i])).collect();
        Ok(Some(LinearBatch { batched, operands: self.with_axis(&has_batch, size) }))
    }

    /// Types of the operands, with the axis as the first dimension where `flags` is true.
    fn with_axis(&self, flags: &[bool], size: &S) -> Vec<Tensor<S>> {
        let add = |((dtype, dims), flag): (&Tensor<S>, &bool)| {
            (*dtype, flag.then_some(size).into_iter().chain(dims).cloned().collect())
        };
        self.operands.iter().zip(flags).map(add).collect()
    }

    /// Returns an error if the op has no derivative at all, or none with respect to a moving operand.
    fn check_moving(&self) -> Result<(), OpError> {
        let declaration = self.declaration();
        if declaration.vjp.is_none() && declaration.jvp.is_none() {
            return Err(self.lacks(DerivativeError::None));
        }
        for i in &self.moving {
            let name = &declaration.signature.operands()[self.call.operands[*i]].name.text;
            if declaration.non_differentiable.contains(name) {
                return Err(self.lacks(DerivativeError::Operand { operand: name.clone() }));
            }
        }
        Ok(())
    }

    fn declaration(&self) -> &Declaration {
        self.target.declaration().expect("`new` returns an error if the target has no declaration")
    }

    fn op(&self, target: &str, signature: &farcall_sig::Signature) -> OpCall {
        OpCall { target: target.to_owned(), attrs: of_signature(&self.call.attrs, signature) }
    }

    fn operands_of(&self, slot: usize) -> impl Iterator<Item = usize> {
        self.call.operands.iter().enumerate().filter(move |(_, own)| **own == slot).map(|(i, _)| i)
    }

    fn results_of(&self, slot: usize) -> impl Iterator<Item = usize> {
        self.call.results.iter().enumerate().filter(move |(_, own)| own.decl == slot).map(|(i, _)| i)
    }

    fn lacks(&self, what: DerivativeError) -> OpError {
        OpError::Derivative { op: self.target.name().to_owned(), what }
    }

    fn not_linear(&self) -> OpError {
        let names = self.declaration().signature.operands();
        let names: Vec<&str> =
            self.moving.iter().map(|i| names[self.call.operands[*i]].name.text.as_str()).collect();
        self.lacks(DerivativeError::NotLinear { operand: names.join(" and ") })
    }

    fn no_reverse(&self) -> OpError {
        let jvp = self.declaration().jvp.as_ref();
        self.lacks(
            jvp.map_or(DerivativeError::None, |jvp| DerivativeError::NoReverse {
                tangent: jvp.tangent.clone(),
            }),
        )
    }

    fn mismatch(&self, mismatch: Mismatch) -> OpError {
        OpError::Mismatch { op: self.target.name().to_owned(), mismatch }
    }
}

/// True for real and complex types.
fn is_continuous(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

fn types<S>(tensors: &[Tensor<S>]) -> Vec<OperandType<'_, S>> {
    tensors.iter().map(|(dtype, dims)| OperandType { dtype: *dtype, dims }).collect()
}

fn value<S>(saved: &[Saved], wanted: Saved) -> Argument<S> {
    Argument::Value(
        saved.iter().position(|s| *s == wanted).expect("`saved` lists all values that derivative ops take"),
    )
}

fn select(attrs: &AttrValues, op: &Declaration) -> AttrValues {
    of_signature(attrs, &op.signature)
}

/// Selects the attributes that an op with this signature declares.
fn of_signature(attrs: &AttrValues, signature: &farcall_sig::Signature) -> AttrValues {
    let names = signature.attrs().iter().map(|a| a.name.text.as_str());
    names.filter_map(|name| Some((name, attrs.get(name)?.clone()))).collect()
}

/// The results of a call, looked up by declared result: each element is the index of the declared result, or
/// `None` once [`next`](ResultsByDecl::next) has returned the result.
struct ResultsByDecl(Vec<Option<usize>>);

impl ResultsByDecl {
    fn new(slots: Vec<usize>) -> ResultsByDecl {
        ResultsByDecl(slots.into_iter().map(Some).collect())
    }

    fn next(&mut self, decl: usize) -> Option<usize> {
        let at = self.0.iter().position(|slot| *slot == Some(decl))?;
        self.0[at] = None;
        Some(at)
    }
}
