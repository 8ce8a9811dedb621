//! Collectives: operations that several processes execute together.
//!
//! A program runs as one process, number 0 of its grid. If that process is the only one of its group, a
//! collective is the identity; if the process receives nothing, the collective returns zeros
//! ([`ProcessRole`]).

use crate::attr::AttrDict;
use crate::literal::Literal;

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

/// Role of process 0 in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProcessRole {
    /// The only process of its group, which receives its own values.
    Alone,
    /// A process in no group, which receives zeros where the operation defines that.
    Outside,
    /// One process of a group of this size. The other processes do not exist in this run.
    OneOf(usize),
}

/// Size of the process grid that a program is written for, from the attributes of its module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// `mhlo.num_replicas`
    pub replicas: usize,
    /// `mhlo.num_partitions`
    pub partitions: usize,
}

impl Grid {
    /// Returns the grid of a module with these attributes.
    pub fn of(module: &AttrDict) -> Grid {
        let count = |key: &str| {
            let count = module.get(key).and_then(|a| a.as_i64());
            count.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(1)
        };
        Grid { replicas: count("mhlo.num_replicas"), partitions: count("mhlo.num_partitions") }
    }

    fn processes(self) -> usize {
        self.replicas.saturating_mul(self.partitions)
    }
}

impl Groups {
    /// Returns the channel's handle, or 0 without a channel.
    pub fn channel_id(&self) -> i64 {
        self.channel.map_or(0, |c| c.handle)
    }

    /// Returns the number of processes that each number in a group stands for. With a channel and without
    /// global ids (`cross_replica_and_partition`), the number is a replica and stands for all of its
    /// partitions; otherwise, it stands for one process.
    fn each(&self, grid: Grid) -> usize {
        if self.channel_id() > 0 && !self.global_ids { grid.partitions } else { 1 }
    }

    /// Returns the role of process 0 in an operation that reduces or gathers.
    pub fn role(&self, grid: Grid) -> ProcessRole {
        let everyone = if self.global_ids { grid.processes() } else { grid.replicas };
        self.role_among(everyone, self.each(grid))
    }

    /// Returns the role of process 0 in an `all_reduce`. As in XLA, a program for one process runs it alone,
    /// whatever the groups are.
    pub fn reduction_role(&self, grid: Grid) -> ProcessRole {
        match self.role(grid) {
            ProcessRole::OneOf(_) if grid.processes() == 1 => ProcessRole::Alone,
            role => role,
        }
    }

    /// Returns the role of process 0 in an operation whose groups consist of replicas or, with a channel, of
    /// partitions.
    pub fn exchange_role(&self, grid: Grid) -> ProcessRole {
        self.role_among(if self.channel_id() > 0 { grid.partitions } else { grid.replicas }, 1)
    }

    fn role_among(&self, everyone: usize, each: usize) -> ProcessRole {
        let sized = |n: usize| match n.saturating_mul(each) {
            0 | 1 => ProcessRole::Alone,
            n => ProcessRole::OneOf(n),
        };
        if self.ids.is_empty() {
            return sized(everyone);
        }
        let width = self.ids.dims().last().copied().unwrap_or(1).max(1);
        let ids: Vec<i64> = self.ids.iter().map(|s| s.as_i64()).collect();
        let group = ids.chunks(width).find(|group| group.contains(&0));
        group.map_or(ProcessRole::Outside, |group| sized(group.iter().filter(|id| **id >= 0).count()))
    }
}

impl CollectivePermute {
    /// Returns the role of process 0: alone if it sends to itself, outside if no process sends to it.
    pub fn role(&self) -> ProcessRole {
        let mut ids: Vec<i64> = self.pairs.iter().map(|s| s.as_i64()).collect();
        match ids.chunks_exact(2).find(|pair| pair[1] == 0) {
            None => return ProcessRole::Outside,
            Some([0, _]) => return ProcessRole::Alone,
            Some(_) => {}
        }
        ids.sort_unstable();
        ids.dedup();
        ProcessRole::OneOf(ids.len())
    }
}
