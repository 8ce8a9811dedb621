//! Products of sparse and dense matrices as derivatives of one form.
//!
//! A sparse matrix `A` with values `a`, and dense matrices `X` and `Y`, have the form
//! `f(a, X, Y) = Σ A[i, k]·X[k, j]·Y[i, j]`. Its partial derivative with respect to `Y` is `A·X`, with
//! respect to `X` it is `Aᵀ·Y`, and with respect to `a` it is `Y·Xᵀ`, sampled at the entries of `A`. Each product in
//! this library is such a derivative, and the derivatives of the products are sums of products.

use farcall_ffi::{ANY_RANK, AnyBuffer, Complex, Context, DType, Error, Result, dispatch, ensure};

use crate::blocks::Blocks;
use crate::compressed::{Compressed, Sizes};
use crate::coordinates::Coordinates;
use crate::number::{Index, Scalar};

/// Evaluates an expression for the Rust types of elements and indices.
macro_rules! for_types {
    ($dtype:expr, $index:expr, $T:ident, $I:ident => $call:expr) => {
        match $index {
            DType::S32 => {
                type $I = i32;
                dispatch!($dtype, $T: f32 | f64 | Complex<f32> | Complex<f64> => $call)
            }
            DType::S64 => {
                type $I = i64;
                dispatch!($dtype, $T: f32 | f64 | Complex<f32> | Complex<f64> => $call)
            }
            other => Err(Error::invalid_argument(format!("indices are s32 or s64, not {other}"))),
        }
    };
}
pub(crate) use for_types;

/// Format of a sparse matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Index arrays: column of each entry, start of each row.
    Csr,
    /// Index arrays: row of each entry, start of each column.
    Csc,
    /// Index arrays: row and column of each entry.
    Coo,
    /// Index arrays: block column of each block, start of each block row.
    Bsr,
}

/// Arguments of the form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Values of the sparse matrix: `a`.
    Values,
    /// Dense matrix with a row for each column of the sparse matrix: `X`.
    Right,
    /// Dense matrix with a row for each row of the sparse matrix: `Y`.
    Left,
}

