//! Attributes of the operations that exist only in the middle form ([`crate::middle`]).

use super::{Bad, Fields, Put, indexing, reduction};
use crate::attr::Attribute;
use crate::op::{FormOp, FormOpcode, Wrapping};

pub(crate) fn read(opcode: FormOpcode, f: &mut Fields<'_>) -> Result<FormOp, Bad> {
    match opcode {
        FormOpcode::Fusion => Ok(FormOp::Fusion),
        FormOpcode::Copy => Ok(FormOp::Copy),
        FormOpcode::PartialSort => read_partial_sort(f),
        FormOpcode::WrappingGather => {
            let (op, wrap) = (indexing::read_static_gather(f)?, f.usizes("wrap")?);
            Ok(FormOp::WrappingGather(Box::new(Wrapping { op, wrap })))
        }
        FormOpcode::WrappingScatter => {
            let (op, wrap) = (indexing::read_scatter_numbers(f)?, f.usizes("wrap")?);
            Ok(FormOp::WrappingScatter(Box::new(Wrapping { op, wrap })))
        }
    }
}

pub(crate) fn write(op: &FormOp, put: &mut Put<'_>) {
    match op {
        FormOp::Fusion | FormOp::Copy => {}
        FormOp::PartialSort { dim, is_stable, part } => {
            reduction::write_sort(*dim, *is_stable, put);
            put("part", Attribute::usize_array(&[part.start, part.end]));
        }
        FormOp::WrappingGather(wrapping) => {
            indexing::write_gather(&wrapping.op, false, put);
            put("wrap", Attribute::usize_array(&wrapping.wrap));
        }
        FormOp::WrappingScatter(wrapping) => {
            indexing::write_scatter(&wrapping.op, put);
            put("wrap", Attribute::usize_array(&wrapping.wrap));
        }
    }
}

fn read_partial_sort(f: &mut Fields<'_>) -> Result<FormOp, Bad> {
    let (dim, is_stable) = (f.usize("dimension")?, f.flag("is_stable")?);
    match f.usizes("part")?.as_slice() {
        [start, limit] => Ok(FormOp::PartialSort { dim, is_stable, part: *start..*limit }),
        _ => {
            Err("attribute `part` must be two numbers: the first element, and the element after the last"
                .into())
        }
    }
}
