//! `iota`: indices along a dimension.

use farcall_ir::Op;
use farcall_ir::memory::count;

use super::loops::prepared::PreparedKernel;
use super::loops::vector::fill::Iota;
use super::{Kernel, Request, apart};

/// Number of elements of a task.
const TASK_ELEMENTS: usize = 1 << 19;

pub(super) static KERNEL: Kernel = Kernel { name: "iota", prepare, in_place: apart, describe };

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::Iota { dim } => format!("dim {dim}"),
        _ => String::new(),
    }
}

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::Iota { dim }, [], [y]) = (request.op, request.inputs, request.outputs) else { return None };
    let (element_bytes, elements) = (y.dtype.size(), y.elements()?);
    let inner = count(y.sizes().get(dim + 1..)?).max(1);
    // If a task has several runs of equal elements, it begins at the start of a run.
    let share =
        if inner < TASK_ELEMENTS { TASK_ELEMENTS / inner * inner } else { inner.min(16 * TASK_ELEMENTS) };
    let tasks = elements.div_ceil(share).max(1);
    let iota = Iota::new(y, *dim)?;
    Some(PreparedKernel::in_tasks(tasks, move |args, task| {
        let begin = task * share;
        // SAFETY: the output has elements of this type, and tasks write disjoint elements.
        unsafe {
            let to = args.output_ptr::<u8>(0).add(begin * element_bytes);
            (iota.run)(&iota, to, begin, share.min(elements - begin));
        }
    }))
}
