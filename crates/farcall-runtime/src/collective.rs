//! Collectives: devices read each other's memory.
//!
//! At a collective, the devices of a group meet. Each offers the memory of its operands and results, and then
//! computes its own results from the others' memory. No device leaves before all of the group have finished
//! reading, so the memory stays as it is.
//!
//! The elements of a large reduction are divided among the devices: each combines its share, and copies the
//! shares of the others when they are done. Contributions are combined in the order of the group, element by
//! element, so results do not depend on the number of devices that share the work.

use std::ptr;
use std::sync::{Arc, OnceLock};

use farcall_ir::Op;
use farcall_ir::op::collective::{Grid, Process, ProcessRole};
use smallvec::SmallVec;

use super::RunError;
use super::memory::AlignedBytes;
use super::pool_tasks::PoolTasks;
use farcall_host::custom_call::RunContext;
use farcall_host::processes::{Gathering, MAX_PROCESSES, Offer, Point, ProcessError, SharedMemory};
use farcall_kernels::{Args, Place, PreparedKernel};
use farcall_plan::{Collective, MIN_ALIGNMENT_BYTES, Plan, Thunk};

/// Maximum size in bytes of a result that every device of a group combines completely. Dividing the work of a
/// larger result costs less than the work.
const MAX_REPEATED_BYTES: usize = 16 << 10;

/// A collective that is ready to run.
#[derive(Debug)]
pub(super) struct LoadedCollective {
    collective: Collective,
    /// Sizes of the operands and of the results.
    shapes: Vec<[Arc<[usize]>; 2]>,
    /// Size of an element in bytes, for each operand.
    element_bytes: Vec<usize>,
    /// The kernel that combines contributions.
    kernel: Option<Arc<PreparedKernel>>,
    grid: Grid,
    place: Arc<str>,
    /// The operation with everything that devices must agree on, as text.
    signature: Arc<str>,
    /// The part that each device plays, determined when it is first needed.
    parts: Vec<OnceLock<Part>>,
    /// Points at which groups meet, indexed by the first device of the group. The devices of a group share one
    /// point, so the numbers of its devices are kept once, and comparing points is cheap.
    points: Vec<OnceLock<Arc<Point>>>,
}

/// The part that a device plays in a collective.
#[derive(Debug)]
enum Part {
    /// Receives its own operands.
    Alone,
    /// Receives zeros.
    Outside,
    /// Meets others. `own` is the device's position in the group, and `source` the position of the device
    /// whose values it receives, if there is only one.
    Member { point: Arc<Point>, own: usize, source: Option<usize> },
}

impl LoadedCollective {
    pub(super) fn new(
        plan: &Plan,
        thunk: &Thunk,
        collective: &Collective,
        kernel: Option<Arc<PreparedKernel>>,
    ) -> LoadedCollective {
        let types = || thunk.inputs.iter().zip(&thunk.outputs).map(|(x, y)| (&x.ty, &y.ty));
        let signature = format!("{:?} {:?}", collective, types().collect::<Vec<_>>());
        LoadedCollective {
            shapes: types().map(|(x, y)| [x.shared_sizes(), y.shared_sizes()]).collect(),
            element_bytes: types().map(|(x, _)| x.dtype.size()).collect(),
            kernel,
            grid: plan.grid(),
            place: plan.place(thunk),
            signature: signature.into(),
            parts: cells(plan.grid()),
            points: cells(plan.grid()),
            collective: collective.clone(),
        }
    }

