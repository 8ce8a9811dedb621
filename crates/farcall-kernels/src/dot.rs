//! Matrix products.

use farcall_ir::op::DotGeneral;
use farcall_ir::{DType, Op, TensorType, dims};

use super::args::Args;
use super::loops::prepared::PreparedKernel;
use super::product::{self, Operand, Product, Source};
use super::{Kernel, Request, apart, elementwise};
use crate::cache::CACHE_LINE_BYTES;

pub(super) static KERNEL: Kernel = Kernel { name: "dot", prepare, in_place: apart, describe };

fn prepare(request: &Request<'_>) -> Option<PreparedKernel> {
    let (dot, [x, y], [out]) = parts(request)?;
    let product = product(dot, [x, y], out)?;
    let mut scratch = 0;
    let inputs = if types(x, y, out).is_some() {
        [Input::taken(0), Input::taken(1)]
    } else {
        [Input::converted(0, x, out.dtype, &mut scratch)?, Input::converted(1, y, out.dtype, &mut scratch)?]
    };
    let from = if scratch == 0 { x.dtype } else { out.dtype };
    let prepared = product::prepare(vec![product], [from, out.dtype], inputs.each_ref().map(|i| i.source))?;
    if scratch == 0 {
        return Some(prepared);
    }
    let first = PreparedKernel::new(move |args| inputs.iter().for_each(|input| input.convert(args)));
    Some(first.then(prepared).with_scratch(scratch))
}

/// Describes a product: the number of matrices, and the rows, the depth and the columns of each. Returns an
/// empty string for other operations.
pub(super) fn describe(request: &Request<'_>) -> String {
    let product = parts(request).and_then(|(dot, inputs, [out])| product(dot, inputs, out));
    let Some(p) = product else { return String::new() };
    format!("{}x[{}x{}x{}]", p.matrices(), p.rows, p.depth, p.columns)
}

/// Returns the operation, the operands and the result of a request.
fn parts<'a>(request: &Request<'a>) -> Option<(&'a DotGeneral, [&'a TensorType; 2], [&'a TensorType; 1])> {
    match (request.op, request.inputs, request.outputs) {
        (Op::DotGeneral(d), &[x, y], &[out]) => Some((d, [x, y], [out])),
        _ => None,
    }
}

/// Returns the types of the factors and of the result of a product whose operands need not be converted
/// first. 16-bit floats are widened to `f32` as they are read, and 8-bit integers to floats that represent
/// the sums exactly.
pub(super) fn types(x: &TensorType, y: &TensorType, out: &TensorType) -> Option<[DType; 2]> {
    let (from, to) = (x.dtype, out.dtype);
    let is_half = matches!(from, DType::F16 | DType::BF16) && to == DType::F32;
    let is_small = matches!(from, DType::S8 | DType::U8) && to == DType::S32;
    (from == y.dtype && (from == to || is_half || is_small)).then_some([from, to])
}

/// Returns the product of operands of these types. Its strides stay within the operands.
fn product(d: &DotGeneral, types: [&TensorType; 2], out: &TensorType) -> Option<Product> {
    let [x, y, out] = [types[0], types[1], out].map(|t| Laid::row_major(t.sizes()));
    laid(d, [&x, &y, &out])
}

/// Sizes and strides of a tensor or of a part of a tensor.
pub(super) struct Laid {
    pub(super) sizes: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

impl Laid {
    pub(super) fn row_major(sizes: &[usize]) -> Laid {
        Laid { sizes: sizes.to_vec(), strides: dims::strides(sizes) }
    }
}

/// Returns the product of two tensors, or of parts of tensors, whose result is a third tensor or a part of
/// it.
pub(super) fn laid(d: &DotGeneral, [x, y, out]: [&Laid; 3]) -> Option<Product> {
    let free = [
        free(x.sizes.len(), &d.lhs_batch, &d.lhs_contract)?,
        free(y.sizes.len(), &d.rhs_batch, &d.rhs_contract)?,
    ];
    if !fits(d, [x, y], &free, out) {
        return None;
    }
    let dims = |of: &Laid, dims: &[usize]| -> Vec<(usize, usize)> {
        dims.iter().map(|d| (of.sizes[*d], of.strides[*d])).collect()
    };
    let (batch, rows) = (d.lhs_batch.len(), free[0].len());
    let result: Vec<(usize, usize)> = out.sizes.iter().copied().zip(out.strides.iter().copied()).collect();
    let both = dims(x, &d.lhs_batch).into_iter().zip(dims(y, &d.rhs_batch)).zip(&result);
    let count = |dims: &[(usize, usize)]| dims.iter().fold(1, |n: usize, d| n.saturating_mul(d.0));
    let (lines, depth) = (dims(x, &free[0]), dims(x, &d.lhs_contract));
    let columns = dims(y, &free[1]);
    Some(Product {
        batch: both.map(|(((size, x), (_, y)), (_, out))| (size, [x, y, *out])).collect(),
        rows: count(&lines),
        columns: count(&columns),
        depth: count(&depth),
        lhs: Operand::matrix(&lines, &depth),
        rhs: Operand::matrix(&columns, &dims(y, &d.rhs_contract)),
        out: [result[batch..batch + rows].to_vec(), result[batch + rows..].to_vec()],
        start: [0; 3],
    })
}

fn sizes(x: &Laid, dims: &[usize]) -> Vec<usize> {
    dims.iter().map(|d| x.sizes[*d]).collect()
}

/// Returns the dimensions that are neither batch nor contracting dimensions. `None` if a batch or contracting
/// dimension is listed twice or does not exist.
pub(super) fn free(rank: usize, batch: &[usize], contract: &[usize]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..rank).collect();
    for d in batch.iter().chain(contract) {
        let at = left.iter().position(|l| l == d)?;
        left.remove(at);
    }
    Some(left)
}

