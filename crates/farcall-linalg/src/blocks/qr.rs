//! The default body of QR decompositions: Householder reflections like LAPACK's, applied first forward for
//! `r`, then backward for `q`.

use farcall_ir::module::ValueId;
use farcall_ir::op::{Binary, ComparisonDirection, Unary};
use farcall_ir::{AttrDict, Attribute, DType, TensorType};

use super::graph::{Build, Graph};
use super::{Block, Mode, QR, Qr, Unsupported, batched, options};

impl Block for Qr {
    const TAG: &'static str = QR;

    fn attrs(&self) -> AttrDict {
        let mode = match self.mode {
            Mode::Reduced => "reduced",
            Mode::Complete => "complete",
        };
        options([("mode", Attribute::string(mode)), ("eps", Attribute::float(self.eps, DType::F64))])
    }

    fn results(
        &self,
        batch: &[usize],
        [m, n]: [usize; 2],
        dtype: DType,
    ) -> Result<[TensorType; 2], Unsupported> {
        let k = self.columns(m, n);
        Ok([batched(batch, dtype, &[m, k]), batched(batch, dtype, &[k, n])])
    }

    fn body(&self, g: &mut Graph<'_>, x: ValueId) -> Build<[ValueId; 2]> {
        let (dtype, dims) = (g.dtype(x), g.dims(x));
        let (count, m, n) = (dims[0], dims[1], dims[2]);
        let (reflections, k) = (m.min(n), self.columns(m, n));
        let diagonal = triangle(g, &[count, m, k], ComparisonDirection::Eq)?;
        let q = g.convert(diagonal, dtype)?;
        if reflections == 0 {
            return Ok([q, g.slice(x, 1, 0, k)?]);
        }
        let v = g.fill(dtype, &[count, m, reflections], 0.0)?;
        let tau = g.fill(dtype, &[count, reflections], 0.0)?;
        let first = g.fill(DType::S32, &[], 0.0)?;
        let end = g.fill(DType::S32, &[], reflections as f64)?;
        let one = g.fill(DType::S32, &[], 1.0)?;
        let forward = g.repeat(
            vec![first, x, v, tau],
            |g, state| g.compare(ComparisonDirection::Lt, state[0], end),
            |g, state| {
                let [j, r, v, tau] = [state[0], state[1], state[2], state[3]];
                let (v_j, tau_j) = reflector(g, r, j, self.eps)?;
                let adjoint = g.conj(tau_j)?;
                let r = reflect(g, r, v_j, adjoint)?;
                let v_j = g.reshape(v_j, &[count, m, 1])?;
                let [v, tau] = [g.put(v, v_j, 2, j)?, g.put(tau, tau_j, 1, j)?];
                Ok(vec![g.add(j, one)?, r, v, tau])
            },
        )?;
        let [r, v, tau] = [forward[1], forward[2], forward[3]];
        let last = g.sub(end, one)?;
        let backward = g.repeat(
            vec![last, q],
            |g, state| g.compare(ComparisonDirection::Ge, state[0], first),
            |g, state| {
                let j = state[0];
                let v_j = g.at(v, 2, j)?;
                let v_j = g.reshape(v_j, &[count, m])?;
                let tau_j = g.at(tau, 1, j)?;
                let q = reflect(g, state[1], v_j, tau_j)?;
                Ok(vec![g.sub(j, one)?, q])
            },
        )?;
        let r = g.slice(r, 1, 0, k)?;
        let [upper, zero] = [triangle(g, &[count, k, n], ComparisonDirection::Le)?, g.like(r, 0.0)?];
        Ok([backward[1], g.select(upper, r, zero)?])
    }
}

impl Qr {
    fn columns(&self, m: usize, n: usize) -> usize {
        match self.mode {
            Mode::Reduced => m.min(n),
            Mode::Complete => m,
        }
    }
}

/// Returns a mask of the entries of matrices `[b, m, n]` whose row and column indices satisfy a comparison.
fn triangle(g: &mut Graph<'_>, dims: &[usize], direction: ComparisonDirection) -> Build<ValueId> {
    let [rows, columns] = [g.iota(dims, 1)?, g.iota(dims, 2)?];
    g.compare(direction, rows, columns)
}

