// mean+sub
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

// Contiguous numbers that are loaded and stored together.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
template <int N, class T> __device__ Pack<T, N> loaded(const T* x) { return *(const Pack<T, N>*)x; }
template <int N, class T> __device__ bool is_aligned(const T* x) {
    return (unsigned long long)x % (sizeof(T) * N) == 0;
}

struct Layout0 { Index n0, n1, n2, step0_0, step0_1; };
extern "C" __global__ void __launch_bounds__(256) blocks0(const Layout0 at, const float* __restrict__ x0, float* __restrict__ memory0) {
    const Index rows = at.n0, size = at.n1 * at.n2;
    const Index blocks = (size + 511) / 512;
    const Index warps = gridDim.x * (Index)blockDim.x / 32;
    for (Index id = (blockIdx.x * (Index)blockDim.x + threadIdx.x) / 32; id < rows * blocks; id += warps) {
        const Index row = id / blocks, block = id % blocks;
        const Index i0 = row;
        const Index start = block * 512, stop = start + 512 < size ? start + 512 : size;
        float v2 = 0.0f;
        for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
            const Index i1 = k / at.n2;
            const Index i2 = k % at.n2;
            const float v1 = x0[i0 * at.step0_0 + i1 * at.step0_1 + i2];
            v2 = Added::of<float>(v2, v1);
        }
        v2 = reduce_warp<Added>(v2);
        if (threadIdx.x % 32 == 0) memory0[block * rows + row] = v2;
    }
}

struct Layout1 { Index n0, n1, parts, size0_2; };
extern "C" __global__ void __launch_bounds__(256) totals1(const Layout1 at, float* __restrict__ out1, float* __restrict__ memory1, const float* __restrict__ memory0) {
    const float v2 = (float)(long long)at.size0_2;
    const Index columns = at.n1, step = gridDim.x * (Index)blockDim.x;
    for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {
        const Index i1 = column;
        double total_v1 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v1 = InDouble::of(total_v1, memory0[part * columns + column]);
        const float v1 = (float)total_v1;
        const float v3 = (v1 / v2);
        memory1[i1] = v1;
        out1[i1] = v3;
    }
}

__device__ __forceinline__ void element2(const float a0, const float a1, const Index size0_2, float& r2) {
    const float v3 = (float)(long long)size0_2;
    const float v1 = a0;
    const float v2 = a1;
    r2 = (v1 - (v2 / v3));
}
struct Layout2 { Index n0, n1, n2, step0_0, step0_1, step1_1, step2_0, step2_1, size0_2, wide; };
extern "C" __global__ void __launch_bounds__(256) elements2(const Layout2 at, const float* __restrict__ x0, const float* __restrict__ memory1, float* __restrict__ out0) {
    const Index size = at.n0 * at.n1 * at.n2, step = gridDim.x * (Index)blockDim.x;
    const Index thread = blockIdx.x * (Index)blockDim.x + threadIdx.x;
    Index first = 0;
    if (at.wide && is_aligned<4>(x0) && is_aligned<4>(out0)) {
        for (Index pack = thread; pack < size / 4; pack += step) {
            const Index k = pack * 4;
            const Index i0 = k / (at.n1 * at.n2);
            const Index i1 = k / at.n2 % at.n1;
            const Index i2 = k % at.n2;
            const Pack<float, 4> a0 = loaded<4>(&x0[i0 * at.step0_0 + i1 * at.step0_1 + i2]);
            const float a1 = memory1[i1 * at.step1_1];
            Pack<float, 4> r2;
            for (int lane = 0; lane < 4; ++lane) element2(a0.at[lane], a1, at.size0_2, r2.at[lane]);
            *(Pack<float, 4>*)&out0[i0 * at.step2_0 + i1 * at.step2_1 + i2] = r2;
        }
        first = size / 4 * 4;
    }
    for (Index k = first + thread; k < size; k += step) {
        const Index i0 = k / (at.n1 * at.n2);
        const Index i1 = k / at.n2 % at.n1;
        const Index i2 = k % at.n2;
        const float a0 = x0[i0 * at.step0_0 + i1 * at.step0_1 + i2];
        const float a1 = memory1[i1 * at.step1_1];
        float r2;
        element2(a0, a1, at.size0_2, r2);
        out0[i0 * at.step2_0 + i1 * at.step2_1 + i2] = r2;
    }
}

}
