//! Partitioners of custom calls: functions of the host that divide the calls of a target among devices. They
//! have the role of XLA's `CustomCallPartitioner`.
//!
//! Partitioners are registered for the process, like XLA's. A call of a target with a partitioner is divided
//! by it alone; the call's signature, its `sdy.sharding_rule` or its batch dimensions determine how shardings
//! propagate through the call.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use farcall_ir::TensorType;
use farcall_ir::sharding::TileAssignment;

/// Divides the calls of a target.
pub trait Partitioner: Debug + Send + Sync {
    /// Returns the program that each device runs in place of a call.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String>;
}

/// A custom call whose operands and results have shardings.
#[derive(Clone, Debug)]
pub struct ShardedCall {
    /// Name of the target.
    pub target: String,
    /// The call's configuration, if it is text.
    pub config: Vec<u8>,
    /// The complete operands.
    pub operands: Vec<ShardedTensor>,
    /// The complete results.
    pub results: Vec<ShardedTensor>,
}

/// A tensor and its division among devices.
#[derive(Clone, Debug)]
pub struct ShardedTensor {
    /// Type of the complete tensor.
    pub ty: TensorType,
    /// The division.
    pub sharding: TileAssignment,
}

/// A divided call.
#[derive(Clone, Debug)]
pub struct DividedCall {
    /// The program of each device, in any format that [`farcall_ir::read::module`] reads. It takes the
    /// device's parts of the operands, and returns its parts of the results.
    pub program: Vec<u8>,
    /// Division of the operands that the program takes.
    pub operands: Vec<TileAssignment>,
    /// Division of the results that the program returns.
    pub results: Vec<TileAssignment>,
}

static PARTITIONERS: Mutex<BTreeMap<String, Arc<dyn Partitioner>>> = Mutex::new(BTreeMap::new());

/// Registers the partitioner of a target. Returns the one that it replaces.
pub fn register(
    target: impl Into<String>,
    partitioner: Arc<dyn Partitioner>,
) -> Option<Arc<dyn Partitioner>> {
    PARTITIONERS.lock().unwrap_or_else(PoisonError::into_inner).insert(target.into(), partitioner)
}

/// Returns the partitioner of a target.
pub fn registered(target: &str) -> Option<Arc<dyn Partitioner>> {
    PARTITIONERS.lock().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
}
