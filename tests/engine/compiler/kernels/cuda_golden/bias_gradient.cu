// gt+mul+sum
typedef int Index;

namespace kernels {

struct Added {
    template <class T> static __device__ T of(T a, T b) { return (T)(a + b); }
};

struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};

struct Layout0 { Index n0, n1, step0_0, step1_0, step2_0, chunk, parts; };
extern "C" __global__ void __launch_bounds__(256) columns0(const Layout0 at, const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out0, const double number0, float* __restrict__ memory0) {
    const float v3 = (float)number0;
    const Index columns = at.n1, rows = at.n0;
    const Index across = (columns + blockDim.x - 1) / blockDim.x;
    const Index column = blockIdx.x % across * blockDim.x + threadIdx.x;
    const Index chunk = blockIdx.x / across * blockDim.y + threadIdx.y;
    if (column >= columns || chunk >= at.parts) return;
    const Index i1 = column;
    const Index start = chunk * at.chunk, stop = start + at.chunk < rows ? start + at.chunk : rows;
    float part_v5 = 0.0f;
    for (Index row = start; row < stop; ++row) {
        const Index i0 = row;
        const float v1 = x0[i0 * at.step0_0 + i1];
        const float v2 = x1[i0 * at.step1_0 + i1];
        const float v4 = (v1 * (float)(v2 > v3));
        part_v5 = Added::of<float>(part_v5, v4);
        out0[i0 * at.step2_0 + i1] = v4;
    }
    memory0[chunk * columns + column] = part_v5;
}

struct Layout1 { Index n0, n1, parts; };
extern "C" __global__ void __launch_bounds__(256) totals1(const Layout1 at, float* __restrict__ out1, const float* __restrict__ memory0) {
    const Index columns = at.n1, step = gridDim.x * (Index)blockDim.x;
    for (Index column = blockIdx.x * (Index)blockDim.x + threadIdx.x; column < columns; column += step) {
        const Index i1 = column;
        double total_v1 = 0.0;
        for (Index part = 0; part < at.parts; ++part) total_v1 = InDouble::of(total_v1, memory0[part * columns + column]);
        const float v1 = (float)total_v1;
        out1[i1] = v1;
    }
}

}
