//! Products of two CSR matrices at the entries of a known pattern.
//!
//! The method is Gustavson's (*Two fast algorithms for sparse matrices: multiplication and permuted
//! transposition*, 1978): each row of the product is a sum of rows of the second matrix. A dense array holds
//! the positions of the entries of the row.

use std::ops::Range;

use farcall_ffi::ANY_RANK;
use farcall_ffi::prelude::*;

use crate::bilinear::bilinear;
use crate::compressed::{Compressed, entry};
use crate::form::{Argument, Role, for_types};
use crate::number::{Index, Scalar};
use crate::parallel::{self, Scattered, balanced, for_each_part, scatter, tasks};
use crate::patterns::Positions;

bilinear! {
    /// The product of two CSR matrices at the entries of a CSR pattern of `k` columns: `c[e]` is the element
    /// of `A·B` at entry `e`. Elements of the product outside of the pattern are left out. If an entry occurs
    /// several times in the pattern, the first has the element, and the others are 0.
    mod csr_csr_matmul: "csr_csr_matmul", "csr_csr_matmul_jvp", "csr_csr_matmul_bwd",
        "csr_csr_matmul_jvp_jvp",
        "csr_csr_matmul_jvp_bwd", "csr_csr_matmul_bwd_jvp", "csr_csr_matmul_bwd_bwd";
    form(PatternProduct::new, k);
    operands(a: T[*, e], a_columns: I[e], a_starts: I[s], b: T[*, f], b_columns: I[f], b_starts: I[r],
        columns: I[g], starts: I[s]);
    first(Values: a, da, ta, dta, tda, dda; [*, e]);
    second(Right: b, db, tb, dtb, tdb, ddb; [*, f]);
    result(Left: c, dc, tc, dtc, tdc, ddc; [*, g]);
    indices(a_columns: [e], a_starts: [s], b_columns: [f], b_starts: [r], columns: [g], starts: [s]);
    forward(s >= 1; r >= 1; k >= 0);
    backward(s >= 1; r >= 1; k >= 0);
    mixed(s >= 1; r >= 1; k >= 0);
    samples(csr_csr_matmul);
}

/// Maximum number of tasks, each of which has an array of positions.
const MAX_TASKS: usize = 8;

/// The form `Σ a[i, j]·b[j, l]·c[i, l]` over the entries of three patterns. Its derivatives are products of
/// two matrices at the entries of the third.
pub(crate) struct PatternProduct<'a> {
    /// Indices and starts of `a`, `b` and `c`.
    indices: [&'a AnyBuffer; 6],
    names: [&'static str; 6],
    /// Number of columns of `b` and `c`.
    columns: i64,
}

/// The three matrices of a call.
struct Matrices<'a, I> {
    a: Compressed<'a, I>,
    b: Compressed<'a, I>,
    c: Compressed<'a, I>,
}

