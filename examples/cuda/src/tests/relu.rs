use farcall_ffi::testing::Call;

use super::Numbers;
use super::device::{Array, on_device, set_up};
use crate::custom_relu::{self, cuda};

/// Calls both handlers for `count` elements, of which the first ones are special. On the device, arrays begin
/// `shift` elements after a multiple of 256 bytes.
fn check(count: usize, shift: usize) {
    set_up();
    let mut numbers = Numbers(count as u64);
    let mut x: Vec<f32> = numbers.vec(count);
    let special = [f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE / 2.0];
    x.iter_mut().zip(special).for_each(|(x, special)| *x = special);
    let dy: Vec<f32> = numbers.vec(count);
    let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();

    let [mut y, mut dx] = [vec![0f32; count], vec![0f32; count]];
    Call::to::<custom_relu::custom_relu>().operand(&x, &[count]).result(&mut y, &[count]).run().unwrap();
    let call = Call::to::<custom_relu::custom_relu_bwd>().operand(&x, &[count]).operand(&dy, &[count]);
    call.result(&mut dx, &[count]).run().unwrap();

    let on_device_x = Array::shifted(&x, shift);
    let [on_device_dy, result] = [&dy, &x].map(|all| Array::shifted(all, shift));
    let call = Call::to::<cuda::custom_relu>().gpu_operand::<f32>(on_device_x.address(), &[count]);
    on_device(call.gpu_result::<f32>(result.address(), &[count])).unwrap();
    assert_eq!(bits(&result.read()), bits(&y), "{count} elements");
    let call = Call::to::<cuda::custom_relu_bwd>().gpu_operand::<f32>(on_device_x.address(), &[count]);
    let call = call.gpu_operand::<f32>(on_device_dy.address(), &[count]);
    on_device(call.gpu_result::<f32>(result.address(), &[count])).unwrap();
    assert_eq!(bits(&result.read()), bits(&dx), "{count} elements");
}

#[test]
fn relu_is_that_of_the_host() {
    for count in [0, 1, 3, 4, 5, 7, 1023, 1024, 1025, 5000] {
        check(count, 0);
    }
}

#[test]
fn relu_of_unaligned_arrays() {
    for (count, shift) in [(8, 1), (1030, 2), (9, 3), (1024, 4)] {
        check(count, shift);
    }
}
