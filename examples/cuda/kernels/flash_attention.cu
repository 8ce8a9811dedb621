// Attention without a matrix of all scores: out = softmax(q·kᵀ·scale)·v, and the logarithms of the sums that
// the softmax divides by (Dao, "FlashAttention-2", 2023). A block computes the scores of 128 queries with 64
// keys at a time, in the registers of four warps. Exponentials are relative to the largest score so far.
#include "tensor_cores.cuh"

constexpr int WARPS = 4;
constexpr int M_TILES = 2;                      // fragments of 16 queries in a warp
constexpr int QUERIES = WARPS * M_TILES * 16;   // queries of a block
constexpr int KEYS = 64;                        // keys of a tile
constexpr int THREADS = WARPS * int(WARP);
constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.6931471805599453f;
#define MINUS_INFINITY __int_as_float(0xff800000)

// Rows of D elements in shared memory. Since D is a multiple of 16, the padding makes the row an odd number
// of vectors: eight successive rows are in different banks.
template <typename T, int D> struct Rows {
    static constexpr int VECTORS = D / WIDTH<T>, STRIDE = (VECTORS + 1) * VECTOR_BYTES;
    unsigned char *bytes;

    __device__ void *at(int row, int column) const { return bytes + row * STRIDE + column * int(sizeof(T)); }

    // Starts to copy `COUNT` rows of `d` elements from row `first` of a matrix with `rows` rows. Rows and
    // columns that the matrix does not have become zero.
    template <int COUNT> __device__ void copy(const T *from, u32 first, u32 rows, u32 d) const {
        static_assert(COUNT * VECTORS % THREADS == 0, "all threads copy the same number of vectors");
#pragma unroll
        for (int i = 0; i < COUNT * VECTORS / THREADS; i++) {
            const u32 vector = threadIdx.x + i * THREADS, row = vector / VECTORS;
            const u32 column = vector % VECTORS * WIDTH<T>;
            const bool exists = first + row < rows && column < d;
            copy_async(at(row, column), exists ? from + u64(first + row) * d + column : from, exists);
        }
    }
};

// D is the number of columns in shared memory and in registers; `d`, a multiple of 8, may be less.
template <typename T, int D>
__device__ void attention(const T *q, const T *k, const T *v, T *out, float *lse, u32 n, u32 m, u32 d,
                          u32 group, u32 tiles, float scale, bool causal) {
    constexpr int STEPS = D / 16, KEY_TILES = KEYS / 8, COLUMN_TILES = D / 8;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
    // If the attention is causal, the last tiles of queries have the most keys, so they start first.
    const u32 head = blockIdx.x / tiles, tile = tiles - 1 - blockIdx.x % tiles;
    const u32 first = tile * QUERIES, own_row = warp * M_TILES * 16;
    q += u64(head) * n * d;
    out += u64(head) * n * d;
    lse += u64(head) * n;
    k += u64(head / group) * m * d;
    v += u64(head / group) * m * d;

    const Rows<T, D> queries = {shared_memory()};
    const Rows<T, D> keys = {queries.bytes + QUERIES * Rows<T, D>::STRIDE};
    const Rows<T, D> values = {keys.bytes + KEYS * Rows<T, D>::STRIDE};
    queries.template copy<QUERIES>(q, first, n, d);
    keys.template copy<KEYS>(k, 0, m, d);

    auto load_queries = [&](int step, u32 (&to)[M_TILES][4]) {
#pragma unroll
        for (int i = 0; i < M_TILES; i++) {
            load_matrices(to[i], queries.at(own_row + i * 16 + lane % 16, step * 16 + lane / 16 * 8));
        }
    };
    // If the queries are short, they fit in registers.
    constexpr bool KEEPS_QUERIES = D <= 64;
    u32 kept[KEEPS_QUERIES ? STEPS : 1][M_TILES][4];
    if constexpr (KEEPS_QUERIES) {
        wait_for_copies();
        __syncthreads();
#pragma unroll
        for (int step = 0; step < STEPS; step++) load_queries(step, kept[step]);
    }

    // Factor that turns the scores into exponents of 2.
    const float factor = scale * LOG2_E;
    const u32 seen = causal ? min(m, first + QUERIES) : m;
    float sums[M_TILES][COLUMN_TILES][4] = {};
    float largest[M_TILES][2], total[M_TILES][2] = {};
#pragma unroll
    for (int i = 0; i < M_TILES; i++) largest[i][0] = largest[i][1] = MINUS_INFINITY;

    for (u32 start = 0; start < seen; start += KEYS) {
        // After the barrier, the keys have arrived, and no warp uses the previous tile's values any more.
        wait_for_copies();
        __syncthreads();
        values.template copy<KEYS>(v, start, m, d);

        float scores[M_TILES][KEY_TILES][4] = {};
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            if constexpr (!KEEPS_QUERIES) load_queries(step, kept[0]);
            const u32 (&a)[M_TILES][4] = kept[KEEPS_QUERIES ? step : 0];
#pragma unroll
            for (int j = 0; j < KEY_TILES; j += 2) {
                u32 b[4];
                load_matrices(b, keys.at(j * 8 + lane % 8 + lane / 16 * 8, step * 16 + lane / 8 % 2 * 8));
#pragma unroll
                for (int i = 0; i < M_TILES; i++) {
                    multiply_add<T>(scores[i][j], a[i], b[0], b[1]);
                    multiply_add<T>(scores[i][j + 1], a[i], b[2], b[3]);
                }
            }
        }

        // After the barrier, the values have arrived, and no warp uses the keys any more.
        wait_for_copies();
        __syncthreads();
        if (start + KEYS < seen) keys.template copy<KEYS>(k, start + KEYS, m, d);

        if (start + KEYS > m || (causal && start + KEYS > first)) {
#pragma unroll
            for (int i = 0; i < M_TILES; i++) {
#pragma unroll
                for (int j = 0; j < KEY_TILES; j++) {
#pragma unroll
                    for (int c = 0; c < 4; c++) {
                        const u32 key = start + j * 8 + t * 2 + c % 2;
                        const u32 query = first + own_row + i * 16 + g + c / 2 * 8;
                        if (key >= m || (causal && key > query)) scores[i][j][c] = MINUS_INFINITY;
                    }
                }
            }
        }

        u32 weights[M_TILES][KEY_TILES / 2][4];
#pragma unroll
        for (int i = 0; i < M_TILES; i++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float &max = largest[i][half];
                const float before = max;
#pragma unroll
                for (int j = 0; j < KEY_TILES; j++) {
                    max = fmaxf(max, fmaxf(scores[i][j][half * 2], scores[i][j][half * 2 + 1]));
                }
                // The four lanes of a quad have the scores of one query.
                max = fmaxf(max, __shfl_xor_sync(~0u, max, 1));
                max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
                const float shrink = power_of_two((before - max) * factor), shift = max * factor;
                total[i][half] *= shrink;
#pragma unroll
                for (int j = 0; j < COLUMN_TILES; j++) {
                    sums[i][j][half * 2] *= shrink;
                    sums[i][j][half * 2 + 1] *= shrink;
                }
#pragma unroll
                for (int j = 0; j < KEY_TILES; j++) {
                    const float low = power_of_two(fmaf(scores[i][j][half * 2], factor, -shift));
                    const float high = power_of_two(fmaf(scores[i][j][half * 2 + 1], factor, -shift));
                    total[i][half] += low + high;
                    weights[i][j / 2][j % 2 * 2 + half] = packed<T>(low, high);
                }
            }
        }

