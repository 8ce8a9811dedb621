// Counts the calls of functions of the CUDA driver in this process, by CUPTI's callbacks. Launches that a thread
// records into a graph do not count. Needs no headers of CUDA.
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace {

// CUpti_CallbackData of cupti_callbacks.h, up to the name of the function.
struct CallbackData {
  int site;  // 0: the function begins, 1: it has ended
  const char* function;
};

using Callback = void (*)(void* user, int domain, uint32_t id, const CallbackData* data);

constexpr int kDriverDomain = 1;  // CUPTI_CB_DOMAIN_DRIVER_API

// Prefixes of the functions of interest. Variants have suffixes: `_ptsz`, `_v2`.
constexpr const char* kNames[] = {"cuGraphLaunch", "cuLaunchKernel", "cuStreamBeginCapture",
                                  "cuGraphInstantiate", "cuGraphExecUpdate"};
constexpr int kCount = sizeof(kNames) / sizeof(kNames[0]);
std::atomic<int64_t> counts[kCount];
std::atomic<bool> counting{false};

void* subscriber = nullptr;

// True between the calls that begin and end a recording of a stream on this thread. XLA begins and ends a
// recording on the same thread.
thread_local bool recording = false;

bool HasPrefix(const char* name, const char* prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

void OnCall(void*, int domain, uint32_t, const CallbackData* data) {
  if (domain != kDriverDomain) return;
  const bool begins = data->site == 0;
  if (HasPrefix(data->function, "cuStreamBeginCapture") && begins) recording = true;
  if (HasPrefix(data->function, "cuStreamEndCapture") && !begins) recording = false;
  if (!counting || !begins || (recording && HasPrefix(data->function, "cuLaunchKernel"))) return;
  for (int i = 0; i < kCount; ++i) {
    if (HasPrefix(data->function, kNames[i])) ++counts[i];
  }
}

}  // namespace

// Opens CUPTI by the path of its library. Returns null, or a message if that fails.
extern "C" const char* driver_calls_open(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return dlerror();
  auto subscribe = reinterpret_cast<int (*)(void**, Callback, void*)>(dlsym(library, "cuptiSubscribe"));
  auto enable = reinterpret_cast<int (*)(uint32_t, void*, int)>(dlsym(library, "cuptiEnableDomain"));
  if (subscribe == nullptr || enable == nullptr) return "the library lacks functions of CUPTI";
  if (subscribe(&subscriber, OnCall, nullptr) != 0) return "cuptiSubscribe failed";
  if (enable(1, subscriber, kDriverDomain) != 0) return "cuptiEnableDomain failed";
  return nullptr;
}

// Begins or ends counting. Counts begin at 0.
extern "C" void driver_calls_count(int on) {
  if (on) {
    for (auto& count : counts) count = 0;
  }
  counting = on;
}

// Returns the number of counted calls of a function; -1 if it is not of interest.
extern "C" int64_t driver_calls_of(const char* name) {
  for (int i = 0; i < kCount; ++i) {
    if (strcmp(name, kNames[i]) == 0) return counts[i];
  }
  return -1;
}
