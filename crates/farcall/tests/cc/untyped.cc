// Functions of the untyped API, for each of its parameter lists. The file needs no headers of XLA.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

struct XlaCustomCallStatus_;
extern "C" void XlaCustomCallStatusSetFailure(XlaCustomCallStatus_*, const char*, size_t);
extern "C" void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus_*);

// api_version 1 (API_VERSION_ORIGINAL): y = 2 x.
extern "C" void Twice(void* out, const void** ins) {
  *static_cast<float*>(out) = 2 * *static_cast<const float*>(ins[0]);
}

// Computes y = 2 x, and then changes the host's array of operand pointers.
extern "C" void Walks(void* out, const void** ins) {
  *static_cast<float*>(out) = 2 * *static_cast<const float*>(ins[0]);
  ins[0] = static_cast<const float*>(ins[0]) + 1000;
}

// Like `Twice`, but with two results: y = x, z = 2 x.
extern "C" void Both(void* out, const void** ins) {
  void** outs = static_cast<void**>(out);
  *static_cast<float*>(outs[0]) = *static_cast<const float*>(ins[0]);
  *static_cast<float*>(outs[1]) = 2 * *static_cast<const float*>(ins[0]);
}

// api_version 2 (API_VERSION_STATUS_RETURNING): y = 3 x; fails if x is negative. For zero, it reports a
// failure and then withdraws it.
extern "C" void Checked(void* out, const void** ins, XlaCustomCallStatus_* status) {
  float x = *static_cast<const float*>(ins[0]);
  const char words[] = "x is negative, and this is not part of it";
  if (x <= 0) XlaCustomCallStatusSetFailure(status, words, std::strlen("x is negative"));
  if (x == 0) XlaCustomCallStatusSetSuccess(status);
  *static_cast<float*>(out) = 3 * x;
}

// Like `Checked`, but as if the library were linked with XLA's own functions, which write XLA's struct. For x
// up to -2, the message is too long for the inline buffer of a `std::string`.
extern "C" void CheckedByXla(void* out, const void** ins, XlaCustomCallStatus_* status) {
  auto* message = reinterpret_cast<std::optional<std::string>*>(status);
  float x = *static_cast<const float*>(ins[0]);
  if (x <= 0) *message = std::string("x is negative");
  if (x <= -2) *message = std::string("x is negative, and below -2, too");
  if (x == 0) *message = std::nullopt;
  *static_cast<float*>(out) = 3 * x;
}

// api_version 3 (API_VERSION_STATUS_RETURNING_UNIFIED): y = x + the sum of the opaque bytes.
extern "C" void Opaque(void* out, const void** ins, const char* opaque, size_t opaque_len,
                       XlaCustomCallStatus_* status) {
  float sum = *static_cast<const float*>(ins[0]);
  for (size_t i = 0; i < opaque_len; ++i) {
    if (opaque[i] == '!') return XlaCustomCallStatusSetFailure(status, opaque, opaque_len);
    sum += static_cast<unsigned char>(opaque[i]);
  }
  *static_cast<float*>(out) = sum;
}

// Writes consecutive numbers to each of two results of six elements, in the order of memory: 0, 1, … to the
// first and 10, 11, … to the second.
extern "C" void Numbers(void* out, const void**) {
  void** outs = static_cast<void**>(out);
  for (int r = 0; r < 2; ++r)
    for (int i = 0; i < 6; ++i) static_cast<float*>(outs[r])[i] = 10 * r + i;
}
