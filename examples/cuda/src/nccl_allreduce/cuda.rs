//! `nccl_allreduce` on CUDA. A process joins its group itself, with an id that the caller passes. XLA's own
//! communicators (extension 129) would need no id, but jaxlib 0.11 does not offer the extension; the guide's
//! page `cuda` shows an op that uses them.

use std::sync::{Arc, Mutex, PoisonError};

use farcall_cuda::nccl::{Communicator, ReduceOp, UniqueId};
use farcall_cuda::{CudaStream, PerDevice};
use farcall_ffi::GpuBuffer;
use farcall_ffi::prelude::*;

use super::Group;

type Member = &'static Communicator<'static>;

/// The groups that this process has joined, with the number of its device. The process never leaves a group:
/// an id serves only once, so all call sites with the same id share a communicator.
static JOINED: Memberships<(Group, i32), Member> = Memberships::new();

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

/// The ranks of this process, each with the number of its device.
static RANKS: Mutex<Vec<(Group, i32)>> = Mutex::new(Vec::new());

/// Makes a device the rank of a group. All devices of a program have the same attributes, so several devices
/// of one process would join as the same rank, and wait for the other ranks forever.
///
/// # Errors
/// `FAILED_PRECONDITION` if another device of this process is this rank.
pub(crate) fn claim(group: Group, device_ordinal: i32) -> Result<()> {
    let Group::Several { rank, .. } = group else { return Ok(()) };
    let mut ranks = RANKS.lock().unwrap_or_else(PoisonError::into_inner);
    match ranks.iter().find(|(other, _)| *other == group) {
        Some((_, owner)) if *owner != device_ordinal => {
            let message = format!(
                "device {device_ordinal} cannot be rank {rank} of the group, which is device {owner} of this \
                 process: a group has one device of each process"
            );
            Err(Error::failed_precondition(message))
        }
        Some(_) => Ok(()),
        None => {
            ranks.push((group, device_ordinal));
            Ok(())
        }
    }
}

fn member(group: Group, stream: &CudaStream) -> Result<Member> {
    claim(group, stream.device_ordinal())?;
    JOINED.get_or_join((group, stream.device_ordinal()), || {
        let communicator = match group {
            Group::Alone => Communicator::alone(stream)?,
            Group::Several { ranks, rank, id } => {
                Communicator::join(stream, &UniqueId::from_bytes(id), ranks as usize, rank as usize)?
            }
        };
        Ok(&*Box::leak(Box::new(communicator)))
    })
}

/// A member for each key, made by the first call with this key.
pub(crate) struct Memberships<K, M> {
    members: Mutex<Vec<(K, Membership<M>)>>,
}

/// A member, once it has joined. Each key has a separate lock. Joining waits for the other members of the
/// group, which may be other threads of this process, so a lock for several keys must not be held meanwhile.
type Membership<M> = Arc<Mutex<Option<M>>>;

impl<K: PartialEq, M: Copy> Memberships<K, M> {
    pub(crate) const fn new() -> Memberships<K, M> {
        Memberships { members: Mutex::new(Vec::new()) }
    }

    /// Returns the member of a key. The first call with a key joins, and later calls wait for it. If a call
    /// fails to join, the next one joins.
    pub(crate) fn get_or_join(&self, key: K, join: impl FnOnce() -> Result<M>) -> Result<M> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let known = members.iter().find(|(known, _)| *known == key).map(|(_, member)| Arc::clone(member));
        let member = known.unwrap_or_else(|| {
            let member = Arc::new(Mutex::new(None));
            members.push((key, Arc::clone(&member)));
            member
        });
        drop(members);
        let mut member = member.lock().unwrap_or_else(PoisonError::into_inner);
        match *member {
            Some(member) => Ok(member),
            None => join().inspect(|joined| *member = Some(*joined)),
        }
    }
}

/// The sum over a group of `ranks` processes, each with one device. `rank` is the number of this process in
/// the group. `id` is the group's NCCL id in hexadecimal digits: one member makes the id
/// (`ncclGetUniqueId`), and all members pass it. A group of one, the default, needs no id. On the CPU, a
/// group has one member.
///
/// All members of a group run the same program: the operand has the same shape in all processes, and the
/// calls of a group have the same order. This is not checked.
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
    let member = site.get(stream)?;
    // SAFETY: the op's documentation requires that all members run the same program, so their calls agree.
    // Members are never dropped, so they outlive every graph.
    unsafe { member.all_reduce(stream, ReduceOp::Sum, x, y) }
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
