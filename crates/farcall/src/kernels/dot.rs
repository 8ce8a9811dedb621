//! Matrix products.

use farcall_ir::memory::count;
use farcall_ir::op::DotGeneral;
use farcall_ir::{DType, Op, TensorType};
use half::{bf16, f16};
use num_complex::Complex;

use super::args::{Args, Place, Prepared};
use super::movement::{Movement, row_major, transpose};
use super::number::Number;
use super::types::dispatch;
use super::{Kernel, Request, apart, elementwise};

/// How many products are added up before their sum joins the others: the error of a long sum grows with the
/// length of its parts and with their number.
const SUMMANDS: usize = 96;

/// Multiplications of a task: about a millisecond.
const TASK: usize = 1 << 25;

/// Tasks have multiples of this many rows: each of them has whole tiles, as one for all rows has, and what it
/// costs to bring the right operand into order, which each does for itself, does not count.
const ROWS: usize = 256;

/// Where parts of the scratch memory begin.
const ALIGNMENT: usize = 64;

pub(super) static KERNEL: Kernel = Kernel { name: "dot", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<Prepared> {
    let mut scratch = 0;
    let (dot, [lhs, rhs]) = Dot::new(request, &mut scratch)?;
    let dtype = request.outputs[0].dtype;
    let multiply = multiply(dtype, dot.k)?;
    let is_small = dot.products() < 2 * TASK;
    let (size, arranged) = (dtype.size(), lhs.is_arranged() || rhs.is_arranged());
    let (rows, units) = dot.units();
    let per_task = if is_small { units } else { (TASK / (rows * dot.n * dot.k).max(1)).max(1) };
    let tasks = units.div_ceil(per_task.max(1));
    let places = [lhs.place, rhs.place];
    let prepared = Prepared::in_tasks(tasks, move |args, task| {
        let [x, y] = [places[0].of(args, 0), places[1].of(args, 1)].map(|p| args.ptr::<u8>(p).cast_const());
        let out = args.output_ptr::<u8>(0);
        for unit in task * per_task..((task + 1) * per_task).min(units) {
            let ([x_at, y_at, out_at], count) = dot.unit(unit, rows);
            // SAFETY: rows of a matrix of the batch, in operands that were arranged as `dot` says.
            unsafe { multiply(&dot, count, x.add(x_at * size), y.add(y_at * size), out.add(out_at * size)) };
        }
    });
    let prepared = if is_small { prepared } else { prepared.slow() };
    Some(if arranged {
        let arrange = move |args: &Args<'_>| {
            lhs.arrange(args, 0);
            rhs.arrange(args, 1);
        };
        prepared.first(arrange).with_scratch(scratch)
    } else {
        prepared
    })
}

fn describe(request: &Request<'_>) -> String {
    let Some((d, _)) = Dot::new(request, &mut 0) else { return String::new() };
    format!("{}x[{}x{}x{}]", d.matrices(), d.m, d.k, d.n)
}

/// A batch of matrix products. All strides are in elements; the output is row-major `[batch…, m, n]`.
struct Dot {
    /// Sizes of the batching dimensions, with the strides of both operands.
    batch: Vec<(usize, usize, usize)>,
    /// Rows of the left operand.
    m: usize,
    /// Columns of the right operand.
    n: usize,
    /// Length of the sums.
    k: usize,
    /// Strides of the left operand along `m` and `k`.
    lhs: (usize, usize),
    /// Strides of the right operand along `k` and `n`.
    rhs: (usize, usize),
}

impl Dot {
    /// The product, and how its operands become matrices. `scratch`: bytes that are taken, to add to.
    fn new(request: &Request<'_>, scratch: &mut usize) -> Option<(Dot, [Side; 2])> {
        let (Op::DotGeneral(d), [x, y], [out]) = (request.op, request.inputs, request.outputs) else {
            return None;
        };
        let free = [free(x, &d.lhs_batch, &d.lhs_contract)?, free(y, &d.rhs_batch, &d.rhs_contract)?];
        if !fits(d, [x, y], &free, out) {
            return None;
        }
        let lhs = Side::new(x, out.dtype, [&d.lhs_batch, &free[0], &d.lhs_contract], scratch)?;
        let rhs = Side::new(y, out.dtype, [&d.rhs_batch, &d.rhs_contract, &free[1]], scratch)?;
        let size = |x: &TensorType, dims: &[usize]| count(&sizes(x, dims));
        let strides = lhs.batch.iter().zip(&rhs.batch);
        let batch = sizes(x, &d.lhs_batch).into_iter().zip(strides).map(|(n, (l, r))| (n, *l, *r)).collect();
        let [m, n, k] = [size(x, &free[0]), size(y, &free[1]), size(x, &d.lhs_contract)];
        Some((Dot { batch, m, n, k, lhs: lhs.strides, rhs: rhs.strides }, [lhs, rhs]))
    }

