// Handlers, most of which end the process. If FARCALL_TEST_CONSTRUCTOR is `exit` or `throw`, the static
// constructor of the library already ends the process.
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace {

struct Constructed {
  Constructed() {
    const char *how = std::getenv("FARCALL_TEST_CONSTRUCTOR");
    if (how && how[0] == 't') throw std::runtime_error("no such device");
    if (how && how[0] == 'e') std::exit(0);
  }
} constructed;

}  // namespace

extern "C" void leave(void *, const void *const *) { std::exit(0); }

extern "C" void leave_at_once(void *, const void *const *) { _exit(0); }

extern "C" void leave_quickly(void *, const void *const *) { std::quick_exit(0); }

extern "C" void crash(void *, const void *const *) { *reinterpret_cast<volatile int *>(8) = 1; }

extern "C" void give_up(void *, const void *const *) { std::abort(); }

extern "C" void end_thread(void *, const void *const *) { pthread_exit(nullptr); }

static volatile int depth;

extern "C" void overflow(void *out, const void *const *ins) {
  volatile char room[4096];
  room[0] = 1;
  depth = depth + 1;
  overflow(out, ins);
  depth = depth - room[0];
}

// Jump buffer of a function that has returned.
static std::jmp_buf place;

__attribute__((noinline)) static int set_place() { return setjmp(place); }

extern "C" void jump(void *, const void *const *) {
  if (set_place() == 0) std::longjmp(place, 1);
  std::abort();
}

extern "C" void crash_in_thread(void *, const void *const *) {
  std::thread([] { *reinterpret_cast<volatile int *>(8) = 1; }).join();
}

// Only the child process ends, which is allowed.
extern "C" void have_child(void *out, const void *const *ins) {
  if (fork() == 0) _exit(0);
  *static_cast<float *>(out) = *static_cast<const float *>(ins[0]);
}

extern "C" void stay(void *out, const void *const *ins) {
  *static_cast<float *>(out) = *static_cast<const float *>(ins[0]);
}
