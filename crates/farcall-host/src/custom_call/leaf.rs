//! Operands and results as handlers see them.

use farcall_ffi::abi::DataType;
use farcall_ir::Type;

/// An operand or result as a handler sees it. A tuple is passed as its leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Element type, or [`DataType::TOKEN`].
    pub dtype: DataType,
    /// Sizes of the dimensions, in logical order.
    pub dims: Box<[i64]>,
    /// Total size of the elements in bytes; 0 for a token.
    pub bytes: usize,
}

impl Leaf {
    /// Returns true for a token, whose data pointer is meaningless.
    pub fn is_token(&self) -> bool {
        self.dtype == DataType::TOKEN
    }
}

/// Returns the leaves of the values, as handlers get them.
pub(super) fn leaves(types: &[Type]) -> Result<Box<[Leaf]>, String> {
    let mut out = Vec::with_capacity(types.len());
    // Tuples are unfolded in place, in order.
    let mut rest: Vec<&Type> = types.iter().rev().collect();
    while let Some(ty) = rest.pop() {
        match ty {
            Type::Tensor(t) => {
                let bytes = t.bytes().ok_or_else(|| format!("{t} has no size before a run"))?;
                let dims = t.sizes().iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect();
                out.push(Leaf { dtype: DataType::from_dtype(t.dtype), dims, bytes });
            }
            Type::Token => out.push(Leaf { dtype: DataType::TOKEN, dims: Box::default(), bytes: 0 }),
            Type::Tuple(parts) => rest.extend(parts.iter().rev()),
            other => return Err(format!("a value of type {other} cannot be passed to a handler")),
        }
    }
    Ok(out.into())
}
