//! Tests parts of buffers on the threads of a pool.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::outcome::check;
use expect_test::expect;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

/// Divides each element by the sum of its row, and returns the index of each row.
#[handler(name = "shares")]
fn shares(x: &Buffer<f32>, y: &mut Buffer<f32>, of: &mut Buffer<u64>, host: &Context) -> Result<()> {
    y.par_rows_mut().zip(x.par_rows()).zip(of.par_chunks_mut(1)).enumerate().for_each(
        host,
        |(i, ((y, x), of))| {
            let sum: f32 = x.iter().sum();
            y.iter_mut().zip(x).for_each(|(y, x)| *y = x / sum);
            of[0] = i as u64;
        },
    );
    Ok(())
}

#[test]
fn rows_of_several_buffers() {
    for rows in [0, 1, 2, 7, 100] {
        let x: Vec<f32> = (0..3 * rows).map(|i| (i / 3 + 1) as f32).collect();
        let (mut y, mut of) = (vec![0.0f32; 3 * rows], vec![7u64; rows]);
        let call = Call::to::<shares>().operand(&x, &[rows, 3]);
        check(call.result(&mut y, &[rows, 3]).result(&mut of, &[rows]).run(), expect!["ok"]);
        assert!(y.iter().all(|y| *y == 1.0 / 3.0), "wrong shares of {rows} rows");
        assert!(of.iter().copied().eq(0..rows as u64), "wrong indices of rows: {of:?}");
    }
}

#[test]
fn different_numbers_of_parts() {
    let call = Call::to::<shares>().operand(&[1.0f32; 6], &[2, 3]);
    check(
        call.result(&mut [0.0f32; 6], &[3, 2]).result(&mut [0u64; 2], &[2]).run(),
        expect![
            "INTERNAL: shares: panicked at crates/farcall-ffi/tests/it/parts.rs:13:22: 3 parts of one buffer cannot be zipped with 2 of another"
        ],
    );
}

/// Reverses each row with the help of scratch memory; rejects rows that begin with a negative number.
#[handler(name = "reversed")]
fn reversed(y: &mut InOut<Buffer<i32>>, host: &Context) -> Result<()> {
    let n = y.last_dims::<1>()?[0];
    y.par_rows().enumerate().try_for_each(host, |(i, row)| {
        ensure!(row.first().is_none_or(|x| *x >= 0), "row {i} begins with {}", row[0]);
        Ok(())
    })?;
    y.par_rows_mut().for_each_with_scratch(host, n, |scratch, row| {
        scratch.copy_from_slice(row);
        row.iter_mut().zip(scratch.iter().rev()).for_each(|(y, x)| *y = *x);
    })
}

#[test]
fn scratch_and_errors() {
    let x: Vec<i32> = (0..400).collect();
    let mut y = vec![0; 400];
    check(Call::to::<reversed>().operand(&x, &[100, 4]).result(&mut y, &[100, 4]).run(), expect!["ok"]);
    assert!(y.chunks(4).zip(x.chunks(4)).all(|(y, x)| y.iter().eq(x.iter().rev())));
    let mut negative = x.clone();
    for row in [20, 57, 99] {
        negative[4 * row] = -(row as i32);
    }
    for _ in 0..100 {
        check(
            Call::to::<reversed>().operand(&negative, &[100, 4]).result(&mut y, &[100, 4]).run(),
            expect!["INVALID_ARGUMENT: reversed: row 20 begins with -20"],
        );
    }
    check(
        Call::to::<reversed>().operand(&[0i32; 0], &[3, 0]).result(&mut [0; 0], &[3, 0]).run(),
        expect!["ok"],
    );
}

/// Runs three nested loops.
#[handler(name = "nested")]
fn nested(y: &mut Buffer<u64, 3>, host: &Context) -> Result<()> {
    let ([_, rows, columns], pool, done) = (y.shape(), host.pool(), AtomicUsize::new(0));
    y.par_matrices_mut().for_each(pool, |matrix| {
        matrix.par_chunks_mut(columns).for_each(pool, |row| {
            row.par_chunks_mut(1).enumerate().for_each(pool, |(i, y)| y[0] = i as u64);
            done.fetch_add(1, Ordering::Relaxed);
        });
    });
    ensure!(done.into_inner() == 50 * rows, "not every row was done once");
    Ok(())
}

#[test]
fn nested_loops() {
    let mut y = vec![0u64; 50 * 20 * 6];
    check(Call::to::<nested>().result(&mut y, &[50, 20, 6]).run(), expect!["ok"]);
    assert!(y.chunks(6).all(|row| row == [0, 1, 2, 3, 4, 5]));
}
