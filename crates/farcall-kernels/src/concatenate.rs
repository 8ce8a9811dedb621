//! `concatenate`: operands, one after another along a dimension.

use farcall_ir::Op;

use super::loops::data_movement::concatenated;
use super::loops::prepared::PreparedKernel;
use super::view::View;
use super::{Kernel, Request, apart, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "concatenate", prepare, in_place: apart, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Concatenate { dim }, [y]) = (request.op, request.outputs) else { return None };
    let views: Vec<View> = request.inputs.iter().enumerate().map(|(i, x)| View::whole(i, x)).collect();
    concatenated(views.iter(), *dim, request.inputs, y)
}
