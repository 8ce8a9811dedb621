// Products of a sparse matrix in compressed row format with dense matrices of n columns, and their gradients.
// A warp works on one row of the sparse matrix; `blockDim` is 32 × the number of warps. Row i has the entries
// starts[i] to starts[i + 1] − 1; entries outside of the arrays count as 0. The batches of `values`, `b` and
// `y` are independent; all batches share the indices.
#include "elements.cuh"

// One row of one batch.
struct Row {
    u64 index;
    u32 batch, first, end;
};

__device__ inline u32 clamped(int start, u32 entries) { return min(u32(max(start, 0)), entries); }

// Returns the row of this warp. `inside` is false for warps after the last row.
__device__ inline Row row_of_warp(const int *starts, u32 entries, u32 rows, u32 batches, bool *inside) {
    const u64 index = u64(blockIdx.x) * blockDim.y + threadIdx.y;
    *inside = index < u64(rows) * batches;
    if (!*inside) return {};
    const u32 row = index % rows;
    return {index, u32(index / rows), clamped(starts[row], entries), clamped(starts[row + 1], entries)};
}

template <typename T>
__device__ void product(const T *values, const int *columns, const int *starts, const T *b, T *y, u32 entries,
                        u32 rows, u32 k, u32 n, u32 batches, bool adds) {
    bool inside;
    const Row row = row_of_warp(starts, entries, rows, batches, &inside);
    if (!inside) return;
    values += u64(row.batch) * entries;
    b += u64(row.batch) * k * n;
    y += row.index * n;
    // Each lane has the column `tile + lane` of the result.
    for (u32 tile = 0; tile < n; tile += WARP) {
        const u32 column = tile + threadIdx.x;
        T sum = adds && column < n ? y[column] : T(0);
        for (u32 start = row.first; start < row.end; start += WARP) {
            // The warp loads 32 entries at once, then each lane uses all of them.
            const u32 entry = start + threadIdx.x;
            const int own_column = entry < row.end ? columns[entry] : -1;
            const T own_value = entry < row.end ? values[entry] : T(0);
            const u32 count = min(row.end - start, WARP);
#pragma unroll 4
            for (u32 i = 0; i < count; i++) {
                const u32 from = u32(__shfl_sync(~0u, own_column, i));
                const T value = __shfl_sync(~0u, own_value, i);
                if (from < k && column < n) sum += value * b[u64(from) * n + column];
            }
        }
        if (column < n) y[column] = sum;
    }
}

// Adds b[columns[e], :]·dy[i, :] to dvalues[e], and values[e]·dy[i, :] to db[columns[e], :]. Several rows may
// add to the same row of `db`, so the order of these additions varies from run to run.
template <typename T>
__device__ void gradients(const T *values, const int *columns, const int *starts, const T *b, const T *dy,
                          T *dvalues, T *db, u32 entries, u32 rows, u32 k, u32 n, u32 batches) {
    bool inside;
    const Row row = row_of_warp(starts, entries, rows, batches, &inside);
    if (!inside) return;
    values += u64(row.batch) * entries;
    dvalues += u64(row.batch) * entries;
    b += u64(row.batch) * k * n;
    db += u64(row.batch) * k * n;
    dy += row.index * n;
    for (u32 entry = row.first; entry < row.end; entry++) {
        const u32 from = u32(columns[entry]);
        if (from >= k) continue;
        const T value = values[entry];
        T sum = 0;
        for (u32 column = threadIdx.x; column < n; column += WARP) {
            const T cotangent = dy[column];
            sum += b[u64(from) * n + column] * cotangent;
            atomicAdd(&db[u64(from) * n + column], value * cotangent);
        }
#pragma unroll
        for (int offset = WARP / 2; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
        // Rows overlap if `starts` is not sorted.
        if (threadIdx.x == 0) atomicAdd(&dvalues[entry], sum);
    }
}

#define KERNELS(TYPE, NAME) \
    extern "C" __global__ void __launch_bounds__(256) \
        csr_matmul_##NAME(const TYPE *values, const int *columns, const int *starts, const TYPE *b, TYPE *y, \
                          u32 entries, u32 rows, u32 k, u32 n, u32 batches, u32 adds) { \
        product<TYPE>(values, columns, starts, b, y, entries, rows, k, n, batches, adds != 0); \
    } \
    extern "C" __global__ void __launch_bounds__(256) \
        csr_matmul_bwd_##NAME(const TYPE *values, const int *columns, const int *starts, const TYPE *b, \
                              const TYPE *dy, TYPE *dvalues, TYPE *db, u32 entries, u32 rows, u32 k, u32 n, \
                              u32 batches) { \
        gradients<TYPE>(values, columns, starts, b, dy, dvalues, db, entries, rows, k, n, batches); \
    }

KERNELS(float, f32)
KERNELS(double, f64)
