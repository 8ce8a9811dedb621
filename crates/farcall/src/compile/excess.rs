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
use farcall_ir::op::Binary;
use farcall_ir::{DType, Diagnostic, Inst, Op, Span, TensorType, ValueId};

use super::body;
use super::lower::{Lowering, Operand, internal};
use crate::plan::{Body, BodyInst};

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
    op: Op,
    inputs: Vec<(ValueId, Operand)>,
}

impl Lowering<'_> {
    /// Notes what made the result of an instruction.
    pub(super) fn note_arithmetic(&mut self, inst: &Inst, inputs: &[Operand], dtype: DType) {
        let arithmetic = matches!(inst.op, Op::Unary(_) | Op::Binary(_));
        let narrow = dtype == DType::BF16 && self.numerics.semantics == Semantics::Xla;
        if let [result] = inst.results[..]
            && arithmetic
            && narrow
            && self.uses(result) == 1
        {
            let inputs = inst.operands.iter().copied().zip(inputs.iter().cloned()).collect();
            self.arithmetic().insert(result, Made { op: inst.op.clone(), inputs });
        }
    }

    /// The first operand of an instruction in `f32`, before it was rounded to `bf16`; `None` unless it is the
    /// result of arithmetic in the same region, and this is its use.
    pub(super) fn unrounded(&mut self, inst: &Inst, x: &Operand) -> Result<Option<Operand>, Diagnostic> {
        let Some(name) = inst.operands.first() else { return Ok(None) };
        self.unrounded_to(*name, x, inst.span, MAX_CHAIN)
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
                None => self.wide(&Op::Convert, std::slice::from_ref(input), input, span)?,
            });
        }
        self.wide(&made.op, &wide, x, span).map(Some)
    }

    /// The sum of products that are not rounded: the result of a `reduce` by addition, if its operand is the
    /// result of arithmetic in the same region, and this is its use.
    pub(super) fn unrounded_sum(
        &mut self,
        inst: &Inst,
        xs: &[Operand],
        ty: &TensorType,
    ) -> Result<Option<Operand>, Diagnostic> {
        let [x, init] = xs else { return Ok(None) };
        if x.ty.dtype != DType::BF16 {
            return Ok(None);
        }
        let Some(bodies) = body::bodies(self.func(), inst) else { return Ok(None) };
        let Some(bodies) = wide_sum(&bodies) else { return Ok(None) };
        let Some(terms) = self.unrounded(inst, x)? else { return Ok(None) };
        let init = self.wide(&Op::Convert, std::slice::from_ref(init), init, inst.span)?;
        let wide = ty.with_dtype(DType::F32);
        let sum = self.compute_with(&inst.op, vec![bodies], &[terms, init], &[&wide], inst.span)?;
        let Some(sum) = sum else { return Ok(None) };
        self.compute(&Op::Convert, &sum, ty, inst.span)
    }

    /// The result of an operation in `f32`, in the shape of `like`.
    fn wide(
        &mut self,
        op: &Op,
        inputs: &[Operand],
        like: &Operand,
        span: Span,
    ) -> Result<Operand, Diagnostic> {
        let result = self.compute(op, inputs, &like.ty.with_dtype(DType::F32), span)?;
        result.ok_or_else(|| internal(span, "arithmetic on bf16 that f32 does not have"))
    }
}

/// A reducer that adds, for `f32`; `None` if the bodies are another one.
fn wide_sum(bodies: &[Body]) -> Option<Body> {
    let [body] = bodies else { return None };
    let [only] = body.insts.as_slice() else { return None };
    let adds = only.op == Op::Binary(Binary::Add) && body.returned == [2];
    let wide = |ty: &TensorType| ty.with_dtype(DType::F32);
    adds.then(|| Body {
        args: body.args.iter().map(wide).collect(),
        insts: vec![BodyInst { ty: wide(&only.ty), ..only.clone() }],
        returned: body.returned.clone(),
    })
}
