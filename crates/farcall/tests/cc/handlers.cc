// Handlers that exercise a host: every kind of attribute, errors, state, thread pool, scratch
// memory, futures, versions. Built by host_ffi.rs against the headers of several versions of XLA's
// FFI, as plain symbols or (-DSELF_REGISTER) registering themselves.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <condition_variable>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// y = x + 1
ffi::Error AddOneImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + 1;
  return ffi::Error::Success();
}

// Returns every attribute as a double.
ffi::Error ZooImpl(bool b, int8_t i8, int16_t i16, int32_t i32, int64_t i64,
                   uint8_t u8, uint16_t u16, uint32_t u32, uint64_t u64,
                   float f32, double f64, std::string_view s,
                   ffi::Span<const float> af32, ffi::Span<const int64_t> ai64,
                   ffi::Dictionary d,
                   ffi::ResultBuffer<ffi::F64> out) {
  double sum = 0;
  for (float v : af32) sum += v;
  double isum = 0;
  for (int64_t v : ai64) isum += static_cast<double>(v);
  auto k = d.get<int64_t>("k");
  if (k.has_error()) return k.error();
  auto n = d.get<std::string_view>("name");
  if (n.has_error()) return n.error();
  const double values[] = {double(b),   double(i8),  double(i16), double(i32),
                           double(i64), double(u8),  double(u16), double(u32),
                           double(u64), f32,         f64,         double(s.size()),
                           sum,         isum,               double(*k),
                           double(n->size())};
  if (out->element_count() != std::size(values))
    return ffi::Error::InvalidArgument("out has the wrong size");
  std::memcpy(out->typed_data(), values, sizeof(values));
  return ffi::Error::Success();
}

ffi::Error FailImpl(int32_t code, std::string_view message) {
  return ffi::Error(static_cast<XLA_FFI_Error_Code>(code), std::string(message));
}

// Number of states that have not been destroyed. A state counts the runs of its call site, starting at
// `start`.
std::atomic<int> live_states{0};

struct Counter {
  static ffi::TypeId id;
  static const XLA_FFI_TypeInfo info;
  explicit Counter(int64_t start) : next(start) { ++live_states; }
  ~Counter() { --live_states; }
  std::atomic<int64_t> next;
};
ffi::TypeId Counter::id = {};
const XLA_FFI_TypeInfo Counter::info = ffi::MakeTypeInfo<Counter>();

ffi::ErrorOr<std::unique_ptr<Counter>> CounterNewImpl(int64_t start) {
  if (start < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("start is negative"));
  return std::make_unique<Counter>(start);
}

ffi::Error CounterRunImpl(Counter* state, int64_t, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = state->next++;
  return ffi::Error::Success();
}

// Schedules one task per element, each of which schedules another task, and waits for all of them.
ffi::Error PoolImpl(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> x,
                    ffi::ResultBuffer<ffi::F32> y, ffi::ResultBufferR0<ffi::S64> threads) {
  std::mutex mutex;
  std::condition_variable done;
  size_t pending = x.element_count();
  for (size_t i = 0; i < x.element_count(); ++i) {
    pool.Schedule([&, i] {
      std::promise<float> inner;
      pool.Schedule([&] { inner.set_value(2 * x.typed_data()[i]); });
      y->typed_data()[i] = inner.get_future().get();
      std::lock_guard<std::mutex> lock(mutex);
      if (--pending == 0) done.notify_all();
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return pending == 0; });
  *threads->typed_data() = pool.num_threads();
  return ffi::Error::Success();
}

// Allocates scratch memory and writes to it. Returns 1 if the memory has the requested alignment.
ffi::Error ScratchImpl(ffi::ScratchAllocator scratch, ffi::ResultBufferR0<ffi::S64> out) {
  auto a = scratch.Allocate(1000, 256);
  auto b = scratch.Allocate(0);
  if (!a || !b) return ffi::Error::Internal("no scratch memory");
  std::memset(*a, 1, 1000);
  *out->typed_data() = reinterpret_cast<uintptr_t>(*a) % 256 == 0;
  return ffi::Error::Success();
}

ffi::Error TooMuchScratchImpl(ffi::ScratchAllocator scratch) {
  if (scratch.Allocate(SIZE_MAX / 2)) return ffi::Error::Success();
  return ffi::Error(ffi::ErrorCode::kResourceExhausted, "that was too much");
}

// Completes on a separate thread, after the handler has returned.
ffi::Future LaterImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, bool fail) {
  ffi::Promise promise;
  ffi::Future future(promise);
  std::thread([=, promise = std::move(promise)]() mutable {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
    if (fail)
      promise.SetError(ffi::Error(ffi::ErrorCode::kDataLoss, "lost it"));
    else
      promise.SetAvailable();
  }).detach();
  return future;
}

