//! Control flow.

use crate::attr::AttrDict;
use crate::module::FuncId;

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
