//! Products of matrices, and of matrices and vectors.

use faer::{MatMut, MatRef};
use farcall_ffi::prelude::*;
use half::{bf16, f16};

use super::{Form, scale};
use crate::batch::{self, Entries, EntriesMut};
use crate::lapack::block::{Factor, add_product_on};
use crate::lapack::scalar::{Scalar, c32, c64, system_routines};
use crate::threads::Threads;

/// Products of matrices, added to `c`: `out = alpha·op(a)·op(b) + beta·c`.
///
/// `op(a)` is `a`, or its transpose or conjugate transpose (`transpose_a`); the same for `b`. Products of
/// 16-bit numbers are accumulated, and returned, in `f32`. With `beta = 0`, the default, the entries of `c` do
/// not count.
#[handler(name = "blas_gemm")]
#[signature(
    (a: T[*, p, q], b: T[*, r, s], c: acc(T)[*, m, n], alpha: f64 = 1.0, beta: f64 = 0.0,
     transpose_a: "no" | "transpose" | "adjoint" = "no", transpose_b: "no" | "transpose" | "adjoint" = "no")
    -> (out: acc(T)[*, m, n] aliases c)
    where T: f16 | bf16 | f32 | f64 | c64 | c128
)]
#[vjp(backward = gemm_vjp)]
#[expect(clippy::too_many_arguments, reason = "an op has a parameter for each operand and attribute")]
pub(crate) fn gemm(
    context: &Context,
    a: &AnyBuffer,
    b: &AnyBuffer,
    c: &mut InOut<AnyBuffer>,
    alpha: f64,
    beta: f64,
    transpose_a: Form,
    transpose_b: Form,
) -> Result<()> {
    let product = Product { alpha, beta, forms: [transpose_a, transpose_b] };
    dispatch!(a.dtype(), T: f16 | bf16 | f32 | f64 | c32 | c64 => product.compute::<T>(
        context,
        a.typed()?,
        b.typed()?,
        c.typed_mut()?,
    ))
}

/// Products of matrices: `out = op(a)·op(b)`, with the forms of `blas_gemm`. Products in a program
/// (`stablehlo.dot_general`) become calls of this op if the process uses a BLAS library.
#[handler(name = "blas_matmul")]
#[signature(
    (a: T[*, p, q], b: T[*, r, s],
     transpose_a: "no" | "transpose" | "adjoint" = "no", transpose_b: "no" | "transpose" | "adjoint" = "no")
    -> (out: T[..])
    where T: f32 | f64 | c64 | c128; *: whole
)]
#[shape(matmul_shape)]
#[lowers("stablehlo.dot_general", with = super::lowering::lower_product)]
pub(crate) fn matmul(
    context: &Context,
    a: &AnyBuffer,
    b: &AnyBuffer,
    transpose_a: Form,
    transpose_b: Form,
    out: &mut AnyBuffer,
) -> Result<()> {
    let product = Product { alpha: 1.0, beta: 0.0, forms: [transpose_a, transpose_b] };
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => product.compute::<T>(
        context,
        a.typed()?,
        b.typed()?,
        out.typed_mut()?,
    ))
}

fn matmul_shape(call: &ShapeCall<'_>) -> Result<Vec<i64>> {
    let matrices = |name: &str, form: &str| -> Result<(Vec<i64>, [i64; 2])> {
        let dims = call.operand(name)?.dims;
        let [batch @ .., rows, columns] = dims else {
            return Err(Error::invalid_argument(format!(
                "{name} has {} dimensions: a matrix has two",
                dims.len()
            )));
        };
        let form: Form = call.attr(form)?;
        Ok((batch.to_vec(), form.dims([*rows, *columns])))
    };
    let ((batch, [rows, inner]), (_, [inner_b, columns])) =
        (matrices("a", "transpose_a")?, matrices("b", "transpose_b")?);
    ensure!(inner == inner_b, "op(a) has {inner} columns, but op(b) has {inner_b} rows");
    Ok([batch, vec![rows, columns]].concat())
}