ffi::Error WhereImpl(ffi::RunId run, int32_t ordinal, ffi::ResultBuffer<ffi::S64> out) {
  out->typed_data()[0] = run.run_id;
  out->typed_data()[1] = ordinal;
  return ffi::Error::Success();
}

ffi::Error StreamImpl(void* stream) { return ffi::Error::Success(); }

ffi::Error TokenImpl(ffi::Token in, ffi::Buffer<ffi::F32> x, ffi::Result<ffi::Token> out) {
  return ffi::Error::Success();
}

// Returns the size of each buffer in bytes.
ffi::Error SizesImpl(ffi::RemainingArgs args, ffi::ResultBuffer<ffi::S64> out) {
  for (size_t i = 0; i < args.size(); ++i)
    out->typed_data()[i] = args.get<ffi::AnyBuffer>(i)->size_bytes();
  return ffi::Error::Success();
}

// User data of a run, which handlers get by its type.
struct Embedder {
  static ffi::TypeId id;
  static const XLA_FFI_TypeInfo info;
  int64_t value;
};
ffi::TypeId Embedder::id = {};
const XLA_FFI_TypeInfo Embedder::info = ffi::MakeTypeInfo<Embedder>();

ffi::Error UserDataImpl(Embedder* data, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = data->value;
  return ffi::Error::Success();
}

#if XLA_FFI_API_MINOR >= 3
// These stages pass a number from one to the next.
ffi::ErrorOr<std::unique_ptr<Counter>> PrepareImpl() { return std::make_unique<Counter>(10); }
ffi::ErrorOr<std::unique_ptr<Counter>> InitializeImpl(Counter* prepared) {
  return std::make_unique<Counter>(prepared->next + 5);
}
ffi::Error StagesImpl(Counter* initialized, ffi::ResultBufferR0<ffi::S64> out) {
  *out->typed_data() = initialized->next++;
  return ffi::Error::Success();
}
#endif

