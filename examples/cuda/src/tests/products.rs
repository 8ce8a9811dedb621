use farcall_ffi::testing::Call;

use super::device::{Array, on_device, set_up};
use super::{Numbers, assert_close};
use crate::cublas_gemm::{self, cuda};

/// Calls the handlers of both platforms for products of `[batch, m, k]` and `[batch, k, n]`.
fn check(batch: usize, m: usize, k: usize, n: usize) {
    set_up();
    let what = format!("{batch} × [{m}, {k}] · [{k}, {n}]");
    let (of_a, of_b, of_c) = ([batch, m, k], [batch, k, n], [batch, m, n]);
    let mut numbers = Numbers((m * k + n) as u64);
    let (a, b, dc): (Vec<f32>, Vec<f32>, Vec<f32>) =
        (numbers.vec(batch * m * k), numbers.vec(batch * k * n), numbers.vec(batch * m * n));
    let (mut c, mut da, mut db) = (vec![0f32; dc.len()], vec![0f32; a.len()], vec![0f32; b.len()]);
    let call = Call::to::<cublas_gemm::cublas_gemm>().operand(&a, &of_a).operand(&b, &of_b);
    call.result(&mut c, &of_c).run().unwrap();
    let call = Call::to::<cublas_gemm::cublas_gemm_bwd>().operand(&a, &of_a).operand(&b, &of_b);
    let call = call.operand(&dc, &of_c).result(&mut da, &of_a);
    call.result(&mut db, &of_b).run().unwrap();

    let [a, b, dc] = [&a, &b, &dc].map(|all| Array::new(all));
    let [found_c, found_a, found_b] = [&c, &da, &db].map(|like| Array::new(&vec![9f32; like.len()]));
    let site = Call::to::<cuda::cublas_gemm>().instantiate().unwrap();
    let call = Call::to::<cuda::cublas_gemm>().at(&site).gpu_operand::<f32>(a.address(), &of_a);
    let call = call.gpu_operand::<f32>(b.address(), &of_b);
    on_device(call.gpu_result::<f32>(found_c.address(), &of_c)).unwrap();
    let site = Call::to::<cuda::cublas_gemm_bwd>().instantiate().unwrap();
    let call = Call::to::<cuda::cublas_gemm_bwd>().at(&site).gpu_operand::<f32>(a.address(), &of_a);
    let call = call.gpu_operand::<f32>(b.address(), &of_b).gpu_operand::<f32>(dc.address(), &of_c);
    let call = call.gpu_result::<f32>(found_a.address(), &of_a);
    on_device(call.gpu_result::<f32>(found_b.address(), &of_b)).unwrap();
    for (found, expected) in [(found_c, c), (found_a, da), (found_b, db)] {
        assert_close(&found.read(), &expected, 1e-5, &what);
    }
}

#[test]
fn products_and_their_gradients() {
    check(1, 3, 4, 5);
    check(2, 33, 17, 40);
    check(3, 1, 64, 1);
    check(1, 2, 0, 3);
}
