// Calls functions of other libraries, and turns the exceptions that they throw into errors of the host. An
// exception that reached Rust would end the process.
//
// Each function takes the function to call, its arguments, and `thrown`, which makes an error from the type
// and the message of an exception (each may be null). The result is that error, or else the result of the
// call.

#include <cstddef>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <exception>
#include <string>
#include <typeinfo>

namespace {

// An error of the host.
struct Error;

typedef Error *(*Thrown)(const char *type, const char *what);

// Returns the error for the exception that is being handled.
__attribute__((cold, noinline)) Error *caught(Thrown thrown) {
  const std::type_info *type = abi::__cxa_current_exception_type();
  // The exception comes from another C++ runtime, so its contents cannot be read.
  if (!type) return thrown(nullptr, nullptr);
  int status = 0;
  char *readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  const char *name = readable ? readable : type->name();
  Error *error;
  try {
    throw;
  } catch (const std::exception &e) {
    error = thrown(name, e.what());
  } catch (const std::string &words) {
    error = thrown("std::string", words.c_str());
  } catch (const char *words) {
    error = thrown(name, words);
  } catch (...) {
    error = thrown(name, nullptr);
  }
  std::free(readable);
  return error;
}

}  // namespace

#define GUARDED(call)                      \
  try {                                    \
    call;                                  \
  } catch (...) {                          \
    return caught(thrown);                 \
  }

extern "C" {

// Opens a library. Returns the error for an exception of a static constructor. The exception passes through
// the dynamic linker, which stays locked by this thread.
Error *farcall_shim_open(const char *path, int flags, void **handle, Thrown thrown) {
  // The call goes through a volatile pointer, because the header declares that `dlopen` does not throw.
  void *(*volatile open)(const char *, int) = dlopen;
  GUARDED(*handle = open(path, flags))
  return nullptr;
}

// Asks a library for a description of itself.
Error *farcall_shim_describe(const void *(*function)(), const void **description, Thrown thrown) {
  GUARDED(*description = function())
  return nullptr;
}

Error *farcall_shim_handler(Error *(*handler)(void *), void *frame, Thrown thrown) {
  GUARDED(return handler(frame))
}

Error *farcall_shim_probe(Error *(*function)(void *, const void *const *), void *frame,
                          const void *const *ins, Thrown thrown) {
  GUARDED(return function(frame, ins))
}

Error *farcall_shim_task(void (*task)(void *), void *data, Thrown thrown) {
  GUARDED(task(data))
  return nullptr;
}

Error *farcall_shim_untyped(void (*function)(void *, const void *const *), void *out,
                            const void *const *ins, Thrown thrown) {
  GUARDED(function(out, ins))
  return nullptr;
}

Error *farcall_shim_untyped_status(void (*function)(void *, const void *const *, void *), void *out,
                                   const void *const *ins, void *status, Thrown thrown) {
  GUARDED(function(out, ins, status))
  return nullptr;
}

Error *farcall_shim_untyped_opaque(
    void (*function)(void *, const void *const *, const char *, size_t, void *), void *out,
    const void *const *ins, const char *opaque, size_t opaque_len, void *status, Thrown thrown) {
  GUARDED(function(out, ins, opaque, opaque_len, status))
  return nullptr;
}

}  // extern "C"