#if XLA_FFI_API_MINOR >= 5
ffi::Error OptionsImpl(ffi::Dictionary options, ffi::ResultBufferR0<ffi::S64> out) {
  auto limit = options.get<int64_t>("limit");
  if (limit.has_error()) return limit.error();
  *out->typed_data() = *limit;
  return ffi::Error::Success();
}
#endif

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(AddOne, AddOneImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>(),
                              {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(Zoo, ZooImpl,
                              ffi::Ffi::Bind()
                                  .Attr<bool>("b")
                                  .Attr<int8_t>("i8")
                                  .Attr<int16_t>("i16")
                                  .Attr<int32_t>("i32")
                                  .Attr<int64_t>("i64")
                                  .Attr<uint8_t>("u8")
                                  .Attr<uint16_t>("u16")
                                  .Attr<uint32_t>("u32")
                                  .Attr<uint64_t>("u64")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<std::string_view>("s")
                                  .Attr<ffi::Span<const float>>("af32")
                                  .Attr<ffi::Span<const int64_t>>("ai64")
                                  .Attr<ffi::Dictionary>("d")
                                  .Ret<ffi::Buffer<ffi::F64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Fail, FailImpl, ffi::Ffi::Bind().Attr<int32_t>("code").Attr<std::string_view>("message"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(CounterNew, CounterNewImpl,
                              ffi::Ffi::BindInstantiate().Attr<int64_t>("start"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CounterRun, CounterRunImpl,
    ffi::Ffi::Bind()
        .Ctx<ffi::State<Counter>>()
        .Attr<int64_t>("start")
        .Ret<ffi::BufferR0<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Pool, PoolImpl,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::BufferR0<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Scratch, ScratchImpl,
    ffi::Ffi::Bind().Ctx<ffi::ScratchAllocator>().Ret<ffi::BufferR0<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(TooMuchScratch, TooMuchScratchImpl,
                              ffi::Ffi::Bind().Ctx<ffi::ScratchAllocator>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Later, LaterImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<bool>("fail"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Where, WhereImpl,
    ffi::Ffi::Bind().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>().Ret<ffi::Buffer<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Stream, StreamImpl,
                              ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    TokenIn, TokenImpl,
    ffi::Ffi::Bind().Arg<ffi::Token>().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Token>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Sizes, SizesImpl,
                              ffi::Ffi::Bind().RemainingArgs().Ret<ffi::Buffer<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    UserData, UserDataImpl,
    ffi::Ffi::Bind().Ctx<ffi::UserData<Embedder>>().Ret<ffi::BufferR0<ffi::S64>>());
#if XLA_FFI_API_MINOR >= 3
XLA_FFI_DEFINE_HANDLER_SYMBOL(Prepare, PrepareImpl, ffi::Ffi::BindPrepare());
XLA_FFI_DEFINE_HANDLER_SYMBOL(Initialize, InitializeImpl,
                              ffi::Ffi::BindInitialize().Ctx<ffi::Prepared<Counter>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Stages, StagesImpl,
    ffi::Ffi::Bind().Ctx<ffi::Initialized<Counter>>().Ret<ffi::BufferR0<ffi::S64>>());
#endif

#if XLA_FFI_API_MINOR >= 5
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Options, OptionsImpl,
    ffi::Ffi::Bind().Ctx<ffi::CustomOptions>().Ret<ffi::BufferR0<ffi::S64>>());
#endif

// ---- Handlers against the C interface ---------------------------------------

static XLA_FFI_Metadata* MetadataOf(XLA_FFI_CallFrame* frame) {
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  return extension ? extension->metadata : nullptr;
}

// A handler for a version that is not out yet.
extern "C" XLA_FFI_Error* FromTheFuture(XLA_FFI_CallFrame* frame) {
  if (auto* metadata = MetadataOf(frame)) metadata->api_version.minor_version = 77;
  if (auto* metadata = MetadataOf(frame)) metadata->api_version.major_version = 0;
  return nullptr;
}

// A function that is not a handler.
extern "C" void* Silent(void*) { return nullptr; }

// Allocates scratch memory and does not free it.
extern "C" XLA_FFI_Error* Forgetful(XLA_FFI_CallFrame* frame) {
  if (auto* metadata = MetadataOf(frame)) {
    metadata->api_version.major_version = 0;
    metadata->api_version.minor_version = 1;
    return nullptr;
  }
  XLA_FFI_DeviceMemory_Allocate_Args args;
  args.struct_size = XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE;
  args.extension_start = nullptr;
  args.ctx = frame->ctx;
  args.size = 1 << 20;
  args.alignment = 64;
  return frame->api->XLA_FFI_DeviceMemory_Allocate(&args);
}

extern "C" int LiveStates() { return live_states; }
extern "C" XLA_FFI_TypeId* CounterTypeId() { return &Counter::id; }
extern "C" const XLA_FFI_TypeInfo* CounterTypeInfo() { return &Counter::info; }
extern "C" XLA_FFI_TypeId* EmbedderTypeId() { return &Embedder::id; }
extern "C" const XLA_FFI_TypeInfo* EmbedderTypeInfo() { return &Embedder::info; }

// ---- The untyped API ----------------------------------------------------------

extern "C" void OldAdd(void* out, const void** ins) {
  *static_cast<float*>(out) =
      *static_cast<const float*>(ins[0]) + *static_cast<const float*>(ins[1]);
}

extern "C" void OldSwap(void* out, const void** ins) {
  void** outs = static_cast<void**>(out);
  *static_cast<float*>(outs[0]) = *static_cast<const float*>(ins[1]);
  *static_cast<float*>(outs[1]) = *static_cast<const float*>(ins[0]);
}

#ifdef SELF_REGISTER
struct XlaCustomCallStatus_;
extern "C" void XlaCustomCallStatusSetFailure(XlaCustomCallStatus_*, const char*, size_t);

// Fails with the opaque text as the message if it is longer than four bytes; otherwise sums its bytes.
extern "C" void OldUnified(void* out, const void** ins, const char* opaque, size_t len,
                           XlaCustomCallStatus_* status) {
  if (len > 4) return XlaCustomCallStatusSetFailure(status, opaque, len);
  float sum = 0;
  for (size_t i = 0; i < len; ++i) sum += opaque[i];
  *static_cast<float*>(out) = sum;
}

XLA_FFI_REGISTER_TYPE(XLA_FFI_GetApi(), "counter", &Counter::id, &Counter::info);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "add_one", "Host", AddOne);
static constexpr XLA_FFI_Handler_Bundle kCounter = {CounterNew, nullptr, nullptr, CounterRun};
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "counter", "cpu", kCounter);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "add_one", "gpu", AddOne);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "traited", "Host", CounterRun,
                         XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
#endif
#ifdef REFUSED
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "from_the_future", "Host", FromTheFuture);
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "add_one", "Host", AddOne);
#endif
#if defined(RECORDS) && XLA_FFI_API_MINOR >= 5
// A bundle with the record stage, which only hosts that record calls have.
static XLA_FFI_Error* Recorder(XLA_FFI_CallFrame* frame) {
  auto* metadata = MetadataOf(frame);
  if (!metadata) std::abort();
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return nullptr;
}
static constexpr XLA_FFI_Handler_Bundle kRecorded = {nullptr, nullptr, nullptr, AddOne, Recorder};
XLA_FFI_REGISTER_HANDLER(XLA_FFI_GetApi(), "recorded", "Host", kRecorded,
                         XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
#endif