#pragma unroll
        for (int step = 0; step < KEYS / 16; step++) {
#pragma unroll
            for (int j = 0; j < COLUMN_TILES; j += 2) {
                u32 b[4];
                load_transposed(b, values.at(step * 16 + lane % 16, j * 8 + lane / 16 * 8));
#pragma unroll
                for (int i = 0; i < M_TILES; i++) {
                    multiply_add<T>(sums[i][j], weights[i][step], b[0], b[1]);
                    multiply_add<T>(sums[i][j + 1], weights[i][step], b[2], b[3]);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < M_TILES; i++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float sum = total[i][half];
            sum += __shfl_xor_sync(~0u, sum, 1);
            sum += __shfl_xor_sync(~0u, sum, 2);
            const u32 query = first + own_row + i * 16 + g + half * 8;
            if (query >= n) continue;
            if (t == 0) lse[query] = largest[i][half] * scale + log2f(sum) * LN_2;
            const float inverse = 1.0f / sum;
#pragma unroll
            for (int j = 0; j < COLUMN_TILES; j++) {
                const u32 column = j * 8 + t * 2;
                if (column < d) {
                    const float low = sums[i][j][half * 2] * inverse;
                    const float high = sums[i][j][half * 2 + 1] * inverse;
                    *reinterpret_cast<u32 *>(out + u64(query) * d + column) = packed<T>(low, high);
                }
            }
        }
    }
}

#define KERNEL(TYPE, NAME, D) \
    extern "C" __global__ void __launch_bounds__(THREADS) flash_attention_##NAME##_##D( \
        const TYPE *q, const TYPE *k, const TYPE *v, TYPE *out, float *lse, u32 n, u32 m, u32 d, u32 group, \
        u32 tiles, float scale, u32 causal) { \
        attention<TYPE, D>(q, k, v, out, lse, n, m, d, group, tiles, scale, causal != 0); \
    }

KERNEL(__half, f16, 64)
KERNEL(__half, f16, 128)
KERNEL(__nv_bfloat16, bf16, 64)
KERNEL(__nv_bfloat16, bf16, 128)
