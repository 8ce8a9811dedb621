//! Control flow; values that enter and leave the program while it runs.

use crate::attr::{Attr, AttrDict};
use crate::ids::FuncId;
use crate::literal::Literal;
use crate::op::collective::Channel;

/// `composite`: an operation of some name that is defined by a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Composite {
    /// Name of the operation it stands for.
    pub name: String,
    /// Its attributes.
    pub attrs: AttrDict,
    /// Function that computes it.
    pub decomposition: FuncId,
    /// Version of its meaning.
    pub version: i64,
}

/// Values that come from outside of the program, or go there.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Transfer {
    /// `infeed`: token; tensors and a token.
    Infeed {
        /// What it means is up to who feeds.
        config: String,
        /// Orders of dimensions in memory, kept as written.
        layout: Option<Attr>,
    },
    /// `outfeed`: tensors and a token; a token.
    Outfeed {
        /// What it means is up to who reads.
        config: String,
    },
    /// `send`: tensors and a token; a token.
    Send(Endpoint),
    /// `recv`: token; tensors and a token.
    Recv(Endpoint),
}

/// Where values are sent to or come from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// The channel.
    pub channel: Channel,
    /// The other end is the host, not a device.
    pub is_host: bool,
    /// Sender and receiver a row, `tensor<Nx2xi64>`.
    pub pairs: Option<Literal>,
}

impl Endpoint {
    /// How many devices take part, this one among them.
    pub fn participants(&self) -> usize {
        let mut ids: Vec<i64> =
            self.pairs.iter().flat_map(Literal::iter).map(|s| s.as_i64()).chain([0]).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len().max(2)
    }
}
