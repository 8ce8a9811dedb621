// Element types, vectors of 16 bytes, and sums over the threads of a row.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u32 = unsigned int;
using u64 = unsigned long long;

constexpr u32 WARP = 32;
constexpr u32 VECTOR_BYTES = 16;

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

template <typename T> __device__ T narrow(float x);
template <> __device__ inline float narrow<float>(float x) { return x; }
template <> __device__ inline __half narrow<__half>(float x) { return __float2half_rn(x); }
template <> __device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float x) { return __float2bfloat16_rn(x); }

// Number of elements in a vector.
template <typename T> constexpr int WIDTH = VECTOR_BYTES / sizeof(T);

// N elements, as they lie in memory: one vector, or a single element. A vector is one load or store, since
// the compiler does not combine the elements of an array by itself.
template <typename T, int N> struct Elements {
    static_assert(sizeof(T) * N == VECTOR_BYTES, "a vector has 16 bytes");
    uint4 bits;

    __device__ static Elements zero() { return {make_uint4(0, 0, 0, 0)}; }
    __device__ static Elements load(const T *from, u64 index) {
        return {reinterpret_cast<const uint4 *>(from)[index]};
    }
    // `load_once` and `store_once` leave the caches to data that is used again.
    __device__ static Elements load_once(const T *from, u64 index) {
        return {__ldcs(reinterpret_cast<const uint4 *>(from) + index)};
    }
    __device__ void store_once(T *to, u64 index) const {
        __stcs(reinterpret_cast<uint4 *>(to) + index, bits);
    }

    __device__ void widened(float (&values)[N]) const {
        T elements[N];
        memcpy(elements, &bits, VECTOR_BYTES);
#pragma unroll
        for (int i = 0; i < N; i++) values[i] = widen(elements[i]);
    }
    __device__ static Elements narrowed(const float (&values)[N]) {
        T elements[N];
#pragma unroll
        for (int i = 0; i < N; i++) elements[i] = narrow<T>(values[i]);
        Elements result;
        memcpy(&result.bits, elements, VECTOR_BYTES);
        return result;
    }
};

template <typename T> struct Elements<T, 1> {
    T element;

    __device__ static Elements zero() { return {narrow<T>(0.0f)}; }
    __device__ static Elements load(const T *from, u64 index) { return {from[index]}; }
    __device__ static Elements load_once(const T *from, u64 index) { return {from[index]}; }
    __device__ void store_once(T *to, u64 index) const { to[index] = element; }
    __device__ void widened(float (&values)[1]) const { values[0] = widen(element); }
    __device__ static Elements narrowed(const float (&values)[1]) { return {narrow<T>(values[0])}; }
};

// Returns true if each row begins at a multiple of 16 bytes, for rows of `columns` elements.
template <typename T, typename... Pointers>
__device__ bool has_vectors(u32 columns, const Pointers *...pointers) {
    const u64 addresses = (reinterpret_cast<u64>(pointers) | ... | u64(0));
    return columns % WIDTH<T> == 0 && addresses % VECTOR_BYTES == 0;
}

__device__ inline float warp_sum(float value) {
#pragma unroll
    for (int offset = WARP / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

// Sums over the threads with the same `threadIdx.y`. If these threads are more than one warp, all threads of
// the block call the function, and `turn` differs from the call before.
template <int COUNT> __device__ void row_sums(float (&values)[COUNT], u32 turn) {
    __shared__ float sums[2][COUNT][WARP];
#pragma unroll
    for (int i = 0; i < COUNT; i++) values[i] = warp_sum(values[i]);
    if (blockDim.x == WARP) return;
    const u32 warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    if (lane == 0) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) sums[turn % 2][i][warp] = values[i];
    }
    // The other half of `sums` is read before the next call's barrier, so one barrier is enough.
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        values[i] = warp_sum(lane < blockDim.x / WARP ? sums[turn % 2][i][lane] : 0.0f);
    }
}
