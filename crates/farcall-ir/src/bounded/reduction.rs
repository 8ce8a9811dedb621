//! Operations that combine the elements along a dimension: the padding becomes a neutral element.

use farcall_sig::{DType, DTypeClass};

use super::ops::shifted;
use super::{Lowering, Tracked, clamped, scalar, scalar_op, unsupported};
use crate::diag::Diagnostic;
use crate::literal::Literal;
use crate::module::{Inst, ValueId};
use crate::op::{Binary, Op};
use crate::reducer;
use crate::scalar::Scalar;

impl<'m> Lowering<'m> {
    pub(super) fn reduce(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<Tracked>,
        dims: &[usize],
    ) -> Result<(), Diagnostic> {
        let (operands, sizes) = self.without_padding(inst, operands, |d| dims.contains(&d))?;
        let kept = (0..sizes.len()).filter(|d| !dims.contains(d)).map(|d| sizes[d]).collect();
        self.emit_sized(inst, operands, &[kept])
    }

    pub(super) fn reduce_window(&mut self, inst: Inst<'m>, operands: Vec<Tracked>) -> Result<(), Diagnostic> {
        let Op::ReduceWindow(op) = inst.op() else { return Err(unsupported(inst, "an operand with")) };
        let is_trivial = |d: usize| {
            (op.window[d], op.strides[d], op.base_dilations[d], op.padding[d]) == (1, 1, 1, (0, 0))
        };
        let (operands, mut sizes) = self.without_padding(inst, operands, |d| !is_trivial(d))?;
        let result = self.result(inst).map_err(|_| unsupported(inst, "a result without a bound for"))?;
        for (d, size) in sizes.iter_mut().enumerate().filter(|(d, _)| !is_trivial(*d)) {
            if op.base_dilations[d] != 1 && size.is_some() {
                return Err(unsupported(inst, "a dilated operand with"));
            }
            let Some(from) = *size else { continue };
            let window = op.window[d].saturating_sub(1).saturating_mul(op.window_dilations[d]);
            let (low, high) = op.padding[d];
            let by = low.saturating_add(high).saturating_sub(i64::try_from(window).unwrap_or(i64::MAX)) - 1;
            // The number of windows: the first window, and one more for each stride that fits after it.
            let mut b = self.at(inst);
            let rest = shifted(&mut b, from, by);
            let stride = scalar(&mut b, op.strides[d]);
            let rest = shifted(&mut b, rest, i64::try_from(op.strides[d]).unwrap_or(i64::MAX));
            let windows = scalar_op(&mut b, Binary::Divide, rest, stride);
            *size = Some(clamped(&mut b, windows, result.sizes()[d]));
        }
        self.emit_sized(inst, operands, &[sizes])
    }

    pub(super) fn dot_general(&mut self, inst: Inst<'m>, operands: Vec<Tracked>) -> Result<(), Diagnostic> {
        let Op::DotGeneral(dot) = inst.op() else { return Err(unsupported(inst, "an operand with")) };
        let lists = [(&dot.lhs_batch, &dot.lhs_contract), (&dot.rhs_batch, &dot.rhs_contract)];
        let (mut ids, mut free) = (Vec::new(), Vec::new());
        let mut batch = vec![None; dot.lhs_batch.len()];
        for (x, (batched, contracted)) in operands.iter().zip(lists) {
            let zero = self.zero(inst, x);
            ids.push(self.masked(inst, x, contracted.iter().copied(), zero));
            for (size, d) in batch.iter_mut().zip(batched) {
                *size = size.or(x.sizes[*d]);
            }
            let rest = (0..x.sizes.len()).filter(|d| !batched.contains(d) && !contracted.contains(d));
            free.extend(rest.map(|d| x.sizes[d]));
        }
        batch.extend(free);
        self.emit_sized(inst, ids, &[batch])
    }

    pub(super) fn convolution(&mut self, inst: Inst<'m>, operands: Vec<Tracked>) -> Result<(), Diagnostic> {
        let (Op::Convolution(conv), [x, kernel]) = (inst.op(), operands.as_slice()) else {
            return Err(unsupported(inst, "an operand with"));
        };
        let dims = &conv.dims;
        let is_tracked = |value: &Tracked, d: usize| value.sizes[d].is_some();
        let spatial = dims.input_spatial.iter().any(|d| is_tracked(x, *d))
            || dims.kernel_spatial.iter().any(|d| is_tracked(kernel, *d));
        if spatial || conv.batch_group_count != 1 || conv.feature_group_count != 1 {
            return Err(unsupported(inst, "a window or group along"));
        }
        let zeros = [x, kernel].map(|value| self.zero(inst, value));
        let x_id = self.masked(inst, x, [dims.input_feature], zeros[0]);
        let kernel_id = self.masked(inst, kernel, [dims.kernel_input_feature], zeros[1]);
        let mut sizes = vec![None; x.sizes.len()];
        sizes[dims.output_batch] = x.sizes[dims.input_batch];
        sizes[dims.output_feature] = kernel.sizes[dims.kernel_output_feature];
        self.emit_sized(inst, vec![x_id, kernel_id], &[sizes])
    }

