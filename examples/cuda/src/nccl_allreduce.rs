//! Sums over processes.

use farcall_ffi::prelude::*;

pub(crate) mod cuda;

/// The sum over a group of `ranks` processes, each with one device. `rank` is the number of this process in
/// the group. `id` is the group's NCCL id in hexadecimal digits: one member makes the id
/// (`ncclGetUniqueId`), and all members pass it. A group of one, the default, needs no id. On the CPU, a
/// group has one member.
///
/// All members of a group run the same program: the operand has the same shape in all processes, and the
/// calls of a group have the same order. This is not checked.
#[handler(name = "nccl_allreduce")]
#[signature((x: f32[*], ranks: i64 = 1, rank: i64 = 0, id: str = "") -> (y: f32[*]))]
#[vjp(backward = nccl_allreduce_bwd)]
pub(crate) fn nccl_allreduce(
    x: &Buffer<f32>,
    ranks: i64,
    rank: i64,
    id: &str,
    y: &mut Buffer<f32>,
) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    Group::of(ranks, rank, id)?;
    if ranks != 1 {
        let message = format!("on the CPU, a group has one member, not {ranks}");
        return Err(Error::unimplemented(message));
    }
    y.copy_from_slice(x);
    Ok(())
}

/// The cotangent of each process's operand is the sum of the cotangents of all processes.
#[handler(name = "nccl_allreduce_bwd")]
#[signature((dy: f32[*], ranks: i64 = 1, rank: i64 = 0, id: str = "") -> (dx: f32[*]))]
pub(crate) fn nccl_allreduce_bwd() -> Result<()> {
    nccl_allreduce(dy, ranks, rank, id, dx)
}

/// Size of a group's id in bytes.
const ID_BYTES: usize = 128;

/// A group of processes, and the place of this process in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    Alone,
    Several { ranks: i32, rank: i32, id: [u8; ID_BYTES] },
}

impl Group {
    /// Checks the attributes of a call.
    fn of(ranks: i64, rank: i64, id: &str) -> Result<Group> {
        ensure!(0 <= rank && rank < ranks, "rank {rank} is not one of a group of {ranks}");
        if ranks == 1 && id.is_empty() {
            return Ok(Group::Alone);
        }
        let digits = 2 * ID_BYTES;
        let fits = id.len() == digits && id.bytes().all(|digit| digit.is_ascii_hexdigit());
        ensure!(fits, "a group of {ranks} needs an id of {digits} hexadecimal digits, found {id:?}");
        let byte = |i: usize| u8::from_str_radix(&id[2 * i..2 * i + 2], 16).unwrap_or(0);
        let id = std::array::from_fn(byte);
        Ok(Group::Several { ranks: ranks.try_into()?, rank: rank.try_into()?, id })
    }
}

pub(crate) const OPS: &[&OpDescriptor] =
    ops![nccl_allreduce, nccl_allreduce_bwd, cuda::nccl_allreduce, cuda::nccl_allreduce_bwd];
