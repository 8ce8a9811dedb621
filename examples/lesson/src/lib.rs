//! The ops of a lesson about graphs of custom calls. On the CPU, they compute the same functions as the GPU
//! libraries that they are named after. Graphs made for those libraries therefore run here.
//!
//! | op | gradient | batching |
//! | --- | --- | --- |
//! | `cublas_gemm` | yes | one call |
//! | `custom_relu` | yes | one call |
//! | `sparse_matmul` | none | none |
//! | `nccl_allreduce` | yes | none |
//!
//! `cargo build -p lesson-ops` builds `liblesson_ops.so`, and the program `lesson` (`main.rs`), which builds
//! a graph of the first two ops. The handlers check the shapes of their buffers, because XLA does not check
//! them. (farcall compares the shapes with the signatures before a call.) `farcall targets --table --load
//! target/debug/liblesson_ops.so` prints the table.

use farcall_ffi::descriptor::OpDescriptor;
use farcall_ffi::prelude::*;

/// The product of matrices: `c = a·b`.
#[handler(name = "cublas_gemm")]
#[signature((a: f32[*, m, k], b: f32[*, k, n]) -> (c: f32[*, m, n]))]
#[vjp(backward = cublas_gemm_bwd)]
fn cublas_gemm(a: &Buffer<f32>, b: &Buffer<f32>, c: &mut Buffer<f32>) -> Result<()> {
    let [k, n] = check_product(a, b, c)?;
    c.fill(0.0);
    for ((a, b), c) in a.matrices().zip(b.matrices()).zip(c.matrices_mut()) {
        for (i, a) in a.iter().enumerate() {
            add(&mut c[i / k * n..][..n], *a, &b[i % k * n..][..n]);
        }
    }
    Ok(())
}

/// `da = dc·bᵀ`, `db = aᵀ·dc`
#[handler(name = "cublas_gemm_bwd")]
#[signature((a: f32[*, m, k], b: f32[*, k, n], dc: f32[*, m, n]) -> (da: f32[*, m, k], db: f32[*, k, n]))]
fn cublas_gemm_bwd(
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    dc: &Buffer<f32>,
    da: &mut Buffer<f32>,
    db: &mut Buffer<f32>,
) -> Result<()> {
    let [k, n] = check_product(a, b, dc)?;
    check_same(a, da)?;
    check_same(b, db)?;
    da.fill(0.0);
    db.fill(0.0);
    let matrices = a.matrices().zip(b.matrices()).zip(dc.matrices());
    for (((a, b), dc), (da, db)) in matrices.zip(da.matrices_mut().zip(db.matrices_mut())) {
        for (i, (a, da)) in a.iter().zip(da).enumerate() {
            let (dc, l) = (&dc[i / k * n..][..n], i % k * n);
            *da = b[l..][..n].iter().zip(dc).map(|(b, dc)| b * dc).sum();
            add(&mut db[l..][..n], *a, dc);
        }
    }
    Ok(())
}

/// Checks that `c` has the shape of `a·b`. Returns `k` and `n` of `a: [*, m, k]` and `b: [*, k, n]`.
fn check_product(a: &Buffer<f32>, b: &Buffer<f32>, c: &Buffer<f32>) -> Result<[usize; 2]> {
    let ([m, k], [_, n]) = (a.last_dims()?, b.last_dims()?);
    let batch = &a.dims()[..a.rank() - 2];
    let fits = b.dims() == [batch, &[k, n]].concat() && c.dims() == [batch, &[m, n]].concat();
    let [a, b, c] = [a, b, c].map(|buffer| buffer.dims());
    ensure!(fits, "shapes {a:?}, {b:?} and {c:?} are not [*, m, k], [*, k, n] and [*, m, n]");
    Ok([k, n])
}

/// Checks that two tensors have the same shape.
fn check_same(x: &Buffer<f32>, y: &Buffer<f32>) -> Result<()> {
    ensure!(x.dims() == y.dims(), "shapes {:?} and {:?} are not the same", x.dims(), y.dims());
    Ok(())
}

/// Computes `y += a·x`.
fn add(y: &mut [f32], a: f32, x: &[f32]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// The positive part of each element; NaN for NaN.
#[handler(name = "custom_relu")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = custom_relu_bwd)]
fn custom_relu(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    check_same(x, y)?;
    y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = if *x <= 0.0 { 0.0 } else { *x });
    Ok(())
}

/// Cotangents pass where elements are positive. NaN is not positive.
#[handler(name = "custom_relu_bwd")]
#[signature((x: f32[*], dy: f32[*]) -> (dx: f32[*]))]
fn custom_relu_bwd(x: &Buffer<f32>, dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    check_same(x, dy)?;
    check_same(x, dx)?;
    for ((dx, x), dy) in dx.iter_mut().zip(x.iter()).zip(dy.iter()) {
        *dx = if *x > 0.0 { *dy } else { 0.0 };
    }
    Ok(())
}

/// The product of a sparse and a dense matrix. The sparse matrix has `m` rows, and is given by its nonzero
/// entries and their indices.
#[handler(name = "sparse_matmul")]
#[signature((entries: f32[z], rows: s32[z], columns: s32[z], dense: f32[k, n], m: i64) -> (y: f32[m, n]))]
#[batch(none)]
fn sparse_matmul(
    entries: &Buffer<f32, 1>,
    rows: &Buffer<i32, 1>,
    columns: &Buffer<i32, 1>,
    dense: &Buffer<f32, 2>,
    m: i64,
    y: &mut Buffer<f32, 2>,
) -> Result<()> {
    let [k, n] = dense.shape();
    let listed = [entries.shape(), rows.shape(), columns.shape()];
    ensure!(listed.iter().all(|of| *of == listed[0]), "entries, rows and columns have the shapes {listed:?}");
    let [height, width] = y.shape();
    ensure!(
        i64::try_from(height) == Ok(m) && width == n,
        "the product is [{m}, {n}], not [{height}, {width}]"
    );
    y.fill(0.0);
    for ((entry, row), column) in entries.iter().zip(rows.iter()).zip(columns.iter()) {
        let inside = (0..m).contains(&(*row).into()) && (0..k as i64).contains(&(*column).into());
        ensure!(inside, "entry ({row}, {column}) is not one of a matrix [{m}, {k}]");
        let (row, column) = (*row as usize, *column as usize);
        add(&mut y[row * n..][..n], *entry, &dense[column * n..][..n]);
    }
    Ok(())
}

/// The sum over all processes. On the CPU there is only one process, so the sum is the operand.
#[handler(name = "nccl_allreduce")]
#[signature((x: f32[*]) -> (y: f32[*]))]
#[vjp(backward = nccl_allreduce_bwd)]
#[batch(none)]
fn nccl_allreduce(x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    check_same(x, y)?;
    y.copy_from_slice(x);
    Ok(())
}

/// The cotangent of each process's operand is the sum of the cotangents of all processes.
#[handler(name = "nccl_allreduce_bwd")]
#[signature((dy: f32[*]) -> (dx: f32[*]))]
#[batch(none)]
fn nccl_allreduce_bwd(dy: &Buffer<f32>, dx: &mut Buffer<f32>) -> Result<()> {
    nccl_allreduce(dy, dx)
}

/// All ops, for programs that link them.
pub const OPS: &[&OpDescriptor] = farcall_ffi::ops![
    cublas_gemm,
    cublas_gemm_bwd,
    custom_relu,
    custom_relu_bwd,
    sparse_matmul,
    nccl_allreduce,
    nccl_allreduce_bwd,
];

farcall_ffi::library!("lesson_ops", [..OPS]);