    /// Updates past the size of the indices get an index out of bounds, so these updates are not applied.
    pub(super) fn scatter(&mut self, inst: Inst<'m>, operands: Vec<Tracked>) -> Result<(), Diagnostic> {
        let Op::Scatter(scatter) = inst.op() else { return Err(unsupported(inst, "an operand with")) };
        let count = operands.len() / 2;
        let Some(indices) = operands.get(count) else { return Err(unsupported(inst, "an operand with")) };
        let batch = (0..indices.sizes.len()).filter(|d| *d != scatter.index_vector_dim);
        let is_vector = indices.sizes.get(scatter.index_vector_dim).is_some_and(Option::is_some);
        if is_vector {
            return Err(unsupported(inst, "an index vector along"));
        }
        // Updates may be tracked along dimensions where the indices are not.
        let mut limits = indices.clone();
        for update in &operands[count + 1..] {
            let of_updates = (0..update.sizes.len()).filter(|d| !scatter.update_window_dims.contains(d));
            for (from, to) in of_updates.zip(batch.clone()) {
                limits.sizes[to] = limits.sizes[to].or(update.sizes[from]);
            }
            if scatter.update_window_dims.iter().any(|d| update.sizes[*d].is_some()) {
                return Err(unsupported(inst, "a window along"));
            }
        }
        let dtype = self.ty(indices.id).dtype;
        let Some(most) = Scalar::extreme(dtype, true) else {
            return Err(unsupported(inst, "an operand with"));
        };
        let most = self.at(inst).constant(Literal::scalar(dtype, most));
        let masked = self.masked(inst, &limits, batch, most);
        let sizes: Vec<Vec<Option<ValueId>>> = operands[..count].iter().map(|x| x.sizes.clone()).collect();
        let mut ids: Vec<ValueId> = operands.iter().map(|value| value.id).collect();
        ids[count] = masked;
        self.emit_sized(inst, ids, &sizes)
    }

    /// Replaces the padding of the inputs of a reduction along some dimensions. Returns the operands, and the
    /// sizes that the inputs share.
    fn without_padding(
        &mut self,
        inst: Inst<'m>,
        operands: Vec<Tracked>,
        is_reduced: impl Fn(usize) -> bool,
    ) -> Result<(Vec<ValueId>, Vec<Option<ValueId>>), Diagnostic> {
        let (inputs, inits) = operands.split_at(operands.len() / 2);
        let Some(first) = inputs.first().filter(|_| inits.iter().all(|init| !init.is_tracked())) else {
            return Err(unsupported(inst, "an initial value with"));
        };
        let mut sizes = first.sizes.clone();
        for other in &inputs[1..] {
            for (size, other) in sizes.iter_mut().zip(&other.sizes) {
                *size = size.or(*other);
            }
        }
        let dims: Vec<usize> = (0..sizes.len()).filter(|d| is_reduced(*d)).collect();
        let mut ids = Vec::with_capacity(operands.len());
        for (input, init) in inputs.iter().zip(inits) {
            let fill = match neutral(inst, self.ty(input.id).dtype) {
                Some(neutral) => self.at(inst).constant(neutral),
                // As in XLA, the initial value is assumed to be neutral.
                None => init.id,
            };
            let limits = Tracked { id: input.id, sizes: sizes.clone() };
            ids.push(self.masked(inst, &limits, dims.iter().copied(), fill));
        }
        ids.extend(inits.iter().map(|init| init.id));
        Ok((ids, sizes))
    }

    fn zero(&mut self, at: Inst<'_>, x: &Tracked) -> ValueId {
        let dtype = self.ty(x.id).dtype;
        self.at(at).splat(0.0, dtype, &[])
    }
}

/// Returns the neutral element of a reduction, if its region is a single operation with a neutral element.
fn neutral(inst: Inst<'_>, dtype: DType) -> Option<Literal> {
    let Op::Binary(op) = reducer::of(inst.region(0)?)?.inst.op() else { return None };
    let number = |x: f64| match dtype.class() {
        DTypeClass::Bool => Scalar::Bool(x != 0.0),
        DTypeClass::Signed => Scalar::Signed(x as i64),
        DTypeClass::Unsigned => Scalar::Unsigned(x as u64),
        DTypeClass::Float => Scalar::Float(x),
        DTypeClass::Complex => Scalar::Complex(Scalar::Float(x).as_complex()),
    };
    let element = match op {
        // Only negative zero is neutral: the sum of `-0` and `0` is `0`.
        Binary::Add if dtype.is_float() => Scalar::Float(-0.0),
        Binary::Add | Binary::Or | Binary::Xor => number(0.0),
        Binary::Multiply => number(1.0),
        Binary::Maximum => Scalar::extreme(dtype, false)?,
        Binary::Minimum => Scalar::extreme(dtype, true)?,
        Binary::And => match dtype.is_signed_integer() {
            true => Scalar::Signed(-1),
            false => Scalar::extreme(dtype, true)?,
        },
        _ => return None,
    };
    Some(Literal::scalar(dtype, element.round_to(dtype)))
}
