//! The default body of eigendecompositions: Jacobi rotations, applied to `n / 2` disjoint pairs of columns at
//! a time, in the order of R. P. Brent, F. T. Luk, *The solution of singular-value and symmetric eigenvalue
//! problems on multiprocessor arrays*, 1985.
//!
//! Of `2·h` columns, `i` and `h + i` form a pair. After each round of rotations, all columns except the first
//! move on by one position. In a sweep of `2·h − 1` rounds, each column is paired with every other column and
//! returns to its position.

use farcall_ir::module::ValueId;
use farcall_ir::op::{Binary, ComparisonDirection, Unary};
use farcall_ir::{AttrDict, Attribute, DType, TensorType};

use super::graph::{Build, Graph};
use super::{Block, EIGH, Eigh, MIN_SIGN_ENTRY_RATIO, Unsupported, batched, options};

impl Block for Eigh {
    const TAG: &'static str = EIGH;

    fn attrs(&self) -> AttrDict {
        options([
            ("max_iter", Attribute::i64(self.max_iter.into())),
            ("eps", Attribute::float(self.eps, DType::F64)),
        ])
    }

    fn results(
        &self,
        batch: &[usize],
        [m, n]: [usize; 2],
        dtype: DType,
    ) -> Result<[TensorType; 2], Unsupported> {
        if m != n {
            return Err(Unsupported(format!("{EIGH}: matrices of {m} rows and {n} columns are not square")));
        }
        Ok([batched(batch, dtype.real(), &[n]), batched(batch, dtype, &[n, n])])
    }

    fn body(&self, g: &mut Graph<'_>, x: ValueId) -> Build<[ValueId; 2]> {
        let n = g.dims(x)[1];
        let (a, scale) = prepared(g, x)?;
        let [w, v] = self.rotated(g, a)?;
        let w = g.slice(w, 1, 0, n)?;
        let v = g.slice(v, 1, 0, n)?;
        let v = g.slice(v, 2, 0, n)?;
        let scale = g.broadcast(scale, &[0], &g.dims(w))?;
        let w = g.mul(w, scale)?;
        let [w, v] = g.sort_columns(w, v)?;
        Ok([w, with_signs(g, v)?])
    }
}

impl Eigh {
    /// Returns the diagonal after all rotations (`[b, n]`, real), and the product of the rotations
    /// (`[b, n, n]`).
    fn rotated(&self, g: &mut Graph<'_>, a: ValueId) -> Build<[ValueId; 2]> {
        let dims = g.dims(a);
        let identity = mask(g, &dims, 0)?;
        let v = g.convert(identity, g.dtype(a))?;
        let zero = g.fill(DType::S32, &[], 0.0)?;
        let one = g.fill(DType::S32, &[], 1.0)?;
        let sweeps = g.fill(DType::S32, &[], self.max_iter.into())?;
        let rounds = g.fill(DType::S32, &[], (dims[1] - 1) as f64)?;
        let swept = g.repeat(
            vec![zero, a, v],
            |g, state| {
                let is_early = g.compare(ComparisonDirection::Lt, state[0], sweeps)?;
                let is_coarse = self.is_coarse(g, state[1])?;
                g.binary(Binary::And, is_early, is_coarse)
            },
            |g, state| {
                let swept = g.repeat(
                    vec![zero, state[1], state[2]],
                    |g, state| g.compare(ComparisonDirection::Lt, state[0], rounds),
                    |g, state| {
                        let [a, v] = round(g, state[1], state[2])?;
                        Ok(vec![g.add(state[0], one)?, a, v])
                    },
                )?;
                Ok(vec![g.add(state[0], one)?, swept[1], swept[2]])
            },
        )?;
        Ok([diagonal(g, swept[1])?, swept[2]])
    }

    /// Returns true if the entries off the diagonal of some matrix exceed the limit given by `eps`.
    fn is_coarse(&self, g: &mut Graph<'_>, a: ValueId) -> Build<ValueId> {
        let dims = g.dims(a);
        let sizes = g.abs(a)?;
        let squares = g.square(sizes)?;
        let [is_diagonal, zero] = [mask(g, &dims, 0)?, g.like(squares, 0.0)?];
        let off = g.select(is_diagonal, zero, squares)?;
        let mut sums = [squares, off];
        for sum in &mut sums {
            *sum = g.reduce(*sum, 2, Binary::Add)?;
            *sum = g.reduce(*sum, 1, Binary::Add)?;
        }
        let [all, off] = sums;
        let part = g.like(all, self.eps * self.eps)?;
        let allowed = g.mul(all, part)?;
        let is_coarse = g.compare(ComparisonDirection::Gt, off, allowed)?;
        let is_coarse = g.convert(is_coarse, DType::S32)?;
        let is_coarse = g.reduce(is_coarse, 0, Binary::Add)?;
        let zero = g.like(is_coarse, 0.0)?;
        g.compare(ComparisonDirection::Gt, is_coarse, zero)
    }
}

