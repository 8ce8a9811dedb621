// The C++ side of the check `launch`: the handler `probe_scale` of gpu_probe.rs, written with XLA's C++
// header, and a handler that times both handlers on the call frame that XLA made for it.
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

// The few functions of the CUDA driver that are used, so that no header of CUDA is needed.
struct Driver {
  int (*load)(void** module, const void* image);
  int (*function)(void** function, void* module, const char* name);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**);
  int (*synchronize)(void* stream);
};

static Driver driver = {};
static void* kernel = nullptr;

// The text of gpu_probe.ptx. The Python side sets it before the first call.
static std::string ptx;
extern "C" void twin_set_ptx(const char* text) { ptx = text; }

static ffi::Error LoadOnce() {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (kernel != nullptr) return ffi::Error::Success();
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return ffi::Error::Internal(dlerror());
  driver.load = reinterpret_cast<decltype(driver.load)>(dlsym(library, "cuModuleLoadData"));
  driver.function = reinterpret_cast<decltype(driver.function)>(dlsym(library, "cuModuleGetFunction"));
  driver.launch = reinterpret_cast<decltype(driver.launch)>(dlsym(library, "cuLaunchKernel"));
  driver.synchronize = reinterpret_cast<decltype(driver.synchronize)>(dlsym(library, "cuStreamSynchronize"));
  void* module = nullptr;
  if (int status = driver.load(&module, ptx.c_str())) {
    return ffi::Error::Internal("cuModuleLoadData: " + std::to_string(status));
  }
  if (int status = driver.function(&kernel, module, "scale")) {
    return ffi::Error::Internal("cuModuleGetFunction: " + std::to_string(status));
  }
  return ffi::Error::Success();
}

static ffi::Error Scale(F32 x, ffi::Result<F32> y, float by, void* stream) {
  if (!(x.dimensions() == y->dimensions())) return ffi::Error::InvalidArgument("x and y differ in shape");
  float* from = x.typed_data();
  float* to = y->typed_data();
  unsigned n = x.element_count();
  void* values[] = {&from, &to, &by, &n};
  int status = driver.launch(kernel, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, values, nullptr);
  return status == 0 ? ffi::Error::Success() : ffi::Error::Internal("cuLaunchKernel failed");
}

static ffi::Error ScaleOnCpu(F32 x, ffi::Result<F32> y, float by) {
  const float* from = x.typed_data();
  float* to = y->typed_data();
  for (size_t i = 0; i < x.element_count(); ++i) to[i] = by * from[i];
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(twin_load, LoadOnce, ffi::Ffi::Bind<ffi::ExecutionStage::kInitialize>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    twin_scale, Scale,
    ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<float>("by").Ctx<ffi::PlatformStream<void*>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(twin_scale_on_cpu, ScaleOnCpu,
                              ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<float>("by"));

// ---- Timing ----------------------------------------------------------------------------------------------

static XLA_FFI_Handler* sides[2] = {nullptr, nullptr};
static int rounds = 0;
static int calls = 0;
static std::vector<double> times[2];

// Sets the two handlers, the number of rounds, and the number of calls of each handler in a round.
extern "C" void twin_set_sides(void* ours, void* theirs, int round_count, int call_count) {
  sides[0] = reinterpret_cast<XLA_FFI_Handler*>(ours);
  sides[1] = reinterpret_cast<XLA_FFI_Handler*>(theirs);
  rounds = round_count;
  calls = call_count;
}

// Copies the times of one handler, in nanoseconds per call, and returns their number.
extern "C" int twin_times(int side, double* into, int capacity) {
  int count = std::min<int>(times[side].size(), capacity);
  std::copy_n(times[side].begin(), count, into);
  return count;
}

static double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

// Runs both handlers on the frame, alternately. A stream of the GPU is empty when a round begins, and the
// round has fewer calls than the driver can queue, so the measured time is the time to enqueue.
static XLA_FFI_Error* Time(XLA_FFI_CallFrame* frame) {
  void* stream = nullptr;
  if (driver.synchronize != nullptr) {
    XLA_FFI_Stream_Get_Args args = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, frame->ctx, nullptr};
    if (XLA_FFI_Error* error = frame->api->XLA_FFI_Stream_Get(&args)) return error;
    stream = args.stream;
  }
  for (int round = -1; round < rounds; ++round) {  // round −1 warms up
    for (int turn = 0; turn < 2; ++turn) {
      int side = (round & 1) ? 1 - turn : turn;
      if (stream != nullptr) driver.synchronize(stream);
      double begin = Now();
      for (int call = 0; call < calls; ++call) {
        if (XLA_FFI_Error* error = sides[side](frame)) return error;
      }
      double end = Now();
      if (round >= 0) times[side].push_back((end - begin) / calls);
    }
  }
  if (stream != nullptr) driver.synchronize(stream);
  return nullptr;
}

extern "C" XLA_FFI_Error* twin_time(XLA_FFI_CallFrame* frame) {
  // A frame without operands asks for metadata. Any other handler of this file gives the right answer, with
  // the version of the header.
  if (frame->args.size == 0) return twin_scale(frame);
  return Time(frame);
}
