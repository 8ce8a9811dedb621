// Root mean square normalization of rows: y = x · r · scale with r = 1 / sqrt(mean(x²) + eps), and its
// gradients. `blockDim.x` threads, a multiple of a warp, work on a row. If they are one warp, a block has
// `blockDim.y` of these warps. Sums are in f32.
#include "elements.cuh"

// Number of vectors of a row that a thread keeps in registers. The columns after these are read twice.
constexpr int KEPT = 4;

template <typename T, int N, bool HAS_R>
__device__ void forward(const T *x, const T *scale, T *y, float *r, u32 row, u32 columns, float eps) {
    using Vector = Elements<T, N>;
    const u32 vectors = columns / N, first = threadIdx.x, step = blockDim.x;
    x += u64(row) * columns;
    y += u64(row) * columns;

    float sum = 0.0f;
    auto add_squares = [&](const Vector &vector) {
        float values[N];
        vector.widened(values);
#pragma unroll
        for (int k = 0; k < N; k++) sum += values[k] * values[k];
    };
    Vector kept[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const u32 at = first + i * step;
        kept[i] = at < vectors ? Vector::load(x, at) : Vector::zero();
    }
#pragma unroll
    for (int i = 0; i < KEPT; i++) add_squares(kept[i]);
    for (u32 at = first + KEPT * step; at < vectors; at += step) add_squares(Vector::load(x, at));

    const float inverse = rsqrtf(row_sum(sum, 0) / columns + eps);
    if (HAS_R && threadIdx.x == 0) r[row] = inverse;

    auto write = [&](u32 at, const Vector &vector) {
        float values[N], scales[N];
        vector.widened(values);
        Vector::load(scale, at).widened(scales);
#pragma unroll
        for (int k = 0; k < N; k++) values[k] *= inverse * scales[k];
        Vector::narrowed(values).store(y, at);
    };
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const u32 at = first + i * step;
        if (at < vectors) write(at, kept[i]);
    }
    for (u32 at = first + KEPT * step; at < vectors; at += step) write(at, Vector::load(x, at));
}

template <typename T, bool HAS_R>
__device__ void forward(const T *x, const T *scale, T *y, float *r, u32 rows, u32 columns, float eps) {
    const u32 row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    if (has_vectors<T>(columns, x, scale, y)) {
        forward<T, WIDTH<T>, HAS_R>(x, scale, y, r, row, columns, eps);
    } else {
        forward<T, 1, HAS_R>(x, scale, y, r, row, columns, eps);
    }
}

