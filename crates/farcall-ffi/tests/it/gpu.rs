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
        ensure!(scratch.as_mut_ptr().addr() % 16 == 0, "misaligned");
        let too_much = host.gpu_scratch::<f32>(usize::MAX / 2);
        ensure!(too_much.is_err_and(|e| e.code() == StatusCode::ResourceExhausted), "not refused");
        Ok(())
    }
    check(Call::to::<scratch>().result(&mut [0.0f32; 4], &[4]).run(), expect!["ok"]);
    // XLA refuses larger alignments.
    let on_gpu = Call::to::<scratch>().gpu_result::<f32>(0x1000, &[4]);
    // SAFETY: the handler enqueues nothing.
    check(unsafe { on_gpu.on_stream(std::ptr::null_mut(), 0) }.run(), expect!["ok"]);
}

/// Returns the services of a GPU as an error.
fn services(host: &Context) -> Result<()> {
    let extension = host.extension(7)?.map(|extension| extension.id.minor_version);
    let message =
        format!("device {:?}, stream {:?}, extension {extension:?}", host.device_ordinal()?, host.stream());
    Err(Error::cancelled(message))
}

#[stage(prepare)]
fn prepare_services(host: &Context) -> Result<()> {
    ensure!(host.device_ordinal()? == 3, "another device");
    services(host)
}

#[handler(name = "prepared", platform = "CUDA", prepare = prepare_services)]
fn prepared() {}

#[handler(name = "services", platform = "CUDA")]
fn executed(x: &GpuBuffer<f64>, host: &Context) -> Result<()> {
    ensure!(x.as_ptr().addr() == 0x1000, "x is {x:?}");
    services(host)
}

#[test]
fn calls_have_streams_devices_and_extensions() {
    use farcall_ffi::abi::{Extension, ExtensionId};
    let stream = std::ptr::without_provenance_mut(0x5000);
    let call = || Call::to::<executed>().gpu_operand::<f64>(0x1000, &[4]);
    check(
        // SAFETY: the handler enqueues nothing.
        unsafe { call().on_stream(stream, 3) }.run(),
        expect!["CANCELLED: services: device 3, stream Ok(0x5000), extension None"],
    );
    check(
        call().run(),
        expect![
            "CANCELLED: services: device 0, stream Err(UNIMPLEMENTED: the call has no stream), extension None"
        ],
    );
    check(
        // SAFETY: the stage enqueues nothing.
        unsafe { Call::to::<prepared>().on_stream(stream, 3) }.run(),
        expect![
            "CANCELLED: prepare_services: device 3, stream Err(UNIMPLEMENTED: the call has no stream), extension None"
        ],
    );
    let header = |extension_type, struct_size, next| Extension {
        struct_size,
        id: ExtensionId { extension_type, major_version: 0, minor_version: 2 },
        next,
    };
    let second = header(7, Extension::STRUCT_SIZE, std::ptr::null());
    let first = header(6, Extension::STRUCT_SIZE, &second);
    // SAFETY: the extensions are valid until the call is over, and the handler enqueues nothing.
    let with = |first: &Extension| unsafe { call().on_stream(stream, 3).extensions(first) };
    check(with(&first).run(), expect!["CANCELLED: services: device 3, stream Ok(0x5000), extension Some(2)"]);
    // Hosts before 0.5 have no extensions.
    check(
        with(&first).host_version(4).run(),
        expect!["CANCELLED: services: device 3, stream Ok(0x5000), extension None"],
    );
    check(
        with(&header(7, 8, std::ptr::null())).run(),
        expect!["INTERNAL: services: the host's extension 7 has 8 bytes"],
    );
}

#[test]
fn handlers_for_the_host_get_no_addresses_of_a_gpu() {
    #[handler(name = "reads")]
    fn reads(x: &Buffer<f32>) -> Result<()> {
        Err(Error::cancelled(format!("{}", x[0])))
    }
    check(
        Call::to::<reads>().gpu_operand::<f32>(0x1000, &[4]).run(),
        expect![
            "INVALID_ARGUMENT: a handler for the platform Host reads its operands in the process's own memory"
        ],
    );
}
