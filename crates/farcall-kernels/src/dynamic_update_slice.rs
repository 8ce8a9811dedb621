//! `dynamic_update_slice`: replaces a window of the operand. The position of the window is computed at run
//! time. If this is the last use of the operand, the update is in place: only the window is written.

use farcall_ir::Op;

use super::dynamic_slice::{self, Start};
use super::loops::prepared::PreparedKernel;
use super::loops::straight_line::{self, At, StraightLine};
use super::movement::{Movement, copy_bytes, embed, run_parts};
use super::{InPlace, Kernel, Request, nothing};

pub(super) static KERNEL: Kernel =
    Kernel { name: "dynamic_update_slice", prepare, in_place: |_| InPlace::First, describe: nothing };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (Op::DynamicUpdateSlice, [x, update, indices @ ..], [y]) =
        (request.op, request.inputs, request.outputs)
    else {
        return None;
    };
    if x.sizes() != y.sizes() || x.dtype != y.dtype || update.rank() != y.rank() || update.dtype != y.dtype {
        return None;
    }
    let bytes = y.bytes()?;
    let start = Start::new(y, update, indices, 2)?;
    let movement = Movement::new([update, y], embed(update, y), [0, 0])?;
    if !movement.fits([update, y], [0, start.far()?]) {
        return None;
    }
    if update.bytes().is_some_and(|n| n <= straight_line::MAX_MOVEMENT_BYTES) {
        let mut line = StraightLine::new(dynamic_slice::SHIFT_BYTES)?;
        line.copy(1, At::Input(0), At::Output(0), bytes);
        start.in_steps(At::Input(1), movement, false, &mut line)?;
        return Some(PreparedKernel::straight(line));
    }
    let parts = movement.parts();
    let prepared = PreparedKernel::new(move |args| {
        let (x, out) = (args.input_ptr::<u8>(0), args.output_ptr::<u8>(0));
        // SAFETY: the tensors have these types. The output does not overlap the inputs, except that it may be
        // exactly the memory of the operand. Indices are clamped, so the shift is at most `start.far()`, with
        // which the movement fits (checked in `prepare`).
        unsafe {
            if !std::ptr::eq(x, out) {
                copy_bytes(x, out, bytes);
            }
            run_parts(&parts, args.input_ptr(1), out, [0, start.shift(args)]);
        }
    });
    Some(prepared.moving(bytes))
}
