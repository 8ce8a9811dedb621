//! Attributes of operations of the middle form.

use super::{Bad, Fields, Put};
use crate::op::{FormOp, FormOpcode};

pub(crate) fn read(opcode: FormOpcode, _: &mut Fields<'_>) -> Result<FormOp, Bad> {
    match opcode {
        FormOpcode::Fusion => Ok(FormOp::Fusion),
    }
}

pub(crate) fn write(op: &FormOp, _: &mut Put<'_>) {
    match op {
        FormOp::Fusion => {}
    }
}
