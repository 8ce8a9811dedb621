//! Custom calls: calls of functions outside the program, which a call identifies by the name of a target.

use std::sync::Arc;

use crate::attr::AttrDict;
use crate::ids::FuncId;
use crate::types::FuncType;

/// `custom_call`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CustomCall {
    /// Name of the target.
    pub target: String,
    /// `api_version` as written; `None` if absent.
    pub api_version: Option<i32>,
    /// Configuration passed besides buffers.
    pub config: CallConfig,
    /// True if the call must run even when its results are unused.
    pub has_side_effect: bool,
    /// Minor-to-major order of each operand's dimensions; `None`: all row-major.
    pub operand_layouts: Option<Vec<Vec<usize>>>,
    /// Minor-to-major order of each result's dimensions; `None`: all row-major.
    pub result_layouts: Option<Vec<Vec<usize>>>,
    /// Results that share memory with operands.
    pub aliases: Vec<OutputAlias>,
    /// Functions that the target may call.
    pub called_computations: Vec<FuncId>,
    /// Original types of operands and results, if they included tokens or tuples. Set in the middle form,
    /// whose instructions only have tensors.
    pub types: Option<Arc<FuncType>>,
}

/// Configuration that a custom call passes to its target besides buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CallConfig {
    /// No `backend_config`.
    Absent,
    /// `backend_config = "…"`, bytes for an untyped target.
    Text(Arc<[u8]>),
    /// `backend_config = {…}` or `mhlo.backend_config = {…}`: attributes of a typed target.
    Dict(AttrDict),
}

/// `#stablehlo.output_operand_alias<…>`
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutputAlias {
    /// Path of the result in the tuple of results; empty if there is one result.
    pub output_tuple_indices: Vec<usize>,
    /// Index of the operand.
    pub operand_index: usize,
    /// Path in the operand, if the operand is a tuple.
    pub operand_tuple_indices: Vec<usize>,
}

impl CustomCall {
    /// Creates a call of `target` without configuration.
    pub fn new(target: impl Into<String>) -> CustomCall {
        CustomCall {
            target: target.into(),
            api_version: None,
            config: CallConfig::Absent,
            has_side_effect: false,
            operand_layouts: None,
            result_layouts: None,
            aliases: Vec::new(),
            called_computations: Vec::new(),
            types: None,
        }
    }
}
