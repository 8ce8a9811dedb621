//! Excess precision: a `bf16` that arithmetic makes, and that is widened or summed and nothing else, keeps
//! its digits.
//!
//! `convert(multiply(a, b))` to `f32`, which is how JAX sums products, is computed as
//! `multiply(convert(a), convert(b))`, and a sum over a product of `bf16`s likewise. XLA:CPU does the same: if
//! we rounded here, we would be further from the mathematical value than it. A value that has other uses is
//! rounded for all of them (numerator and denominator of a softmax have to agree), and so is one that the
//! program itself rounds, with a `convert` or `reduce_precision`.

use std::collections::HashMap;

use farcall_ir::eval::Semantics;
use farcall_ir::{DType, Diagnostic, Inst, Span};

use super::lower::{Lowering, Operand, VirtualId};
use crate::plan::{Thunk, ThunkOp};

/// Operations in a row that are computed again in `f32`.
const MAX_CHAIN: usize = 16;

/// What is known of `bf16`s that are results of arithmetic and have one use.
#[derive(Default)]
pub(super) struct Excess {
    /// The operation that made the value, and its operands.
    made: HashMap<VirtualId, (ThunkOp, Vec<Operand>)>,
    /// The value in `f32`, before its last rounding.
    unrounded: HashMap<VirtualId, Operand>,
}

impl Lowering<'_> {
    /// Notes what made a value.
    pub(super) fn note_arithmetic(&mut self, inst: &Inst, op: &ThunkOp, inputs: &[Operand], out: &Operand) {
        let arithmetic = matches!(op, ThunkOp::Unary(_) | ThunkOp::Binary(_));
        let narrow = out.ty.dtype == DType::BF16 && self.numerics.semantics == Semantics::Xla;
        if arithmetic && narrow && inst.results.iter().all(|r| self.uses(*r) == 1) {
            self.excess.made.insert(out.id, (op.clone(), inputs.to_vec()));
        }
    }

    /// The value in `f32` before it was rounded to `bf16`; `None` unless it is the result of arithmetic.
    pub(super) fn unrounded(&mut self, x: &Operand, span: Span) -> Result<Option<Operand>, Diagnostic> {
        self.unrounded_to(x, span, MAX_CHAIN)
    }

    fn unrounded_to(&mut self, x: &Operand, span: Span, chain: usize) -> Result<Option<Operand>, Diagnostic> {
        if let Some(known) = self.excess.unrounded.get(&x.id) {
            return Ok(Some(Operand { id: known.id, ty: x.ty.with_dtype(DType::F32) }));
        }
        let Some((op, inputs)) = self.excess.made.get(&x.id).cloned().filter(|_| chain > 0) else {
            return Ok(None);
        };
        let mut wide = Vec::with_capacity(inputs.len());
        for input in &inputs {
            wide.push(match self.unrounded_to(input, span, chain - 1)? {
                Some(unrounded) => unrounded,
                None => self.wide(ThunkOp::Convert, vec![input.clone()], input, span)?,
            });
        }
        let out = self.wide(op, wide, x, span)?;
        self.excess.unrounded.insert(x.id, out.clone());
        Ok(Some(out))
    }

    /// The result of an operation in `f32`, in the shape of `like`.
    fn wide(
        &mut self,
        op: ThunkOp,
        inputs: Vec<Operand>,
        like: &Operand,
        span: Span,
    ) -> Result<Operand, Diagnostic> {
        let out = self.fresh(&like.ty.with_dtype(DType::F32), span)?;
        self.push(Thunk { op, inputs, outputs: vec![out.clone()], bodies: Vec::new(), span })?;
        Ok(out)
    }
}
