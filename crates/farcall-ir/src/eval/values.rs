//! Conversion between the values of a program and the tensors of its caller: tokens hold no tensors, and
//! tuples are flattened.

use super::EvalValue;
use crate::literal::Literal;
use crate::types::Type;

/// The tensors within values, in order.
pub fn tensors(values: &[EvalValue]) -> Vec<Literal> {
    fn visit(value: &EvalValue, out: &mut Vec<Literal>) {
        match value {
            EvalValue::Tensor(l) => out.push(l.clone()),
            EvalValue::Token => {}
            EvalValue::Tuple(parts) => parts.iter().for_each(|p| visit(p, out)),
        }
    }
    let mut out = Vec::new();
    values.iter().for_each(|v| visit(v, &mut out));
    out
}

/// Assembles values of these types from tensors; `None` if the number of tensors does not match. Tensor types
/// are not compared.
pub fn values<'t>(
    types: impl IntoIterator<Item = &'t Type>,
    tensors: Vec<Literal>,
) -> Option<Vec<EvalValue>> {
    fn value(ty: &Type, tensors: &mut dyn Iterator<Item = Literal>) -> Option<EvalValue> {
        match ty {
            Type::Token => Some(EvalValue::Token),
            Type::Tuple(parts) | Type::Future(parts) => {
                let parts: Option<Vec<EvalValue>> = parts.iter().map(|p| value(p, tensors)).collect();
                parts.map(EvalValue::Tuple)
            }
            _ => tensors.next().map(EvalValue::Tensor),
        }
    }
    let mut tensors = tensors.into_iter();
    let values = types.into_iter().map(|ty| value(ty, &mut tensors)).collect();
    if tensors.next().is_some() { None } else { values }
}
