//! Multiplies sparse matrices, and compares the speed with the memory bandwidth of the machine.
//!
//! `sparse-example FILE [COLUMNS]` reads a Matrix Market file, and multiplies the matrix with a dense matrix
//! of ones, which has one column by default. `sparse-example bench [ROWS]` measures products of banded,
//! power-law and block matrices.

use std::hint::black_box;
use std::io::{BufReader, Write};
use std::time::Instant;

use farcall_ffi::testing::Call;
use farcall_ffi::{Complex, Element, Random};
use farcall_sparse::products::{bsr_matmul, bsr_matvec, csr_matmul, csr_matvec};

mod matrix_market;

/// A matrix in CSR, or in BSR if it has blocks.
struct SparseMatrix<T> {
    a: Vec<T>,
    columns: Vec<i32>,
    starts: Vec<i32>,
    /// Number of columns.
    width: usize,
    /// Number of rows and columns of a block; 1 in CSR.
    block: usize,
}

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["bench"] => bench(1 << 21),
        ["bench", rows] => bench(rows.parse()?),
        [path] => multiply(path, 1),
        [path, columns] => multiply(path, columns.parse()?),
        _ => Err("usage: sparse-example FILE [COLUMNS] | sparse-example bench [ROWS]".into()),
    }
}

fn multiply(path: &str, n: usize) -> Result<(), Error> {
    let file = std::fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
    let matrix = matrix_market::read(BufReader::new(file)).map_err(|error| format!("{path}: {error}"))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} rows, {} columns, {} entries", matrix.rows, matrix.columns, matrix.entries.len())?;
    let bandwidth = triad_bandwidth(1 << 23);
    if matrix.is_complex {
        let values = |value: Complex<f64>| value;
        let (y, seconds, bytes) = product(&csr(&matrix, values)?, n, Complex::new(1.0, 0.0))?;
        writeln!(out, "norm of the product: {}", y.iter().map(|y| y.norm_sqr()).sum::<f64>().sqrt())?;
        report(&mut out, "product", seconds, bytes, bandwidth)
    } else {
        let (y, seconds, bytes) = product(&csr(&matrix, |value| value.re)?, n, 1.0)?;
        writeln!(out, "norm of the product: {}", y.iter().map(|y| y * y).sum::<f64>().sqrt())?;
        report(&mut out, "product", seconds, bytes, bandwidth)
    }
}

/// Converts a matrix to CSR.
fn csr<T: Element>(
    matrix: &matrix_market::Matrix,
    value: impl Fn(Complex<f64>) -> T,
) -> Result<SparseMatrix<T>, Error> {
    let mut entries: Vec<_> = matrix.entries.iter().collect();
    entries.sort_by_key(|(row, column, _)| (*row, *column));
    let mut starts = vec![0i32; matrix.rows + 1];
    for (row, ..) in &entries {
        starts[row + 1] += 1;
    }
    for row in 0..matrix.rows {
        starts[row + 1] += starts[row];
    }
    let columns = entries.iter().map(|(_, column, _)| i32::try_from(*column)).collect::<Result<_, _>>()?;
    let a = entries.iter().map(|(.., own)| value(*own)).collect();
    Ok(SparseMatrix { a, columns, starts, width: matrix.columns, block: 1 })
}