/// The derivatives of `blas_gemm` with respect to its operands.
#[handler(name = "blas_gemm_vjp")]
#[signature(
    (a: T[*, p, q], b: T[*, r, s], dout: acc(T)[*, m, n], alpha: f64 = 1.0, beta: f64 = 0.0,
     transpose_a: "no" | "transpose" | "adjoint" = "no", transpose_b: "no" | "transpose" | "adjoint" = "no")
    -> (da: T[*, p, q], db: T[*, r, s], dc: acc(T)[*, m, n])
    where T: f16 | bf16 | f32 | f64 | c64 | c128
)]
#[expect(clippy::too_many_arguments, reason = "an op has a parameter for each operand and attribute")]
pub(crate) fn gemm_vjp(
    context: &Context,
    a: &AnyBuffer,
    b: &AnyBuffer,
    dout: &AnyBuffer,
    alpha: f64,
    beta: f64,
    transpose_a: Form,
    transpose_b: Form,
    da: &mut AnyBuffer,
    db: &mut AnyBuffer,
    dc: &mut AnyBuffer,
) -> Result<()> {
    let product = Product { alpha, beta, forms: [transpose_a, transpose_b] };
    dispatch!(a.dtype(), T: f16 | bf16 | f32 | f64 | c32 | c64 => product.derivative::<T>(
        context,
        [a.typed()?, b.typed()?],
        dout.typed()?,
        [da.typed_mut()?, db.typed_mut()?],
        dc.typed_mut()?,
    ))
}

/// Products of matrices and vectors, added to `y`: `out = alpha·op(a)·x + beta·y`.
///
/// `op(a)` is `a`, or its transpose or conjugate transpose (`transpose_a`). With `beta = 0`, the default, the
/// entries of `y` do not count.
#[handler(name = "blas_gemv")]
#[signature(
    (a: T[*, p, q], x: T[*, k], y: T[*, m], alpha: f64 = 1.0, beta: f64 = 0.0,
     transpose_a: "no" | "transpose" | "adjoint" = "no")
    -> (out: T[*, m] aliases y)
    where T: f32 | f64 | c64 | c128
)]
pub(crate) fn gemv(
    context: &Context,
    a: &AnyBuffer,
    x: &AnyBuffer,
    y: &mut InOut<AnyBuffer>,
    alpha: f64,
    beta: f64,
    transpose_a: Form,
) -> Result<()> {
    dispatch!(a.dtype(), T: f32 | f64 | c32 | c64 => multiply_vectors::<T>(
        context,
        a.typed()?,
        x.typed()?,
        y.typed_mut()?,
        [alpha, beta],
        transpose_a,
    ))
}

/// An element type of factors, with the type for their products.
trait Narrow: Element {
    type Wide: Scalar;

    /// Returns numbers in the wide type, in `memory` if the types differ.
    fn widen<'a>(numbers: &'a [Self], memory: &'a mut Vec<Self::Wide>) -> &'a [Self::Wide];

    /// Rounds a number.
    fn narrow(number: Self::Wide) -> Self;
}

macro_rules! narrow {
    ($($ty:ty => $wide:ty: $widen:expr, $narrow:expr;)*) => {$(
        impl Narrow for $ty {
            type Wide = $wide;

            fn widen<'a>(numbers: &'a [$ty], memory: &'a mut Vec<$wide>) -> &'a [$wide] {
                let widen: fn(&'a [$ty], &'a mut Vec<$wide>) -> &'a [$wide] = $widen;
                widen(numbers, memory)
            }

            fn narrow(number: $wide) -> $ty {
                let narrow: fn($wide) -> $ty = $narrow;
                narrow(number)
            }
        }
    )*};
}
narrow! {
    f16 => f32: |x, memory| { memory.clear(); memory.extend(x.iter().map(|x| x.to_f32())); memory }, f16::from_f32;
    bf16 => f32: |x, memory| { memory.clear(); memory.extend(x.iter().map(|x| x.to_f32())); memory }, bf16::from_f32;
    f32 => f32: |x, _| x, |x| x;
    f64 => f64: |x, _| x, |x| x;
    c32 => c32: |x, _| x, |x| x;
    c64 => c64: |x, _| x, |x| x;
}