    /// Matrices of the batch.
    fn matrices(&self) -> usize {
        self.batch.iter().fold(1, |n, b| n.saturating_mul(b.0))
    }

    /// Multiplications of elements.
    fn products(&self) -> usize {
        [self.m, self.n, self.k].iter().fold(self.matrices(), |n, x| n.saturating_mul(*x))
    }

    /// Rows that are computed together, and how many such parts there are in all.
    fn units(&self) -> (usize, usize) {
        let row = self.n.saturating_mul(self.k).max(1);
        let rows = if row.saturating_mul(self.m) < 2 * TASK { self.m } else { (TASK / row).max(1) };
        let rows = if rows < self.m { rows.next_multiple_of(ROWS) } else { self.m.max(1) };
        let units = if self.n == 0 { 0 } else { self.matrices().saturating_mul(self.m.div_ceil(rows)) };
        (rows, units)
    }

    /// Where part `unit` of `rows` rows begins in both operands and in the result, and the rows that it has.
    fn unit(&self, unit: usize, rows: usize) -> ([usize; 3], usize) {
        let per_matrix = self.m.div_ceil(rows);
        let (matrix, begin) = (unit / per_matrix, unit % per_matrix * rows);
        let mut at = [begin * self.lhs.0, 0, (matrix * self.m + begin) * self.n];
        let mut rest = matrix;
        for (n, x, y) in self.batch.iter().rev() {
            at[0] += rest % n * x;
            at[1] += rest % n * y;
            rest /= n;
        }
        (at, rows.min(self.m - begin))
    }
}

fn sizes(x: &TensorType, dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|d| x.sizes()[*d]).collect()
}

/// Dimensions that neither batch nor contract; `None` if one of those is named twice, or is not there.
fn free(x: &TensorType, batch: &[usize], contract: &[usize]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..x.rank()).collect();
    for d in batch.iter().chain(contract) {
        let at = left.iter().position(|l| l == d)?;
        left.remove(at);
    }
    Some(left)
}

/// True if sizes of operands and result are those of a product.
fn fits(d: &DotGeneral, [x, y]: [&TensorType; 2], free: &[Vec<usize>; 2], out: &TensorType) -> bool {
    let batch = sizes(x, &d.lhs_batch);
    let result = [batch.clone(), sizes(x, &free[0]), sizes(y, &free[1])].concat();
    batch == sizes(y, &d.rhs_batch)
        && sizes(x, &d.lhs_contract) == sizes(y, &d.rhs_contract)
        && result[..] == out.sizes()[..]
}

/// An operand as a batch of matrices: of the wider type, with one stride along rows and one along columns.
struct Side {
    /// The conversion of its elements, and where in the scratch memory they go.
    widen: Option<(Prepared, usize)>,
    /// What brings dimensions together that cannot be walked with one stride.
    pack: Option<(Movement, usize)>,
    place: SidePlace,
    /// Strides along rows and columns.
    strides: (usize, usize),
    /// Strides along the batching dimensions.
    batch: Vec<usize>,
}

/// Where an operand lies when it has been arranged.
#[derive(Clone, Copy)]
enum SidePlace {
    Input,
    Scratch(usize),
}

impl SidePlace {
    /// The same for input number `i`.
    fn of(self, args: &Args<'_>, i: usize) -> Place {
        match self {
            SidePlace::Input => args.input_place(i),
            SidePlace::Scratch(at) => args.scratch_place().from(at),
        }
    }
}