/// Returns the vector `v` (`[b, m]`) and the factor `τ` (`[b, 1]`) of the reflection for column `j`, like
/// LAPACK's `larfg`: `(I − τ·v·vᴴ)ᴴ` maps the column to a real multiple of the `j`-th unit vector. The
/// multiple's sign is opposite to the sign of the `j`-th entry.
fn reflector(g: &mut Graph<'_>, r: ValueId, j: ValueId, eps: f64) -> Build<(ValueId, ValueId)> {
    let dims = g.dims(r);
    let (count, m) = (dims[0], dims[1]);
    let column = g.at(r, 2, j)?;
    let column = g.reshape(column, &[count, m])?;
    let [rows, at] = [g.iota(&[count, m], 1)?, g.broadcast(j, &[], &[count, m])?];
    let [below, here] =
        [g.compare(ComparisonDirection::Gt, rows, at)?, g.compare(ComparisonDirection::Eq, rows, at)?];
    let [zero, one] = [g.like(column, 0.0)?, g.like(column, 1.0)?];
    let tail = g.select(below, column, zero)?;
    let alpha = g.at(column, 1, j)?;
    let [tail_norm, alpha_norm] = [norm(g, tail)?, g.abs(alpha)?];
    let both = g.concatenate(&[tail_norm, alpha_norm], 1)?;
    let length = norm(g, both)?;
    let real = g.real(alpha)?;
    let real_zero = g.like(real, 0.0)?;
    let is_negative = g.compare(ComparisonDirection::Lt, real, real_zero)?;
    let negative = g.unary(Unary::Negate, length)?;
    let beta = g.select(is_negative, length, negative)?;
    let eps = g.like(tail_norm, eps)?;
    let mut done = g.compare(ComparisonDirection::Le, tail_norm, eps)?;
    if g.dtype(alpha).is_complex() {
        let imaginary = g.unary(Unary::Imag, alpha)?;
        let imaginary = g.abs(imaginary)?;
        let is_real = g.compare(ComparisonDirection::Le, imaginary, eps)?;
        done = g.binary(Binary::And, done, is_real)?;
    }
    let beta = g.convert(beta, g.dtype(alpha))?;
    let [alpha_one, alpha_zero] = [g.like(alpha, 1.0)?, g.like(alpha, 0.0)?];
    let pivot = g.sub(alpha, beta)?;
    let divisor = g.select(done, alpha_one, pivot)?;
    let divisor = g.broadcast(divisor, &[0, 1], &[count, m])?;
    let v = g.div(tail, divisor)?;
    let v = g.select(here, one, v)?;
    let difference = g.sub(beta, alpha)?;
    let beta = g.select(done, alpha_one, beta)?;
    let tau = g.div(difference, beta)?;
    Ok((v, g.select(done, alpha_zero, tau)?))
}

/// Returns the norm of vectors `[b, n]`, as `[b, 1]`. The result is real and computed without overflow.
fn norm(g: &mut Graph<'_>, x: ValueId) -> Build<ValueId> {
    let dims = g.dims(x);
    let size = g.abs(x)?;
    let largest = g.reduce(size, 1, Binary::Maximum)?;
    let [zero, one] = [g.like(largest, 0.0)?, g.like(largest, 1.0)?];
    let is_zero = g.compare(ComparisonDirection::Eq, largest, zero)?;
    let scale = g.select(is_zero, one, largest)?;
    let all = g.broadcast(scale, &[0], &dims)?;
    let scaled = g.div(size, all)?;
    let squares = g.square(scaled)?;
    let sum = g.reduce(squares, 1, Binary::Add)?;
    let root = g.unary(Unary::Sqrt, sum)?;
    let length = g.mul(root, scale)?;
    g.reshape(length, &[dims[0], 1])
}

/// Returns `x − τ·v·(vᴴ·x)`.
fn reflect(g: &mut Graph<'_>, x: ValueId, v: ValueId, tau: ValueId) -> Build<ValueId> {
    let dims = g.dims(x);
    let adjoint = g.conj(v)?;
    let along = g.product(adjoint, x)?;
    let along = g.broadcast(along, &[0, 2], &dims)?;
    let tau = g.broadcast(tau, &[0, 1], &[dims[0], dims[1]])?;
    let v = g.mul(tau, v)?;
    let v = g.broadcast(v, &[0, 1], &dims)?;
    let change = g.mul(v, along)?;
    g.sub(x, change)
}
