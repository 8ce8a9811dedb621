//! Collectives: operations that several processes execute together.
//!
//! A program runs on every process of a grid of replicas and partitions. A process that runs without others
//! is number 0 of its grid. The only process of a group receives its own values, and a process that receives
//! nothing gets zeros ([`ProcessRole`]).

use std::collections::{HashMap, HashSet};

use farcall_sig::DType;

use crate::attr::{AttrDict, Attribute, IntKind};
use crate::literal::Literal;
use crate::op::Endpoint;

/// `#stablehlo.channel_handle<handle = 1, type = 1>`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Channel {
    /// Number of the channel; 0 if absent.
    pub handle: i64,
    /// Kind of the channel as a number: between devices, or between a device and the host.
    pub kind: i64,
}

/// Groups of processes that take part in a collective.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Groups {
    /// One group per row, `tensor<NxMxi64>`; -1 pads shorter groups. An empty tensor means all processes.
    pub ids: Literal,
    /// The channel, if one is given.
    pub channel: Option<Channel>,
    /// True if process numbers count replicas and partitions together.
    pub global_ids: bool,
}

/// `all_gather`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllGather {
    /// Dimension along which the operands of the group are joined.
    pub dim: usize,
    /// Participating processes.
    pub groups: Groups,
}

/// `reduce_scatter`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ReduceScatter {
    /// Dimension along which the sum is split.
    pub dim: usize,
    /// Participating processes.
    pub groups: Groups,
}

/// `all_to_all`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AllToAll {
    /// Dimension along which operands are split.
    pub split_dim: usize,
    /// Dimension along which the parts are joined.
    pub concat_dim: usize,
    /// Number of parts.
    pub split_count: usize,
    /// Participating processes.
    pub groups: Groups,
}

/// `collective_broadcast`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CollectiveBroadcast {
    /// Participating processes. The first of a group is the sender.
    pub groups: Groups,
    /// True if the last operand names the sender of each of the other operands.
    pub dynamic_root: bool,
}

/// `collective_permute`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CollectivePermute {
    /// One pair of sender and receiver per row, `tensor<Nx2xi64>`.
    pub pairs: Literal,
    /// The channel, if one is given.
    pub channel: Option<Channel>,
}

/// A process of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Process {
    /// The grid.
    pub grid: Grid,
    /// Number of the process: `replica * partitions + partition`.
    pub number: usize,
}

impl Process {
    /// Returns the replica that the process belongs to.
    pub fn replica(self) -> usize {
        self.grid.replica(self.number)
    }

    /// Returns the partition that the process belongs to.
    pub fn partition(self) -> usize {
        self.grid.partition(self.number)
    }
}

/// Role of a process in a collective.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProcessRole {
    /// The only process of its group, which receives its own values.
    Alone,
    /// A process in no group, which receives zeros where the operation defines that.
    Outside,
    /// A process of a group of several. The numbers of the group's processes, in the order of the group.
    Member(Vec<usize>),
}

impl ProcessRole {
    fn of(group: Option<Vec<usize>>) -> ProcessRole {
        match group {
            None => ProcessRole::Outside,
            Some(group) if group.len() < 2 => ProcessRole::Alone,
            Some(group) => ProcessRole::Member(group),
        }
    }
}

/// Size of the process grid that a program is written for, from the attributes of its module.
///
/// The process of a replica and a partition has the number `replica * partitions + partition`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// `mhlo.num_replicas`
    pub replicas: usize,
    /// `mhlo.num_partitions`
    pub partitions: usize,
}

impl Grid {
    /// The grid of one process.
    pub const ONE: Grid = Grid { replicas: 1, partitions: 1 };

    /// Returns the grid of a module with these attributes.
    pub fn of(module: &AttrDict) -> Grid {
        let count = |key: &str| {
            let count = module.get(key).and_then(|a| a.as_i64());
            count.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(1)
        };
        Grid { replicas: count(NUM_REPLICAS), partitions: count(NUM_PARTITIONS) }
    }

    /// Sets the attributes of a module with this grid.
    pub fn write_to(self, module: &mut AttrDict) {
        for (key, count) in [(NUM_REPLICAS, self.replicas), (NUM_PARTITIONS, self.partitions)] {
            let count = i128::try_from(count).unwrap_or(i128::MAX);
            module.insert(key.into(), Attribute::Int(count, IntKind::Typed(DType::S32)));
        }
    }

