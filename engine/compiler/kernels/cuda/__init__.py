"""Kernels for GPUs: CUDA C++ from the same programs and schedules as the CPU's, compiled by CuPy."""

from engine.compiler.kernels.cuda.kernel import Kernel as Kernel

__all__ = ["Kernel"]
