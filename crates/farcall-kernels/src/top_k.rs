//! `chlo.top_k`: the largest elements of each line along the last dimension, largest first, and their
//! indices. Equal elements are in the order of the operand. Floats are compared by the total order.

use farcall_ir::interrupt::Pace;
use farcall_ir::{DType, Op};
use half::{bf16, f16};

use super::loops::prepared::PreparedKernel;
use super::select::{self, Key};
use super::simd::vectorized;
use super::types::dispatch;
use super::{Kernel, Request, apart};

pub(super) static KERNEL: Kernel = Kernel { name: "top_k", prepare, in_place: apart, describe };

/// Minimum number of elements of a task, and of an operand for which the kernel is marked
/// [slow](PreparedKernel::slow).
const MIN_TASK_ELEMENTS: usize = 1 << 16;
/// Maximum number of tasks. Each task has scratch memory for a line.
const MAX_TASKS: usize = 64;

fn describe(request: &Request<'_>) -> String {
    match request.op {
        Op::TopK { k } => format!("k {k}"),
        _ => String::new(),
    }
}

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::TopK { k }, [x], [values, places]) = (request.op, request.inputs, request.outputs) else {
        return None;
    };
    let (length, outer) = x.sizes().split_last()?;
    let (length, k) = (*length, *k);
    let fits = values.dtype == x.dtype && places.dtype == DType::S32 && values.sizes() == places.sizes();
    if !fits || k > length || values.sizes().split_last() != Some((&k, outer)) {
        return None;
    }
    u32::try_from(length).ok()?;
    let elements = x.elements()?;
    let lines = elements.checked_div(length).unwrap_or(0);
    let per_task = (MIN_TASK_ELEMENTS / length.max(1)).max(lines.div_ceil(MAX_TASKS)).max(1);
    let tasks = lines.div_ceil(per_task).max(1);
    dispatch!(x.dtype, [ints, floats, pred], T => {
        let room = select::room(k, length);
        let bytes = room.checked_mul(size_of::<Rank<T>>())?.checked_next_multiple_of(64)?;
        let prepared = PreparedKernel::in_tasks(tasks, move |args, task| {
            let mut pace = Pace::default();
            for at in task * per_task..((task + 1) * per_task).min(lines) {
                if pace.is_due_after(length) {
                    return;
                }
                // SAFETY: `at` is below `lines`, so the operand and the results contain this line. They have
                // elements of these types and do not overlap. The scratch memory has room for the ranks of
                // each task. Ranks are integers, so any contents are valid.
                let (x, values, places, ranks) = unsafe {
                    let ranks = args.ptr::<Rank<T>>(args.scratch_place().from(task * bytes));
                    (
                        std::slice::from_raw_parts(args.input_ptr::<T>(0).add(at * length), length),
                        std::slice::from_raw_parts_mut(args.output_ptr::<T>(0).add(at * k), k),
                        std::slice::from_raw_parts_mut(args.output_ptr::<i32>(1).add(at * k), k),
                        std::slice::from_raw_parts_mut(ranks, room),
                    )
                };
                vectorized(#[inline(always)] || line(x, values, places, ranks));
            }
        });
        let prepared = if elements < MIN_TASK_ELEMENTS { prepared } else { prepared.slow() };
        Some(prepared.with_scratch(bytes.checked_mul(tasks)?))
    })?
}

/// Key of an element, combined with its index ([`Key::Rank`]).
type Rank<T> = <<T as Ranked>::Key as Key>::Rank;

/// Writes the largest elements of a line and their indices. The line has at least `values.len()` elements.
#[inline(always)]
fn line<T: Ranked>(x: &[T], values: &mut [T], places: &mut [i32], ranks: &mut [Rank<T>]) {
    let ranks = select::first(x, values.len(), T::key, ranks);
    for ((value, place), rank) in values.iter_mut().zip(places).zip(ranks) {
        let i = <T::Key as Key>::place(*rank);
        (*value, *place) = (x[i as usize], i.cast_signed());
    }
}

/// Element types that can be ranked.
trait Ranked: Copy + 'static {
    type Key: Key;
    /// Returns a key that is lower for larger elements.
    fn key(self) -> Self::Key;
}

macro_rules! ranked {
    ($($t:ty, $key:ty, $ascending:expr;)*) => {$(
        impl Ranked for $t {
            type Key = $key;
            #[inline(always)]
            fn key(self) -> $key {
                !$ascending(self)
            }
        }
    )*};
}

/// Maps a float to an unsigned integer; the order of the integers is the total order of the floats.
macro_rules! total {
    ($t:ty, $bits:ty) => {
        |x: $t| {
            let (bits, sign) = (x.to_bits(), <$bits>::MAX / 2 + 1);
            if bits & sign == 0 { bits | sign } else { !bits }
        }
    };
}

fn same<T>(x: T) -> T {
    x
}

ranked! {
    u8, u8, same;
    u16, u16, same;
    u32, u32, same;
    u64, u64, same;
    i8, u8, |x: i8| x.cast_unsigned() ^ 1 << 7;
    i16, u16, |x: i16| x.cast_unsigned() ^ 1 << 15;
    i32, u32, |x: i32| x.cast_unsigned() ^ 1 << 31;
    i64, u64, |x: i64| x.cast_unsigned() ^ 1 << 63;
    f16, u16, total!(f16, u16);
    bf16, u16, total!(bf16, u16);
    f32, u32, total!(f32, u32);
    f64, u64, total!(f64, u64);
}