impl Side {
    fn new(
        x: &TensorType,
        dtype: DType,
        [batch, rows, columns]: [&[usize]; 3],
        scratch: &mut usize,
    ) -> Option<Side> {
        let mut place = SidePlace::Input;
        let mut take = |ty: &TensorType| {
            let at = *scratch;
            *scratch = at.checked_add(ty.bytes()?.checked_next_multiple_of(ALIGNMENT)?)?;
            place = SidePlace::Scratch(at);
            Some(at)
        };
        let wide = x.with_dtype(dtype);
        let mut widen = None;
        if x.dtype != dtype {
            let wider = x.dtype.class() == dtype.class() && x.dtype.bits() < dtype.bits();
            let convert = elementwise::converted(x, dtype).filter(|_| wider)?;
            widen = Some((convert, take(&wide)?));
        }
        let strides: Vec<usize> = row_major(x.sizes()).iter().map(|s| s.unsigned_abs()).collect();
        let along = |dims: &[usize]| joined(dims.iter().map(|d| (x.sizes()[*d], strides[*d])));
        if let (Some(r), Some(c)) = (along(rows), along(columns)) {
            let batch = batch.iter().map(|d| strides[*d]).collect();
            return Some(Side { widen, pack: None, place, strides: (r, c), batch });
        }
        let permutation = [batch, rows, columns].concat();
        let packed = wide.with_sizes(sizes(x, &permutation));
        let pack = Some((transpose(&wide, &packed, &permutation)?, take(&packed)?));
        let strides = row_major(packed.sizes());
        let batch = strides[..batch.len()].iter().map(|s| s.unsigned_abs()).collect();
        Some(Side { widen, pack, place, strides: (count(&sizes(x, columns)), 1), batch })
    }

    /// True if there is something to do before the multiplication.
    fn is_arranged(&self) -> bool {
        self.widen.is_some() || self.pack.is_some()
    }

    /// Converts and copies input number `i`.
    fn arrange(&self, args: &Args<'_>, i: usize) {
        let mut from = args.input_place(i);
        if let Some((convert, at)) = &self.widen {
            let to = args.scratch_place().from(*at);
            // SAFETY: the operand, and room for it in the wider type, which is apart.
            unsafe { convert.run_here(&args.with(&[from, to], 1)) };
            from = to;
        }
        if let Some((pack, at)) = &self.pack {
            let to = args.scratch_place().from(*at);
            // SAFETY: the operand in the wider type, and room for as much, which is apart.
            unsafe { pack.run(args.ptr(from), args.ptr(to)) };
        }
    }
}

/// The stride with which several dimensions (size, stride; from outer to inner) are walked as one.
fn joined(dims: impl Iterator<Item = (usize, usize)>) -> Option<usize> {
    let mut whole: Option<(usize, usize)> = None;
    for (size, stride) in dims.filter(|(size, _)| *size != 1) {
        whole = match whole {
            None => Some((size, stride)),
            Some((n, outer)) if Some(outer) == size.checked_mul(stride) => {
                Some((n.saturating_mul(size), stride))
            }
            Some(_) => return None,
        };
    }
    Some(whole.map_or(1, |(_, stride)| stride))
}

/// Multiplies some rows of one matrix.
///
/// # Safety
/// `x` and `y` are valid for reads of the elements that the strides reach, for that many rows, and `out` for
/// writes of the result's rows; all are of the type that this is for and aligned, the output apart from the
/// inputs.
type Multiply = unsafe fn(d: &Dot, rows: usize, x: *const u8, y: *const u8, out: *mut u8);

/// The loop for elements of a type, and sums of `k` products.
fn multiply(dtype: DType, k: usize) -> Option<Multiply> {
    macro_rules! gemm {
        ($gemm:path, $ty:ty, $summands:expr) => {
            |d, rows, x, y, out| {
                let ((lm, lk), (rk, rn)) = (d.lhs, d.rhs);
                let s = |stride: usize| stride as isize;
                let (x, y, out) = (x.cast::<$ty>(), y.cast::<$ty>(), out.cast::<$ty>());
                let summands: usize = $summands(d);
                for start in (0..d.k).step_by(summands) {
                    let k = summands.min(d.k - start);
                    let keep = if start == 0 { 0.0 } else { 1.0 };
                    // SAFETY: the caller's promise; the result is row-major.
                    unsafe {
                        let (x, y) = (x.add(start * lk), y.add(start * rk));
                        $gemm(rows, k, d.n, 1.0, x, s(lm), s(lk), y, s(rk), s(rn), keep, out, s(d.n), 1);
                    }
                }
            }
        };
    }
    macro_rules! simple {
        ($ty:ty, $zero:expr, $step:expr, $narrow:expr) => {
            // SAFETY: the caller's promise.
            |d, rows, x, y, out| unsafe { simple::<$ty, _>(d, rows, x, y, out, $zero, $step, $narrow) }
        };
    }
    Some(match dtype {
        DType::F32 if k > 0 => gemm!(matrixmultiply::sgemm, f32, |_: &Dot| SUMMANDS),
        DType::F64 if k > 0 => gemm!(matrixmultiply::dgemm, f64, |d: &Dot| d.k),
        DType::C64 => simple!(Complex<f32>, Complex::default(), |t, a, b| t + a * b, |t| t),
        DType::C128 => simple!(Complex<f64>, Complex::default(), |t, a, b| t + a * b, |t| t),
        DType::F16 => simple!(f16, 0f32, |t, a, b| t + a.to_f32() * b.to_f32(), f16::from_f32),
        DType::BF16 => simple!(bf16, 0f32, |t, a, b| t + a.to_f32() * b.to_f32(), bf16::from_f32),
        _ => {
            return dispatch!(dtype, [ints, floats], T => {
                let multiply: Multiply = simple!(T, T::ZERO, |t: T, a: T, b: T| t.add(a.mul(b)), |t| t);
                multiply
            });
        }
    })
}

