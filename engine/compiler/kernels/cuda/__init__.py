"""GPU kernels: CUDA C++ from the same programs and schedules as CPU kernels, compiled by CuPy."""

from engine.compiler.kernels.cuda.cuda_kernel import CudaKernel as CudaKernel

__all__ = ["CudaKernel"]
