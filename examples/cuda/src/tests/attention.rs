use farcall_ffi::half::{bf16, f16};
use farcall_ffi::testing::Call;
use farcall_ffi::{Float, StatusCode};

use super::device::{Array, on_device, set_up};
use super::{Numbers, assert_close, epsilon};
use crate::flash_attention::{self, cuda};

/// Sizes of a call: batch, heads of queries and of keys, queries, keys, and the size of each.
struct Sizes {
    batch: usize,
    h: usize,
    g: usize,
    n: usize,
    m: usize,
    d: usize,
}

fn check<T: Float<Acc = f32> + cuda::AttentionElement>(sizes: &Sizes, causal: bool) {
    set_up();
    let Sizes { batch, h, g, n, m, d } = *sizes;
    let what = format!("{} [{batch}, {h}/{g}, {n}, {m}, {d}], causal: {causal}", T::DTYPE);
    let (queries, keys, rows) = ([batch, h, n, d], [batch, g, m, d], [batch, h, n]);
    let mut numbers = Numbers((n * m * d) as u64);
    let q: Vec<T> = numbers.vec::<f32>(batch * h * n * d).iter().map(|x| T::of(3.0 * x)).collect();
    let [k, v]: [Vec<T>; 2] = [(); 2].map(|()| numbers.vec(batch * g * m * d));
    let (mut out, mut lse) = (vec![T::ZERO; q.len()], vec![0f32; batch * h * n]);
    let call = Call::to::<flash_attention::flash_attention>().operand(&q, &queries).operand(&k, &keys);
    let call = call.operand(&v, &keys).attr("causal", causal).result(&mut out, &queries);
    call.result(&mut lse, &rows).run().unwrap();

    let [q, k, v] = [&q, &k, &v].map(|all| Array::new(all));
    let (found, found_lse) = (Array::new(&out), Array::new(&vec![9f32; batch * h * n]));
    let call = Call::to::<cuda::flash_attention>().gpu_operand::<T>(q.address(), &queries);
    let call = call.gpu_operand::<T>(k.address(), &keys).gpu_operand::<T>(v.address(), &keys);
    let call = call.attr("causal", causal).gpu_result::<T>(found.address(), &queries);
    on_device(call.gpu_result::<f32>(found_lse.address(), &rows)).unwrap();
    // The kernel rounds the weights of values to the element type.
    assert_close(&found.read(), &out, 2.0 * epsilon::<T>(), &what);
    assert_close(&found_lse.read(), &lse, 1e-5, &what);
}

#[test]
fn tiles_of_queries_and_keys() {
    for causal in [false, true] {
        check::<f16>(&Sizes { batch: 1, h: 1, g: 1, n: 128, m: 64, d: 64 }, causal);
        check::<bf16>(&Sizes { batch: 1, h: 1, g: 1, n: 130, m: 200, d: 64 }, causal);
        check::<f16>(&Sizes { batch: 1, h: 1, g: 1, n: 70, m: 130, d: 128 }, causal);
        check::<bf16>(&Sizes { batch: 1, h: 1, g: 1, n: 200, m: 150, d: 128 }, causal);
    }
}

#[test]
fn one_query_or_one_key() {
    check::<f16>(&Sizes { batch: 1, h: 1, g: 1, n: 1, m: 1, d: 8 }, true);
    check::<f16>(&Sizes { batch: 1, h: 1, g: 1, n: 1, m: 65, d: 64 }, false);
    check::<bf16>(&Sizes { batch: 1, h: 1, g: 1, n: 3, m: 1, d: 128 }, false);
}

#[test]
fn heads_share_keys() {
    check::<bf16>(&Sizes { batch: 2, h: 4, g: 2, n: 5, m: 9, d: 16 }, false);
    check::<f16>(&Sizes { batch: 1, h: 3, g: 1, n: 129, m: 20, d: 32 }, true);
}

#[test]
fn sizes_between_those_of_the_kernels() {
    check::<f16>(&Sizes { batch: 1, h: 1, g: 1, n: 20, m: 70, d: 40 }, false);
    check::<bf16>(&Sizes { batch: 1, h: 1, g: 1, n: 20, m: 70, d: 72 }, true);
}

#[test]
fn sizes_without_a_kernel() {
    set_up();
    let error = |d: usize| {
        let x = Array::new(&vec![f16::ONE; d]);
        let lse = Array::new(&[0f32]);
        let mut call = Call::to::<cuda::flash_attention>().attr("causal", false);
        for _ in 0..3 {
            call = call.gpu_operand::<f16>(x.address(), &[1, 1, d]);
        }
        let result = Array::new(&vec![f16::ONE; d]);
        let call = call.gpu_result::<f16>(result.address(), &[1, 1, d]);
        let error = on_device(call.gpu_result::<f32>(lse.address(), &[1, 1])).unwrap_err();
        (error.code(), error.message().to_owned())
    };
    let expected = |d: usize| {
        let message = format!("flash_attention: on CUDA, d must be a multiple of 8 up to 128, but it is {d}");
        (StatusCode::Unimplemented, message)
    };
    assert_eq!(error(20), expected(20));
    assert_eq!(error(136), expected(136));
}