    /// Returns the number of processes.
    pub fn processes(self) -> usize {
        self.replicas.saturating_mul(self.partitions)
    }

    /// Returns the number of the process of a replica and a partition.
    fn number(self, replica: usize, partition: usize) -> usize {
        replica.saturating_mul(self.partitions).saturating_add(partition)
    }

    /// Returns the replica of a process.
    pub fn replica(self, process: usize) -> usize {
        process / self.partitions
    }

    /// Returns the partition of a process.
    pub fn partition(self, process: usize) -> usize {
        process % self.partitions
    }
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        write!(f, "{} × {}", counted(self.replicas, "replica"), counted(self.partitions, "partition"))
    }
}

const NUM_REPLICAS: &str = "mhlo.num_replicas";
const NUM_PARTITIONS: &str = "mhlo.num_partitions";

/// Meaning of the numbers in groups: the specification's functions of the same names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Flattening {
    /// Replicas. A group exists once for each partition.
    CrossReplica,
    /// Partitions. A group exists once for each replica.
    CrossPartition,
    /// Replicas, each with all of its partitions.
    CrossReplicaAndPartition,
    /// Processes.
    FlattenedIds,
}

impl Flattening {
    /// Returns the number of replicas, partitions or processes that groups name.
    fn count(self, grid: Grid) -> usize {
        match self {
            Flattening::CrossReplica | Flattening::CrossReplicaAndPartition => grid.replicas,
            Flattening::CrossPartition => grid.partitions,
            Flattening::FlattenedIds => grid.processes(),
        }
    }

    /// Returns the number that stands for a process in groups.
    fn id(self, process: Process) -> usize {
        match self {
            Flattening::CrossReplica | Flattening::CrossReplicaAndPartition => process.replica(),
            Flattening::CrossPartition => process.partition(),
            Flattening::FlattenedIds => process.number,
        }
    }

    /// Returns the processes of a group to which `process` belongs.
    fn processes(self, process: Process, ids: &[usize]) -> Vec<usize> {
        let (grid, replica, partition) = (process.grid, process.replica(), process.partition());
        match self {
            Flattening::CrossReplica => ids.iter().map(|id| grid.number(*id, partition)).collect(),
            Flattening::CrossPartition => ids.iter().map(|id| grid.number(replica, *id)).collect(),
            Flattening::CrossReplicaAndPartition => {
                let of = |partition| ids.iter().map(move |id| grid.number(*id, partition));
                (0..grid.partitions).flat_map(of).collect()
            }
            Flattening::FlattenedIds => ids.to_vec(),
        }
    }
}

impl Groups {
    /// Returns the channel's handle, or 0 without a channel.
    pub fn channel_id(&self) -> i64 {
        self.channel.map_or(0, |c| c.handle)
    }

    /// Returns the role of a process in an operation that reduces or gathers.
    pub fn role(&self, process: Process) -> ProcessRole {
        ProcessRole::of(self.group(self.flattening(), process))
    }

    /// Returns the role of a process in an `all_reduce`. As in XLA, a program for one process runs it alone,
    /// whatever the groups are.
    pub fn reduction_role(&self, process: Process) -> ProcessRole {
        match self.role(process) {
            ProcessRole::Member(_) if process.grid == Grid::ONE => ProcessRole::Alone,
            role => role,
        }
    }

    /// Returns the role of a process in an operation whose groups consist of replicas or, with a channel, of
    /// partitions.
    pub fn exchange_role(&self, process: Process) -> ProcessRole {
        ProcessRole::of(self.group(exchange_flattening(self.channel_id()), process))
    }

    fn flattening(&self) -> Flattening {
        match (self.channel_id() > 0, self.global_ids) {
            (_, true) => Flattening::FlattenedIds,
            (true, false) => Flattening::CrossReplicaAndPartition,
            (false, false) => Flattening::CrossReplica,
        }
    }

