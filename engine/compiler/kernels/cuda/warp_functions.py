"""Device functions of warps and blocks of threads, as CUDA C++."""

from __future__ import annotations


def _functor(name: str, text: str) -> str:
    return f"struct {name} {{\n    template <class T> static __device__ T of(T a, T b) {{ return {text}; }}\n}};"


TEXTS: dict[str, str] = {
    "Added": _functor("Added", "(T)(a + b)"),
    "Multiplied": _functor("Multiplied", "(T)(a * b)"),
    "Largest": _functor("Largest", "larger(a, b)"),
    "Smallest": _functor("Smallest", "smaller(a, b)"),
    "Any": _functor("Any", "(T)(a | b)"),
    "All": _functor("All", "(T)(a & b)"),
    "InDouble": """struct InDouble {
    template <class T> static __device__ double of(double total, T part) { return total + (double)part; }
};""",
    "Compensated": """struct Compensated {
    static __device__ Two<double, double> of(Two<double, double> total, double part) {
        return compensated(total.a, total.b, part);
    }
};""",
    "shuffle_xor": """// The number of the lane whose index differs in one bit.
template <class T> __device__ T shuffle_xor(T x, int bit) {
    if constexpr (sizeof(T) < 4) return (T)__shfl_xor_sync(0xffffffffu, (int)x, bit);
    else return __shfl_xor_sync(0xffffffffu, x, bit);
}""",
    "reduce_warp": """// Reduces the numbers of a warp: the second half of the lanes with the first, until one is left.
template <class How, class T> __device__ T reduce_warp(T x) {
    for (int bit = 16; bit > 0; bit /= 2) x = How::of(x, shuffle_xor(x, bit));
    return x;
}""",
    "reduce_row": """// Reduces the numbers of all threads of a row, for operations that do not depend on the order.
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
}""",
    "add_blocks": """// Adds the sums of blocks, one per warp of a row, to a total in order.
template <class Fold, class How, class S, class T> __device__ S add_blocks(S total, T part) {
    part = reduce_warp<Fold>(part);
    if (blockDim.x == 32) return How::of(total, part);
    __shared__ T slots[32];
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = part;
    __syncthreads();
    for (int warp = 0; warp < blockDim.x / 32; ++warp) total = How::of(total, slots[warp]);
    __syncthreads();
    return total;
}""",
    "Pack": """// Contiguous numbers that are loaded and stored together.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T at[N]; };
template <int N, class T> __device__ Pack<T, N> loaded(const T* x) { return *(const Pack<T, N>*)x; }
template <int N, class T> __device__ bool is_aligned(const T* x) {
    return (unsigned long long)x % (sizeof(T) * N) == 0;
}""",
}
NEEDED = {"reduce_warp": ("shuffle_xor",), "reduce_row": ("reduce_warp",), "add_blocks": ("reduce_warp",)}
FUNCTIONS = {"Largest": ("larger",), "Smallest": ("smaller",), "Compensated": ("Two", "compensated")}
"""Scalar functions that they call."""

__all__ = ["FUNCTIONS", "NEEDED", "TEXTS"]
