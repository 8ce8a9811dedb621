//! Tests of handlers whose buffers lie in a GPU's memory. Nothing accesses the elements, so any address does.

use expect_test::expect;
use farcall_ffi::prelude::*;
use farcall_ffi::testing::Call;

use crate::outcome::check;

/// Compares the addresses and sizes of its buffers with an attribute.
#[handler(name = "addresses", platform = "CUDA")]
fn addresses(x: &GpuBuffer<f32, 2>, any: &AnyGpuBuffer, y: &mut GpuBuffer<f32>, at: &[i64]) -> Result<()> {
    let found = [x.as_ptr().addr(), any.as_ptr().addr(), y.as_mut_ptr().addr(), x.size(), any.size()];
    ensure!(found.iter().zip(at).all(|(found, at)| *found as i64 == *at), "{found:?} instead of {at:?}");
    ensure!(x.shape() == [2, 3] && (x.len(), x.rank()) == (6, 2), "x is {x:?}");
    let typed: &GpuBuffer<i16> = any.typed()?;
    ensure!(typed.as_ptr().addr() == any.as_ptr().addr(), "another address");
    ensure!(any.typed::<i32, 1>().is_err(), "{:?} is no s32[4]", any.dtype());
    Ok(())
}

#[test]
fn buffers_have_the_addresses_of_the_frame() {
    let (x, any, mut y) = ([0.0f32; 6], [0i16; 4], [0.0f32; 6]);
    let at = [x.as_ptr().addr(), any.as_ptr().addr(), y.as_mut_ptr().addr(), 24, 8];
    let at: Vec<i64> = at.iter().map(|at| *at as i64).collect();
    let call = || Call::to::<addresses>().operand(&x, &[2, 3]).operand(&any, &[4]).attr("at", at.clone());
    check(call().result(&mut y, &[2, 3]).run(), expect!["ok"]);
    let mut other = [0.0f64; 6];
    check(
        call().result(&mut other, &[6]).run(),
        expect!["INVALID_ARGUMENT: addresses: result 0 (y): expected f32, found f64"],
    );
}

/// Takes a buffer that is operand and result.
#[handler(name = "updated", platform = "CUDA")]
fn updated(x: &mut InOut<GpuBuffer<f32>>) -> Result<()> {
    ensure!(!x.as_mut_ptr().is_null(), "x is {x:?}");
    Ok(())
}

#[test]
fn operands_are_not_copied() {
    let mut x = [1.0f32; 4];
    check(Call::to::<updated>().in_place(&mut x, &[4]).run(), expect!["ok"]);
    let mut y = [0.0f32; 4];
    check(
        Call::to::<updated>().operand(&x, &[4]).result(&mut y, &[4]).run(),
        expect![
            "INVALID_ARGUMENT: updated: x: operand and result have different memory on the GPU: the program must let them share it (output_operand_aliases)"
        ],
    );
}

/// Has the parameters of its signature.
#[handler(name = "generated", platform = "CUDA")]
#[signature((x: f32[*, n], bias: f32[n]?, by: f32) -> (y: f32[*, n]))]
fn generated(host: &Context) -> Result<()> {
    let _ = (host.host_version(), by);
    ensure!(bias.is_none_or(|bias| bias.rank() == 1), "bias is {bias:?}");
    ensure!(x.dims() == y.dims() && !y.as_mut_ptr().is_null(), "x is {x:?}");
    Ok(())
}

#[test]
fn parameters_follow_from_the_signature() {
    let (x, mut y) = ([1.0f32; 4], [0.0f32; 4]);
    let call = Call::to::<generated>().operand(&x, &[2, 2]).attr("by", 1.0f32);
    check(call.result(&mut y, &[2, 2]).run(), expect!["ok"]);
}

#[test]
fn scratch_memory_is_the_hosts() {
    #[handler(name = "scratch", platform = "CUDA")]
    fn scratch(y: &mut GpuBuffer<f32>, host: &Context) -> Result<()> {
        let mut scratch = host.gpu_scratch::<f32>(y.len())?;
        ensure!((scratch.len(), scratch.size()) == (4, 16), "{scratch:?}");
        ensure!(scratch.as_mut_ptr().addr() % 256 == 0, "misaligned");
        let too_much = host.gpu_scratch::<f32>(usize::MAX / 2);
        ensure!(too_much.is_err_and(|e| e.code() == StatusCode::ResourceExhausted), "not refused");
        Ok(())
    }
    check(Call::to::<scratch>().result(&mut [0.0f32; 4], &[4]).run(), expect!["ok"]);
}
