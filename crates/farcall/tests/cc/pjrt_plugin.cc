// A PJRT plugin that differs from farcall's own, for tests of the client. Macros choose the differences:
// WRAPS (path of the plugin whose functions are used), MAJOR, MINOR, TABLE_BYTES, NO_TABLE, NO_EXTENSIONS,
// STABLEHLO (minor version that the plugin reads), FAILS (initialization returns an error of its own).

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>

struct Version {
  size_t struct_size;
  void *extension_start;
  int major, minor;
};

struct Api {
  size_t struct_size;
  void *extension_start;
  Version version;
  void *functions[138];
};

static Api api = {sizeof(Api), nullptr, {sizeof(Version), nullptr, 0, 112}, {}};

// Positions of functions in the table.
enum { ERROR_DESTROY, ERROR_MESSAGE, ERROR_GET_CODE, INITIALIZE, ATTRIBUTES };

#ifdef STABLEHLO
struct NamedValue {
  size_t struct_size;
  void *extension_start;
  const char *name;
  size_t name_size;
  int type;
  const int64_t *value;
  size_t value_size;
};

struct AttributesArgs {
  size_t struct_size;
  void *extension_start;
  const NamedValue *attributes;
  size_t num_attributes;
};

static void *attributes(AttributesArgs *args) {
  static const int64_t numbers[] = {0, STABLEHLO, 0};
  static const NamedValue version = {sizeof(NamedValue), nullptr, "stablehlo_current_version", 25, 2, numbers, 3};
  args->attributes = &version;
  args->num_attributes = 1;
  return nullptr;
}
#endif

#ifdef FAILS
struct ErrorArgs {
  size_t struct_size;
  void *extension_start;
  void *error;
  const char *message;
  size_t message_size;
};

struct CodeArgs {
  size_t struct_size;
  void *extension_start;
  void *error;
  int code;
};

static int error;

static void destroy(ErrorArgs *) {}
static void message(ErrorArgs *args) { args->message = "no chip\n", args->message_size = 7; }
static void *get_code(CodeArgs *args) { return args->code = 14, nullptr; }
static void *initialize(void *) { return &error; }
#endif

extern "C" const Api *GetPjrtApi() {
#ifdef NO_TABLE
  return nullptr;
#endif
#ifdef WRAPS
  void *library = dlopen(WRAPS, RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  api = *reinterpret_cast<const Api *(*)()>(dlsym(library, "GetPjrtApi"))();
#endif
#ifdef NO_EXTENSIONS
  api.extension_start = nullptr;
#endif
#ifdef MAJOR
  api.version.major = MAJOR;
#endif
#ifdef MINOR
  api.version.minor = MINOR;
#endif
#ifdef TABLE_BYTES
  api.struct_size = TABLE_BYTES;
#endif
#ifdef STABLEHLO
  api.functions[ATTRIBUTES] = reinterpret_cast<void *>(attributes);
#endif
#ifdef FAILS
  api.functions[ERROR_DESTROY] = reinterpret_cast<void *>(destroy);
  api.functions[ERROR_MESSAGE] = reinterpret_cast<void *>(message);
  api.functions[ERROR_GET_CODE] = reinterpret_cast<void *>(get_code);
  api.functions[INITIALIZE] = reinterpret_cast<void *>(initialize);
#endif
  return &api;
}
