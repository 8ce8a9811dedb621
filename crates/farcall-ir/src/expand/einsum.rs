//! `einsum` and `unary_einsum`: letters name the dimensions that are summed or moved.

use super::builder::Builder;
use crate::module::ValueId;
use crate::op::einsum::EinsumConfig;
use crate::op::{DotGeneral, Op};
use crate::types::TensorType;

impl Builder<'_> {
    pub(super) fn einsum(
        &mut self,
        config: &EinsumConfig,
        xs: &[ValueId],
        result: &TensorType,
    ) -> Option<ValueId> {
        let mut operands = Vec::new();
        for (i, (x, letters)) in xs.iter().zip(&config.operands).enumerate() {
            let (x, letters) = self.diagonals(*x, letters.clone());
            let others = config.operands.iter().enumerate().filter(|(j, _)| *j != i);
            let elsewhere: Vec<char> =
                others.flat_map(|(_, l)| l.clone()).chain(config.result.clone()).collect();
            // Letters that occur nowhere else are summed first, in the type of the result, which may be
            // wider.
            let gone: Vec<usize> = (0..letters.len()).filter(|d| !elsewhere.contains(&letters[*d])).collect();
            let x = if gone.is_empty() { x } else { self.convert(x, result.dtype) };
            let kept: Vec<char> = letters.iter().copied().filter(|l| elsewhere.contains(l)).collect();
            operands.push((self.sum(x, &gone), kept));
        }
        let (value, letters) = match operands.as_slice() {
            [(x, letters)] => (self.convert(*x, result.dtype), letters.clone()),
            [lhs, rhs] => self.product(config, lhs, rhs, result),
            _ => return None,
        };
        let permutation = config.result.iter().map(|l| letters.iter().position(|m| m == l));
        Some(self.transpose(value, permutation.collect::<Option<Vec<usize>>>()?))
    }

    /// The product over the letters that the operands share and the result lacks.
    fn product(
        &mut self,
        config: &EinsumConfig,
        (lhs, left): &(ValueId, Vec<char>),
        (rhs, right): &(ValueId, Vec<char>),
        result: &TensorType,
    ) -> (ValueId, Vec<char>) {
        let both = || left.iter().copied().filter(|l| right.contains(l));
        let batch: Vec<char> = both().filter(|l| config.result.contains(l)).collect();
        let contracted: Vec<char> = both().filter(|l| !config.result.contains(l)).collect();
        let places = |of: &[char], list: &[char]| -> Vec<usize> {
            list.iter().filter_map(|l| of.iter().position(|m| m == l)).collect()
        };
        let free = |of: &[char]| -> Vec<char> {
            of.iter().copied().filter(|l| !batch.contains(l) && !contracted.contains(l)).collect()
        };
        let letters = [batch.clone(), free(left), free(right)].concat();
        let (a, b) = (self.ty(*lhs), self.ty(*rhs));
        let size = |l: &char| {
            let of = |letters: &[char], dims: &[usize]| Some(dims[letters.iter().position(|m| m == l)?]);
            of(left, a.sizes()).or_else(|| of(right, b.sizes())).unwrap_or(1)
        };
        let dims: Vec<usize> = letters.iter().map(size).collect();
        let dot = DotGeneral {
            lhs_batch: places(left, &batch),
            rhs_batch: places(right, &batch),
            lhs_contract: places(left, &contracted),
            rhs_contract: places(right, &contracted),
            precision: Vec::new(),
            algorithm: None,
        };
        (self.emit(Op::DotGeneral(Box::new(dot)), &[*lhs, *rhs], result.with_sizes(dims)), letters)
    }

    /// An operand in which every letter occurs once: a repeated letter selects the diagonal.
    fn diagonals(&mut self, mut x: ValueId, mut letters: Vec<char>) -> (ValueId, Vec<char>) {
        loop {
            let twice = (0..letters.len())
                .find_map(|i| Some((i, letters[..i].iter().position(|l| *l == letters[i])?)));
            let Some((second, first)) = twice else { return (x, letters) };
            // Rows of n elements; reading them as rows of n + 1 elements shifts each row by one, which puts
            // the diagonal into the first column.
            let others: Vec<usize> = (0..letters.len()).filter(|d| *d != first && *d != second).collect();
            let rest: Vec<usize> = others.iter().map(|d| self.ty(x).sizes()[*d]).collect();
            let n = self.ty(x).sizes()[first];
            let with = |tail: &[usize]| [rest.as_slice(), tail].concat();
            x = self.transpose(x, [others.clone(), vec![first, second]].concat());
            // If the tensor has no elements, `n` may be so large that its square overflows. Any size will
            // then do.
            let square = n.checked_mul(n).unwrap_or(0);
            x = self.reshape(x, &with(&[square]));
            x = self.pad_last(x, n);
            x = self.reshape(x, &with(&[n, n.saturating_add(1)]));
            x = self.first_of_last(x);
            let letter = letters[first];
            letters = others.iter().map(|d| letters[*d]).chain([letter]).collect();
        }
    }
}
