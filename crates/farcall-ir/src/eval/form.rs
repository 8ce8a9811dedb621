//! Operations of the middle form.

use super::outcome::{Continuation, Step, region};
use super::{EvalError, Value};
use crate::module::Inst;
use crate::op::FormOp;

pub(super) fn form<'m>(inst: Inst<'m>, operands: Vec<Value>, op: &FormOp) -> Result<Step<'m>, EvalError> {
    match op {
        FormOp::Fusion => {
            Ok(Step::Enter { region: region(inst, 0)?, args: operands, after: Continuation::Bind(inst) })
        }
    }
}