impl<'a> PatternProduct<'a> {
    fn new(
        indices: [&'a AnyBuffer; 6],
        names: [&'static str; 6],
        columns: Option<(&'static str, i64)>,
        _: Role,
    ) -> Self {
        PatternProduct { indices, names, columns: columns.map_or(0, |(_, columns)| columns) }
    }

    fn derive(
        &self,
        context: &Context,
        arguments: [Argument<'_>; 2],
        out: (Role, &'static str, &mut AnyBuffer),
        add: bool,
    ) -> Result<()> {
        let (role, name, out) = out;
        let index = self.indices[0].dtype();
        for (indices, name) in self.indices.iter().zip(self.names) {
            ensure!(indices.dtype() == index, "{name} has indices of type {}, not {index}", indices.dtype());
        }
        let mut batches = None;
        let mut check = |role: Role, name: &str, dims: &[usize], dtype: DType| {
            let entries = self.indices[2 * position(role)].dims();
            let (Some((own, batch)), [entries]) = (dims.split_last(), entries) else {
                return Err(Error::invalid_argument(format!("{name} has the dimensions {dims:?}")));
            };
            ensure!(own == entries, "{name} has {own} values, but its matrix has {entries} entries");
            ensure!(dtype == out.dtype(), "{name} has elements of type {dtype}, not {}", out.dtype());
            let expected = batches.get_or_insert(batch.to_vec());
            ensure!(expected == batch, "{name} has the batch dimensions {batch:?}, not {expected:?}");
            Ok(())
        };
        for (role, name, argument) in arguments {
            check(role, name, argument.dims(), argument.dtype())?;
        }
        check(role, name, out.dims(), out.dtype())?;
        let batches = batches.unwrap_or_default().into_iter().fold(1, usize::saturating_mul);
        for_types!(out.dtype(), index, T, I => {
            let matrices = self.matrices::<I>()?;
            let [x, y] = [0, 1].map(|i| arguments[i].2.typed::<T, ANY_RANK>());
            let in_order = position(arguments[0].0) < position(arguments[1].0);
            let (x, y) = if in_order { (x?, y?) } else { (y?, x?) };
            matrices.derive(context, batches, role, (x, y), out.typed_mut::<T, ANY_RANK>()?, add)
        })
    }

    fn add_up(
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

    /// Returns the matrices, whose indices have been checked.
    fn matrices<I: Index>(&self) -> Result<Matrices<'a, I>> {
        let matrix = |at: usize, minors: usize| -> Result<Compressed<'a, I>> {
            let names = [self.names[at + 1], self.names[at]];
            let starts = self.indices[at + 1].typed::<I, ANY_RANK>()?.as_slice();
            let indices = self.indices[at].typed::<I, ANY_RANK>()?.as_slice();
            ensure!(
                !starts.is_empty(),
                "{} is empty, but has an element more than the matrix has rows",
                names[0]
            );
            let matrix = Compressed { starts, indices, names, minors };
            matrix.check()?;
            Ok(matrix)
        };
        let k = usize::try_from(self.columns).unwrap_or(0);
        let (b, c) = (matrix(2, k)?, matrix(4, k)?);
        let a = matrix(0, b.majors())?;
        let rows = [a.majors(), c.majors()];
        ensure!(rows[0] == rows[1], "{} and {} are those of {rows:?} rows", a.names[0], c.names[0]);
        Ok(Matrices { a, b, c })
    }
}

fn position(role: Role) -> usize {
    match role {
        Role::Values => 0,
        Role::Right => 1,
        Role::Left => 2,
    }
}

impl<I: Index> Matrices<'_, I> {
    /// Computes a derivative from the values `x` and `y` of the two other matrices, in the order `a`, `b`,
    /// `c`.
    fn derive<T: Scalar>(
        &self,
        context: &Context,
        batches: usize,
        role: Role,
        (x, y): (&[T], &[T]),
        out: &mut [T],
        add: bool,
    ) -> Result<()> {
        let (e, f, g) = (self.a.indices.len(), self.b.indices.len(), self.c.indices.len());
        let products = e.saturating_mul(f / self.b.majors().max(1) + 1);
        let count = tasks(products.saturating_add(g)).min(MAX_TASKS);
        if role == Role::Right {
            let chunks = parallel::chunks(products, 1, f).min(MAX_TASKS);
            let (ranges, sizes) = (balanced(self.a.starts, chunks), Scattered { batches, n: 1, chunks, add });
            return scatter(
                context,
                sizes,
                out,
                |_| Ok(0..f),
                |batch, chunk, _, out| {
                    let (a, c) = (entry(x, batch, e), entry(y, batch, g));
                    self.each(ranges[chunk].clone(), |at, from, to| {
                        out[from] = out[from].plus(a[at].times(c[to]))
                    })
                },
            );
        }
        let (ranges, firsts, lens) =
            if role == Role::Left { self.c.parts(count) } else { self.a.parts(count) };
        for_each_part(context, batches, &lens, out, |batch, part, out| {
            if !add {
                out.fill(T::ZERO);
            }
            let (rows, first) = (ranges[part].clone(), firsts[part]);
            if role == Role::Left {
                let (a, b) = (entry(x, batch, e), entry(y, batch, f));
                self.each(rows, |at, from, to| {
                    out[to - first] = out[to - first].plus(a[at].times(b[from]));
                })
            } else {
                let (b, c) = (entry(x, batch, f), entry(y, batch, g));
                self.each(rows, |at, from, to| {
                    out[at - first] = out[at - first].plus(b[from].times(c[to]));
                })
            }
        })
    }

    /// Calls `work(at, from, to)` for the entries of `a`, `b` and `c` in each product of these rows.
    #[inline(always)]
    fn each(&self, rows: Range<usize>, mut work: impl FnMut(usize, usize, usize)) -> Result<()> {
        let mut positions = Positions::new(&self.c)?;
        for row in rows {
            positions.enter(&self.c, row);
            for at in self.a.range(row) {
                for from in self.b.range(self.a.indices[at].at()) {
                    if let Some(to) = positions.of(self.b.indices[from].at()) {
                        work(at, from, to);
                    }
                }
            }
            positions.leave(&self.c, row);
        }
        Ok(())
    }
}