    /// Determines the part that a device plays.
    fn part(&self, process: Process) -> Part {
        let (role, channel, source) = match &self.collective.op {
            Op::AllGather(op) => (op.groups.role(process), op.groups.channel_id(), None),
            Op::AllReduce(groups) => (groups.reduction_role(process), groups.channel_id(), None),
            Op::ReduceScatter(op) => (op.groups.role(process), op.groups.channel_id(), None),
            Op::AllToAll(op) => (op.groups.exchange_role(process), op.groups.channel_id(), None),
            Op::CollectiveBroadcast(op) => {
                (op.groups.exchange_role(process), op.groups.channel_id(), Some(0))
            }
            Op::CollectivePermute(op) => {
                let role = op.role(process);
                let source = role.source.and_then(|s| role.connected.iter().position(|p| *p == s));
                (role.into(), op.channel.map_or(0, |c| c.handle), source)
            }
            // `farcall_plan` accepts no other operation.
            _ => (ProcessRole::Outside, 0, None),
        };
        match role {
            ProcessRole::Alone => Part::Alone,
            ProcessRole::Outside => Part::Outside,
            ProcessRole::Member(group) => {
                let own = group.iter().position(|p| *p == process.number).unwrap_or(0);
                let first = group.first().copied().unwrap_or(0);
                let point = Point {
                    op: self.collective.op.name(),
                    place: Arc::clone(&self.place),
                    channel,
                    group: group.into(),
                    signature: Arc::clone(&self.signature),
                };
                let made = Arc::new(point);
                let shared = self.points.get(first).map(|point| point.get_or_init(|| Arc::clone(&made)));
                let point = shared.filter(|shared| **shared == made).map_or(made, Arc::clone);
                Part::Member { point, own, source }
            }
        }
    }

    /// Runs the collective.
    ///
    /// # Safety
    /// `inputs` and `outputs` are the buffers of the collective's thunk in a run of a validated plan: disjoint
    /// memory of the types for which the collective was loaded, aligned to
    /// [`MIN_ALIGNMENT_BYTES`](farcall_plan::MIN_ALIGNMENT_BYTES). No other thread accesses this memory during
    /// the call, except through this function.
    pub(super) unsafe fn run(
        &self,
        inputs: &[SharedMemory],
        outputs: &[SharedMemory],
        run: &RunContext,
    ) -> Result<(), RunError> {
        let participant = run.participant();
        let process =
            participant.map_or(Process { grid: self.grid, number: 0 }, |participant| participant.process());
        if process.grid != self.grid {
            return Err(RunError::Grid { grid: self.grid, found: process.grid.processes() });
        }
        let made;
        let part = match self.parts.get(process.number) {
            Some(known) => known.get_or_init(|| self.part(process)),
            None => {
                made = self.part(process);
                &made
            }
        };
        match part {
            Part::Alone if !self.fits(1) => Err(self.misfit(1)),
            Part::Alone => {
                for (from, to) in inputs.iter().zip(outputs) {
                    // SAFETY: the caller guarantees memory of these sizes (`# Safety` above).
                    unsafe { ptr::copy_nonoverlapping(from.data, to.at(0), from.size.min(to.size)) };
                }
                Ok(())
            }
            Part::Outside => {
                // SAFETY: as above.
                outputs.iter().for_each(|to| unsafe { ptr::write_bytes(to.at(0), 0, to.size) });
                Ok(())
            }
            Part::Member { point, own, source } => {
                let Some(participant) = participant else {
                    return Err(RunError::Grid { grid: self.grid, found: 1 });
                };
                if !self.fits(point.group.len()) {
                    return Err(self.misfit(point.group.len()));
                }
                let scratch = self.scratch()?;
                let offer = Offer::Memory(inputs.iter().chain(outputs).copied().collect());
                let gathering = participant.meet(point, offer)?;
                let mut exchange = Exchange { gathering: &gathering, waits: self.waits(outputs) };
                let peers = gathering.offers().iter().map(|offer| match offer {
                    Offer::Memory(all) if all.len() == inputs.len() + outputs.len() => Some(&**all),
                    _ => None,
                });
                let peers: Option<SmallVec<[&[SharedMemory]; 8]>> = peers.collect();
                let peers = peers.ok_or(ProcessError::Offers)?;
                let group = Group { peers: &peers, own: *own, source: *source, outputs, run };
                for i in 0..inputs.len() {
                    // SAFETY: the caller guarantees the memory of this device (`# Safety` above). The peers
                    // have the same signature, so their memory has the same types. They keep it unchanged
                    // until the exchange ends, except for their results, of which `reduce` reads only what
                    // they have completed.
                    unsafe { self.exchange(i, &group, scratch.as_ptr()) };
                }
                exchange.wait();
                if self.is_divided(outputs) {
                    for i in 0..inputs.len() {
                        // SAFETY: as above; all peers have completed their shares, and keep them unchanged
                        // until the exchange ends.
                        unsafe { self.copy_shares(i, inputs.len(), &group) };
                    }
                    exchange.wait();
                }
                Ok(())
            }
        }
    }