/// Returns true if the sizes of the operands and of the result match.
fn fits(d: &DotGeneral, [x, y]: [&Laid; 2], free: &[Vec<usize>; 2], out: &Laid) -> bool {
    let batch = sizes(x, &d.lhs_batch);
    let result = [batch.clone(), sizes(x, &free[0]), sizes(y, &free[1])].concat();
    batch == sizes(y, &d.rhs_batch)
        && sizes(x, &d.lhs_contract) == sizes(y, &d.rhs_contract)
        && result == out.sizes
}

/// An operand as the product reads it.
struct Input {
    number: usize,
    source: Source,
    /// Conversion of the operand, and the offset of the converted operand in the scratch memory.
    convert: Option<(PreparedKernel, usize)>,
}

impl Input {
    fn taken(number: usize) -> Input {
        Input { number, source: Source::Input(number), convert: None }
    }

    /// Creates an operand that is first converted to type `to` if it has another type. The converted operand
    /// follows the first `scratch` bytes of the scratch memory, and its size is added to `scratch`.
    fn converted(number: usize, x: &TensorType, to: DType, scratch: &mut usize) -> Option<Input> {
        if x.dtype == to {
            return Some(Input::taken(number));
        }
        // `f8E8M0FNU` has powers of two that exceed the range of the types of the results.
        let wider =
            x.dtype.class() == to.class() && x.dtype.bits() < to.bits() && x.dtype != DType::F8E8M0FNU;
        let convert = elementwise::converted(x, to).filter(|_| wider)?;
        let at = *scratch;
        *scratch =
            at.checked_add(x.with_dtype(to).bytes()?.max(1).checked_next_multiple_of(CACHE_LINE_BYTES)?)?;
        Some(Input { number, source: Source::Scratch(at), convert: Some((convert, at)) })
    }

    fn convert(&self, args: &Args<'_>) {
        if let Some((convert, at)) = &self.convert {
            let places = [args.input_place(self.number), args.scratch_place().from(*at)];
            // SAFETY: the input has the type of the operand, and the scratch memory has room for the
            // converted operand, which overlaps nothing else.
            unsafe { convert.run_here(&args.with(&places, 1)) };
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

    /// Returns the product of two matrices, in as many tasks as the kernel uses.
    fn dot(x: &mut [f32], y: &mut [f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
        let op = Op::DotGeneral(Box::new(DotGeneral {
            lhs_batch: Vec::new(),
            rhs_batch: Vec::new(),
            lhs_contract: vec![1],
            rhs_contract: vec![0],
            precision: Vec::new(),
            algorithm: None,
        }));
        let (inputs, outputs) = ([matrix(m, k), matrix(k, n)], [matrix(m, n)]);
        let (inputs, outputs) = (inputs.each_ref(), outputs.each_ref());
        let request = Request { op: &op, bodies: &[], inputs: &inputs, outputs: &outputs, iotas: &[] };
        let prepared = prepare(&request).unwrap();
        let mut out = vec![0f32; m * n];
        let bases = [x.as_mut_ptr().cast(), y.as_mut_ptr().cast(), out.as_mut_ptr().cast::<u8>()];
        let places = [m * k, k * n, m * n].map(|n| n * 4);
        let places: Vec<Place> =
            places.into_iter().enumerate().map(|(base, size)| Place { base, offset: 0, size }).collect();
        // SAFETY: the vectors have the sizes and the element types of the places above.
        unsafe { prepared.run_here(&Args::new(&places, 2, &bases)) };
        out
    }

    /// Checks that long sums consist of partial sums. Without partial sums, the root mean square of the
    /// errors would be 3.5e-6, which is above the limit.
    #[test]
    fn long_sums_are_added_up_in_parts() {
        let (m, n, k) = (32, 32, 600);
        let mut all = random(m * k + k * n);
        let (x, y) = all.split_at_mut(m * k);
        let out = dot(x, y, [m, k, n]);
        let error = |(at, &got): (usize, &f32)| {
            let (i, j) = (at / n, at % n);
            let exact: f64 = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(y[l * n + j])).sum();
            (f64::from(got) - exact).powi(2)
        };
        let rms = (out.iter().enumerate().map(error).sum::<f64>() / out.len() as f64).sqrt();
        assert!(rms < 2.5e-6, "the root mean square of the errors is {rms:e}");
    }

    #[test]
    fn a_part_has_the_bits_that_the_whole_has() {
        let [m, k, n] = [700, 531, 211];
        let (mut x, mut y) = (random(m * k), random(k * n));
        let whole = dot(&mut x, &mut y, [m, k, n]);
        // The product of fewer rows is split differently, and some of its tiles are not full.
        for rows in [2, 100] {
            let part = dot(&mut x[..rows * k], &mut y, [rows, k, n]);
            assert!(
                whole.iter().zip(&part).all(|(a, b)| a.to_bits() == b.to_bits()),
                "the product of {rows} rows differs"
            );
        }
    }
}
