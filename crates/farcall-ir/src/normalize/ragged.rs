//! `ragged_all_to_all`: every participant sends rows of an operand to every other participant, where they
//! overwrite rows of an output. The sender chooses the number of rows. With a single participant, the
//! operation copies rows.

use farcall_sig::DType;

use super::Replacement;
use crate::attr::Attribute;
use crate::module::{Inst, InstId, Rewriter, ValueId};
use crate::op::{Binary, CallConfig, Compare, ComparisonDirection, CustomCall, Gather, Op, Slice};
use crate::types::TensorType;

/// Maximum number of copies that are expanded into instructions.
const MAX_COPIES: usize = 64;

/// Copies of rows. For each copy, further operands of the call hold the first row in `operand`, the number of
/// rows, and the first row in `output`.
pub(super) struct Copies {
    operand: TensorType,
    output: TensorType,
    offsets: TensorType,
}

/// Returns the replacement of a call with the operands `operand`, `output`, `input_offsets`, `send_sizes`,
/// `output_offsets` and `recv_sizes`. The last four have the same length.
pub(super) fn replacement(inst: Inst<'_>, call: &CustomCall) -> Option<Replacement> {
    if call.target != "ragged_all_to_all" {
        return None;
    }
    let CallConfig::Dict(config) = &call.config else { return None };
    let Some(Attribute::Dense(groups)) = config.get("replica_groups") else { return None };
    let is_alone = groups.len() == 1 && groups.get(0).as_i64() == 0;
    let ty = |v: &ValueId| inst.func().ty(*v).tensor().filter(|t| t.is_static() && t.quant.is_none());
    let ([operand, output, numbers @ ..], [result]) = (inst.operands(), inst.results()) else { return None };
    let (operand, output) = (ty(operand)?, ty(output)?);
    let numbers: Vec<&TensorType> = numbers.iter().map(ty).collect::<Option<_>>()?;
    let [offsets, sizes, to, received] = numbers.as_slice() else { return None };
    let ((rows, row), (_, output_row)) = (operand.sizes().split_first()?, output.sizes().split_first()?);
    let fits = operand.dtype == output.dtype
        && row == output_row
        && *rows > 0
        && Some(output) == ty(result)
        && offsets.dtype.is_integer()
        && matches!(offsets.sizes(), [1..=MAX_COPIES])
        && [sizes, to, received].iter().all(|t| *t == offsets);
    (is_alone && fits).then(|| {
        let [operand, output, offsets] = [operand, output, *offsets].map(TensorType::clone);
        Replacement::Ragged(Copies { operand, output, offsets })
    })
}

impl Copies {
    /// Replaces the call. For each copy, instructions select rows of the operand where the copy writes, and
    /// otherwise rows of the output. Rows beyond the end of the output are not written.
    pub(super) fn apply(self, r: &mut Rewriter<'_>, call: InstId) {
        let (mut result, operands) = match r.func().inst(call).operands() {
            [_, output, ..] => (*output, r.func().inst(call).operands().to_vec()),
            _ => return,
        };
        let rows = TensorType::new(DType::S64, [self.output.sizes()[0]]);
        let place = r.value_before(call, Op::Iota { dim: 0 }, [], rows.clone());
        let wide = TensorType::new(DType::S64, [1]);
        for copy in 0..self.offsets.sizes()[0] {
            // Returns element `copy` of an operand, broadcast to all rows of the output.
            let number = |r: &mut Rewriter<'_>, of: usize| {
                let slice = Op::Slice(Slice { start: vec![copy], limit: vec![copy + 1], strides: vec![1] });
                let one = r.value_before(call, slice, [operands[of]], self.offsets.with_sizes([1]));
                let one = r.value_before(call, Op::Convert, [one], wide.clone());
                r.value_before(call, Op::BroadcastInDim { dims: vec![0] }, [one], rows.clone())
            };
            let (from, size, to) = (number(r, 2), number(r, 3), number(r, 4));
            let compare = |r: &mut Rewriter<'_>, direction, a, b| {
                let op = Op::Compare(Compare { direction, kind: None });
                r.value_before(call, op, [a, b], rows.with_dtype(DType::Pred))
            };
            let moved = r.value_before(call, Op::Binary(Binary::Subtract), [place, to], rows.clone());
            let (begun, open) = (
                compare(r, ComparisonDirection::Ge, place, to),
                compare(r, ComparisonDirection::Lt, moved, size),
            );
            let written =
                r.value_before(call, Op::Binary(Binary::And), [begun, open], rows.with_dtype(DType::Pred));
            let written = r.value_before(
                call,
                Op::BroadcastInDim { dims: vec![0] },
                [written],
                self.output.with_dtype(DType::Pred),
            );
            let source = r.value_before(call, Op::Binary(Binary::Add), [moved, from], rows.clone());
            let taken = r.value_before(
                call,
                Op::Gather(Box::new(self.rows())),
                [operands[0], source],
                self.output.clone(),
            );
            result = r.value_before(call, Op::Select, [written, taken, result], self.output.clone());
        }
        r.replace(call, &[result]);
    }

    /// A gather of whole rows.
    fn rows(&self) -> Gather {
        let mut slice_sizes = self.operand.sizes().to_vec();
        slice_sizes[0] = 1;
        Gather {
            offset_dims: (1..slice_sizes.len()).collect(),
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            index_vector_dim: 1,
            slice_sizes,
            ..Gather::default()
        }
    }
}
