// A stand-in for NCCL. It writes its calls to the log of the stand-in for the driver.

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {

void standin_record(const char* line);
int standin_outcome(const char* function);

static void record(const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  standin_record(line);
}

struct UniqueId {
  char bytes[128];
};

// A communicator's address is 0x100 times its size, plus its rank.
static size_t number(void* communicator) { return reinterpret_cast<size_t>(communicator); }

const char* ncclGetErrorString(int status) {
  return status == 4   ? "invalid argument"
         : status == 6 ? "remote process exited or there was a network error"
                       : "unknown";
}

const char* ncclGetLastError(void* communicator) {
  return communicator == nullptr ? "" : "rank 0 sent a message of another size\n";
}

int ncclGetUniqueId(UniqueId* id) {
  std::memset(id->bytes, 'i', sizeof id->bytes);
  record("ncclGetUniqueId()");
  return standin_outcome("ncclGetUniqueId");
}

int ncclCommInitRank(void** communicator, int ranks, UniqueId id, int rank) {
  *communicator = reinterpret_cast<void*>(size_t(0x100) * ranks + rank);
  record("ncclCommInitRank(%d, %c…%c, %d)", ranks, id.bytes[0], id.bytes[127], rank);
  return standin_outcome("ncclCommInitRank");
}

int ncclCommDestroy(void* communicator) {
  record("ncclCommDestroy(%p)", communicator);
  return 0;
}

int ncclCommCount(void* communicator, int* count) {
  *count = number(communicator) / 0x100;
  return standin_outcome("ncclCommCount");
}

int ncclCommUserRank(void* communicator, int* rank) {
  *rank = number(communicator) % 0x100;
  return standin_outcome("ncclCommUserRank");
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* communicator,
                  void* stream) {
  record("ncclAllReduce(%p, %p, %zu, type %d, op %d, %p, %p)", from, to, count, type, op, communicator,
         stream);
  return standin_outcome("ncclAllReduce");
}

int ncclAllGather(const void* from, void* to, size_t count, int type, void* communicator, void* stream) {
  record("ncclAllGather(%p, %p, %zu, type %d, %p, %p)", from, to, count, type, communicator, stream);
  return standin_outcome("ncclAllGather");
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* communicator,
                      void* stream) {
  record("ncclReduceScatter(%p, %p, %zu, type %d, op %d, %p, %p)", from, to, count, type, op, communicator,
         stream);
  return standin_outcome("ncclReduceScatter");
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* communicator,
                  void* stream) {
  record("ncclBroadcast(%p, %p, %zu, type %d, root %d, %p, %p)", from, to, count, type, root, communicator,
         stream);
  return standin_outcome("ncclBroadcast");
}

}  // extern "C"
