// Root mean square normalization of rows: y = x · r · scale with r = 1 / sqrt(mean(x²) + eps), and its
// gradients. `blockDim.x` threads, a multiple of a warp, work on a row. If they are one warp, a block has
// `blockDim.y` of these warps. Sums are in f32. A row is read once and stays in registers.
#include "elements.cuh"

// Number of vectors of a row that a thread keeps in registers. The columns after these are read twice.
constexpr int KEPT = 4;

template <typename T, int N>
__device__ void forward(const T *x, const T *scale, T *y, u32 row, u32 columns, float eps) {
    using Vector = Elements<T, N>;
    const u32 vectors = columns / N, first = threadIdx.x, step = blockDim.x;
    x += u64(row) * columns;
    y += u64(row) * columns;

    float squares[1] = {};
    auto add = [&](const Vector &vector) {
        float values[N];
        vector.widened(values);
#pragma unroll
        for (int k = 0; k < N; k++) squares[0] += values[k] * values[k];
    };
    Vector kept[KEPT];
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const u32 at = first + i * step;
        kept[i] = at < vectors ? Vector::load_once(x, at) : Vector::zero();
    }
#pragma unroll
    for (int i = 0; i < KEPT; i++) add(kept[i]);
    for (u32 at = first + KEPT * step; at < vectors; at += step) add(Vector::load(x, at));

    row_sums(squares, 0);
    const float r = rsqrtf(squares[0] / columns + eps);
    auto write = [&](u32 at, const Vector &vector) {
        float values[N], scales[N];
        vector.widened(values);
        Vector::load(scale, at).widened(scales);
#pragma unroll
        for (int k = 0; k < N; k++) values[k] *= r * scales[k];
        Vector::narrowed(values).store_once(y, at);
    };
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const u32 at = first + i * step;
        if (at < vectors) write(at, kept[i]);
    }
    for (u32 at = first + KEPT * step; at < vectors; at += step) write(at, Vector::load(x, at));
}

template <typename T>
__device__ void forward(const T *x, const T *scale, T *y, u32 rows, u32 columns, float eps) {
    const u32 row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    if (has_vectors<T>(columns, x, scale, y)) {
        forward<T, WIDTH<T>>(x, scale, y, row, columns, eps);
    } else {
        forward<T, 1>(x, scale, y, row, columns, eps);
    }
}

// Vectors of a row that a thread keeps in registers.
template <typename T, int N> struct Kept {
    Elements<T, N> x[KEPT], dy[KEPT];

    __device__ void load(const T *row_x, const T *row_dy, u32 vectors) {
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = threadIdx.x + i * blockDim.x;
            x[i] = at < vectors ? Elements<T, N>::load_once(row_x, at) : Elements<T, N>::zero();
            dy[i] = at < vectors ? Elements<T, N>::load_once(row_dy, at) : Elements<T, N>::zero();
        }
    }
};

// The rows of a worker (the threads with one `threadIdx.y`) are `worker`, `worker + workers`, …. The worker
// writes dx = r·(scale·dy − r²·mean(x·scale·dy)·x) of each row, and its sums of r·x·dy to a row of `sums`.
template <typename T, int N>
__device__ void backward(const T *x, const T *scale, const T *dy, T *dx, float *sums, u32 worker,
                         u32 workers, u32 rows, u32 columns, float eps) {
    using Vector = Elements<T, N>;
    const u32 vectors = columns / N, first = threadIdx.x, step = blockDim.x;
    sums += u64(worker) * columns;

    Kept<T, N> kept;
    if (worker < rows) kept.load(x + u64(worker) * columns, dy + u64(worker) * columns, vectors);
    float own_sums[KEPT][N] = {};
    u32 turn = 0;
    for (u64 row = worker; row < rows; row += workers, turn++) {
        const T *row_x = x + row * columns, *row_dy = dy + row * columns;
        T *row_dx = dx + row * columns;

        // The sums of x² and of x·scale·dy.
        float along[2] = {};
        auto add = [&](u32 at, const Vector &vector_x, const Vector &vector_dy) {
            float values[N], cotangents[N], scales[N];
            vector_x.widened(values);
            vector_dy.widened(cotangents);
            Vector::load(scale, at).widened(scales);
#pragma unroll
            for (int k = 0; k < N; k++) {
                along[0] += values[k] * values[k];
                along[1] += values[k] * scales[k] * cotangents[k];
            }
        };
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = first + i * step;
            if (at < vectors) add(at, kept.x[i], kept.dy[i]);
        }
        for (u32 at = first + KEPT * step; at < vectors; at += step) {
            add(at, Vector::load(row_x, at), Vector::load(row_dy, at));
        }

        // The next row is loaded while the threads wait for each other and write this row.
        Kept<T, N> next = kept;
        if (row + workers < rows) {
            next.load(row_x + u64(workers) * columns, row_dy + u64(workers) * columns, vectors);
        }
        row_sums(along, turn);
        const float r = rsqrtf(along[0] / columns + eps), shift = r * r * along[1] / columns;

        auto write = [&](u32 at, const Vector &vector_x, const Vector &vector_dy, float (&terms)[N]) {
            float values[N], cotangents[N], scales[N];
            vector_x.widened(values);
            vector_dy.widened(cotangents);
            Vector::load(scale, at).widened(scales);
#pragma unroll
            for (int k = 0; k < N; k++) {
                terms[k] = r * values[k] * cotangents[k];
                values[k] = r * (scales[k] * cotangents[k] - shift * values[k]);
            }
            Vector::narrowed(values).store_once(row_dx, at);
        };
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            const u32 at = first + i * step;
            if (at < vectors) {
                float terms[N];
                write(at, kept.x[i], kept.dy[i], terms);
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
        kept = next;
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
__device__ void backward(const T *x, const T *scale, const T *dy, T *dx, float *sums, u32 rows, u32 columns,
                         float eps) {
    const u32 worker = blockIdx.x * blockDim.y + threadIdx.y, workers = gridDim.x * blockDim.y;
    if (has_vectors<T>(columns, x, scale, dy, dx)) {
        backward<T, WIDTH<T>>(x, scale, dy, dx, sums, worker, workers, rows, columns, eps);
    } else {
        backward<T, 1>(x, scale, dy, dx, sums, worker, workers, rows, columns, eps);
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
        forward<TYPE>(x, scale, y, rows, columns, eps); \
    } \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_bwd_##NAME(const TYPE *x, const TYPE *scale, const TYPE *dy, TYPE *dx, float *sums, \
                            u32 rows, u32 columns, float eps) { \
        backward<TYPE>(x, scale, dy, dx, sums, rows, columns, eps); \
    } \
    extern "C" __global__ void __launch_bounds__(512) \
        rms_norm_scale_##NAME(const float *sums, TYPE *dscale, u32 count, u32 columns) { \
        column_sums<TYPE>(sums, dscale, count, columns); \
    }

KERNELS(float, f32)
KERNELS(__half, f16)
KERNELS(__nv_bfloat16, bf16)