/// Options of a product.
#[derive(Clone, Copy, Debug)]
struct Product {
    alpha: f64,
    beta: f64,
    forms: [Form; 2],
}

impl Product {
    /// Returns the number of matrices, and the dimensions of `a`, `b` and the product.
    fn sizes(self, a: &[usize], b: &[usize], c: &[usize]) -> Result<(usize, [[usize; 2]; 3])> {
        let [count, m, n] = batch::matrices("c", c)?;
        let [_, p, q] = batch::matrices("a", a)?;
        let [_, r, s] = batch::matrices("b", b)?;
        batch::expect_dims("a", a, c, &[p, q])?;
        batch::expect_dims("b", b, c, &[r, s])?;
        let ([rows, inner], [inner_b, columns]) = (self.forms[0].dims([p, q]), self.forms[1].dims([r, s]));
        ensure!(
            inner == inner_b && [rows, columns] == [m, n],
            "op(a) is {rows}×{inner}, op(b) is {inner_b}×{columns}, and c is {m}×{n}, which do not fit"
        );
        Ok((count, [[p, q], [r, s], [m, n]]))
    }

    fn compute<T: Narrow>(
        self,
        context: &Context,
        a: &Buffer<T>,
        b: &Buffer<T>,
        c: &mut Buffer<T::Wide>,
    ) -> Result<()> {
        let (count, [[p, q], [r, s], [m, n]]) = self.sizes(a.dims(), b.dims(), c.dims())?;
        if c.is_empty() {
            return Ok(());
        }
        // A BLAS library has 32-bit sizes.
        let fits = [p, q, r, s].iter().all(|size| i32::try_from(*size).is_ok());
        let system = system_routines::<T::Wide>()?.filter(|_| fits);
        let [alpha, beta] = [self.alpha, self.beta].map(T::Wide::of_f64);
        let threads = Threads::from(context);
        let matrices = (Entries::new(a, p * q), Entries::new(b, r * s), EntriesMut::new(c, m * n));
        let inner = self.forms[0].dims([p, q])[1];
        let operations = 2 * m * n * inner;
        let workspace = || (Vec::new(), Vec::new());
        batch::for_each(context, count, operations, matrices, workspace, |(wide_a, wide_b), (a, b, c)| {
            let (a, b) = (T::widen(a, wide_a), T::widen(b, wide_b));
            if let Some(blas) = &system {
                // A row-major matrix is the transpose of a column-major one, and cᵀ = op(b)ᵀ·op(a)ᵀ.
                let options = [self.forms[1].letter(), self.forms[0].letter()];
                return blas.gemm(options, [n, m, inner], [alpha, beta], b, a, c);
            }
            scale(c, self.beta);
            let a = MatRef::from_row_major_slice(a, p, q);
            let b = MatRef::from_row_major_slice(b, r, s);
            let c = MatMut::from_row_major_slice_mut(c, m, n);
            add_product_on(threads, c, alpha, self.forms[0].of(a), self.forms[1].of(b));
        });
        Ok(())
    }