/// Returns the Hermitian matrices with the given lower triangles, divided by their largest entries, and these
/// divisors (`[b]`). If needed, a row and a column of zeros make the number of columns even; rotations do not
/// change them.
fn prepared(g: &mut Graph<'_>, x: ValueId) -> Build<(ValueId, ValueId)> {
    let dims = g.dims(x);
    let (count, n) = (dims[0], dims[1]);
    let [rows, columns] = [g.iota(&dims, 1)?, g.iota(&dims, 2)?];
    let [is_lower, is_diagonal] = [
        g.compare(ComparisonDirection::Gt, rows, columns)?,
        g.compare(ComparisonDirection::Eq, rows, columns)?,
    ];
    let zero = g.like(x, 0.0)?;
    let lower = g.select(is_lower, x, zero)?;
    let upper = g.transpose(lower, &[0, 2, 1])?;
    let upper = g.conj(upper)?;
    let real = g.real(x)?;
    let real = g.convert(real, g.dtype(x))?;
    let off = g.add(lower, upper)?;
    let a = g.select(is_diagonal, real, off)?;
    let sizes = g.abs(a)?;
    let largest = g.reduce(sizes, 2, Binary::Maximum)?;
    let largest = g.reduce(largest, 1, Binary::Maximum)?;
    let [zero, one] = [g.like(largest, 0.0)?, g.like(largest, 1.0)?];
    let is_zero = g.compare(ComparisonDirection::Eq, largest, zero)?;
    let scale = g.select(is_zero, one, largest)?;
    let all = g.convert(scale, g.dtype(a))?;
    let all = g.broadcast(all, &[0], &dims)?;
    let mut a = g.div(a, all)?;
    let missing = n.next_multiple_of(2) - n;
    if missing > 0 {
        let right = g.fill(g.dtype(a), &[count, n, missing], 0.0)?;
        a = g.concatenate(&[a, right], 2)?;
        let below = g.fill(g.dtype(a), &[count, missing, n + missing], 0.0)?;
        a = g.concatenate(&[a, below], 1)?;
    }
    Ok((a, scale))
}

/// Returns a mask of the entries of matrices `[b, n, n]` whose column index exceeds the row index by `by`.
fn mask(g: &mut Graph<'_>, dims: &[usize], by: usize) -> Build<ValueId> {
    let [rows, columns] = [g.iota(dims, 1)?, g.iota(dims, 2)?];
    let by = g.like(rows, by as f64)?;
    let rows = g.add(rows, by)?;
    g.compare(ComparisonDirection::Eq, rows, columns)
}

/// Returns the real parts of the diagonal: `[b, n]`.
fn diagonal(g: &mut Graph<'_>, a: ValueId) -> Build<ValueId> {
    let is_diagonal = mask(g, &g.dims(a), 0)?;
    let real = g.real(a)?;
    let zero = g.like(real, 0.0)?;
    let kept = g.select(is_diagonal, real, zero)?;
    g.reduce(kept, 2, Binary::Add)
}

/// Rotates all pairs of columns and of rows, so that the entries of `a` at the pairs' indices vanish, and
/// moves the columns on.
fn round(g: &mut Graph<'_>, a: ValueId, v: ValueId) -> Build<[ValueId; 2]> {
    let dims = g.dims(a);
    let (n, h) = (dims[1], dims[1] / 2);
    let is_pair = mask(g, &dims, h)?;
    let zero = g.like(a, 0.0)?;
    let pairs = g.select(is_pair, a, zero)?;
    let pairs = g.reduce(pairs, 2, Binary::Add)?;
    let pairs = g.slice(pairs, 1, 0, h)?;
    let values = diagonal(g, a)?;
    let [first, second] = [g.slice(values, 1, 0, h)?, g.slice(values, 1, h, n)?];
    let Rotation { cosine, sine, change } = rotation(g, pairs, first, second)?;
    let sine_adjoint = g.conj(sine)?;
    let a = combine(g, a, 2, cosine, sine_adjoint, sine)?;
    let a = combine(g, a, 1, cosine, sine, sine_adjoint)?;
    let v = combine(g, v, 2, cosine, sine_adjoint, sine)?;
    // Overwrites the entries whose exact values are known by construction of the rotations, which removes
    // rounding errors.
    let [first, second] = [g.sub(first, change)?, g.add(second, change)?];
    let values = g.concatenate(&[first, second], 1)?;
    let values = g.convert(values, g.dtype(a))?;
    let values = g.broadcast(values, &[0, 1], &dims)?;
    let is_diagonal = mask(g, &dims, 0)?;
    let a = g.select(is_diagonal, values, a)?;
    let mirrored = g.transpose(is_pair, &[0, 2, 1])?;
    let vanishes = g.binary(Binary::Or, is_pair, mirrored)?;
    let a = g.select(vanishes, zero, a)?;
    let a = moved(g, a, 2)?;
    Ok([moved(g, a, 1)?, moved(g, v, 2)?])
}

/// A rotation of each pair of columns.
struct Rotation {
    /// Cosine: `[b, h]`, of the same element type as `sine`.
    cosine: ValueId,
    /// Sine, with the phase of the entry at the pair's indices.
    sine: ValueId,
    /// Amount that is subtracted from the first eigenvalue and added to the second; real.
    change: ValueId,
}

