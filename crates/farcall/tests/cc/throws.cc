// Functions that throw, one for each kind of call that a host makes. The file needs no headers of XLA: it
// declares the parts of the C interface that it uses.
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

struct Args {
  size_t struct_size;
  void* extension_start;
  int64_t size;
  uint32_t* types;
  void** values;
};

struct Attrs {
  size_t struct_size;
  void* extension_start;
  int64_t size;
  uint32_t* types;
  void** names;
  void** values;
};

struct Scalar {
  uint32_t dtype;
  void* value;
};

struct Version {
  size_t struct_size;
  void* extension_start;
  int major, minor;
};

struct Api {
  size_t struct_size;
  void* extension_start;
  Version version;
  const void* internal;
  void* (*functions[20])(void*);
};
enum { kHandlerRegister = 3, kStateSet = 7, kSchedule = 11 };

struct Frame {
  size_t struct_size;
  struct Extension* extension;
  const Api* api;
  void* ctx;
  uint32_t stage;
  Args args, rets;
  Attrs attrs;
  void* future;
};

struct Metadata {
  size_t struct_size;
  Version version;
  uint32_t traits;
  int64_t state_type;
};

struct Extension {
  size_t struct_size;
  uint32_t type;
  Extension* next;
  Metadata* metadata;
};

int64_t state_type = 0;

bool Asked(Frame* frame) {
  if (!frame->extension) return false;
  frame->extension->metadata->version.major = 0;
  frame->extension->metadata->version.minor = 3;
  frame->extension->metadata->state_type = frame->stage == 0 ? state_type : 0;
  return true;
}

// Returns attribute `i`. All attributes are `s32`.
int32_t Attr(Frame* frame, int64_t i) {
  if (i >= frame->attrs.size) throw std::out_of_range("too few attributes");
  return *static_cast<int32_t*>(static_cast<Scalar*>(frame->attrs.values[i])->value);
}

// Objects that must be destroyed when an exception leaves their function.
std::atomic<int> live{0};
struct Thing {
  Thing() { ++live; }
  ~Thing() { --live; }
};

struct Misfortune : std::logic_error {
  using std::logic_error::logic_error;
};

struct Bare {};

void Throw(int kind) {
  Thing thing;
  switch (kind) {
    case 0: return;
    case 1: throw std::runtime_error("out of luck");
    case 2: throw Misfortune("bad day");
    case 3: throw std::string("a string");
    case 4: throw "some chars";
    case 5: throw 42;
    case 6: throw Bare();
    case 7: throw std::bad_alloc();
  }
}

struct Task {
  std::mutex mutex;
  std::condition_variable done;
  int kind;
  bool over = false;
};

}  // namespace

// Throws an exception. The attributes are the kind of the exception and the stage in which to throw it.
extern "C" void* Throws(Frame* frame) {
  if (Asked(frame)) return nullptr;
  Thing thing;
  if (frame->stage == static_cast<uint32_t>(Attr(frame, 1))) Throw(Attr(frame, 0));
  return nullptr;
}

// Throws when the host asks for the handler's metadata.
extern "C" void* Shy(Frame*) { throw std::runtime_error("do not ask"); }

// Schedules a task that throws, and one that ends the wait of the handler.
extern "C" void* TaskThrows(Frame* frame) {
  if (Asked(frame)) return nullptr;
  Task task;
  task.kind = Attr(frame, 0);
  struct {
    size_t struct_size;
    void* extension_start;
    void* ctx;
    void (*task)(void*);
    void* data;
  } args = {sizeof(args), nullptr, frame->ctx, [](void* data) { Throw(static_cast<Task*>(data)->kind); },
            &task};
  if (void* error = frame->api->functions[kSchedule](&args)) return error;
  args.task = [](void* data) {
    auto* task = static_cast<Task*>(data);
    std::lock_guard<std::mutex> lock(task->mutex);
    task->over = true;
    task->done.notify_all();
  };
  if (void* error = frame->api->functions[kSchedule](&args)) return error;
  std::unique_lock<std::mutex> lock(task.mutex);
  task.done.wait(lock, [&] { return task.over; });
  return nullptr;
}

// Makes a state whose deleter throws.
extern "C" void* Stateful(Frame* frame) {
  if (Asked(frame) || frame->stage > 2) return nullptr;
  struct {
    size_t struct_size;
    void* extension_start;
    void* ctx;
    uint32_t stage;
    int64_t* type;
    void* state;
  } args = {sizeof(args), nullptr, frame->ctx, frame->stage, &state_type, new Thing};
  return frame->api->functions[kStateSet](&args);
}

static void Delete(void* state) {
  delete static_cast<Thing*>(state);
  throw std::runtime_error("it is gone all the same");
}

extern "C" int64_t* StateTypeId() { return &state_type; }
extern "C" const void* StateTypeInfo() {
  static const struct {
    size_t struct_size;
    void* extension_start;
    void (*deleter)(void*);
  } info = {sizeof(info), nullptr, Delete};
  return &info;
}

extern "C" int Live() { return live; }

// ---- The untyped API ----------------------------------------------------------

extern "C" void Untyped(void*, const void** ins) { Throw(*static_cast<const int32_t*>(ins[0])); }
extern "C" void UntypedStatus(void*, const void** ins, void*) {
  Throw(*static_cast<const int32_t*>(ins[0]));
}
extern "C" void UntypedOpaque(void*, const void** ins, const char*, size_t, void*) {
  Throw(*static_cast<const int32_t*>(ins[0]));
}

// ---- A library that registers itself through the C++ symbol ---------------------
#ifdef SELF_REGISTER
struct XLA_FFI_Api;
namespace xla {
namespace ffi {
const XLA_FFI_Api* GetXlaFfiApi();
}
}  // namespace xla

static const void* registered = [] {
  auto* api = reinterpret_cast<const Api*>(xla::ffi::GetXlaFfiApi());
  struct {
    size_t struct_size;
    void* extension_start;
    const char* name;
    size_t name_len;
    const char* platform;
    size_t platform_len;
    void* (*bundle[4])(Frame*);
    uint32_t traits;
  } args = {84, nullptr, "throws", 6, "Host", 4, {nullptr, nullptr, nullptr, Throws}, 0};
  return api->functions[kHandlerRegister](&args);
}();
#endif
