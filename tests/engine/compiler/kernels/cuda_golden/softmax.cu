// amax+sub+exp+sum+div
typedef int Index;

namespace kernels {

template <class T> __device__ inline T min(T x, T y) { return y < x ? y : x; }

template <class T> __device__ inline T max(T x, T y) { return y > x ? y : x; }

template <class R0> __device__ inline auto _powers32(R0 r) {
    auto p = 0.00019814676f;
    p = (p * r) + 0.0013938042f;
    p = (p * r) + 0.008333473f;
    p = (p * r) + 0.041666523f;
    p = (p * r) + 0.16666666f;
    return (p * r) + 0.5f;
}

__device__ inline int bits(float x) { return __float_as_int(x); }
__device__ inline long long bits(double x) { return __double_as_longlong(x); }

__device__ inline float from_bits(int x) { return __int_as_float(x); }
__device__ inline double from_bits(long long x) { return __longlong_as_double(x); }

template <class P0, class N1> __device__ inline auto _twice_scaled32(P0 p, N1 n) {
    auto half = n >> 1;
    auto rest = n - half;
    return (p * from_bits((int)((half + 127) << 23))) * from_bits((int)((rest + 127) << 23));
}

template <class X0> __device__ inline auto exp32(X0 x) {
    x = min(x, 89.0f);
    x = max(x, -105.0f);
    auto t = (x * 1.442695f) + 12582912.0f;
    auto n = t - 12582912.0f;
    auto r = x - (n * 0.6933594f);
    r = r - (n * -0.00021219444f);
    auto p = (((_powers32(r) * r) * r) + r) + 1.0f;
    return _twice_scaled32(p, (int)(bits(t) - 1262485504));
}

template <class T> __device__ inline T larger(T x, T y) { return x > y ? x : y; }
__device__ inline float larger(float x, float y) {
    if (x == y) return __int_as_float(__float_as_int(x) & __float_as_int(y));
    return x > y || x != x ? x : y;
}
__device__ inline double larger(double x, double y) {
    if (x == y) return __longlong_as_double(__double_as_longlong(x) & __double_as_longlong(y));
    return x > y || x != x ? x : y;
}

struct Largest {
    template <class T> static __device__ T of(T a, T b) { return larger(a, b); }
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

struct Added {
    template <class T> static __device__ T of(T a, T b) { return (T)(a + b); }
};

struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};

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

struct Layout0 { Index n0, n1, step0_0, step1_0; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const float* __restrict__ x0, float* __restrict__ out0) {
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        float part_v2 = (-__int_as_float(0x7f800000));
        for (Index k = threadIdx.x; k < size; k += blockDim.x) {
            const Index i1 = k;
            const float v1 = x0[i0 * at.step0_0 + i1];
            part_v2 = Largest::of<float>(part_v2, v1);
        }
        const float v2 = reduce_row<Largest>(part_v2);
        double total_v4 = 0.0;
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            float part_v4 = 0.0f;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const float v3 = x0[i0 * at.step0_0 + i1];
                part_v4 = Added::of<float>(part_v4, exp32((v3 - v2)));
            }
            total_v4 = add_blocks<Added, InDouble>(total_v4, part_v4);
        }
        const float v4 = (float)total_v4;
        for (Index k = threadIdx.x; k < size; k += blockDim.x) {
            const Index i1 = k;
            const float v5 = x0[i0 * at.step0_0 + i1];
            out0[i0 * at.step1_0 + i1] = (exp32((v5 - v2)) / v4);
        }
    }
}

}
