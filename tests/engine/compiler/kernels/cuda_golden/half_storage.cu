// add+relu+cast+sum
#include <cuda_fp16.h>
typedef int Index;

namespace kernels {

__device__ inline float from_bfloat(unsigned short x) { return __int_as_float((int)x << 16); }
__device__ inline unsigned short to_bfloat(float x) {
    unsigned int raw = (unsigned int)__float_as_int(x);
    return x != x ? 0x7fc0 : (unsigned short)((raw + 0x7fff + (raw >> 16 & 1)) >> 16);
}

__device__ inline float from_half(unsigned short x) { return __half2float(__ushort_as_half(x)); }
__device__ inline unsigned short to_half(float x) { return __half_as_ushort(__float2half_rn(x)); }

template <class X0, class Y1> __device__ inline auto maximum(X0 x, Y1 y) {
    return ((x >= y) || (x != x)) ? x : y;
}

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

struct Layout0 { Index n0, n1, step0_0, step2_0, step3_0, step4_0; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const unsigned short* __restrict__ x0, const unsigned short* __restrict__ x1, unsigned short* __restrict__ out0, unsigned short* __restrict__ out1, unsigned short* __restrict__ out2) {
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        double total_v4 = 0.0;
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            float part_v4 = 0.0f;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const float v1 = from_half(x0[i0 * at.step0_0 + i1]);
                const float v2 = from_half(x1[i1]);
                const float v3 = maximum(from_half(to_half((v1 + v2))), 0.0f);
                part_v4 = Added::of<float>(part_v4, (float)v3);
                out0[i0 * at.step2_0 + i1] = to_half(v3);
                out1[i0 * at.step3_0 + i1] = to_bfloat(from_bfloat(to_bfloat((float)(v3))));
            }
            total_v4 = add_blocks<Added, InDouble>(total_v4, part_v4);
        }
        const float v4 = (float)total_v4;
        const float v5 = from_half(to_half((float)(v4)));
        if (threadIdx.x == 0) {
            out2[i0 * at.step4_0] = to_half(v5);
        }
    }
}

}
