// mean+sub+mul+mean+add+rsqrt+mul+mul+add
typedef int Index;

namespace kernels {

__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }

struct Added {
    template <class T> static __device__ T of(T a, T b) { return (T)(a + b); }
};

struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};

// The number of the lane whose index differs in one bit.
template <class T> __device__ T shuffle_xor(T x, int bit) {
    if constexpr (sizeof(T) < 4) return (T)__shfl_xor_sync(0xffffffffu, (int)x, bit);
    else return __shfl_xor_sync(0xffffffffu, x, bit);
}

// Reduces the numbers of a warp: the second half of the lanes with the first, until one is left.
template <class How, class T> __device__ T reduce_warp(T x) {
    for (int bit = 16; bit > 0; bit /= 2) x = How::of(x, shuffle_xor(x, bit));
    return x;
}

// Adds the sums of blocks, one per warp of a row, to a total in order.
template <class Fold, class How, class S, class T> __device__ S add_blocks(S total, T part) {
    part = reduce_warp<Fold>(part);
    if (blockDim.x == 32) return How::of(total, part);
    __shared__ T slots[32];
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = part;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; ++warp) total = How::of(total, slots[warp]);
    __syncthreads();
    return total;
}

struct Layout0 { Index n0, n1, step0_0, step3_0, step4_0, step5_0, size1; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const float* __restrict__ x0, const float* __restrict__ x1, const float* __restrict__ x2, float* __restrict__ out0, float* __restrict__ out1, float* __restrict__ out2, const double number0) {
    const float v4 = (float)(long long)at.size1;
    const float v10 = (float)number0;
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        double total_v2 = 0.0;
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            float part_v2 = 0.0f;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const float v1 = x0[i0 * at.step0_0 + i1];
                part_v2 = Added::of<float>(part_v2, v1);
            }
            total_v2 = add_blocks<Added, InDouble>(total_v2, part_v2);
        }
        const float v2 = (float)total_v2;
        const float v5 = (v2 / v4);
        double total_v7 = 0.0;
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            float part_v7 = 0.0f;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const float v3 = x0[i0 * at.step0_0 + i1];
                const float v6 = (v3 - v5);
                part_v7 = Added::of<float>(part_v7, (v6 * v6));
            }
            total_v7 = add_blocks<Added, InDouble>(total_v7, part_v7);
        }
        const float v7 = (float)total_v7;
        const float v9 = (v7 / v4);
        const float v11 = (v9 + v10);
        const float v12 = sqrt(v11);
        const float v13 = (1.0f / v12);
        for (Index k = threadIdx.x; k < size; k += blockDim.x) {
            const Index i1 = k;
            const float v8 = x0[i0 * at.step0_0 + i1];
            const float v14 = ((v8 - v5) * v13);
            const float v15 = x1[i1];
            const float v16 = x2[i1];
            out0[i0 * at.step3_0 + i1] = ((v14 * v15) + v16);
            out1[i0 * at.step4_0 + i1] = v14;
        }
        if (threadIdx.x == 0) {
            out2[i0 * at.step5_0] = v13;
        }
    }
}

}
