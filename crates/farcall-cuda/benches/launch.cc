// The handler of launch.rs, written with XLA's C++ header, and the call of the driver alone.
#include <dlfcn.h>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                       void**, void**);

static const Launch launch =
    reinterpret_cast<Launch>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel"));
static void* kernel = nullptr;

extern "C" void set_kernel(void* function) { kernel = function; }

// The minimum that any handler for this op does: the launch alone.
extern "C" XLA_FFI_Error* only_launch(XLA_FFI_CallFrame*) {
  float* x = reinterpret_cast<float*>(0x1000);
  float* y = reinterpret_cast<float*>(0x2000);
  float by = 2.5f;
  unsigned n = 24;
  void* values[] = {&x, &y, &by, &n};
  launch(kernel, 1, 1, 1, 256, 1, 1, 0, reinterpret_cast<void*>(0x5000), values, nullptr);
  return nullptr;
}

static ffi::Error run(F32 x, ffi::Result<F32> y, float by, void* stream) {
  float* from = x.typed_data();
  float* to = y->typed_data();
  unsigned n = x.element_count();
  void* values[] = {&from, &to, &by, &n};
  int status = launch(kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, values, nullptr);
  return status == 0 ? ffi::Error::Success() : ffi::Error::Internal("cuLaunchKernel failed");
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    scale, run,
    ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<float>("by").Ctx<ffi::PlatformStream<void*>>());
