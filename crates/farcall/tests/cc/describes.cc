// A library with a defective description of itself. The macro HOW chooses the defect.
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace {

struct Span {
  const char *start;
  size_t size;
};

struct Op {
  size_t struct_size;
  Span name, platform;
  void *handlers[5];
};

struct Library {
  size_t struct_size;
  uint32_t version, flags;
  Span name, library_version, sdk_version;
  const Op *const *ops;
  size_t op_count;
};

void *const kNowhere = reinterpret_cast<void *>(8);

Span text(const char *start, size_t size) { return {start, size}; }

Op op = {sizeof(Op), text("f", 1), text("Host", 4), {nullptr, nullptr, nullptr, nullptr, nullptr}};
const Op *ops[] = {&op};
Library library = {sizeof(Library), 1, 0, text("bad", 3), text("1", 1), text("1", 1), ops, 1};

}  // namespace

extern "C" const void *farcall_library_v1() {
  switch (HOW) {
    case 0: throw std::runtime_error("no ops today");
    case 1: return kNowhere;
    case 2: library.name = text(static_cast<const char *>(kNowhere), 40); break;
    case 3: library.ops = static_cast<const Op *const *>(kNowhere); break;
    case 4: ops[0] = static_cast<const Op *>(kNowhere); break;
    case 5: op.handlers[3] = kNowhere; break;
    case 6: *static_cast<volatile int *>(kNowhere) = 1; break;
  }
  return &library;
}
