//! Calls batching functions and checks their answers.

use farcall_ffi::rules::abi::RuleFn;
use farcall_sig::AttrValues;
use farcall_sig::signature::{Batching, CallPart, Inference, Mismatch, MismatchKind, OperandType};

use super::Declaration;
use crate::interface::rule::{self, Batched};

/// A vmapped call of an op that has a batching function.
pub(super) struct BatchedCall<'a> {
    pub(super) declaration: &'a Declaration,
    pub(super) function: RuleFn,
    /// Operands of the call. Batched operands have the mapped axis in front.
    pub(super) operands: &'a [OperandType<'a>],
    pub(super) batched: &'a [bool],
}

impl BatchedCall<'_> {
    pub(super) fn rule(&self, attrs: &AttrValues) -> Result<Batching, Mismatch> {
        let size = self.axis_size()?;
        let entries: Vec<OperandType<'_>> = self
            .operands
            .iter()
            .zip(self.batched)
            .map(|(operand, batched)| OperandType {
                dims: &operand.dims[usize::from(*batched)..],
                ..*operand
            })
            .collect();
        let entry = self.declaration.infer(&entries, attrs)?;
        // SAFETY: `function` is the batching function of a library that stays loaded.
        let said = unsafe { rule::batching(self.function, &entries, self.batched, size, &entry.attrs) };
        match said.map_err(shape_mismatch)? {
            Batched::Each(reason) => Ok(Batching::Loop { reason }),
            Batched::Once { operands, results, attrs } => {
                let attrs = self.once(size, &entries, &entry, &operands, &results, &attrs)?;
                Ok(Batching::Custom { operands, attrs, results })
            }
        }
    }

    /// Returns the size of the mapped axis, which is the first dimension of every batched operand.
    fn axis_size(&self) -> Result<i64, Mismatch> {
        let names = self.declaration.signature.operand_names(self.operands.len())?;
        let mut size: Option<(i64, &str)> = None;
        for ((operand, name), _) in self.operands.iter().zip(&names).zip(self.batched).filter(|(_, b)| **b) {
            let Some(own) = operand.dims.first() else {
                return Err(shape_mismatch(format!("{name} is batched, but has no dimension")));
            };
            match size {
                Some((other, giver)) if *own != other => {
                    let message =
                        format!("{name} has {own} entries along the mapped axis but {giver} has {other}");
                    return Err(shape_mismatch(message));
                }
                _ => size = Some((*own, name)),
            }
        }
        Ok(size.map_or(0, |(size, _)| size))
    }

    /// Returns all attributes of the single call that replaces the loop, after checking that the call returns
    /// the results of all entries.
    fn once(
        &self,
        size: i64,
        entries: &[OperandType<'_>],
        entry: &Inference,
        operands: &[Option<usize>],
        results: &[usize],
        changed: &AttrValues,
    ) -> Result<AttrValues, Mismatch> {
        let wrong = |what: String| Err(shape_mismatch(format!("the batching function is wrong: {what}")));
        let signature = &self.declaration.signature;
        let names = signature.operand_names(entries.len())?;
        if operands.len() != entries.len() {
            return wrong(format!(
                "it describes {} operands, but the call has {}",
                operands.len(),
                entries.len()
            ));
        }
        let mut dims: Vec<Vec<i64>> = Vec::with_capacity(operands.len());
        for (i, at) in operands.iter().enumerate() {
            match at {
                None if self.batched[i] => {
                    return wrong(format!("{} is batched, but gets no axis in the one call", names[i]));
                }
                None => dims.push(entries[i].dims.to_vec()),
                Some(at) => match with_axis(entries[i].dims, *at, size) {
                    Some(with) => dims.push(with),
                    None => {
                        let shape = entries[i].dims;
                        return wrong(format!(
                            "{at} is not a valid axis position in {} of shape {shape:?}",
                            names[i]
                        ));
                    }
                },
            }
        }
        let mut attrs = entry.attrs.clone();
        changed.iter().for_each(|(name, value)| attrs.insert(name, value.clone()));
        let types: Vec<OperandType<'_>> =
            entries.iter().zip(&dims).map(|(o, dims)| OperandType { dtype: o.dtype, dims }).collect();
        let whole = match self.declaration.infer(&types, &attrs) {
            Ok(whole) => whole,
            Err(mismatch) => return wrong(format!("the one call does not fit: {}", mismatch.message)),
        };
        if results.len() != entry.results.len() || whole.results.len() != entry.results.len() {
            let (said, has) = (results.len(), entry.results.len());
            return wrong(format!("it describes {said} results, but the call has {has}"));
        }
        for ((at, one), all) in results.iter().zip(&entry.results).zip(&whole.results) {
            let name = &signature.results()[one.decl].name;
            let expected = with_axis(&one.dims, *at, size);
            if expected.as_ref() != Some(&all.dims) || one.dtype != all.dtype {
                let expected = match expected {
                    Some(expected) => {
                        format!("{size} of {:?} with the axis at {at} are {expected:?}", one.dims)
                    }
                    None => format!("{at} is not a valid axis position in {:?}", one.dims),
                };
                return wrong(format!("{name} of the one call is {:?}, but {expected}", all.dims));
            }
        }
        Ok(whole.attrs)
    }
}

/// Inserts the mapped axis at position `at`; `None` if the position is invalid.
fn with_axis(dims: &[i64], at: usize, size: i64) -> Option<Vec<i64>> {
    let mut dims = dims.to_vec();
    (at <= dims.len()).then(|| {
        dims.insert(at, size);
        dims
    })
}

fn shape_mismatch(message: String) -> Mismatch {
    Mismatch { kind: MismatchKind::Shape, place: CallPart::Call, message }
}
