//! Products with matrices in compressed form whose entries are dense blocks of `p×q` elements.
//!
//! See [`compressed`](crate::compressed) for the products. An index is the one of a block of columns.

use std::ops::Range;

use farcall_ffi::{Context, Result};

use crate::compressed::{Compressed, Sizes, entry, inner};
use crate::malformed::Malformed;
use crate::number::{Index, Scalar, vectorized};
use crate::parallel::{self, Scattered, balanced, for_each_part, scatter, tasks};

/// A matrix of blocks, without its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a, I> {
    /// Pattern of the blocks.
    pub(crate) pattern: Compressed<'a, I>,
    /// Numbers of rows and columns of a block.
    pub(crate) block: [usize; 2],
}

impl<I: Index> Blocks<'_, I> {
    /// Number of elements of a block.
    fn area(&self) -> usize {
        self.block[0] * self.block[1]
    }

    /// Number of elements of all blocks.
    fn elements(&self) -> usize {
        self.pattern.indices.len() * self.area()
    }

    fn products(&self, n: usize) -> usize {
        (self.elements() + self.pattern.majors()).saturating_mul(n)
    }

    /// `out = A·x`
    pub(crate) fn gather<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        a: &[T],
        x: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (n, [p, q]) = (sizes.n, self.block);
        let ranges = balanced(self.pattern.starts, tasks(self.products(n)));
        let lens: Vec<usize> = ranges.iter().map(|rows| rows.len() * p * n).collect();
        for_each_part(context, sizes.batches, &lens, out, |batch, part, out| {
            let dense = entry(x, batch, self.pattern.minors * q * n);
            let (a, rows) = (entry(a, batch, self.elements()), ranges[part].clone());
            let done = match (n, self.block) {
                (1, [2, 2]) => {
                    vectorized!(T, I, self.gather_vector::<T, 2, 2>(rows, a, dense, out, sizes.add))
                }
                (1, [3, 3]) => {
                    vectorized!(T, I, self.gather_vector::<T, 3, 3>(rows, a, dense, out, sizes.add))
                }
                (1, [4, 4]) => {
                    vectorized!(T, I, self.gather_vector::<T, 4, 4>(rows, a, dense, out, sizes.add))
                }
                (1, [8, 8]) => {
                    vectorized!(T, I, self.gather_vector::<T, 8, 8>(rows, a, dense, out, sizes.add))
                }
                _ => vectorized!(T, I, self.gather_matrix(rows, a, dense, n, out, sizes.add)),
            };
            done.map_err(|malformed| self.pattern.error(malformed))
        })
    }

    /// Computes block rows of a product with a vector, for blocks of `P×Q` elements.
    #[inline(always)]
    fn gather_vector<T: Scalar, const P: usize, const Q: usize>(
        &self,
        rows: Range<usize>,
        a: &[T],
        x: &[T],
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let (x, out) = (x.as_chunks::<Q>().0, out.as_chunks_mut::<P>().0);
        let mut at = self.pattern.starts[rows.start].at();
        for (row, out) in rows.zip(out) {
            let (end, indices) = self.pattern.row(row, at)?;
            let (lines, _) = a[at * P * Q..end * P * Q].as_chunks::<Q>();
            let (blocks, _) = lines.as_chunks::<P>();
            // A sum for each element of a block, so that blocks are added up with whole vectors.
            let mut sums = [[T::ZERO; Q]; P];
            for (block, index) in blocks.iter().zip(indices) {
                let Some(x) = x.get(index.at()) else {
                    return Err(self.pattern.wrong_index(indices, at));
                };
                for i in 0..P {
                    for j in 0..Q {
                        sums[i][j] = sums[i][j].plus(block[i][j].times(x[j]));
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(sums) {
                let sum = sums[1..].iter().fold(sums[0], |sum, more| sum.plus(*more));
                *out = if add { out.plus(sum) } else { sum };
            }
            at = end;
        }
        Ok(())
    }

    #[inline(always)]
    fn gather_matrix<T: Scalar>(
        &self,
        rows: Range<usize>,
        a: &[T],
        x: &[T],
        n: usize,
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let [p, q] = self.block;
        let mut at = self.pattern.starts[rows.start].at();
        for (row, out) in rows.zip(out.chunks_exact_mut((p * n).max(1))) {
            let (end, indices) = self.pattern.row(row, at)?;
            if indices.iter().any(|index| index.at() >= self.pattern.minors) {
                return Err(self.pattern.wrong_index(indices, at));
            }
            let row = BlockRow { a: &a[at * p * q..end * p * q], indices, x, n, p, q };
            row.combine(out, add);
            at = end;
        }
        Ok(())
    }

    /// `out = Aᵀ·y`
    pub(crate) fn scatter<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        a: &[T],
        y: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (Sizes { batches, n, add }, [p, q]) = (sizes, self.block);
        let majors = self.pattern.majors();
        let chunks = parallel::chunks(self.elements(), n, self.pattern.minors * q);
        let ranges = balanced(self.pattern.starts, chunks);
        let bounds = |chunk: usize| {
            self.pattern.bounds(ranges[chunk].clone()).map_err(|malformed| self.pattern.error(malformed))
        };
        scatter(
            context,
            Scattered { batches, n: q * n, chunks, add },
            out,
            bounds,
            |batch, chunk, first, out| {
                let (a, y) = (entry(a, batch, self.elements()), entry(y, batch, majors * p * n));
                vectorized!(T, I, self.scatter_rows(ranges[chunk].clone(), (a, y, n), first, out))
                    .map_err(|malformed| self.pattern.error(malformed))
            },
        )
    }

    #[inline(always)]
    fn scatter_rows<T: Scalar>(
        &self,
        rows: Range<usize>,
        (a, y, n): (&[T], &[T], usize),
        first: usize,
        out: &mut [T],
    ) -> Result<(), Malformed> {
        let [p, q] = self.block;
        let mut at = self.pattern.starts[rows.start].at();
        for row in rows {
            let (end, indices) = self.pattern.row(row, at)?;
            for (block, index) in a[at * p * q..end * p * q].chunks_exact(p * q).zip(indices) {
                if index.at() >= self.pattern.minors {
                    return Err(self.pattern.wrong_index(indices, at));
                }
                let out = &mut out[(index.at() - first) * q * n..][..q * n];
                for (i, line) in block.chunks_exact(q).enumerate() {
                    let y = &y[(row * p + i) * n..][..n];
                    for (a, out) in line.iter().zip(out.chunks_exact_mut(n.max(1))) {
                        out.iter_mut().zip(y).for_each(|(out, y)| *out = out.plus(a.times(*y)));
                    }
                }
            }
            at = end;
        }
        Ok(())
    }

    /// `out[e] = Y·Xᵀ`, for the rows and columns of block `e`
    pub(crate) fn sample<T: Scalar>(
        &self,
        context: &Context,
        sizes: Sizes,
        y: &[T],
        x: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (n, area, [p, q]) = (sizes.n, self.area(), self.block);
        let (majors, minors) = (self.pattern.majors(), self.pattern.minors);
        let (ranges, firsts, lens) = self.pattern.parts(tasks(self.products(n)));
        let lens: Vec<usize> = lens.into_iter().map(|len| len * area).collect();
        for_each_part(context, sizes.batches, &lens, out, |batch, part, out| {
            let dense = (entry(y, batch, majors * p * n), entry(x, batch, minors * q * n), n);
            vectorized!(T, I, self.sample_rows(ranges[part].clone(), dense, firsts[part], out, sizes.add))
                .map_err(|malformed| self.pattern.error(malformed))
        })
    }

    /// Computes the part of a sampled product that begins at block `first`.
    #[inline(always)]
    fn sample_rows<T: Scalar>(
        &self,
        rows: Range<usize>,
        (y, x, n): (&[T], &[T], usize),
        first: usize,
        out: &mut [T],
        add: bool,
    ) -> Result<(), Malformed> {
        let ([p, q], area) = (self.block, self.area());
        let mut at = self.pattern.starts[rows.start].at();
        if !add {
            out.fill(T::ZERO);
        }
        for row in rows {
            let (end, indices) = self.pattern.row(row, at)?;
            for (entry, index) in (at..end).zip(indices) {
                if index.at() >= self.pattern.minors {
                    return Err(self.pattern.wrong_index(indices, at));
                }
                let start = entry.wrapping_sub(first).wrapping_mul(area);
                let block = out.get_mut(start..start.wrapping_add(area)).ok_or(Malformed::Start(row + 1))?;
                for (i, line) in block.chunks_exact_mut(q).enumerate() {
                    let y = &y[(row * p + i) * n..][..n];
                    for (j, out) in line.iter_mut().enumerate() {
                        *out = out.plus(inner(y, &x[(index.at() * q + j) * n..][..n]));
                    }
                }
            }
            at = end;
        }
        Ok(())
    }
}

/// A row of blocks, and the dense matrix whose rows it combines.
struct BlockRow<'a, T, I> {
    a: &'a [T],
    /// Indices, which were checked.
    indices: &'a [I],
    x: &'a [T],
    /// Number of columns of the dense matrix.
    n: usize,
    p: usize,
    q: usize,
}

