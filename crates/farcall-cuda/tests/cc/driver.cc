// A stand-in for the CUDA driver: it records its calls as lines of text and moves no data. Tests open it in
// the driver's place. It knows enough of PTX to print the arguments of a launch with their types.
//
// Tests call the functions `standin_*`, for the log, pending failures, and the capture status of streams.

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kNotFound = 500,
  kCaptureUnsupported = 900,
};

struct Function {
  std::string name;
  std::vector<std::string> types;  // "u64", "f32", …
};

struct Module {
  std::map<std::string, Function> functions;
};

std::mutex mutex;
std::string log_text;
std::map<std::string, int> failures;
int capture_status = 0;
void* current_context = reinterpret_cast<void*>(0xc0);
bool is_quiet = false;
uint64_t next_address = 0x700000000000;

void record(const char* format, ...) {
  if (is_quiet) return;
  char line[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  std::lock_guard<std::mutex> lock(mutex);
  log_text += line;
  log_text += '\n';
}

// Takes the pending failure of a function, which a test has set. Returns success if there is none.
int outcome(const char* function) {
  std::lock_guard<std::mutex> lock(mutex);
  auto failure = failures.find(function);
  if (failure == failures.end()) return kSuccess;
  int status = failure->second;
  failures.erase(failure);
  return status;
}

size_t size_of(const std::string& type) { return std::strtoul(type.c_str() + 1, nullptr, 10) / 8; }

// Reads `.entry NAME(.param .TYPE …, …)` of PTX.
Module* parse(const char* ptx) {
  auto* module = new Module;
  for (const char* at = ptx; (at = std::strstr(at, ".entry")) != nullptr;) {
    at += std::strlen(".entry");
    while (*at == ' ') ++at;
    Function function;
    while (*at != '(' && *at != ' ' && *at != '\n' && *at != 0) function.name += *at++;
    const char* end = std::strchr(at, ')');
    if (end == nullptr) break;
    while ((at = std::strstr(at, ".param .")) != nullptr && at < end) {
      at += std::strlen(".param .");
      std::string type;
      while (*at != ' ') type += *at++;
      function.types.push_back(type);
    }
    at = end;
    module->functions[function.name] = function;
  }
  return module;
}

std::string print(const std::string& type, const void* value) {
  char text[64];
  auto read = [&](auto number) {
    std::memcpy(&number, value, sizeof number);
    return number;
  };
  if (type == "u64") std::snprintf(text, sizeof text, "%#" PRIx64, read(uint64_t{}));
  else if (type == "s64") std::snprintf(text, sizeof text, "%" PRId64, read(int64_t{}));
  else if (type == "u32") std::snprintf(text, sizeof text, "%" PRIu32, read(uint32_t{}));
  else if (type == "s32") std::snprintf(text, sizeof text, "%" PRId32, read(int32_t{}));
  else if (type == "u16" || type == "b16") std::snprintf(text, sizeof text, "%#" PRIx16, read(uint16_t{}));
  else if (type == "u8") std::snprintf(text, sizeof text, "%d", int{read(uint8_t{})});
  else if (type == "f32") std::snprintf(text, sizeof text, "%g", double{read(float{})});
  else if (type == "f64") std::snprintf(text, sizeof text, "%g", read(double{}));
  else std::snprintf(text, sizeof text, "?%s", type.c_str());
  return text;
}

}  // namespace

extern "C" {

// ---- Functions for tests ----

// Returns the log since the last call, valid until the next one.
const char* standin_log() {
  static std::string taken;
  std::lock_guard<std::mutex> lock(mutex);
  taken = std::move(log_text);
  log_text.clear();
  return taken.c_str();
}

// Adds a line to the log. The stand-ins of other libraries call it.
void standin_record(const char* line) { record("%s", line); }

// Makes the next call of the function return this status, without effect.
void standin_fail(const char* function, int status) {
  std::lock_guard<std::mutex> lock(mutex);
  failures[function] = status;
}

// Takes the pending failure of a function. The stand-ins of other libraries call this.
int standin_outcome(const char* function) { return outcome(function); }

// Sets the status of all streams. 0: streams run their work; 1: they are recorded; 2: an error has
// invalidated the recording.
void standin_capture(int status) { capture_status = status; }

void standin_context(void* context) { current_context = context; }

// Stops the log, so that the cost of calls can be measured.
void standin_quiet() { is_quiet = true; }

// ---- The driver ----

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return outcome("cuDriverGetVersion");
}

int cuGetErrorName(int status, const char** name) {
  switch (status) {
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; return kSuccess;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; return kSuccess;
    case kInvalidImage: *name = "CUDA_ERROR_INVALID_IMAGE"; return kSuccess;
    case kInvalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; return kSuccess;
    case kInvalidPtx: *name = "CUDA_ERROR_INVALID_PTX"; return kSuccess;
    case kNotFound: *name = "CUDA_ERROR_NOT_FOUND"; return kSuccess;
    case kCaptureUnsupported: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; return kSuccess;
    default: *name = nullptr; return kInvalidValue;
  }
}