    /// Returns the number of times that the devices wait for each other after they have met.
    fn waits(&self, outputs: &[SharedMemory]) -> usize {
        1 + usize::from(self.is_divided(outputs))
    }

    /// Returns true if each device combines a share of the elements.
    fn is_divided(&self, outputs: &[SharedMemory]) -> bool {
        matches!(self.collective.op, Op::AllReduce(_))
            && outputs.iter().any(|output| output.size > MAX_REPEATED_BYTES)
    }

    /// Returns true if the shapes of operands and results fit a group of this size.
    fn fits(&self, count: usize) -> bool {
        self.shapes.iter().all(|[from, to]| {
            let mut expected = from.to_vec();
            let is_divisible = |size: usize| size.is_multiple_of(count);
            match &self.collective.op {
                Op::AllGather(op) => expected[op.dim] = expected[op.dim].saturating_mul(count),
                Op::ReduceScatter(op) if is_divisible(from[op.dim]) => expected[op.dim] /= count,
                Op::AllToAll(op) if is_divisible(from[op.split_dim]) => {
                    expected[op.split_dim] /= count;
                    expected[op.concat_dim] = expected[op.concat_dim].saturating_mul(count);
                }
                Op::ReduceScatter(_) | Op::AllToAll(_) => return false,
                _ => {}
            }
            expected == **to
        })
    }

    /// The error for shapes that do not fit a group of this size.
    fn misfit(&self, count: usize) -> RunError {
        ProcessError::Shapes { op: self.collective.op.name(), place: Arc::clone(&self.place), count }.into()
    }

    /// Returns memory for two operands of the kernel, if there is a kernel.
    fn scratch(&self) -> Result<AlignedBytes, RunError> {
        let tile = self.tile_bytes().unwrap_or(0);
        let memory = |error| RunError::Memory { what: "the operands of a collective", error };
        AlignedBytes::new(2 * tile.next_multiple_of(MIN_ALIGNMENT_BYTES)).map_err(memory)
    }

    /// Returns the size in bytes of an operand of the kernel.
    fn tile_bytes(&self) -> Option<usize> {
        self.collective.combine.as_ref().map(|combine| combine.elements() * combine.ty.dtype.size())
    }

