// lerp+mul+mul+mul+add+sqrt+add+div+mul+sub
typedef int Index;

namespace kernels {

__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }

// Contiguous numbers that are loaded and stored together.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
template <int N, class T> __device__ Pack<T, N> loaded(const T* x) { return *(const Pack<T, N>*)x; }
template <int N, class T> __device__ bool is_aligned(const T* x) {
    return (unsigned long long)x % (sizeof(T) * N) == 0;
}

__device__ __forceinline__ void element0(const float a0, const float a1, const float a2, const float a3, const double number0, const double number1, const double number2, const double number3, const double number4, float& r4, float& r5, float& r6) {
    const float v4 = (float)number0;
    const float v7 = (float)number1;
    const float v8 = (float)number2;
    const float v10 = (float)number3;
    const float v11 = (float)number4;
    const float v1 = a0;
    const float v2 = a1;
    const float v3 = a2;
    const float v5 = (v2 + ((v3 - v2) * v4));
    const float v6 = a3;
    const float v9 = ((v6 * v7) + ((v3 * v3) * v8));
    r4 = (v1 - ((v5 / (sqrt(v9) + v10)) * v11));
    r5 = v5;
    r6 = v9;
}
struct Layout0 { Index n0, wide; };
extern "C" __global__ void __launch_bounds__(256) elements0(const Layout0 at, float* __restrict__ x0, float* __restrict__ x2, const float* __restrict__ x1, float* __restrict__ x3, const double number0, const double number1, const double number2, const double number3, const double number4) {
    const Index size = at.n0, step = gridDim.x * (Index)blockDim.x;
    const Index thread = blockIdx.x * (Index)blockDim.x + threadIdx.x;
    Index first = 0;
    if (at.wide && is_aligned<4>(x0) && is_aligned<4>(x2) && is_aligned<4>(x1) && is_aligned<4>(x3)) {
        for (Index pack = thread; pack < size / 4; pack += step) {
            const Index k = pack * 4;
            const Index i0 = k;
            const Pack<float, 4> a0 = loaded<4>(&x0[i0]);
            const Pack<float, 4> a1 = loaded<4>(&x2[i0]);
            const Pack<float, 4> a2 = loaded<4>(&x1[i0]);
            const Pack<float, 4> a3 = loaded<4>(&x3[i0]);
            Pack<float, 4> r4;
            Pack<float, 4> r5;
            Pack<float, 4> r6;
            for (int lane = 0; lane < 4; ++lane) element0(a0.at[lane], a1.at[lane], a2.at[lane], a3.at[lane], number0, number1, number2, number3, number4, r4.at[lane], r5.at[lane], r6.at[lane]);
            *(Pack<float, 4>*)&x0[i0] = r4;
            *(Pack<float, 4>*)&x2[i0] = r5;
            *(Pack<float, 4>*)&x3[i0] = r6;
        }
        first = size / 4 * 4;
    }
    for (Index k = first + thread; k < size; k += step) {
        const Index i0 = k;
        const float a0 = x0[i0];
        const float a1 = x2[i0];
        const float a2 = x1[i0];
        const float a3 = x3[i0];
        float r4;
        float r5;
        float r6;
        element0(a0, a1, a2, a3, number0, number1, number2, number3, number4, r4, r5, r6);
        x0[i0] = r4;
        x2[i0] = r5;
        x3[i0] = r6;
    }
}

}