impl<T: Scalar, I: Index> BlockRow<'_, T, I> {
    /// Computes the rows of the product.
    #[inline(always)]
    fn combine(&self, out: &mut [T], add: bool) {
        // An element of `x` is read once for four rows of a block.
        let (mut i, mut rest) = (0, out);
        while self.p - i >= 4 {
            let (rows, after) = rest.split_at_mut(4 * self.n);
            self.combine_rows::<4>(i, rows, add);
            (i, rest) = (i + 4, after);
        }
        for row in rest.chunks_exact_mut(self.n.max(1)) {
            self.combine_rows::<1>(i, row, add);
            i += 1;
        }
    }

    /// Computes `ROWS` rows of the product, beginning with row `i`.
    #[inline(always)]
    fn combine_rows<const ROWS: usize>(&self, i: usize, out: &mut [T], add: bool) {
        let mut j = 0;
        while self.n - j >= 16 {
            self.tile::<ROWS, 16>(i, j, out, add);
            j += 16;
        }
        while self.n - j >= 4 {
            self.tile::<ROWS, 4>(i, j, out, add);
            j += 4;
        }
        while j < self.n {
            self.tile::<ROWS, 1>(i, j, out, add);
            j += 1;
        }
    }

    /// Computes `WIDTH` columns of `ROWS` rows, beginning with column `j` of row `i`.
    #[inline(always)]
    fn tile<const ROWS: usize, const WIDTH: usize>(&self, i: usize, j: usize, out: &mut [T], add: bool) {
        let sums = self.sums::<ROWS, WIDTH>(i, j);
        for row in 0..ROWS {
            let Some(out) = out[row * self.n + j..].first_chunk_mut::<WIDTH>() else { return };
            if add {
                out.iter_mut().zip(sums[row]).for_each(|(out, sum)| *out = out.plus(sum));
            } else {
                *out = sums[row];
            }
        }
    }

    #[inline(always)]
    fn sums<const ROWS: usize, const WIDTH: usize>(&self, i: usize, j: usize) -> [[T; WIDTH]; ROWS] {
        let Self { x, n, p, q, .. } = *self;
        let mut sums = [[T::ZERO; WIDTH]; ROWS];
        for (block, index) in self.a.chunks_exact(p * q).zip(self.indices) {
            let x = &x[index.at() * q * n..][..q * n];
            let block = &block[i * q..][..ROWS * q];
            for (column, x) in x.chunks_exact(n).enumerate() {
                let Some(x) = x[j..].first_chunk::<WIDTH>() else { return sums };
                for row in 0..ROWS {
                    let a = block[row * q + column];
                    for lane in 0..WIDTH {
                        sums[row][lane] = sums[row][lane].plus(a.times(x[lane]));
                    }
                }
            }
        }
        sums
    }
}