    fn derivative<T: Narrow>(
        self,
        context: &Context,
        [a, b]: [&Buffer<T>; 2],
        dout: &Buffer<T::Wide>,
        [da, db]: [&mut Buffer<T>; 2],
        dc: &mut Buffer<T::Wide>,
    ) -> Result<()> {
        let (count, [[p, q], [r, s], [m, n]]) = self.sizes(a.dims(), b.dims(), dout.dims())?;
        ensure!(
            da.dims() == a.dims() && db.dims() == b.dims() && dc.dims() == dout.dims(),
            "da, db and dc have the dimensions {:?}, {:?} and {:?}, but not those of a, b and dout",
            da.dims(),
            db.dims(),
            dc.dims()
        );
        dc.copy_from_slice(dout);
        scale(dc, self.beta);
        if count == 0 {
            return Ok(());
        }
        let alpha = T::Wide::of_f64(self.alpha);
        let threads = Threads::from(context);
        let inputs = (Entries::new(a, p * q), Entries::new(b, r * s), Entries::new(dout, m * n));
        let outputs = (EntriesMut::new(da, p * q), EntriesMut::new(db, r * s));
        let operations = 4 * m * n * self.forms[0].dims([p, q])[1];
        let workspace = || [(); 4].map(|()| Vec::new());
        let all = (inputs, outputs);
        batch::for_each(context, count, operations, all, workspace, |memory, ((a, b, dout), (da, db))| {
            let [wide_a, wide_b, wide_da, wide_db] = memory;
            let a = MatRef::from_row_major_slice(T::widen(a, wide_a), p, q);
            let b = MatRef::from_row_major_slice(T::widen(b, wide_b), r, s);
            let dout = MatRef::from_row_major_slice(dout, m, n);
            for (wide, len) in [(&mut *wide_da, p * q), (&mut *wide_db, r * s)] {
                wide.clear();
                wide.resize(len, T::Wide::zero());
            }
            // The cotangents of op(a) and op(b) are alpha·dout·op(b)ᵀ and alpha·op(a)ᵀ·dout.
            let [form_a, form_b] = self.forms;
            let dout = Factor::from(dout);
            add_product_on(
                threads,
                cotangent(wide_da, form_a, [p, q]),
                alpha,
                dout,
                form_b.of(b).transpose(),
            );
            add_product_on(
                threads,
                cotangent(wide_db, form_b, [r, s]),
                alpha,
                form_a.of(a).transpose(),
                dout,
            );
            // The cotangent of a conjugate is the conjugate of the cotangent.
            let store = |narrow: &mut [T], wide: &[T::Wide], form: Form| {
                let conjugated = form == Form::Adjoint;
                narrow.iter_mut().zip(wide).for_each(|(x, y)| *x = T::narrow(y.conjugate_if(conjugated)));
            };
            store(da, wide_da, self.forms[0]);
            store(db, wide_db, self.forms[1]);
        });
        Ok(())
    }
}

/// Returns the memory of a matrix's cotangent as that of its transpose, unless the form is the matrix itself.
fn cotangent<T: Scalar>(memory: &mut [T], form: Form, [rows, columns]: [usize; 2]) -> MatMut<'_, T> {
    let matrix = MatMut::from_row_major_slice_mut(memory, rows, columns);
    if form == Form::No { matrix } else { matrix.transpose_mut() }
}

fn multiply_vectors<T: Scalar>(
    context: &Context,
    a: &Buffer<T>,
    x: &Buffer<T>,
    y: &mut Buffer<T>,
    [alpha, beta]: [f64; 2],
    form: Form,
) -> Result<()> {
    let [count, p, q] = batch::matrices("a", a.dims())?;
    let [m, k] = form.dims([p, q]);
    batch::expect_dims("x", x.dims(), a.dims(), &[k])?;
    batch::expect_dims("y", y.dims(), a.dims(), &[m])?;
    if y.is_empty() {
        return Ok(());
    }
    let alpha = T::of_f64(alpha);
    let threads = Threads::from(context);
    let vectors = (Entries::new(a, p * q), Entries::new(x, k), EntriesMut::new(y, m));
    batch::for_each(
        context,
        count,
        2 * p * q,
        vectors,
        || (),
        |(), (a, x, y)| {
            scale(y, beta);
            let a = MatRef::from_row_major_slice(a, p, q);
            let (x, y) =
                (MatRef::from_column_major_slice(x, k, 1), MatMut::from_column_major_slice_mut(y, m, 1));
            add_product_on(threads, y, alpha, form.of(a), Factor::from(x));
        },
    );
    Ok(())
}