/// Multiplies a matrix with `n` columns of `one`. Returns the product, the time of the fastest of several
/// calls in seconds, and the number of bytes that a call must at least move.
fn product<T: Element>(matrix: &SparseMatrix<T>, n: usize, one: T) -> Result<(Vec<T>, f64, usize), Error> {
    let (b, e, k) = (matrix.block, matrix.columns.len(), matrix.width);
    let m = (matrix.starts.len() - 1) * b;
    let (x, mut y) = (vec![one; k * n], vec![one; m * n]);
    let mut fastest = f64::INFINITY;
    for _ in 0..7 {
        let call = match (b, n) {
            (1, 1) => Call::to::<csr_matvec::op>().operand(&matrix.a, &[e]),
            (1, _) => Call::to::<csr_matmul::op>().operand(&matrix.a, &[e]),
            (_, 1) => Call::to::<bsr_matvec::op>().operand(&matrix.a, &[e, b, b]),
            _ => Call::to::<bsr_matmul::op>().operand(&matrix.a, &[e, b, b]),
        };
        let call = call.operand(&matrix.columns, &[e]).operand(&matrix.starts, &[m / b + 1]);
        let start = Instant::now();
        let outcome = match n {
            1 => call.operand(&x, &[k]).result(&mut y, &[m]).run(),
            _ => call.operand(&x, &[k, n]).result(&mut y, &[m, n]).run(),
        };
        outcome.map_err(|error| error.message().to_owned())?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    let bytes = size_of::<T>() * (e * b * b + (m + k) * n) + size_of::<i32>() * (e + m / b + 1);
    Ok((y, fastest, bytes))
}

fn report(out: &mut impl Write, name: &str, seconds: f64, bytes: usize, bandwidth: f64) -> Result<(), Error> {
    let reached = bytes as f64 / seconds * 1e-9;
    let share = 100.0 * reached / bandwidth;
    writeln!(out, "{name}: {:.3} ms, {reached:.1} GB/s, {share:.0} % of {bandwidth:.1} GB/s", seconds * 1e3)?;
    Ok(())
}

/// Measures the bandwidth of `a[i] = b[i] + s·c[i]` on all processors, in GB/s, as STREAM does (J. D.
/// McCalpin, *Memory Bandwidth and Machine Balance in Current High Performance Computers*, 1995). Three
/// arrays of `len` elements are read or written.
fn triad_bandwidth(len: usize) -> f64 {
    let (mut a, b, c) = (vec![0.0f64; len], vec![1.0f64; len], vec![2.0f64; len]);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let part = len.div_ceil(threads);
    let mut fastest = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part)) {
                scope.spawn(move || {
                    a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c);
                });
            }
        });
        fastest = fastest.min(start.elapsed().as_secs_f64());
        black_box(&a);
    }
    3.0 * 8.0 * len as f64 / fastest * 1e-9
}

fn bench(rows: usize) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    for name in ["banded", "block", "power-law"] {
        let matrix = match name {
            "banded" => banded(rows),
            "block" => blocks(rows),
            _ => power_law(rows),
        };
        for n in [1, 16] {
            let bandwidth = triad_bandwidth(1 << 24);
            let (y, seconds, bytes) = product(&matrix, n, 1.0)?;
            black_box(y);
            report(&mut out, &format!("{name}, {n} columns"), seconds, bytes, bandwidth)?;
        }
    }
    Ok(())
}

/// A matrix with 13 diagonals.
fn banded(rows: usize) -> SparseMatrix<f64> {
    from_rows(rows, |row, add| {
        (0..13).filter_map(|i| (row + i).checked_sub(6)).filter(|column| *column < rows).for_each(add);
    })
}

/// A matrix in BSR of dense blocks of 8×8 elements, two in each row of blocks.
fn blocks(rows: usize) -> SparseMatrix<f64> {
    let count = (rows / 8).max(1);
    let matrix = from_rows(count, |row, add| [row, (row + 5) % count].into_iter().for_each(add));
    let a = (0..64 * matrix.columns.len()).map(|i| (i % 17) as f64).collect();
    SparseMatrix { a, width: 8 * count, block: 8, ..matrix }
}

/// A matrix whose rows have lengths of a power law, and entries in random columns.
fn power_law(rows: usize) -> SparseMatrix<f64> {
    let random = Random::new(1);
    from_rows(rows, |row, add| {
        let mut stream = random.stream(row as u64);
        let uniform: f64 = stream.uniform();
        let count = (2.0 / (uniform + 1e-4).sqrt()) as usize + 2;
        (0..count).map(|_| stream.next_u32() as usize % rows).for_each(add);
    })
}

fn from_rows(rows: usize, mut each: impl FnMut(usize, &mut dyn FnMut(usize))) -> SparseMatrix<f64> {
    let (mut columns, mut starts) = (Vec::new(), vec![0]);
    for row in 0..rows {
        each(row, &mut |column| columns.push(column as i32));
        starts.push(columns.len() as i32);
    }
    let a = (0..columns.len()).map(|i| (i % 17) as f64).collect();
    SparseMatrix { a, columns, starts, width: rows, block: 1 }
}
