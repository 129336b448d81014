// square+mean
typedef int Index;

namespace kernels {

struct Added {
    template <class T> static __device__ T of(T a, T b) { return (T)(a + b); }
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

struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};

struct Layout0 { Index n0; };
extern "C" __global__ void __launch_bounds__(256) blocks0(const Layout0 at, const float* __restrict__ x0, float* __restrict__ memory0) {
    const Index rows = 1, size = at.n0;
    const Index blocks = (size + 511) / 512;
    const Index warps = gridDim.x * (Index)blockDim.x / 32;
    for (Index id = (blockIdx.x * (Index)blockDim.x + threadIdx.x) / 32; id < rows * blocks; id += warps) {
        const Index row = id / blocks, block = id % blocks;
        const Index start = block * 512, stop = start + 512 < size ? start + 512 : size;
        float v2 = 0.0f;
        for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
            const Index i0 = k;
            const float v1 = x0[i0];
            v2 = Added::of<float>(v2, (v1 * v1));
        }
        v2 = reduce_warp<Added>(v2);
        if (threadIdx.x % 32 == 0) memory0[block * rows + row] = v2;
    }
}

struct Layout1 { Index n0, n1, parts, size0; };
extern "C" __global__ void __launch_bounds__(256) totals1(const Layout1 at, float* __restrict__ out0, const float* __restrict__ memory0) {
    const float v2 = (float)(long long)at.size0;
    const Index columns = at.n1, step = gridDim.x * (Index)blockDim.x;
    for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {
        double total_v1 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v1 = InDouble::of(total_v1, memory0[part * columns + column]);
        const float v1 = (float)total_v1;
        const float v3 = (v1 / v2);
        out0[0] = v3;
    }
}

}
