"""Registry of hand-written kernels by op."""

from __future__ import annotations

import functools
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
"""Computes a node: called with its C-ordered inputs (None if absent), then with memory for its results."""
RoutineFactory: TypeAlias = Callable[[IRNode], Routine | None]

_FACTORIES: dict[Op, RoutineFactory] = {}
STRIDED: set[Op] = set()
"""Ops whose routines accept inputs with any strides."""


def implements(op: Op, *, strided: bool = False) -> Callable[[RoutineFactory], RoutineFactory]:
    """Registers the factory of routines for `op`; it returns None for nodes that NumPy computes."""

    def declare(factory: RoutineFactory) -> RoutineFactory:
        _FACTORIES[op] = factory
        if strided:
            STRIDED.add(op)
        return factory

    return declare


def routine_of(node: IRNode) -> Routine | None:
    """The routine of a node; None if NumPy computes it."""
    factory = _FACTORIES.get(node.op)
    values = [*node.values, node.out]
    if factory is None or any(value.device is not CPU or 0 in value.shape for value in values):
        return None
    if len({value.dtype for value in values if value.dtype.kind not in "biu"}) > 1:
        return None
    try:
        return factory(node)
    except LoweringUnsupported:  # no compiler, or unsupported instructions; the same in every run on this machine
        return None


def library_kernel(name: str, dtype: Any) -> Any:
    """The kernel of a source file for a dtype, compiled at once. Sources are written for float32."""
    return compile_now(source_of(name, dtype), name)


def background_kernel(name: str, dtype: Any) -> KernelModule:
    """The kernel of a source file for a dtype, compiled in the background."""
    return compile_in_background(source_of(name, dtype), name)


def start_thread_pool() -> None:
    """Starts the thread pool, once its kernel is compiled."""
    serve = _serving_kernel().function
    if serve is not None:
        THREAD_POOL.start(serve)


@functools.cache
def _serving_kernel() -> KernelModule:
    return background_kernel("serve_pool", np.dtype(np.float32))


def kernel_names() -> list[str]:
    """Names of all hand-written kernels."""
    return sorted(path.stem for path in _SOURCES.glob("*.py"))


def source_of(name: str, dtype: Any) -> str:
    """The source of a kernel for a dtype."""
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
    "start_thread_pool",
]  # fmt: skip
