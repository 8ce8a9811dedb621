// A stand-in for cuBLAS. It writes its calls to the log of the stand-in for the driver. Matrices of f32 and f64
// in the process's memory are multiplied; addresses below 64 KiB are only written to the log.

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

// Column-major, as cuBLAS defines it.
template <typename T>
static void multiply(int op_a, int op_b, int m, int n, int k, double alpha, const void* a, int lda,
                     const void* b, int ldb, double beta, void* c, int ldc) {
  auto* left = static_cast<const T*>(a);
  auto* right = static_cast<const T*>(b);
  auto* out = static_cast<T*>(c);
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += double{op_a ? left[l + i * lda] : left[i + l * lda]} *
               double{op_b ? right[j + l * ldb] : right[l + j * ldb]};
      }
      T& element = out[i + j * ldc];
      element = T(alpha * sum + (beta == 0 ? 0 : beta * double{element}));
    }
  }
}

static void multiply_any(int type, int op_a, int op_b, int m, int n, int k, double alpha, const void* a,
                         int lda, const void* b, int ldb, double beta, void* c, int ldc) {
  if (reinterpret_cast<uintptr_t>(a) < 0x10000) return;
  if (type == 0) multiply<float>(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  if (type == 1) multiply<double>(op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

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
  multiply_any(a_type, op_a, op_b, m, n, k, factor(alpha, compute), a, lda, b, ldb, factor(beta, compute), c,
               ldc);
  return standin_outcome("cublasGemmEx");
}

int cublasGemmStridedBatchedEx(void*, int op_a, int op_b, int m, int n, int k, const void* alpha,
                               const void* a, int a_type, int lda, long long a_stride, const void* b,
                               int b_type, int ldb, long long b_stride, const void* beta, void* c,
                               int c_type, int ldc, long long c_stride, int batch, int compute,
                               int algorithm) {
  record("cublasGemmStridedBatchedEx(%d * %c%c %dx%dx%d, %g, %p/%d+%lld, %p/%d+%lld, %g, %p/%d+%lld, "
         "types %d %d %d in %d, %d)",
         batch, "NT"[op_a], "NT"[op_b], m, n, k, factor(alpha, compute), a, lda, a_stride, b, ldb, b_stride,
         factor(beta, compute), c, ldc, c_stride, a_type, b_type, c_type, compute, algorithm);
  for (int i = 0; i < batch; ++i) {
    size_t size = a_type == 1 ? 8 : 4;
    auto* left = static_cast<const char*>(a) + i * a_stride * size;
    auto* right = static_cast<const char*>(b) + i * b_stride * size;
    auto* out = static_cast<char*>(c) + i * c_stride * size;
    multiply_any(a_type, op_a, op_b, m, n, k, factor(alpha, compute), left, lda, right, ldb,
                 factor(beta, compute), out, ldc);
  }
  return standin_outcome("cublasGemmStridedBatchedEx");
}

}  // extern "C"
