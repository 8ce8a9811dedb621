//! Control flow, and values that enter and leave the program while it runs.

use crate::attr::{AttrDict, Attribute};
use crate::ids::FuncId;
use crate::literal::Literal;
use crate::op::collective::Channel;

/// `composite`: a named operation that is defined by a function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Composite {
    /// Name of the operation that the composite stands for.
    pub name: String,
    /// Attributes of that operation.
    pub attrs: AttrDict,
    /// Function that computes the operation.
    pub decomposition: FuncId,
    /// Version of the operation's semantics.
    pub version: i64,
}

/// A transfer of values into or out of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Transfer {
    /// `infeed`: token; results: tensors and a token.
    Infeed {
        /// Configuration whose meaning is up to the sender.
        config: String,
        /// Order of dimensions in memory, kept as written.
        layout: Option<Attribute>,
    },
    /// `outfeed`: tensors and a token; result: a token.
    Outfeed {
        /// Configuration whose meaning is up to the reader.
        config: String,
    },
    /// `send`: tensors and a token; result: a token.
    Send(Endpoint),
    /// `recv`: token; results: tensors and a token.
    Recv(Endpoint),
}

/// Destination or source of a transfer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// The channel.
    pub channel: Channel,
    /// True if the other end is the host, not a device.
    pub is_host: bool,
    /// One pair of sender and receiver per row, `tensor<Nx2xi64>`.
    pub pairs: Option<Literal>,
}
