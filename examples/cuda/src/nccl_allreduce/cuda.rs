//! `nccl_allreduce` on CUDA.

use std::sync::{Mutex, PoisonError};

use farcall_cuda::nccl::{Communicator, ReduceOp, UniqueId};
use farcall_cuda::{CudaStream, PerDevice};
use farcall_ffi::GpuBuffer;
use farcall_ffi::prelude::*;

use super::Group;

type Member = &'static Communicator<'static>;

/// The groups that this process has joined, with the number of its device. They are never left: an id serves
/// only once, so all call sites with the same id share a communicator.
static JOINED: Mutex<Vec<(Group, i32, Member)>> = Mutex::new(Vec::new());

#[stage(instantiate)]
fn site() -> Result<PerDevice<Member>> {
    Ok(PerDevice::new())
}

/// Joins the group, unless an earlier call has done so. Waits for the other members.
#[stage(initialize)]
fn join(site: &State<PerDevice<Member>>, stream: &CudaStream, ranks: i64, rank: i64, id: &str) -> Result<()> {
    let group = Group::of(ranks, rank, id)?;
    site.get_or_init(stream, |stream| member(group, stream)).map(drop)
}

fn member(group: Group, stream: &CudaStream) -> Result<Member> {
    let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
    let device = stream.device_ordinal();
    if let Some((_, _, member)) = joined.iter().find(|(known, on, _)| (*known, *on) == (group, device)) {
        return Ok(member);
    }
    let communicator = match group {
        Group::Alone => Communicator::alone(stream)?,
        Group::Several { ranks, rank, id } => {
            Communicator::join(stream, &UniqueId::from_bytes(id), ranks as usize, rank as usize)?
        }
    };
    let member: Member = Box::leak(Box::new(communicator));
    joined.push((group, device, member));
    Ok(member)
}

/// The sum over a group of `ranks` processes, each with one device. `rank` is the number of this process in
/// the group. `id` is the group's NCCL id in hexadecimal digits: one member makes the id
/// (`ncclGetUniqueId`), and all members pass it. A group of one, the default, needs no id. On the CPU, a
/// group has one member.
#[handler(
    name = "nccl_allreduce", platform = "CUDA",
    instantiate = site, initialize = join, traits(command_buffer_compatible)
)]
pub(crate) fn nccl_allreduce(
    x: &GpuBuffer<f32>,
    y: &mut GpuBuffer<f32>,
    site: &State<PerDevice<Member>>,
    stream: &CudaStream,
) -> Result<()> {
    ensure!(x.dims() == y.dims(), "x is {x:?}, but y is {y:?}");
    site.get(stream)?.all_reduce(stream, ReduceOp::Sum, x, y)
}

/// The cotangent of each process's operand is the sum of the cotangents of all processes.
#[handler(
    name = "nccl_allreduce_bwd", platform = "CUDA",
    instantiate = site, initialize = join, traits(command_buffer_compatible)
)]
pub(crate) fn nccl_allreduce_bwd(
    dy: &GpuBuffer<f32>,
    dx: &mut GpuBuffer<f32>,
    site: &State<PerDevice<Member>>,
    stream: &CudaStream,
) -> Result<()> {
    nccl_allreduce(dy, dx, site, stream)
}
