// mul+sum+any
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

// Reduces the numbers of all threads of a row, for operations that do not depend on the order.
template <class How, class T> __device__ T reduce_row(T x) {
    x = reduce_warp<How>(x);
    if (blockDim.x == 32) return x;
    __shared__ T slots[32];
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = x;
    __syncthreads();
    x = slots[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) x = How::of(x, slots[warp]);
    __syncthreads();
    return x;
}

struct Any {
    template <class T> static __device__ T of(T a, T b) { return (T)(a | b); }
};

struct Layout0 { Index n0, n1, step0_0, step1_0, step2_0, step3_0, step4_0; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const long long* __restrict__ x0, const unsigned char* __restrict__ x1, long long* __restrict__ out0, long long* __restrict__ out1, bool* __restrict__ out2) {
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        long long part_v2 = 0LL;
        bool part_v3 = false;
        for (Index k = threadIdx.x; k < size; k += blockDim.x) {
            const Index i1 = k;
            const long long v1 = x0[i0 * at.step0_0 + i1];
            part_v2 = Added::of<long long>(part_v2, v1);
            part_v3 = Any::of<bool>(part_v3, (v1 != 0LL));
            const unsigned char v4 = x1[i0 * at.step1_0 + i1];
            const long long v5 = (long long)((unsigned long long)v1 * (unsigned long long)(long long)v4);
            out0[i0 * at.step2_0 + i1] = v5;
        }
        const long long v2 = reduce_row<Added>(part_v2);
        const bool v3 = reduce_row<Any>(part_v3);
        if (threadIdx.x == 0) {
            out1[i0 * at.step3_0] = v2;
            out2[i0 * at.step4_0] = v3;
        }
    }
}

}
