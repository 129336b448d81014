"""Kernels for groups of nodes: generated, compiled in the background, and cached on disk."""

from engine.compiler.kernels.cpu_kernel import CpuKernel as CpuKernel
from engine.compiler.kernels.cpu_kernel import compile as compile
from engine.compiler.kernels.cpu_kernel import is_lowerable as is_lowerable
from engine.compiler.kernels.cpu_kernel import lowering_failure as lowering_failure
from engine.compiler.kernels.fused_group import FusedGroup as FusedGroup
from engine.compiler.kernels.scalar_expression import LoweringUnsupported as LoweringUnsupported

__all__ = ["CpuKernel", "FusedGroup", "LoweringUnsupported", "compile", "is_lowerable", "lowering_failure"]
