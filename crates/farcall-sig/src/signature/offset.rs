//! Offset operands: `row: offset(m)`, the index at which a call's part of a dimension begins.
//!
//! A kernel that runs on a part of a dimension sees only that part. An offset gives the index of the part's
//! first entry in the whole dimension. Offsets are operands because all devices run the same program with
//! different offsets.

use super::Signature;
use super::ast::{Arity, Clause, DimDecl, Expr, Name, TypeBase};
use super::error::SignatureError;
use crate::dtype::DType;

impl Signature {
    /// Offset operands: the index of each among the declared operands, and its dimension.
    pub fn offsets(&self) -> impl Iterator<Item = (usize, &str)> {
        self.clauses.iter().filter_map(|clause| match clause {
            Clause::Offset { operand, dim } => {
                let slot = self.operands.iter().position(|o| o.name.text == operand.text)?;
                Some((slot, dim.text.as_str()))
            }
            _ => None,
        })
    }
}

/// Checks that each offset is a scalar integer operand, and that its dimension stands alone in an operand.
pub(super) fn check(signature: &Signature) -> Result<(), SignatureError> {
    let mut seen: Vec<&str> = Vec::new();
    for clause in &signature.clauses {
        let Clause::Offset { operand: name, dim } = clause else { continue };
        let error = |at: &Name, message: String| SignatureError::new(at.span, message);
        if seen.contains(&name.text.as_str()) {
            return Err(error(name, format!("`{name}` is declared twice")));
        }
        seen.push(&name.text);
        let Some(operand) = signature.operand(&name.text) else {
            return Err(error(name, format!("`{name}` is not an operand, so it cannot be an offset"))
                .note(format!("declare it: `{name}: s32[]`")));
        };
        let is_index = match operand.element.base {
            TypeBase::Fixed(dtype) => {
                operand.element.functions.is_empty() && matches!(dtype, DType::S32 | DType::S64)
            }
            TypeBase::Variable(_) => false,
        };
        if !is_index || operand.shape.rank() != Some(0) || operand.arity != Arity::Required {
            let message =
                format!("`{name}` is an offset, so it is one number: `{name}: s32[]` or `{name}: s64[]`");
            return Err(error(name, message));
        }
        let is_alone = |d: &DimDecl| matches!(d, DimDecl::Size(Expr::Name(n)) if n.text == dim.text);
        let in_operand = signature.operands.iter().any(|o| o.shape.dims.iter().any(is_alone));
        if !in_operand || signature.attr(&dim.text).is_some() {
            let message = format!("`{dim}` is not a dimension of an operand, so it has no offset");
            return Err(error(dim, message));
        }
    }
    Ok(())
}
