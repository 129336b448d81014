// mul+mul+mean+mul+mean+sub+sub+mul+mul+sum+sum
typedef int Index;

namespace kernels {

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

struct Layout0 { Index n0, n1, step0_0, step2_0, step3_0, step4_0, size1; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const float* __restrict__ x0, const float* __restrict__ x3, const float* __restrict__ x1, const float* __restrict__ x2, float* __restrict__ out0) {
    const float v9 = (float)(long long)at.size1;
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        double total_v4 = 0.0;
        double total_v6 = 0.0;
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            float part_v4 = 0.0f;
            float part_v6 = 0.0f;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const float v1 = x0[i0 * at.step0_0 + i1];
                const float v2 = x3[i1];
                const float v3 = (v1 * v2);
                part_v4 = Added::of<float>(part_v4, v3);
                const float v5 = x1[i0 * at.step2_0 + i1];
                part_v6 = Added::of<float>(part_v6, (v3 * v5));
            }
            total_v4 = add_blocks<Added, InDouble>(total_v4, part_v4);
            total_v6 = add_blocks<Added, InDouble>(total_v6, part_v6);
        }
        const float v4 = (float)total_v4;
        const float v6 = (float)total_v6;
        const float v10 = (v4 / v9);
        const float v12 = (v6 / v9);
        const float v13 = x2[i0 * at.step3_0];
        for (Index k = threadIdx.x; k < size; k += blockDim.x) {
            const Index i1 = k;
            const float v7 = x0[i0 * at.step0_0 + i1];
            const float v8 = x3[i1];
            const float v11 = x1[i0 * at.step2_0 + i1];
            out0[i0 * at.step4_0 + i1] = ((((v7 * v8) - v10) - (v11 * v12)) * v13);
        }
    }
}

struct Layout1 { Index n0, n1, step0_0, step1_0, chunk, parts; };
extern "C" __global__ void __launch_bounds__(256) columns1(const Layout1 at, const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ memory0, float* __restrict__ memory1) {
    const Index columns = at.n1, rows = at.n0;
    const Index across = (columns + blockDim.x - 1) / blockDim.x;
    const Index column = blockIdx.x % across * blockDim.x + threadIdx.x;
    const Index chunk = blockIdx.x / across * blockDim.y + threadIdx.y;
    if (column >= columns || chunk >= at.parts) return;
    const Index i1 = column;
    const Index start = chunk * at.chunk, stop = start + at.chunk < rows ? start + at.chunk : rows;
    float part_v3 = 0.0f;
    float part_v4 = 0.0f;
    for (Index row = start; row < stop; ++row) {
        const Index i0 = row;
        const float v1 = x0[i0 * at.step0_0 + i1];
        const float v2 = x1[i0 * at.step1_0 + i1];
        part_v3 = Added::of<float>(part_v3, (v1 * v2));
        part_v4 = Added::of<float>(part_v4, v1);
    }
    memory0[chunk * columns + column] = part_v3;
    memory1[chunk * columns + column] = part_v4;
}

struct Layout2 { Index n0, n1, parts; };
extern "C" __global__ void __launch_bounds__(256) totals2(const Layout2 at, float* __restrict__ out1, float* __restrict__ out2, const float* __restrict__ memory0, const float* __restrict__ memory1) {
    const Index columns = at.n1, step = gridDim.x * (Index)blockDim.x;
    for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {
        const Index i1 = column;
        double total_v1 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v1 = InDouble::of(total_v1, memory0[part * columns + column]);
        const float v1 = (float)total_v1;
        double total_v2 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v2 = InDouble::of(total_v2, memory1[part * columns + column]);
        const float v2 = (float)total_v2;
        out1[i1] = v1;
        out2[i1] = v2;
    }
}

}
