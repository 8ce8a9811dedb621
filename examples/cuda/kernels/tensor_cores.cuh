// Instructions that CUDA C++ has no functions for: asynchronous copies to shared memory, loads of matrix
// fragments, and products of fragments in tensor cores. All exist since sm_80.
//
// Fragments of m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"), with g = lane / 4 and t = lane % 4:
// a[0], a[1]: rows g and g + 8, columns 2t and 2t + 1; a[2], a[3]: the same rows, columns 2t + 8 and 2t + 9.
// b[0], b[1]: column g, rows 2t and 2t + 1, and 2t + 8 and 2t + 9.
// c[0], c[1]: row g, columns 2t and 2t + 1; c[2], c[3]: row g + 8, the same columns.
#pragma once

#include "elements.cuh"

// The dynamic shared memory of the block.
__device__ inline unsigned char *shared_memory() {
    extern __shared__ uint4 memory[];
    return reinterpret_cast<unsigned char *>(memory);
}

__device__ inline u32 shared_address(const void *pointer) { return u32(__cvta_generic_to_shared(pointer)); }

// Starts a copy of 16 bytes to shared memory. If `exists` is false, the copy writes zeros and reads nothing.
__device__ inline void copy_async(void *to, const void *from, bool exists) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
                 "r"(exists ? VECTOR_BYTES : 0)
                 : "memory");
}

// Waits for all copies that this thread has started.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Loads four matrices of 8 × 8 elements. The lanes 8i to 8i + 7 give the addresses of the rows of matrix i.
// A lane gets the elements 2t and 2t + 1 of row g of matrix i in to[i].
__device__ inline void load_matrices(u32 (&to)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// Loads the transposes of four matrices, like `load_matrices`.
__device__ inline void load_transposed(u32 (&to)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// c += a·b for fragments of element type T.
template <typename T> __device__ void multiply_add(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1);

template <>
__device__ inline void multiply_add<__half>(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void multiply_add<__nv_bfloat16>(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Rounds two numbers to T; `low` is the first in memory.
template <typename T> __device__ u32 packed(float low, float high);

template <> __device__ inline u32 packed<__half>(float low, float high) {
    u32 bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

template <> __device__ inline u32 packed<__nv_bfloat16>(float low, float high) {
    u32 bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

// 2 to the power of x, as the hardware approximates it.
__device__ inline float power_of_two(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}
