//! Partitioners of custom calls: functions of the host that divide the calls of a target among devices. They
//! have the role of XLA's `CustomCallPartitioner`.
//!
//! Partitioners are registered for the process, like XLA's. A call of a target with a partitioner is divided
//! by it alone. The call's signature, its `sdy.sharding_rule` or its batch dimensions determine how shardings
//! propagate through the call. For a call with none of these, the partitioner does, if the program's
//! shardings are XLA's: Shardy's propagate by rules alone.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use farcall_ir::module::Inst;
use farcall_ir::op::{CallConfig, CustomCall};
use farcall_ir::sharding::TileAssignment;
use farcall_ir::{Diagnostic, Span, TensorType, ValueId};

use crate::grid::DeviceGrid;
use crate::tiling::Tiling;

/// Divides the calls of a target.
pub trait Partitioner: Debug + Send + Sync {
    /// Returns the program that each device runs in place of a call.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    fn partition(&self, call: &ShardedCall) -> Result<DividedCall, String>;

    /// Returns the divisions of a call's results that follow from the divisions of its operands; `None` if
    /// none follows. By default, none does.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    fn infer_sharding_from_operands(
        &self,
        call: &ShardedCall,
    ) -> Result<Option<Vec<TileAssignment>>, String> {
        let _ = call;
        Ok(None)
    }

    /// Returns the divisions of a call's results, given in `call.results` the divisions that their users
    /// request. By default, the results are divided as requested.
    ///
    /// # Errors
    /// A sentence that describes the problem.
    fn propagate_user_sharding(&self, call: &ShardedCall) -> Result<Vec<TileAssignment>, String> {
        Ok(call.results.iter().map(|result| result.sharding.clone()).collect())
    }

    /// Returns true if a call with side effects may run on every device, with a complete result. By default,
    /// such a call is an error.
    fn can_side_effecting_have_replicated_sharding(&self) -> bool {
        false
    }
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

impl ShardedCall {
    /// Describes a call whose operands and results have the tilings that `tiling` returns.
    pub(crate) fn new<'t>(
        inst: Inst<'_>,
        call: &CustomCall,
        grid: &DeviceGrid,
        tiling: impl Fn(ValueId) -> &'t Tiling,
    ) -> ShardedCall {
        let tensors = |values: &[ValueId]| -> Vec<ShardedTensor> {
            let tensor = |value: &ValueId| {
                let ty = inst.func().tensor(*value).expect("values of the middle form are tensors").clone();
                ShardedTensor { sharding: tiling(*value).assignment(grid, ty.sizes(), &[]), ty }
            };
            values.iter().map(tensor).collect()
        };
        let config = match &call.config {
            CallConfig::Text(text) => text.to_vec(),
            CallConfig::Absent | CallConfig::Dict(_) => Vec::new(),
        };
        let (operands, results) = (tensors(inst.own_operands()), tensors(inst.results()));
        ShardedCall { target: call.target.clone(), config, operands, results }
    }
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

/// Returns the error of a partitioner.
pub(crate) fn failed(target: &str, span: Span, problem: &str) -> Diagnostic {
    Diagnostic::new("sharding", span, format!("the partitioner of `{target}`: {problem}"))
}
