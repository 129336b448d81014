"""What computes one node by a kernel of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from engine.backend import CPU
from engine.compiler.ir import IRNode
from engine.compiler.kernels.kernel_cache import KernelModule, compile_in_background, compile_now
from engine.compiler.kernels.scalar_expression import LoweringUnsupported
from engine.compiler.kernels.thread_pool import THREAD_POOL
from engine.ops.record import Op

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_SOURCES = Path(__file__).parent / "sources"


Routine: TypeAlias = Callable[..., None]
"""Computes a node: called with its inputs in C's order, None where there is none, then memory for its results."""
RoutineFactory: TypeAlias = Callable[[IRNode], Routine | None]

_MAKERS: dict[Op, RoutineFactory] = {}
STRIDED: set[Op] = set()
"""Ops whose routines take their inputs in any order of memory."""


def implements(op: Op, *, strided: bool = False) -> Callable[[RoutineFactory], RoutineFactory]:
    """Declares what makes routines for nodes of `op`; None for nodes that NumPy is to compute."""

    def declare(maker: RoutineFactory) -> RoutineFactory:
        _MAKERS[op] = maker
        if strided:
            STRIDED.add(op)
        return maker

    return declare


def routine_of(node: IRNode) -> Routine | None:
    """What computes a node, or None where that is NumPy."""
    maker = _MAKERS.get(node.op)
    values = [*node.values, node.out]
    if maker is None or any(value.device is not CPU or 0 in value.shape for value in values):
        return None
    if len({value.dtype for value in values if value.dtype.kind not in "biu"}) > 1:
        return None
    try:
        return maker(node)
    except (
        LoweringUnsupported
    ):  # no such instructions here, or no compiler: it is the same in every run on this machine
        return None


def library_kernel(name: str, dtype: Any) -> Any:
    """The kernel of a source file, which is in single precision, for numbers of a dtype; compiled if it has to be."""
    return compile_now(source_of(name, dtype), name)


def background_kernel(name: str, dtype: Any) -> KernelModule:
    """The module with that kernel, which is compiled when there is time."""
    return compile_in_background(source_of(name, dtype), name)


def start_helpers() -> None:
    """Has helpers share the work of kernels, as soon as their own kernel is there."""
    serve = background_kernel("serve_pool", np.dtype(np.float32)).function
    if serve is not None:
        THREAD_POOL.start(serve)


def kernel_names() -> list[str]:
    """Of all kernels of the library."""
    return sorted(path.stem for path in _SOURCES.glob("*.py"))


def source_of(name: str, dtype: Any) -> str:
    """The source of a kernel for numbers of a dtype."""
    source = (_SOURCES / f"{name}.py").read_text(encoding="utf-8")
    return source if dtype == np.float32 else source.replace("32 as ", "64 as ").replace("1e-30", "1e-290")


__all__ = [
    "FLOATS",
    "STRIDED",
    "Routine",
    "background_kernel",
    "implements",
    "kernel_names",
    "library_kernel",
    "routine_of",
    "source_of",
    "start_helpers",
]  # fmt: skip
