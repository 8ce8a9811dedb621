//! Infers the type of an operand for which only a word is given (`-i x.npy -i rand`), from the other
//! operands.

use std::collections::HashMap;

use farcall::ir::types::TensorType;
use farcall::sig::signature::{DimDecl, Expr, OperandDecl};
use farcall::sig::{AttrValues, DType, Signature};

/// Known values of the names in a signature: sizes and element types. Contradictions are not detected here:
/// the op reports them when it is called.
#[derive(Default)]
pub(crate) struct Known<'s> {
    batch: Option<Vec<usize>>,
    dims: HashMap<&'s str, usize>,
    types: HashMap<&'s str, DType>,
}

impl<'s> Known<'s> {
    /// Starts with the values of integer attributes, because their names may occur as sizes in the signature.
    pub(crate) fn new(signature: &'s Signature, attrs: &AttrValues) -> Known<'s> {
        let attrs = signature.convert_attrs(attrs).unwrap_or_else(|_| attrs.clone());
        let size = |name: &'s str| Some((name, usize::try_from(attrs.get(name)?.as_int()?).ok()?));
        let dims = signature.attrs().iter().filter_map(|a| size(&a.name.text)).collect();
        Known { dims, ..Known::default() }
    }

    /// Adds the values of the names that the type of an operand determines.
    pub(crate) fn learn(&mut self, operand: &'s OperandDecl, ty: &TensorType) {
        if let Some(variable) = operand.element.variable()
            && operand.element.functions.is_empty()
        {
            self.types.entry(&variable.text).or_insert(ty.dtype);
        }
        let Some(batch) = ty.rank().checked_sub(operand.shape.dims.len()) else { return };
        match operand.shape.batch {
            None if batch > 0 => return,
            None => {}
            Some(_) if self.batch.is_some() => {}
            Some(_) => self.batch = Some(ty.sizes()[..batch].to_vec()),
        }
        for (dim, size) in operand.shape.dims.iter().zip(&ty.sizes()[batch..]) {
            if let DimDecl::Size(Expr::Name(name)) = dim {
                self.dims.entry(&name.text).or_insert(*size);
            }
        }
    }

    /// Returns the type of an operand if it is completely known.
    pub(crate) fn ty(&self, operand: &OperandDecl) -> Option<TensorType> {
        // An element type without a variable is fixed, so `apply` below ignores this value.
        let base = match operand.element.variable() {
            Some(variable) => *self.types.get(variable.text.as_str())?,
            None => DType::F32,
        };
        if operand.shape.any.is_some() {
            return None;
        }
        let batch = match operand.shape.batch {
            Some(_) => self.batch.clone()?,
            None => Vec::new(),
        };
        let size = |dim: &DimDecl| match dim {
            DimDecl::Size(Expr::Name(name)) => self.dims.get(name.text.as_str()).copied(),
            DimDecl::Size(Expr::Literal(size, _)) => usize::try_from(*size).ok(),
            DimDecl::Size(_) | DimDecl::Each(_) => None,
        };
        let dims: Option<Vec<usize>> = operand.shape.dims.iter().map(size).collect();
        Some(TensorType::new(operand.element.apply(base)?, [batch, dims?].concat()))
    }
}
