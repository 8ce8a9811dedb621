// A stand-in for cuBLAS. It writes its calls to the log of the stand-in for the driver.

#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

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

const char* cublasGetStatusName(int status) {
  return status == 7 ? "CUBLAS_STATUS_INVALID_VALUE" : status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "unknown";
}

const char* cublasGetStatusString(int status) {
  return status == 7 ? "an unsupported value or parameter was passed to the function"
         : status == 3 ? "the resource allocation failed"
                       : "unknown";
}

int cublasCreate_v2(void** handle) {
  *handle = reinterpret_cast<void*>(0xb1a5);
  record("cublasCreate()");
  return standin_outcome("cublasCreate");
}

int cublasDestroy_v2(void* handle) {
  record("cublasDestroy(%p)", handle);
  return 0;
}

int cublasSetStream_v2(void*, void* stream) {
  record("cublasSetStream(%p)", stream);
  return standin_outcome("cublasSetStream");
}

int cublasSetWorkspace_v2(void*, void* workspace, size_t size) {
  record("cublasSetWorkspace(%p, %zu)", workspace, size);
  return standin_outcome("cublasSetWorkspace");
}

static double factor(const void* value, int compute) {
  return compute == 70 ? *static_cast<const double*>(value) : double{*static_cast<const float*>(value)};
}

int cublasGemmEx(void*, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int a_type,
                 int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type, int ldc,
                 int compute, int algorithm) {
  record("cublasGemmEx(%c%c %dx%dx%d, %g, %p/%d, %p/%d, %g, %p/%d, types %d %d %d in %d, %d)", "NT"[op_a],
         "NT"[op_b], m, n, k, factor(alpha, compute), a, lda, b, ldb, factor(beta, compute), c, ldc, a_type,
         b_type, c_type, compute, algorithm);
  return standin_outcome("cublasGemmEx");
}

int cublasGemmStridedBatchedEx(void*, int op_a, int op_b, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int lda, long long a_stride, const void* b,
                               int b_type, int ldb, long long b_stride, const void* beta, void* c, int c_type, int ldc,
                               long long c_stride, int batch, int compute, int algorithm) {
  record("cublasGemmStridedBatchedEx(%d * %c%c %dx%dx%d, %g, %p/%d+%lld, %p/%d+%lld, %g, %p/%d+%lld, "
         "types %d %d %d in %d, %d)",
         batch, "NT"[op_a], "NT"[op_b], m, n, k, factor(alpha, compute), a, lda, a_stride, b, ldb, b_stride,
         factor(beta, compute), c, ldc, c_stride, a_type, b_type, c_type, compute, algorithm);
  return standin_outcome("cublasGemmStridedBatchedEx");
}

}  // extern "C"
