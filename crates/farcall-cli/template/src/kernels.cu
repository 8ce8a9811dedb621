// Kernels of `cuda.rs`. `build.rs` compiles them if nvcc is installed. Otherwise it takes `kernels.ptx`, which
// this command makes:
//
//     nvcc -ptx -arch=compute_80 src/kernels.cu -o src/kernels.ptx

__device__ float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

// y = x * sigmoid(beta * x) * scale, for rows of n elements. A thread computes one element.
extern "C" __global__ void my_op_kernel(
    const float *x, const float *scale, float beta, float *y, size_t n, size_t count)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        y[i] = x[i] * sigmoid(beta * x[i]) * scale[i % n];
    }
}

// Gradients of x and scale. A thread computes one column, because dscale is a sum over the rows.
extern "C" __global__ void my_op_bwd_kernel(
    const float *x, const float *scale, const float *dy, float beta, float *dx, float *dscale, size_t n,
    size_t rows)
{
    size_t column = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (column >= n) {
        return;
    }
    float sum = 0.0f;
    for (size_t i = column; i < rows * n; i += n) {
        float s = sigmoid(beta * x[i]);
        dx[i] = dy[i] * scale[column] * s * (1.0f + beta * x[i] * (1.0f - s));
        sum += dy[i] * x[i] * s;
    }
    dscale[column] = sum;
}
