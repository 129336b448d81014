// abs+log1p+sum+sum
typedef int Index;

namespace kernels {

template <class A, class B> struct Two { A a; B b; };

__device__ inline float fabs(float x) { return ::fabsf(x); }
__device__ inline double fabs(double x) { return ::fabs(x); }

template <class T0, class L1, class X2> __device__ inline auto compensated(T0 total, L1 lost, X2 x) {
    auto found = total + x;
    auto larger = fabs(total) >= fabs(x);
    auto rest = larger ? ((total - found) + x) : ((x - found) + total);
    return Two<decltype(found), decltype(lost + ((rest == rest) ? rest : 0.0))>{found, lost + ((rest == rest) ? rest : 0.0)};
}

__device__ inline int bits(float x) { return __float_as_int(x); }
__device__ inline long long bits(double x) { return __double_as_longlong(x); }

__device__ inline float from_bits(int x) { return __int_as_float(x); }
__device__ inline double from_bits(long long x) { return __longlong_as_double(x); }

template <class N0> __device__ inline auto _as_float(N0 n) {
    return from_bits((long long)(n + 4843621399236968448LL)) - 6755399441055744.0;
}

template <class X0> __device__ inline auto _parts64(X0 x) {
    auto tiny = x < 2.2250738585072014e-308;
    auto y = tiny ? (x * 1.8014398509481984e+16) : x;
    auto raw = bits(y) - 4604544271217802189LL;
    auto n = raw >> 52;
    auto m = from_bits((long long)(bits(y) - (n << 52)));
    return Two<decltype(m - 1.0), decltype(_as_float(n) - (tiny ? 54.0 : 0.0))>{m - 1.0, _as_float(n) - (tiny ? 54.0 : 0.0)};
}

template <class F0> __device__ inline auto _tail64(F0 f) {
    auto s = f / (2.0 + f);
    auto z = s * s;
    auto p = 0.14798198605116586;
    p = (p * z) + 0.15313837699209373;
    p = (p * z) + 0.1818357216161805;
    p = (p * z) + 0.22222198432149784;
    p = (p * z) + 0.2857142874366239;
    p = (p * z) + 0.3999999999940942;
    p = (p * z) + 0.6666666666666735;
    auto half = (0.5 * f) * f;
    return (s * (half + (p * z))) - half;
}

template <class X0, class F1> __device__ inline auto _ends64(X0 x, F1 found) {
    found = (x == __longlong_as_double(0x7ff0000000000000LL)) ? x : found;
    found = (x == 0.0) ? (-__longlong_as_double(0x7ff0000000000000LL)) : found;
    return (x >= 0.0) ? found : __longlong_as_double(0x7ff8000000000000LL);
}

template <class X0> __device__ inline auto log64(X0 x) {
    auto [f, n] = _parts64(x);
    return _ends64(x, (n * 0.6931471803691238) + (f + (_tail64(f) + (n * 1.9082149292705877e-10))));
}

template <class X0> __device__ inline auto log1p64(X0 x) {
    auto u = 1.0 + x;
    auto lost = (x - (u - 1.0)) / u;
    auto found = log64(u) + lost;
    found = (u == 1.0) ? x : found;
    found = (u == 0.0) ? (-__longlong_as_double(0x7ff0000000000000LL)) : found;
    return (u == __longlong_as_double(0x7ff0000000000000LL)) ? u : found;
}

struct Added {
    template <class T> static __device__ T of(T a, T b) { return (T)(a + b); }
};

struct Compensated {
    static __device__ Two<double, double> of(Two<double, double> total, double part) {
        return compensated(total.a, total.b, part);
    }
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

struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};

struct Layout0 { Index n0, n1, step0_0, step1_0; };
extern "C" __global__ void __launch_bounds__(512) rows0(const Layout0 at, const double* __restrict__ x0, double* __restrict__ out0) {
    const Index rows = at.n0, size = at.n1;
    const Index together = gridDim.x * (Index)blockDim.y;
    for (Index row = blockIdx.x * (Index)blockDim.y + threadIdx.y; row < rows; row += together) {
        const Index i0 = row;
        Two<double, double> total_v2 = Two<double, double>{0.0, 0.0};
        for (Index first = 0; first < size; first += blockDim.x / 32 * 512) {
            const Index start = first + threadIdx.x / 32 * 512;
            const Index stop = start + 512 < size ? start + 512 : size;
            double part_v2 = 0.0;
            for (Index k = start + threadIdx.x % 32; k < stop; k += 32) {
                const Index i1 = k;
                const double v1 = x0[i0 * at.step0_0 + i1];
                part_v2 = Added::of<double>(part_v2, log1p64(fabs(v1)));
            }
            total_v2 = add_blocks<Added, Compensated>(total_v2, part_v2);
        }
        const double v2 = (double)(total_v2.a + total_v2.b);
        if (threadIdx.x == 0) {
            out0[i0 * at.step1_0] = v2;
        }
    }
}

struct Layout1 { Index n0, n1, step0_0, chunk, parts; };
extern "C" __global__ void __launch_bounds__(256) columns1(const Layout1 at, const double* __restrict__ x0, double* __restrict__ memory0) {
    const Index columns = at.n1, rows = at.n0;
    const Index across = (columns + blockDim.x - 1) / blockDim.x;
    const Index column = blockIdx.x % across * blockDim.x + threadIdx.x;
    const Index chunk = blockIdx.x / across * blockDim.y + threadIdx.y;
    if (column >= columns || chunk >= at.parts) return;
    const Index i1 = column;
    const Index start = chunk * at.chunk, stop = start + at.chunk < rows ? start + at.chunk : rows;
    double part_v2 = 0.0;
    for (Index row = start; row < stop; ++row) {
        const Index i0 = row;
        const double v1 = x0[i0 * at.step0_0 + i1];
        part_v2 = Added::of<double>(part_v2, v1);
    }
    memory0[chunk * columns + column] = part_v2;
}

struct Layout2 { Index n0, n1, parts; };
extern "C" __global__ void __launch_bounds__(256) totals2(const Layout2 at, double* __restrict__ out1, const double* __restrict__ memory0) {
    const Index columns = at.n1, step = gridDim.x * (Index)blockDim.x;
    for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {
        const Index i1 = column;
        double total_v1 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v1 = InDouble::of(total_v1, memory0[part * columns + column]);
        const double v1 = total_v1;
        out1[i1] = v1;
    }
}

}
