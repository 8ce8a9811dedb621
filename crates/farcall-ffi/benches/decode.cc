// The handlers of decode.rs, written with XLA's C++ header: they decode their frame and do nothing.
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;
using Ret = ffi::Result<F32>;

extern "C" XLA_FFI_Error* raw(XLA_FFI_CallFrame*) { return nullptr; }

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    one_buffer, [](F32) { return ffi::Error::Success(); }, ffi::Ffi::Bind().Arg<F32>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    eight_buffers,
    [](F32, F32, F32, F32, Ret, Ret, Ret, Ret) { return ffi::Error::Success(); },
    ffi::Ffi::Bind().Arg<F32>().Arg<F32>().Arg<F32>().Arg<F32>().Ret<F32>().Ret<F32>().Ret<F32>().Ret<F32>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    eight_scalars,
    [](F32, float, double, int32_t, int64_t, bool, float, int64_t, int32_t) { return ffi::Error::Success(); },
    ffi::Ffi::Bind()
        .Arg<F32>()
        .Attr<float>("alpha")
        .Attr<double>("beta")
        .Attr<int32_t>("count")
        .Attr<int64_t>("depth")
        .Attr<bool>("exact")
        .Attr<float>("factor")
        .Attr<int64_t>("groups")
        .Attr<int32_t>("height"));