    /// Computes result number `i` or, if the work is divided, this device's share of the result.
    ///
    /// # Safety
    /// The memory of all peers has the types for which the collective was loaded, and these fit a group of
    /// this size ([`fits`](Self::fits)). It does not change during the call, except for the peers' results.
    /// `scratch` is memory of this device for two tiles ([`scratch`](Self::scratch)).
    unsafe fn exchange(&self, i: usize, group: &Group<'_>, scratch: *mut u8) {
        let ([from, to], bytes) = (&self.shapes[i], self.element_bytes[i]);
        let (output, count) = (group.outputs[i], group.peers.len());
        // SAFETY: the caller guarantees the types of all memory (`# Safety` above), from which the blocks and
        // ranges below follow: `copy_block` and `combine` stay within the shapes of operand and result.
        unsafe {
            match &self.collective.op {
                Op::AllGather(op) => {
                    for (j, peer) in group.peers.iter().enumerate() {
                        let mut start = vec![0; to.len()];
                        start[op.dim] = j * from[op.dim];
                        copy_block(
                            bytes,
                            from,
                            (peer[i].data, from, &vec![0; from.len()]),
                            (output, to, &start),
                        );
                    }
                }
                Op::AllToAll(op) => {
                    let mut block = from.to_vec();
                    block[op.split_dim] /= count;
                    for (j, peer) in group.peers.iter().enumerate() {
                        let (mut read, mut write) = (vec![0; from.len()], vec![0; to.len()]);
                        read[op.split_dim] = group.own * block[op.split_dim];
                        write[op.concat_dim] = j * block[op.concat_dim];
                        copy_block(bytes, &block, (peer[i].data, from, &read), (output, to, &write));
                    }
                }
                Op::CollectivePermute(_) | Op::CollectiveBroadcast(_) => match group.source {
                    Some(source) => {
                        ptr::copy_nonoverlapping(group.peers[source][i].data, output.at(0), output.size);
                    }
                    None => ptr::write_bytes(output.at(0), 0, output.size),
                },
                Op::AllReduce(_) => {
                    let (begin, end) = match self.is_divided(group.outputs) {
                        true => self.share(output.size, group.own, count),
                        false => (0, output.size),
                    };
                    let sources: SmallVec<[*const u8; 8]> =
                        group.peers.iter().map(|peer| peer[i].data.add(begin)).collect();
                    self.combine(&sources, output.at(begin), end - begin, scratch, group.run);
                }
                Op::ReduceScatter(op) => {
                    let inner = |shape: &[usize]| shape[op.dim..].iter().product::<usize>() * bytes;
                    let (row, whole) = (inner(to), inner(from));
                    let rows = output.size.checked_div(row).unwrap_or(0);
                    for r in 0..rows {
                        let at = r * whole + group.own * row;
                        let sources: SmallVec<[*const u8; 8]> =
                            group.peers.iter().map(|peer| peer[i].data.add(at)).collect();
                        self.combine(&sources, output.at(r * row), row, scratch, group.run);
                    }
                }
                // `farcall_plan` accepts no other operation.
                _ => {}
            }
        }
    }

    /// Returns the range of bytes of a result that a device combines: whole tiles.
    fn share(&self, size: usize, own: usize, count: usize) -> (usize, usize) {
        let tile = self.tile_bytes().unwrap_or(size).max(1);
        let tiles = size.div_ceil(tile);
        let at = |device: usize| (tiles * device / count * tile).min(size);
        (at(own), at(own + 1))
    }

    /// Copies the shares of result number `i` that the other devices have combined.
    ///
    /// # Safety
    /// The peers have completed their shares, which do not change during the call.
    unsafe fn copy_shares(&self, i: usize, inputs: usize, group: &Group<'_>) {
        let output = group.outputs[i];
        for (j, peer) in group.peers.iter().enumerate().filter(|(j, _)| *j != group.own) {
            let (begin, end) = self.share(output.size, j, group.peers.len());
            // SAFETY: the results of all devices have the same size, and the caller guarantees that the
            // peer's share is complete (`# Safety` above).
            unsafe {
                let from = peer[inputs + i].data.add(begin);
                ptr::copy_nonoverlapping(from, output.at(begin), end - begin);
            }
        }
    }

    /// Combines `size` bytes of each source, in the order of the sources.
    ///
    /// # Safety
    /// Each source can be read, and the output written, for `size` bytes. The output is disjoint from the
    /// sources. `scratch` is memory of this device for two tiles ([`scratch`](Self::scratch)).
    unsafe fn combine(
        &self,
        sources: &[*const u8],
        output: *mut u8,
        size: usize,
        scratch: *mut u8,
        run: &RunContext,
    ) {
        let (Some(kernel), Some(tile)) = (&self.kernel, self.tile_bytes()) else { return };
        let place = |base| Place { base, offset: 0, size: tile };
        let places = [place(0), place(1), place(2)];
        let tasks = PoolTasks(run.pool());
        let apply = |a: *const u8, b: *const u8, out: *mut u8| {
            let bases = [a.cast_mut(), b.cast_mut(), out];
            // SAFETY: the calls below pass aligned pointers to whole tiles. The output is the first operand,
            // which the kernel allows (`Combine::prepare`), or separate from both.
            unsafe { kernel.run(&Args::new(&places, 2, &bases), &tasks) };
        };
        let is_aligned = |at: *const u8| at.addr().is_multiple_of(MIN_ALIGNMENT_BYTES);
        let aligned = is_aligned(output.cast_const()) && sources.iter().all(|source| is_aligned(*source));
        let [first, second, rest @ ..] = sources else { return };
        for begin in (0..size).step_by(tile) {
            let count = tile.min(size - begin);
            // SAFETY: `begin + count` is at most `size`, for which the caller guarantees the memory
            // (`# Safety` above). The scratch memory has two tiles.
            unsafe {
                if count == tile && aligned && begin.is_multiple_of(MIN_ALIGNMENT_BYTES) {
                    let out = output.add(begin);
                    apply(first.add(begin), second.add(begin), out);
                    rest.iter().for_each(|source| apply(out.cast_const(), source.add(begin), out));
                    continue;
                }
                let a = scratch;
                let b = a.add(tile.next_multiple_of(MIN_ALIGNMENT_BYTES));
                ptr::copy_nonoverlapping(first.add(begin), a, count);
                for source in &sources[1..] {
                    ptr::copy_nonoverlapping(source.add(begin), b, count);
                    apply(a.cast_const(), b.cast_const(), a);
                }
                ptr::copy_nonoverlapping(a.cast_const(), output.add(begin), count);
            }
        }
    }
}

