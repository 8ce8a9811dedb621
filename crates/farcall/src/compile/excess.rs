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
use farcall_ir::{DType, Diagnostic, Inst, Span, ValueId};

use super::lower::{Lowering, Operand};
use crate::plan::{Thunk, ThunkOp};

/// Operations in a row that are computed again in `f32`.
const MAX_CHAIN: usize = 16;

/// The `bf16`s of a region that are results of arithmetic there and have one use.
///
/// They are known by their names in the function: a name stands for one use, whatever other names the same
/// place has. Each region has its own, so that what is computed in a branch serves that branch alone.
pub(super) type Arithmetic = HashMap<ValueId, Made>;

/// What made a value: the operation, its operands, and their names.
#[derive(Clone)]
pub(super) struct Made {
    op: ThunkOp,
    inputs: Vec<(ValueId, Operand)>,
}

impl Lowering<'_> {
    /// Notes what made the result of an instruction.
    pub(super) fn note_arithmetic(&mut self, inst: Inst<'_>, op: &ThunkOp, inputs: &[Operand], dtype: DType) {
        let arithmetic = matches!(op, ThunkOp::Unary(_) | ThunkOp::Binary(_));
        let narrow = dtype == DType::BF16 && self.numerics.semantics == Semantics::Xla;
        if let [result] = inst.results()[..]
            && arithmetic
            && narrow
            && self.uses(result) == 1
        {
            let inputs = inst.operands().iter().copied().zip(inputs.iter().cloned()).collect();
            self.arithmetic().insert(result, Made { op: op.clone(), inputs });
        }
    }

    /// The first operand of an instruction in `f32`, before it was rounded to `bf16`; `None` unless it is the
    /// result of arithmetic in the same region, and this is its use.
    pub(super) fn unrounded(&mut self, inst: Inst<'_>, x: &Operand) -> Result<Option<Operand>, Diagnostic> {
        let Some(name) = inst.operands().first() else { return Ok(None) };
        self.unrounded_to(*name, x, inst.span(), MAX_CHAIN)
    }

    fn unrounded_to(
        &mut self,
        name: ValueId,
        x: &Operand,
        span: Span,
        chain: usize,
    ) -> Result<Option<Operand>, Diagnostic> {
        let Some(made) = self.arithmetic().get(&name).cloned().filter(|_| chain > 0) else {
            return Ok(None);
        };
        let mut wide = Vec::with_capacity(made.inputs.len());
        for (name, input) in &made.inputs {
            wide.push(match self.unrounded_to(*name, input, span, chain - 1)? {
                Some(unrounded) => unrounded,
                None => self.wide(ThunkOp::Convert, vec![input.clone()], input, span)?,
            });
        }
        self.wide(made.op, wide, x, span).map(Some)
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
