//! Recognizes operands that may be symmetric matrices: square matrices of which an op reads only one
//! triangle. Derivatives of such an op may hold for symmetric changes only. To find these operands, the
//! module changes the entries of a triangle and compares the results.

use farcall::ir::{Literal, Scalar};

use super::arrays::difference;
use super::{Call, CheckError};

/// A triangle of square matrices, without the diagonal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Triangle {
    Lower,
    Upper,
}

impl Triangle {
    /// Returns the triangle of an operand that the op does not read: changing the triangle's entries changes
    /// no result. `None` if the op reads both triangles, or the operand does not consist of square matrices.
    pub(super) fn unread(call: &Call<'_>, operand: usize) -> Option<Triangle> {
        let x = &call.operands[operand];
        let [.., rows, columns] = *x.dims() else { return None };
        if rows != columns || rows < 2 {
            return None;
        }
        [Triangle::Upper, Triangle::Lower].into_iter().find(|triangle| {
            let mut operands = call.operands.clone();
            operands[operand] =
                triangle.replaced(x, |at, _| Scalar::Complex(x.get(at).as_complex() * 0.5 + 0.25));
            let Ok(results) = call.op.run(&operands) else { return false };
            let same = |(a, b)| difference(a, b).relative == 0.0;
            results.iter().zip(&call.results).all(same)
        })
    }

    /// Makes matrices symmetric (Hermitian if complex): replaces this triangle by the mirror image of the
    /// other triangle.
    pub(super) fn mirrored(self, x: &Literal) -> Literal {
        self.replaced(x, |_, image| Scalar::Complex(x.get(image).as_complex().conj()))
    }

    /// Replaces the entries in the triangle. `entry` gets the index of the entry and the index of its mirror
    /// image. The diagonal becomes real.
    fn replaced(self, x: &Literal, entry: impl Fn(usize, usize) -> Scalar) -> Literal {
        let n = x.dims().last().copied().unwrap_or(1);
        Literal::from_fn(x.dtype(), x.dims().to_vec(), |at| {
            let (matrix, i, j) = (at / (n * n), at / n % n, at % n);
            match self {
                _ if i == j => Scalar::Complex(x.get(at).as_complex().re.into()),
                Triangle::Upper if i < j => entry(at, matrix * n * n + j * n + i),
                Triangle::Lower if i > j => entry(at, matrix * n * n + j * n + i),
                _ => x.get(at),
            }
        })
    }
}

impl<'a> Call<'a> {
    /// Returns the same call with symmetric matrices, in place of the operands of which the op reads only one
    /// triangle.
    pub(super) fn on_symmetric(&self, unread: &[Option<Triangle>]) -> Result<Call<'a>, CheckError> {
        let operands = self.operands.iter().zip(unread);
        let operands = operands.map(|(x, unread)| unread.map_or_else(|| x.clone(), |t| t.mirrored(x)));
        Call::new(self.op.target, operands.collect(), &self.op.attrs)
    }
}