int cuGetErrorString(int status, const char** text) {
  switch (status) {
    case kInvalidValue: *text = "invalid argument"; return kSuccess;
    case kOutOfMemory: *text = "out of memory"; return kSuccess;
    case kInvalidImage: *text = "device kernel image is invalid"; return kSuccess;
    case kInvalidContext: *text = "invalid device context"; return kSuccess;
    case kInvalidPtx: *text = "a PTX JIT compilation failed"; return kSuccess;
    case kNotFound: *text = "named symbol not found"; return kSuccess;
    case kCaptureUnsupported: *text = "operation not permitted when stream is capturing"; return kSuccess;
    default: *text = nullptr; return kInvalidValue;
  }
}

int cuCtxGetCurrent(void** context) {
  *context = current_context;
  return outcome("cuCtxGetCurrent");
}

int cuCtxPushCurrent_v2(void* context) {
  record("cuCtxPushCurrent(%p)", context);
  return outcome("cuCtxPushCurrent");
}

int cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  record("cuCtxPopCurrent()");
  return outcome("cuCtxPopCurrent");
}

int cuCtxGetDevice(int* device) {
  *device = 0;
  return outcome("cuCtxGetDevice");
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // the major number of the compute capability
  return outcome("cuDeviceGetAttribute");
}

int cuStreamIsCapturing(void*, int* status) {
  *status = capture_status;
  return outcome("cuStreamIsCapturing");
}

int cuEventCreate(void** event, unsigned flags) {
  *event = reinterpret_cast<void*>(0xe0);
  record("cuEventCreate(%u)", flags);
  return outcome("cuEventCreate");
}

int cuEventDestroy_v2(void* event) {
  record("cuEventDestroy(%p)", event);
  return kSuccess;
}

int cuEventRecord(void* event, void* stream) {
  record("cuEventRecord(%p, %p)", event, stream);
  return capture_status != 0 ? kCaptureUnsupported : outcome("cuEventRecord");
}

int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  record("cuStreamWaitEvent(%p, %p, %u)", stream, event, flags);
  return capture_status != 0 ? kCaptureUnsupported : outcome("cuStreamWaitEvent");
}

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options, void** values) {
  if (capture_status != 0) return kCaptureUnsupported;
  if (int status = outcome("cuModuleLoadDataEx")) return status;
  const auto* text = static_cast<const char*>(image);
  auto* loaded = parse(text);
  record("cuModuleLoadDataEx(%zu kernels)", loaded->functions.size());
  if (!loaded->functions.empty()) {
    *module = loaded;
    return kSuccess;
  }
  delete loaded;
  for (unsigned i = 0; i + 1 < count; ++i) {
    if (options[i] == 5 && options[i + 1] == 6) {  // the buffer for errors, and its size
      auto size = reinterpret_cast<size_t>(values[i + 1]);
      std::snprintf(static_cast<char*>(values[i]), size,
                    "ptxas fatal   : Unresolved extern function '%.8s'\n", text);
    }
  }
  return kInvalidPtx;
}

int cuModuleUnload(void* module) {
  record("cuModuleUnload()");
  delete static_cast<Module*>(module);
  return kSuccess;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  record("cuModuleGetFunction(%s)", name);
  if (int status = outcome("cuModuleGetFunction")) return status;
  auto& functions = static_cast<Module*>(module)->functions;
  auto found = functions.find(name);
  if (found == functions.end()) return kNotFound;
  *function = &found->second;
  return kSuccess;
}

#ifndef OLD_DRIVER
int cuFuncGetParamInfo(void* function, size_t index, size_t* offset, size_t* size) {
  auto& types = static_cast<Function*>(function)->types;
  if (index >= types.size()) return kInvalidValue;
  *offset = 0;
  *size = size_of(types[index]);
  return kSuccess;
}
#endif

int cuFuncSetAttribute(void* function, int attribute, int value) {
  record("cuFuncSetAttribute(%s, %d, %d)", static_cast<Function*>(function)->name.c_str(), attribute, value);
  return outcome("cuFuncSetAttribute");
}

int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void* stream, void** parameters, void** extra) {
  if (is_quiet) return kSuccess;
  const auto& kernel = *static_cast<Function*>(function);
  std::string arguments;
  for (size_t i = 0; i < kernel.types.size(); ++i) {
    arguments += i == 0 ? "" : ", ";
    arguments += print(kernel.types[i], parameters[i]);
  }
  record("cuLaunchKernel(%s<<<%ux%ux%u, %ux%ux%u, %u, %p>>>(%s))", kernel.name.c_str(), gx, gy, gz, bx, by,
         bz, shared, stream, arguments.c_str());
  if (extra != nullptr || bx * by * bz == 0 || bx * by * bz > 1024) return kInvalidValue;
  return outcome("cuLaunchKernel");
}

int cuMemAlloc_v2(uint64_t* address, size_t size) {
  if (capture_status != 0) return kCaptureUnsupported;
  *address = next_address;
  next_address += (size + 255) / 256 * 256;
  record("cuMemAlloc(%zu) = %#" PRIx64, size, *address);
  return outcome("cuMemAlloc");
}

int cuMemFree_v2(uint64_t address) {
  record("cuMemFree(%#" PRIx64 ")", address);
  return outcome("cuMemFree");
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void* stream) {
  record("cuMemcpyDtoDAsync(%#" PRIx64 ", %#" PRIx64 ", %zu, %p)", to, from, size, stream);
  return outcome("cuMemcpyDtoDAsync");
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, void* stream) {
  record("cuMemsetD8Async(%#" PRIx64 ", %d, %zu, %p)", to, value, size, stream);
  return outcome("cuMemsetD8Async");
}

}  // extern "C"