/// Returns an empty cell for each device that a run can have.
fn cells<T>(grid: Grid) -> Vec<OnceLock<T>> {
    (0..grid.processes().min(MAX_PROCESSES)).map(|_| OnceLock::new()).collect()
}

/// A group that has met, as one of its devices sees it.
struct Group<'a> {
    /// Memory of each device: operands, then results.
    peers: &'a [&'a [SharedMemory]],
    own: usize,
    source: Option<usize>,
    outputs: &'a [SharedMemory],
    run: &'a RunContext,
}

/// The waits of a device for its group. If a panic unwinds, the remaining waits take place, since the others
/// count on them.
struct Exchange<'a> {
    gathering: &'a Gathering,
    waits: usize,
}

impl Exchange<'_> {
    fn wait(&mut self) {
        self.waits -= 1;
        self.gathering.wait();
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        for _ in 0..self.waits {
            self.gathering.wait();
        }
    }
}

/// Copies a block of elements from one tensor to another. A side is an address, the sizes of the tensor, and
/// the index of the block's first element.
///
/// # Safety
/// The block lies within both tensors. The memory of the source can be read and that of the destination
/// written, and they are disjoint.
unsafe fn copy_block(
    bytes: usize,
    block: &[usize],
    (from, from_sizes, from_start): (*const u8, &[usize], &[usize]),
    (to, to_sizes, to_start): (SharedMemory, &[usize], &[usize]),
) {
    if block.contains(&0) {
        return;
    }
    let strides = |sizes: &[usize]| {
        let mut strides = vec![bytes; sizes.len()];
        for d in (1..sizes.len()).rev() {
            strides[d - 1] = strides[d] * sizes[d];
        }
        strides
    };
    let (from_strides, to_strides) = (strides(from_sizes), strides(to_sizes));
    let offset = |index: &[usize], start: &[usize], strides: &[usize]| -> usize {
        strides.iter().enumerate().map(|(d, stride)| (start[d] + index.get(d).unwrap_or(&0)) * stride).sum()
    };
    // The elements of the last dimensions are contiguous on both sides, up to the first dimension that the
    // block does not cover.
    let covers = |d: usize| block[d] == from_sizes[d] && block[d] == to_sizes[d];
    let outer = (0..block.len()).rev().find(|d| !covers(*d)).unwrap_or(0);
    let run = block.get(outer..).map_or(1, |dims| dims.iter().product::<usize>()) * bytes;
    let mut index = vec![0; outer];
    loop {
        // SAFETY: the index lies in the block, which lies in both tensors by the caller's guarantee
        // (`# Safety` above).
        unsafe {
            let source = from.add(offset(&index, from_start, &from_strides));
            ptr::copy_nonoverlapping(source, to.at(offset(&index, to_start, &to_strides)), run);
        }
        let Some(d) = (0..outer).rev().find(|d| index[*d] + 1 < block[*d]) else { return };
        index[d] += 1;
        index[d + 1..].fill(0);
    }
}