    /// Returns the processes of the group to which a process belongs, in the order of the group.
    fn group(&self, flattening: Flattening, process: Process) -> Option<Vec<usize>> {
        if self.ids.is_empty() {
            let all: Vec<usize> = (0..flattening.count(process.grid)).collect();
            return Some(flattening.processes(process, &all));
        }
        let width = self.ids.dims().last().copied().unwrap_or(1).max(1);
        let id = flattening.id(process);
        let ids: Vec<i64> = self.ids.iter().map(|s| s.as_i64()).collect();
        // Negative numbers pad shorter groups.
        let rows = ids.chunks(width).map(|row| row.iter().filter_map(|id| usize::try_from(*id).ok()));
        rows.map(Iterator::collect::<Vec<usize>>)
            .find(|row| row.contains(&id))
            .map(|row| flattening.processes(process, &row))
    }
}

fn exchange_flattening(channel: i64) -> Flattening {
    if channel > 0 { Flattening::CrossPartition } else { Flattening::CrossReplica }
}

/// Role of a process in a `collective_permute`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PermuteRole {
    /// The process whose value this process receives.
    pub source: Option<usize>,
    /// The processes that are connected with this process by pairs, in ascending order: those that have to
    /// take part before the exchange is complete.
    pub connected: Vec<usize>,
}

impl From<PermuteRole> for ProcessRole {
    /// Returns the role as that of a group of all connected processes. A process that sends only to itself is
    /// alone; one that neither sends nor receives is outside.
    fn from(role: PermuteRole) -> ProcessRole {
        match (role.connected.len(), role.source) {
            (1, Some(_)) => ProcessRole::Alone,
            (1, None) => ProcessRole::Outside,
            _ => ProcessRole::Member(role.connected),
        }
    }
}

impl CollectivePermute {
    /// Returns the role of a process. As in XLA, a program for one process that receives nothing runs alone,
    /// whatever the receivers are.
    pub fn role(&self, process: Process) -> PermuteRole {
        let flattening = exchange_flattening(self.channel.map_or(0, |c| c.handle));
        let pairs = process_pairs(&self.pairs, flattening, process);
        let role = PermuteRole::of(&pairs, process.number);
        match role.source {
            None if process.grid == Grid::ONE => {
                PermuteRole { source: None, connected: vec![process.number] }
            }
            _ => role,
        }
    }
}

/// Returns pairs of processes, from a tensor with one pair per row.
fn process_pairs(pairs: &Literal, flattening: Flattening, process: Process) -> Vec<[usize; 2]> {
    let ids: Vec<usize> = pairs.iter().filter_map(|s| usize::try_from(s.as_i64()).ok()).collect();
    let of = |pair: &[usize]| flattening.processes(process, pair).try_into().ok();
    ids.chunks_exact(2).filter_map(of).collect()
}

impl PermuteRole {
    fn of(pairs: &[[usize; 2]], process: usize) -> PermuteRole {
        let source = pairs.iter().find(|pair| pair[1] == process).map(|pair| pair[0]);
        PermuteRole { source, connected: connected(pairs, process) }
    }
}

impl Endpoint {
    /// Returns pairs of processes that send and receive, as far as they concern the replica or the partition
    /// of `process`; `None` if the transfer names no pairs. Pairs name partitions or, if there is only one
    /// partition, replicas.
    pub fn process_pairs(&self, process: Process) -> Option<Vec<[usize; 2]>> {
        let flattening = exchange_flattening(i64::from(process.grid.partitions > 1));
        let pairs = self.pairs.as_ref().filter(|pairs| !pairs.is_empty())?;
        Some(process_pairs(pairs, flattening, process))
    }
}

/// Returns the processes that pairs connect with a process, in ascending order.
fn connected(pairs: &[[usize; 2]], process: usize) -> Vec<usize> {
    let mut neighbors: HashMap<usize, Vec<usize>> = HashMap::new();
    for [from, to] in pairs {
        neighbors.entry(*from).or_default().push(*to);
        neighbors.entry(*to).or_default().push(*from);
    }
    let (mut connected, mut found) = (vec![process], HashSet::from([process]));
    let mut next = 0;
    while let Some(reached) = connected.get(next) {
        next += 1;
        let others = neighbors.get(reached).into_iter().flatten().copied();
        connected.extend(others.filter(|other| found.insert(*other)));
    }
    connected.sort_unstable();
    connected
}
