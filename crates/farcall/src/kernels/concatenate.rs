//! `concatenate`: any number of operands, one after the other along a dimension.

use farcall_ir::Op;

use super::args::Prepared;
use super::movement::{Movement, embed, row_major};
use super::{Kernel, Request, apart, nothing, straight_line};

pub(super) static KERNEL: Kernel =
    Kernel { name: "concatenate", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let (Op::Concatenate { dim }, [y]) = (request.op, request.outputs) else { return None };
    let stride = row_major(y.sizes()).get(*dim)?.unsigned_abs();
    let (mut parts, mut at) = (Vec::with_capacity(request.inputs.len()), 0usize);
    for x in request.inputs {
        if x.rank() != y.rank() || x.dtype != y.dtype {
            return None;
        }
        parts.push(Movement::new([x, y], embed(x, y), [0, at.checked_mul(stride)?])?);
        at = at.checked_add(x.sizes()[*dim])?;
    }
    if y.bytes().is_some_and(|n| n <= straight_line::SMALL) {
        return straight_line::movements(y.dtype.size(), (0..).zip(parts));
    }
    Some(Prepared::new(move |args| {
        for (i, part) in parts.iter().enumerate() {
            // SAFETY: tensors of these types, which are apart.
            unsafe { part.run(args.input_ptr(i), args.output_ptr(0)) };
        }
    }))
}