/// One element of the result at a time.
///
/// # Safety
/// As [`Multiply`].
#[expect(clippy::too_many_arguments, reason = "those of `Multiply`, and what differs between types")]
unsafe fn simple<T: Copy, A: Copy>(
    d: &Dot,
    rows: usize,
    x: *const u8,
    y: *const u8,
    out: *mut u8,
    zero: A,
    step: impl Fn(A, T, T) -> A,
    narrow: impl Fn(A) -> T,
) {
    let (x, y, out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<T>());
    for i in 0..rows {
        for j in 0..d.n {
            let mut total = zero;
            for k in 0..d.k {
                // SAFETY: the caller's promise.
                let (a, b) = unsafe {
                    (x.add(i * d.lhs.0 + k * d.lhs.1).read(), y.add(k * d.rhs.0 + j * d.rhs.1).read())
                };
                total = step(total, a, b);
            }
            // SAFETY: the caller's promise.
            unsafe { out.add(i * d.n + j).write(narrow(total)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::{Args, Place};
    use super::*;

    fn random(n: usize) -> Vec<f32> {
        let mut state = 1u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn matrix(rows: usize, columns: usize) -> TensorType {
        TensorType::new(DType::F32, [rows, columns])
    }

    /// The product of two matrices, in as many tasks as the kernel takes.
    fn dot(x: &mut [f32], y: &mut [f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
        let op = Op::DotGeneral(DotGeneral {
            lhs_batch: Vec::new(),
            rhs_batch: Vec::new(),
            lhs_contract: vec![1],
            rhs_contract: vec![0],
            precision: Vec::new(),
            algorithm: None,
        });
        let (inputs, outputs) = ([matrix(m, k), matrix(k, n)], [matrix(m, n)]);
        let (inputs, outputs) = (inputs.each_ref(), outputs.each_ref());
        let request = Request { op: &op, bodies: &[], inputs: &inputs, outputs: &outputs };
        let prepared = prepare(&request).unwrap();
        let mut out = vec![0f32; m * n];
        let bases = [x.as_mut_ptr().cast(), y.as_mut_ptr().cast(), out.as_mut_ptr().cast::<u8>()];
        let places = [m * k, k * n, m * n].map(|n| n * 4);
        let places: Vec<Place> =
            places.into_iter().enumerate().map(|(base, size)| Place { base, offset: 0, size }).collect();
        // SAFETY: the vectors have the elements of the types above.
        unsafe { prepared.run_here(&Args::new(&places, 2, &bases)) };
        out
    }

    /// In one go, the error is 1.5e-6.
    #[test]
    fn long_sums_are_added_up_in_parts() {
        let (m, n, k) = (32, 32, 300);
        let mut all = random(m * k + k * n);
        let (x, y) = all.split_at_mut(m * k);
        let out = dot(x, y, [m, k, n]);
        let error = |(at, &got): (usize, &f32)| {
            let (i, j) = (at / n, at % n);
            let exact: f64 = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(y[l * n + j])).sum();
            (f64::from(got) - exact).powi(2)
        };
        let rms = (out.iter().enumerate().map(error).sum::<f64>() / out.len() as f64).sqrt();
        assert!(rms < 1.2e-6, "{rms:e}");
    }

    #[test]
    fn tasks_give_the_bits_that_one_gives() {
        let [m, k, n] = [700, 531, 211];
        let (mut x, mut y) = (random(m * k), random(k * n));
        let d = Dot { batch: Vec::new(), m, n, k, lhs: (k, 1), rhs: (n, 1) };
        assert!(d.units().1 > 1);
        let mut whole = vec![0f32; m * n];
        let multiply = multiply(DType::F32, k).unwrap();
        // SAFETY: the operands and the result have the elements that `d` says.
        unsafe { multiply(&d, m, x.as_ptr().cast(), y.as_ptr().cast(), whole.as_mut_ptr().cast()) };
        let parts = dot(&mut x, &mut y, [m, k, n]);
        assert!(whole.iter().zip(&parts).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
