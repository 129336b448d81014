"""Kernels for groups of nodes: generated, compiled in the background, kept on disk."""

from engine.compiler.kernels.expression import Unlowered as Unlowered
from engine.compiler.kernels.fused import Fused as Fused
from engine.compiler.kernels.kernel import Kernel as Kernel
from engine.compiler.kernels.kernel import compile as compile
from engine.compiler.kernels.kernel import lowers as lowers
from engine.compiler.kernels.kernel import reason as reason

__all__ = ["Fused", "Kernel", "Unlowered", "compile", "lowers", "reason"]
