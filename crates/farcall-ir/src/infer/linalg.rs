//! Linear algebra and Fourier transforms.

use crate::infer::cx::Cx;
use crate::infer::shape::{compatible_elements, same_dims};
use crate::op::Class;
use crate::op::{FftKind, TriangularSolve};
use crate::types::{Dim, TypeList};
use smallvec::smallvec;

pub(super) fn cholesky(cx: &mut Cx<'_>) -> Option<TypeList> {
    let a = cx.t(0);
    // cholesky_i1
    cx.class("cholesky_i1", "a", a, Class::FLOAT | Class::COMPLEX | Class::QUANT);
    // cholesky_c2
    let rank = a.rank();
    if rank < 2 {
        cx.fail("cholesky_c2", format!("a must have rank at least 2, found {a}"));
        return None;
    }
    // cholesky_c3
    cx.check(a.dim(rank - 2).may_equal(a.dim(rank - 1)), "cholesky_c3", || {
        format!("the last two dimensions of a must have the same size, found {a}")
    });
    // cholesky_c1
    Some(smallvec![a.clone().into()])
}

pub(super) fn triangular_solve(cx: &mut Cx<'_>, op: &TriangularSolve) -> Option<TypeList> {
    let (a, b) = (cx.t(0), cx.t(1));
    let allowed = Class::FLOAT | Class::COMPLEX | Class::QUANT;
    // triangular_solve_i1, triangular_solve_i2
    cx.class("triangular_solve_i1", "a", a, allowed);
    cx.class("triangular_solve_i2", "b", b, allowed);
    // triangular_solve_c1
    cx.check(compatible_elements(a, b), "triangular_solve_c1", || {
        format!("a and b must have the same element type, found {a} and {b}")
    });
    // triangular_solve_c2
    let rank = a.rank();
    if !cx.check(rank >= 2 && rank == b.rank(), "triangular_solve_c2", || {
        format!("a and b must have the same rank, 2 or more, found {a} and {b}")
    }) {
        return None;
    }
    // triangular_solve_c3
    let n = a.dim(rank - 1);
    let shared = b.dim(if op.left_side { rank - 2 } else { rank - 1 });
    let fits = a.dim(rank - 2).may_equal(n)
        && n.may_equal(shared)
        && same_dims(a.dims().take(rank - 2), b.dims().take(rank - 2));
    cx.check(fits, "triangular_solve_c3", || {
        let side = if op.left_side { "rows" } else { "columns" };
        format!(
            "a must be square, with the batch dimensions and the number of {side} of b, found {a} and {b}"
        )
    });
    // triangular_solve_c4
    Some(smallvec![b.clone().into()])
}

pub(super) fn fft(cx: &mut Cx<'_>, kind: FftKind, length: &[usize]) -> Option<TypeList> {
    let operand = cx.t(0);
    // fft_i1
    cx.class("fft_i1", "operand", operand, Class::FLOAT | Class::COMPLEX);
    // fft_c2
    let dtype = operand.dtype;
    let (fits, result) = match kind {
        FftKind::Fft | FftKind::Ifft => (dtype.is_complex(), dtype),
        FftKind::Rfft => (dtype.complex().is_some(), dtype.complex().unwrap_or(dtype)),
        FftKind::Irfft => (dtype.is_complex(), dtype.real()),
    };
    cx.check(fits, "fft_c2", || {
        let needed = if kind == FftKind::Rfft { "f32 or f64" } else { "complex" };
        format!("operand of {} must have {needed} elements, found {operand}", kind.name())
    });
    // fft_c3
    let n = length.len();
    let valid = cx.check((1..=3).contains(&n), "fft_c3", || {
        format!("fft_length must have 1 to 3 entries, found {length:?}")
    });
    // fft_c1
    let rank = operand.rank();
    if !cx.check(n <= rank, "fft_c1", || {
        format!("fft_length must have at most {rank} entries (the rank of the operand), found {length:?}")
    }) || !valid
    {
        return None;
    }
    let last = length[n - 1];
    let half = if last == 0 { 0 } else { last / 2 + 1 };
    let mut dims: Vec<Dim> = operand.dims().collect();
    // True if the first `count` of the transformed dimensions have the lengths of the transform.
    let same = |count: usize| {
        operand.dims().skip(rank - n).zip(length).take(count).all(|(dim, length)| dim.may_be(*length))
    };
    match kind {
        // The specification omits this constraint for complex operands. A tensor without elements has no
        // lines to transform, so XLA ignores the lengths of its dimensions.
        FftKind::Fft | FftKind::Ifft => {
            cx.check(same(n) || operand.elements() == Some(0), "fft_c4", || {
                format!("the last dimensions of {operand} must be fft_length, {length:?}")
            });
        }
        FftKind::Rfft => {
            // fft_c4, fft_c5
            cx.check(same(n), "fft_c4", || {
                format!("the last dimensions of {operand} must be fft_length, {length:?}")
            });
            dims[rank - 1] = Dim::Static(half);
        }
        FftKind::Irfft => {
            // fft_c4
            cx.check(same(n - 1), "fft_c4", || {
                format!("the dimensions of {operand} before the last must have the sizes {length:?}")
            });
            // fft_c5
            let given = operand.dim(rank - 1);
            // For a transform of length 0, the operand may have one element in this dimension, as in NumPy
            // and XLA.
            let fits = given.may_be(half) || (last == 0 && given == Dim::Static(1));
            cx.check(fits, "fft_c5", || {
                format!("the last dimension of {operand} must be {half} (half of {last}, plus 1)")
            });
            dims[rank - 1] = Dim::Static(last);
        }
    }
    // fft_c5
    Some(smallvec![operand.with_dims(dims).with_dtype(result).into()])
}
