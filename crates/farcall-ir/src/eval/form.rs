//! Operations that exist only in the middle form ([`crate::middle`]).

use super::machine::Machine;
use super::outcome::{Continuation, Step, region};
use super::{EvalError, EvalValue, indexing, reduction};
use crate::module::Inst;
use crate::op::FormOp;

pub(super) fn form<'m>(
    m: &mut Machine<'m>,
    inst: Inst<'m>,
    operands: Vec<EvalValue>,
    op: &FormOp,
) -> Result<Step<'m>, EvalError> {
    let values = match op {
        FormOp::Fusion => {
            let after = Continuation::Bind(inst);
            return Ok(Step::Enter { region: region(inst, 0)?, args: operands, after });
        }
        FormOp::Copy => Ok(operands),
        FormOp::WrappingGather(wrapping) => indexing::gather(&operands, &wrapping.op, &wrapping.wrap),
        FormOp::WrappingScatter(wrapping) => {
            indexing::scatter(m, inst, &operands, &wrapping.op, &wrapping.wrap)
        }
        FormOp::PartialSort { dim, part, .. } => reduction::partial_sort(m, inst, &operands, *dim, part),
    };
    values.map(Step::Values)
}
