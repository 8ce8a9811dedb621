// Handlers for the tests of the Python package, written against the headers of the jaxlib wheel. With
// SELF_REGISTER the library registers `scale` while it is loaded.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error ScaleImpl(float factor, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Scale, ScaleImpl,
                              ffi::Ffi::Bind()
                                  .Attr<float>("factor")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

#ifdef SELF_REGISTER
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "scale", "Host", Scale);
#else

// A second handler that tests register as `scale`: the name is already taken.
XLA_FFI_DEFINE_HANDLER_SYMBOL(OtherScale, ScaleImpl,
                              ffi::Ffi::Bind()
                                  .Attr<float>("factor")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

// State of a call site: the number of its runs.
struct Counter {
  static ffi::TypeId id;
  static const XLA_FFI_TypeInfo info;
  std::atomic<int64_t> runs{0};
};
ffi::TypeId Counter::id = {};
const XLA_FFI_TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();
XLA_FFI_DECLARE_TYPE_ID_SYMBOL(CounterTypeId) { return &Counter::id; }
XLA_FFI_DECLARE_TYPE_INFO_SYMBOL(CounterTypeInfo) { return &Counter::info; }

static ffi::ErrorOr<std::unique_ptr<Counter>> CounterNewImpl() { return std::make_unique<Counter>(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterNew, CounterNewImpl, ffi::Ffi::BindInstantiate());

static ffi::Error CounterRunImpl(Counter* counter, ffi::ResultBuffer<ffi::S64> out) {
  *out->typed_data() = ++counter->runs;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterRun, CounterRunImpl,
                              ffi::Ffi::Bind().Ctx<ffi::State<Counter>>().Ret<ffi::Buffer<ffi::S64>>());

static ffi::Error FailImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (*x.typed_data() < 0) return ffi::Error::InvalidArgument("the input is negative");
  if (*x.typed_data() > 100) throw std::runtime_error("the input is too large");
  *y->typed_data() = *x.typed_data();
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Fail, FailImpl, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

// Waits until another thread sets `wait_flag`, but at most about ten seconds. The result is the flag's value.
extern "C" std::atomic<int32_t> wait_flag{0};
static ffi::Error WaitImpl(ffi::ResultBuffer<ffi::S32> out) {
  for (int i = 0; i < 10000 && wait_flag == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  *out->typed_data() = wait_flag;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Wait, WaitImpl, ffi::Ffi::Bind().Ret<ffi::Buffer<ffi::S32>>());

// A target of the older interface: it gets a pointer to its only result, and pointers to its operands.
extern "C" void add_one(void* out, const void** ins) {
  *static_cast<float*>(out) = *static_cast<const float*>(ins[0]) + 1;
}
#endif