/// A form: everything but its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form<'a> {
    pub(crate) format: Format,
    /// True if the dense matrices are stored as their transposes.
    pub(crate) is_transposed: bool,
    /// Index arrays of the sparse matrix, in the order of [`Format`].
    pub(crate) indices: [&'a AnyBuffer; 2],
    /// Names of the index arrays in the signature.
    pub(crate) names: [&'static str; 2],
    /// Number of rows of a dense argument, which an attribute gives.
    pub(crate) attr: Option<(&'static str, i64)>,
    /// The argument that the attribute is for.
    pub(crate) attr_role: Role,
}

/// An argument of a form: its role, its name in the signature, and its elements.
pub(crate) type Argument<'a> = (Role, &'static str, &'a AnyBuffer);

/// Batch dimensions and sizes of a tensor.
#[derive(Clone, Copy, Debug)]
struct Dims<'a> {
    batch: &'a [usize],
    rows: usize,
    n: usize,
}

/// Sizes of a form and its arguments.
#[derive(Clone, Copy, Debug)]
struct FormSizes {
    batches: usize,
    /// Numbers of rows and columns of the sparse matrix.
    shape: [usize; 2],
    /// Rows and columns of a block; 1 in other formats.
    block: [usize; 2],
    n: usize,
}

/// Declares functions that make forms for a format. The result of an op has the number of rows that the
/// attribute gives.
macro_rules! makers {
    ($($name:ident, $format:ident, $is_transposed:literal;)*) => {$(
        pub(crate) fn $name(
            indices: [&'a AnyBuffer; 2],
            names: [&'static str; 2],
            attr: Option<(&'static str, i64)>,
            result: Role,
        ) -> Form<'a> {
            let (format, is_transposed) = (Format::$format, $is_transposed);
            Form { format, is_transposed, indices, names, attr, attr_role: result }
        }
    )*};
}

impl<'a> Form<'a> {
    makers! {
        csr, Csr, false;
        csc, Csc, false;
        coo, Coo, false;
        bsr, Bsr, false;
        dense_csr, Csr, true;
        dense_csc, Csc, true;
        dense_coo, Coo, true;
        dense_bsr, Bsr, true;
    }

    /// Computes the partial derivative of the form with respect to `out`, at the two other arguments. It
    /// replaces the contents of `out`, or is added if `add`.
    pub(crate) fn derive(
        &self,
        context: &Context,
        arguments: [Argument<'_>; 2],
        out: (Role, &'static str, &mut AnyBuffer),
        add: bool,
    ) -> Result<()> {
        let (role, name, out) = out;
        let sizes = self.sizes([
            (arguments[0].0, arguments[0].1, arguments[0].2.dims()),
            (arguments[1].0, arguments[1].1, arguments[1].2.dims()),
            (role, name, out.dims()),
        ])?;
        for (_, other, argument) in arguments {
            ensure!(
                argument.dtype() == out.dtype(),
                "{other} has elements of type {}, but {name} of type {}",
                argument.dtype(),
                out.dtype()
            );
        }
        let [first, second] = self.indices.map(AnyBuffer::dtype);
        let [name, other] = self.names;
        ensure!(first == second, "{name} has indices of type {first}, but {other} of type {second}");
        let call = Call { form: self, context, sizes, arguments, role, add };
        for_types!(out.dtype(), first, T, I => call.typed::<T, I>(out.typed_mut::<T, ANY_RANK>()?))
    }

    /// Computes the sum of partial derivatives with respect to `out`.
    pub(crate) fn add_up(
        &self,
        context: &Context,
        terms: &[[Argument<'_>; 2]],
        out: (Role, &'static str, &mut AnyBuffer),
    ) -> Result<()> {
        let (role, name, out) = out;
        for (i, term) in terms.iter().enumerate() {
            self.derive(context, *term, (role, name, out), i > 0)?;
        }
        Ok(())
    }

    /// Checks the dimensions of all arguments.
    fn sizes(&self, tensors: [(Role, &'static str, &[usize]); 3]) -> Result<FormSizes> {
        let of = |role: Role| {
            let found = tensors.iter().find(|(own, _, _)| *own == role);
            found.copied().ok_or_else(|| Error::internal("a form has three arguments"))
        };
        let ((_, a, values), (_, x, right), (_, y, left)) =
            (of(Role::Values)?, of(Role::Right)?, of(Role::Left)?);
        let own = if self.format == Format::Bsr { 3 } else { 1 };
        let Some(rank) = values.len().checked_sub(own) else {
            return Err(Error::invalid_argument(format!(
                "{a} has the dimensions {values:?}, which are fewer than {own}"
            )));
        };
        let (batch, own) = values.split_at(rank);
        let block = if let [_, p, q] = own { [*p, *q] } else { [1, 1] };
        let (right, left) = (self.dense(x, right, rank)?, self.dense(y, left, rank)?);
        ensure!(
            right.batch == batch && left.batch == batch,
            "batch dimensions differ: {a} has {batch:?}, {x} has {:?}, {y} has {:?}",
            right.batch,
            left.batch
        );
        ensure!(right.n == left.n, "{x} has {} columns, but {y} has {}", right.n, left.n);
        let shape = [left.rows, right.rows];
        if let Some((name, value)) = self.attr {
            let axis = usize::from(self.attr_role == Role::Right);
            ensure!(
                i64::try_from(shape[axis]) == Ok(value),
                "{name} is {value}, but the dense operands have {}",
                shape[axis]
            );
        }
        self.check_indices(own[0], shape, block)?;
        // The product only saturates if a tensor has no elements.
        let batches = batch.iter().fold(1usize, |count, size| count.saturating_mul(*size));
        Ok(FormSizes { batches, shape, block, n: right.n })
    }

    /// Returns the sizes of a dense argument, whose batch has `rank` dimensions.
    fn dense<'d>(&self, name: &str, dims: &'d [usize], rank: usize) -> Result<Dims<'d>> {
        match dims.split_at_checked(rank) {
            Some((batch, [rows])) => Ok(Dims { batch, rows: *rows, n: 1 }),
            Some((batch, [n, rows])) if self.is_transposed => Ok(Dims { batch, rows: *rows, n: *n }),
            Some((batch, [rows, n])) => Ok(Dims { batch, rows: *rows, n: *n }),
            _ => Err(Error::invalid_argument(format!(
                "{name} has the dimensions {dims:?}, but must be a vector or matrix with {rank} batch dimensions"
            ))),
        }
    }

    /// Checks the lengths of the index arrays for a matrix with this number of entries (or blocks).
    fn check_indices(&self, entries: usize, [rows, columns]: [usize; 2], [p, q]: [usize; 2]) -> Result<()> {
        let [first, second] = self.names;
        let [lens, more] = [
            self.indices.map(|indices| indices.dims().len()),
            self.indices.map(|indices| indices.dims().iter().product()),
        ];
        ensure!(lens == [1, 1], "{first} and {second} must have one dimension, but have {lens:?}");
        ensure!(more[0] == entries, "{first} has {} elements, but the matrix has {entries} entries", more[0]);
        match self.format {
            Format::Coo => ensure!(
                more[1] == entries,
                "{second} has {} elements, but the matrix has {entries} entries",
                more[1]
            ),
            Format::Csr => ensure!(
                more[1] == rows + 1,
                "{second} has {} elements, but the matrix has {rows} rows",
                more[1]
            ),
            Format::Csc => ensure!(
                more[1] == columns + 1,
                "{second} has {} elements, but the matrix has {columns} columns",
                more[1]
            ),
            Format::Bsr => {
                ensure!(p > 0 && q > 0, "blocks of {p}×{q} elements are empty");
                ensure!(
                    columns.is_multiple_of(q),
                    "{columns} columns are not a multiple of the {q} columns of a block"
                );
                ensure!(
                    more[1] >= 1 && Some(rows) == (more[1] - 1).checked_mul(p),
                    "{second} has {} elements, but the matrix has {rows} rows in blocks of {p}",
                    more[1]
                );
            }
        }
        Ok(())
    }
}

/// A derivative of a form to be computed.
struct Call<'a> {
    form: &'a Form<'a>,
    context: &'a Context,
    sizes: FormSizes,
    arguments: [Argument<'a>; 2],
    role: Role,
    add: bool,
}

impl Call<'_> {
    fn typed<T: Scalar, I: Index>(&self, out: &mut [T]) -> Result<()> {
        let [first, second] = self.form.indices;
        let indices: [&[I]; 2] = [first.typed::<I, ANY_RANK>()?, second.typed::<I, ANY_RANK>()?];
        let FormSizes { batches, shape, n, .. } = self.sizes;
        if !self.form.is_transposed || n == 1 {
            let [x, y] = [0, 1].map(|i| self.arguments[i].2.typed::<T, ANY_RANK>());
            return self.product(indices, [x?, y?], out);
        }
        let rows = |role: Role| if role == Role::Left { shape[0] } else { shape[1] };
        let mut packed = Vec::new();
        for (role, _, argument) in self.arguments {
            let argument = argument.typed::<T, ANY_RANK>()?;
            let mut copy = self.context.scratch::<T>(argument.len())?;
            match role {
                Role::Values => copy.copy_from_slice(argument),
                _ => transpose(argument, &mut copy, batches, [n, rows(role)], false),
            }
            packed.push(copy);
        }
        let arguments = [&*packed[0], &*packed[1]];
        if self.role == Role::Values {
            return self.product(indices, arguments, out);
        }
        let mut product = self.context.scratch::<T>(out.len())?;
        Call { add: false, ..*self }.product(indices, arguments, &mut product)?;
        transpose(&product, out, batches, [rows(self.role), n], self.add);
        Ok(())
    }

    /// Computes the derivative with dense arguments that are not transposed.
    fn product<T: Scalar, I: Index>(
        &self,
        indices: [&[I]; 2],
        arguments: [&[T]; 2],
        out: &mut [T],
    ) -> Result<()> {
        let FormSizes { batches, shape: [rows, columns], block, n } = self.sizes;
        let (context, names) = (self.context, self.form.names);
        let sizes = Sizes { batches, n, add: self.add };
        let of = |role: Role| if self.arguments[0].0 == role { arguments[0] } else { arguments[1] };
        let (a, x, y) = (of(Role::Values), of(Role::Right), of(Role::Left));
        let compressed = |minors: usize| Compressed {
            starts: indices[1],
            indices: indices[0],
            names: [names[1], names[0]],
            minors,
        };
        match (self.form.format, self.role) {
            (Format::Csr, Role::Left) => compressed(columns).gather(context, sizes, a, x, out),
            (Format::Csr, Role::Right) => compressed(columns).scatter(context, sizes, a, y, out),
            (Format::Csr, Role::Values) => compressed(columns).sample(context, sizes, y, x, out),
            (Format::Csc, Role::Left) => compressed(rows).scatter(context, sizes, a, x, out),
            (Format::Csc, Role::Right) => compressed(rows).gather(context, sizes, a, y, out),
            (Format::Csc, Role::Values) => compressed(rows).sample(context, sizes, x, y, out),
            (Format::Coo, role) => {
                let matrix = Coordinates { indices, names, limits: [rows, columns] };
                match role {
                    Role::Left => matrix.scatter(context, sizes, 0, (a, x), out),
                    Role::Right => matrix.scatter(context, sizes, 1, (a, y), out),
                    Role::Values => matrix.sample(context, sizes, [y, x], out),
                }
            }
            (Format::Bsr, role) => {
                let matrix = Blocks { pattern: compressed(columns / block[1]), block };
                match role {
                    Role::Left => matrix.gather(context, sizes, a, x, out),
                    Role::Right => matrix.scatter(context, sizes, a, y, out),
                    Role::Values => matrix.sample(context, sizes, y, x, out),
                }
            }
        }
    }
}

/// Number of rows and columns of the tiles in which matrices are transposed, so that a tile fits the cache.
const TILE: usize = 16;

/// Writes the transposes of matrices to `to`, or adds them.
fn transpose<T: Scalar>(from: &[T], to: &mut [T], batches: usize, [rows, columns]: [usize; 2], add: bool) {
    let len = rows * columns;
    for batch in 0..if len == 0 { 0 } else { batches } {
        let (from, to) = (&from[batch * len..][..len], &mut to[batch * len..][..len]);
        for row_tile in (0..rows).step_by(TILE) {
            for column_tile in (0..columns).step_by(TILE) {
                for column in column_tile..columns.min(column_tile + TILE) {
                    for row in row_tile..rows.min(row_tile + TILE) {
                        let (value, to) = (from[row * columns + column], &mut to[column * rows + row]);
                        *to = if add { to.plus(value) } else { value };
                    }
                }
            }
        }
    }
}
