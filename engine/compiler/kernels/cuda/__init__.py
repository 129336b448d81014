"""Kernels for GPUs: CUDA C++ from the same programs and schedules as the CPU's, compiled by CuPy."""

from engine.compiler.kernels.cuda.cuda_kernel import CudaKernel as CudaKernel

__all__ = ["CudaKernel"]