/// Computes the rotations for pairs of columns, from their common entries `pairs` and the diagonal entries
/// `first` and `second`.
fn rotation(g: &mut Graph<'_>, pairs: ValueId, first: ValueId, second: ValueId) -> Build<Rotation> {
    let size = g.abs(pairs)?;
    let [zero, one] = [g.like(size, 0.0)?, g.like(size, 1.0)?];
    let is_zero = g.compare(ComparisonDirection::Eq, size, zero)?;
    let divisor = g.select(is_zero, one, size)?;
    let dtype = g.dtype(pairs);
    let phase_divisor = g.convert(divisor, dtype)?;
    let phase = g.div(pairs, phase_divisor)?;
    // The solution of t² + 2·τ·t = 1 that is smaller in magnitude.
    let twice = g.add(divisor, divisor)?;
    let difference = g.sub(second, first)?;
    let tau = g.div(difference, twice)?;
    let square = g.square(tau)?;
    let square = g.add(square, one)?;
    let root = g.unary(Unary::Sqrt, square)?;
    let tau_size = g.abs(tau)?;
    let denominator = g.add(tau_size, root)?;
    let t = g.div(one, denominator)?;
    let opposite = g.unary(Unary::Negate, t)?;
    let is_negative = g.compare(ComparisonDirection::Lt, tau, zero)?;
    let t = g.select(is_negative, opposite, t)?;
    let t = g.select(is_zero, zero, t)?;
    let square = g.square(t)?;
    let square = g.add(square, one)?;
    let root = g.unary(Unary::Sqrt, square)?;
    let cosine = g.div(one, root)?;
    let sine = g.mul(t, cosine)?;
    let [cosine, sine] = [g.convert(cosine, dtype)?, g.convert(sine, dtype)?];
    Ok(Rotation { cosine, sine: g.mul(sine, phase)?, change: g.mul(t, size)? })
}

/// Computes `cosine·p − left·q` and `right·p + cosine·q` for each pair `p`, `q` along a dimension.
fn combine(
    g: &mut Graph<'_>,
    x: ValueId,
    dim: usize,
    cosine: ValueId,
    left: ValueId,
    right: ValueId,
) -> Build<ValueId> {
    let n = g.dims(x)[dim];
    let [p, q] = [g.slice(x, dim, 0, n / 2)?, g.slice(x, dim, n / 2, n)?];
    let dims = g.dims(p);
    let mut factors = [cosine, left, right];
    for factor in &mut factors {
        *factor = g.broadcast(*factor, &[0, dim], &dims)?;
    }
    let [cosine, left, right] = factors;
    let [pp, qp, pq, qq] = [g.mul(cosine, p)?, g.mul(left, q)?, g.mul(right, p)?, g.mul(cosine, q)?];
    let [p, q] = [g.sub(pp, qp)?, g.add(pq, qq)?];
    g.concatenate(&[p, q], dim)
}

/// Moves all entries but the first on by one position: to the right in the first half, to the left in the
/// second half, and from the end of each half into the other half.
fn moved(g: &mut Graph<'_>, x: ValueId, dim: usize) -> Build<ValueId> {
    let n = g.dims(x)[dim];
    let h = n / 2;
    if h == 1 {
        return Ok(x);
    }
    let ranges = [(0, 1), (h, h + 1), (1, h - 1), (h + 1, n), (h - 1, h)];
    let mut parts = Vec::new();
    for (start, limit) in ranges.into_iter().filter(|(start, limit)| start < limit) {
        parts.push(g.slice(x, dim, start, limit)?);
    }
    g.concatenate(&parts, dim)
}

/// Multiplies the eigenvectors, the columns of `v`, by phases such that the first large entry of each is
/// positive.
fn with_signs(g: &mut Graph<'_>, v: ValueId) -> Build<ValueId> {
    let dims = g.dims(v);
    let sizes = g.abs(v)?;
    let largest = g.reduce(sizes, 1, Binary::Maximum)?;
    let part = g.like(largest, MIN_SIGN_ENTRY_RATIO)?;
    let least = g.mul(largest, part)?;
    let least = g.broadcast(least, &[0, 2], &dims)?;
    let decides = g.compare(ComparisonDirection::Ge, sizes, least)?;
    let rows = g.iota(&dims, 1)?;
    let none = g.like(rows, dims[1] as f64)?;
    let deciding = g.select(decides, rows, none)?;
    let first = g.reduce(deciding, 1, Binary::Minimum)?;
    let first = g.broadcast(first, &[0, 2], &dims)?;
    let is_first = g.compare(ComparisonDirection::Eq, rows, first)?;
    let zero = g.like(v, 0.0)?;
    let entry = g.select(is_first, v, zero)?;
    let entry = g.reduce(entry, 1, Binary::Add)?;
    let size = g.abs(entry)?;
    let size = g.convert(size, g.dtype(v))?;
    let entry = g.conj(entry)?;
    let phase = g.div(entry, size)?;
    let phase = g.broadcast(phase, &[0, 2], &dims)?;
    g.mul(v, phase)
}
