//! `iota`: indices along a dimension.

use farcall_ir::Op;
use farcall_ir::memory::count;

use super::loops::prepared::PreparedKernel;
use super::number::Number;
use super::types::dispatch;
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
    let (size, elements) = (*y.sizes().get(*dim)?, y.elements()?);
    let inner = count(&y.sizes()[dim + 1..]).max(1);
    // If a task has several runs of equal elements, it begins at the start of a run.
    let share =
        if inner < TASK_ELEMENTS { TASK_ELEMENTS / inner * inner } else { inner.min(16 * TASK_ELEMENTS) };
    let tasks = elements.div_ceil(share).max(1);
    dispatch!(y.dtype, [ints, floats], T => PreparedKernel::in_tasks(tasks, move |args, task| {
        let begin = task * share;
        let len = share.min(elements - begin);
        // SAFETY: the output has elements of this type, and tasks write disjoint elements; an iota has no
        // inputs.
        let out = unsafe { std::slice::from_raw_parts_mut(args.output_ptr::<T>(0).add(begin), len) };
        let (mut rest, mut number, mut first) = (out, begin / inner % size.max(1), begin % inner);
        while !rest.is_empty() {
            let run = if inner == 1 { size - number } else { inner - first };
            let (now, later) = rest.split_at_mut(run.min(rest.len()));
            if inner == 1 {
                now.iter_mut().zip(number..).for_each(|(x, i)| *x = T::from_index(i));
                number = 0;
            } else {
                now.fill(T::from_index(number));
                (number, first) = (if number + 1 == size { 0 } else { number + 1 }, 0);
            }
            rest = later;
        }
    }))
}
