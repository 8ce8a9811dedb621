//! Regions that are applied to elements: reducers, comparators, the bodies of `map` and `scatter`.

use super::machine::Machine;
use super::{EvalError, Value};
use crate::literal::Literal;
use crate::module::Region;
use crate::scalar::Scalar;
use farcall_sig::DType;

/// A region made ready to be applied to scalars many times.
pub(super) struct Applied<'m> {
    region: &'m Region,
    dtypes: Vec<DType>,
}

impl<'m> Applied<'m> {
    /// Makes ready a region of the instruction that is being evaluated. Its arguments and results
    /// must be rank 0 tensors.
    pub(super) fn new(m: &Machine<'m>, region: &'m Region) -> Result<Applied<'m>, EvalError> {
        let dtypes = region.args.iter().map(|id| m.func.tensor(*id).map(|t| t.dtype)).collect::<Option<_>>();
        let dtypes = dtypes.ok_or_else(|| EvalError::new("an argument of the region is not a tensor"))?;
        Ok(Applied { region, dtypes })
    }

    /// Applies the region: `out` becomes what it returns, rounded to the types of its results.
    pub(super) fn call(
        &mut self,
        m: &mut Machine<'m>,
        args: &[Scalar],
        out: &mut Vec<Scalar>,
    ) -> Result<(), EvalError> {
        let args = args.iter().zip(&self.dtypes).map(|(x, d)| Literal::scalar(*d, *x).into()).collect();
        let values = m.call_region(self.region, args)?;
        out.clear();
        for value in &values {
            let scalar = match value {
                Value::Tensor(l) => l.iter().next(),
                _ => None,
            };
            out.push(scalar.ok_or_else(|| EvalError::new("the region does not return scalars"))?);
        }
        Ok(())
    }
}