// The rows of a worker (the threads with one `threadIdx.y`) are `worker`, `worker + workers`, …. The worker
// writes dx = r·(scale·dy − r²·mean(x·scale·dy)·x) of each row, and its sums of r·x·dy to a row of `sums`.
template <typename T, int N>
__device__ void backward(const T *x, const T *scale, const float *r, const T *dy, T *dx, float *sums,
                         u32 worker, u32 workers, u32 rows, u32 columns) {
    using Vector = Elements<T, N>;
    const u32 vectors = columns / N, first = threadIdx.x, step = blockDim.x;
    sums += u64(worker) * columns;

    float own_sums[KEPT][N] = {};
    u32 turn = 0;
    for (u32 row = worker; row < rows; row += workers, turn++) {
        const T *row_x = x + u64(row) * columns, *row_dy = dy + u64(row) * columns;
        T *row_dx = dx + u64(row) * columns;
        const float inverse = r[row];

        float sum = 0.0f;
        auto add_products = [&](u32 at, const Vector &vector_x, const Vector &vector_dy) {
            float values[N], cotangents[N], scales[N];
            vector_x.widened(values);
            vector_dy.widened(cotangents);
            Vector::load(scale, at).widened(scales);
#pragma unroll
            for (int k = 0; k < N; k++) sum += values[k] * scales[k] * cotangents[k];
        };
        Vector kept_x[KEPT], kept_dy[KEPT];
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = first + i * step;
            kept_x[i] = at < vectors ? Vector::load(row_x, at) : Vector::zero();
            kept_dy[i] = at < vectors ? Vector::load(row_dy, at) : Vector::zero();
        }
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = first + i * step;
            if (at < vectors) add_products(at, kept_x[i], kept_dy[i]);
        }
        for (u32 at = first + KEPT * step; at < vectors; at += step) {
            add_products(at, Vector::load(row_x, at), Vector::load(row_dy, at));
        }

        const float along = inverse * inverse * row_sum(sum, turn) / columns;
        auto write = [&](u32 at, const Vector &vector_x, const Vector &vector_dy, float (&terms)[N]) {
            float values[N], cotangents[N], scales[N];
            vector_x.widened(values);
            vector_dy.widened(cotangents);
            Vector::load(scale, at).widened(scales);
#pragma unroll
            for (int k = 0; k < N; k++) {
                terms[k] = inverse * values[k] * cotangents[k];
                values[k] = inverse * (scales[k] * cotangents[k] - along * values[k]);
            }
            Vector::narrowed(values).store(row_dx, at);
        };
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = first + i * step;
            if (at < vectors) {
                float terms[N];
                write(at, kept_x[i], kept_dy[i], terms);
#pragma unroll
                for (int k = 0; k < N; k++) own_sums[i][k] += terms[k];
            }
        }
        for (u32 at = first + KEPT * step; at < vectors; at += step) {
            float terms[N];
            write(at, Vector::load(row_x, at), Vector::load(row_dy, at), terms);
#pragma unroll
            for (int k = 0; k < N; k++) {
                float *to = &sums[at * N + k];
                *to = turn == 0 ? terms[k] : *to + terms[k];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const u32 at = first + i * step;
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (at < vectors) sums[at * N + k] = own_sums[i][k];
        }
    }
}

template <typename T>
__device__ void backward(const T *x, const T *scale, const float *r, const T *dy, T *dx, float *sums,
                         u32 rows, u32 columns) {
    const u32 worker = blockIdx.x * blockDim.y + threadIdx.y, workers = gridDim.x * blockDim.y;
    if (has_vectors<T>(columns, x, scale, dy, dx)) {
        backward<T, WIDTH<T>>(x, scale, r, dy, dx, sums, worker, workers, rows, columns);
    } else {
        backward<T, 1>(x, scale, r, dy, dx, sums, worker, workers, rows, columns);
    }
}

constexpr int SUMMED_ROWS = 16;

// The sums of the columns of `sums`, which has `count` rows. Blocks have 32 × 16 threads, and 32 columns
// each.
template <typename T> __device__ void column_sums(const float *sums, T *dscale, u32 count, u32 columns) {
    __shared__ float parts[SUMMED_ROWS][WARP + 1];
    const u32 column = blockIdx.x * WARP + threadIdx.x;
    float sum = 0.0f;
    if (column < columns) {
        for (u32 row = threadIdx.y; row < count; row += SUMMED_ROWS) sum += sums[u64(row) * columns + column];
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < SUMMED_ROWS; i++) total += parts[i][threadIdx.x];
        dscale[column] = narrow<T>(total);
    }
}

#define KERNELS(TYPE, NAME) \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_##NAME(const TYPE *x, const TYPE *scale, TYPE *y, u32 rows, u32 columns, float eps) { \
        forward<TYPE, false>(x, scale, y, nullptr, rows, columns, eps); \
    } \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_fwd_##NAME(const TYPE *x, const TYPE *scale, TYPE *y, float *r, u32 rows, u32 columns, \
                            float eps) { \
        forward<TYPE, true>(x, scale, y, r, rows, columns, eps); \
    } \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_bwd_##NAME(const TYPE *x, const TYPE *scale, const float *r, const TYPE *dy, TYPE *dx, \
                            float *sums, u32 rows, u32 columns) { \
        backward<TYPE>(x, scale, r, dy, dx, sums, rows, columns); \
    } \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_scale_##NAME(const float *sums, TYPE *dscale, u32 count, u32 columns) { \
        column_sums<TYPE>(sums, dscale, count, columns); \
    }

KERNELS(float, f32)
KERNELS(__half, f16)
KERNELS(__nv_bfloat16, bf16)
