use farcall_ffi::Float;
use farcall_ffi::testing::Call;

use super::device::{Array, on_device, set_up};
use super::{Numbers, assert_close, epsilon};
use crate::csr_matmul::{self, cuda};

/// Calls the handlers of both platforms for a matrix with these starts of rows and random columns, of which
/// some are outside of the dense matrix.
fn check<T: Float + cuda::CsrElement>(starts: &[i32], batches: usize, k: usize, n: usize) {
    set_up();
    let entries = starts.iter().copied().max().unwrap_or(0) as usize;
    let rows = starts.len() - 1;
    let what = format!("{}, {rows} rows, {entries} entries, [{batches}, {k}, {n}]", T::DTYPE);
    let mut numbers = Numbers((entries * n + k) as u64);
    let columns: Vec<i32> = (0..entries).map(|_| numbers.below(k + 2) as i32 - 1).collect();
    let [a, da]: [Vec<T>; 2] = [(); 2].map(|()| numbers.vec(batches * entries));
    let [b, db]: [Vec<T>; 2] = [(); 2].map(|()| numbers.vec(batches * k * n));
    let dy: Vec<T> = numbers.vec(batches * rows * n);
    let (of_a, of_b, of_y) = ([batches, entries], [batches, k, n], [batches, rows, n]);
    let (e, s) = ([entries], [starts.len()]);

    let [mut y, mut tangent] = [(); 2].map(|()| vec![T::ZERO; batches * rows * n]);
    let (mut grad_a, mut grad_b) = (vec![T::ZERO; a.len()], vec![T::ZERO; b.len()]);
    let call = Call::to::<csr_matmul::csr_matmul>().operand(&a, &of_a).operand(&columns, &e);
    call.operand(starts, &s).operand(&b, &of_b).result(&mut y, &of_y).run().unwrap();
    let call = Call::to::<csr_matmul::csr_matmul_jvp>().operand(&a, &of_a).operand(&columns, &e);
    let call = call.operand(starts, &s).operand(&b, &of_b).operand(&da, &of_a).operand(&db, &of_b);
    call.result(&mut tangent, &of_y).run().unwrap();
    let call = Call::to::<csr_matmul::csr_matmul_bwd>().operand(&a, &of_a).operand(&columns, &e);
    let call = call.operand(starts, &s).operand(&b, &of_b).operand(&dy, &of_y);
    call.result(&mut grad_a, &of_a).result(&mut grad_b, &of_b).run().unwrap();

    let [a, da, b, db, dy] = [&a, &da, &b, &db, &dy].map(|all| Array::new(all));
    let (columns, starts) = (Array::new(&columns), Array::new(starts));
    let [found_y, found_a, found_b] =
        [&y, &grad_a, &grad_b].map(|like| Array::new(&vec![T::ONE; like.len()]));
    let tolerance = 8.0 * epsilon::<T>();
    let sparse = |call: Call<'static>| {
        let call = call.gpu_operand::<T>(a.address(), &of_a).gpu_operand::<i32>(columns.address(), &e);
        call.gpu_operand::<i32>(starts.address(), &s).gpu_operand::<T>(b.address(), &of_b)
    };
    let call = sparse(Call::to::<cuda::csr_matmul>());
    on_device(call.gpu_result::<T>(found_y.address(), &of_y)).unwrap();
    assert_close(&found_y.read(), &y, tolerance, &what);
    let call = sparse(Call::to::<cuda::csr_matmul_jvp>()).gpu_operand::<T>(da.address(), &of_a);
    let call = call.gpu_operand::<T>(db.address(), &of_b);
    on_device(call.gpu_result::<T>(found_y.address(), &of_y)).unwrap();
    assert_close(&found_y.read(), &tangent, tolerance, &what);
    let call = sparse(Call::to::<cuda::csr_matmul_bwd>()).gpu_operand::<T>(dy.address(), &of_y);
    let call = call.gpu_result::<T>(found_a.address(), &of_a);
    on_device(call.gpu_result::<T>(found_b.address(), &of_b)).unwrap();
    assert_close(&found_a.read(), &grad_a, tolerance, &what);
    assert_close(&found_b.read(), &grad_b, tolerance, &what);
}

#[test]
fn rows_of_all_lengths() {
    let starts = [0, 3, 3, 40, 41, 150, 150, 151, 152, 160];
    for (batches, k, n) in [(1, 5, 1), (1, 40, 33), (2, 7, 4), (3, 100, 64)] {
        check::<f32>(&starts, batches, k, n);
        check::<f64>(&starts, batches, k, n);
    }
}

#[test]
fn starts_that_are_no_ranges() {
    check::<f32>(&[-3, 5, 2, 9, 9], 1, 4, 3);
    check::<f64>(&[4, 0, 9], 2, 4, 3);
}

#[test]
fn matrices_without_rows_entries_or_columns() {
    check::<f32>(&[0], 1, 4, 3);
    check::<f32>(&[0, 0, 0], 1, 4, 3);
    check::<f32>(&[0, 2], 1, 4, 0);
    check::<f32>(&[0, 2], 0, 4, 3);
}
