"""What computes one node by a kernel of the library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from engine.backend import CPU
from engine.compiler.graph import Node
from engine.compiler.kernels.cache import Module, built, load
from engine.compiler.kernels.expression import Unlowered
from engine.compiler.kernels.team import TEAM
from engine.ops.record import Op

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_SOURCES = Path(__file__).parent / "sources"


Routine: TypeAlias = Callable[..., None]
"""Computes a node: called with its inputs in C's order, None where there is none, then memory for its results."""
Maker: TypeAlias = Callable[[Node], Routine | None]

_MAKERS: dict[Op, Maker] = {}
STRIDED: set[Op] = set()
"""Ops whose routines take their inputs in any order of memory."""


def computes(op: Op, *, strided: bool = False) -> Callable[[Maker], Maker]:
    """Declares what makes routines for nodes of `op`; None for nodes that NumPy is to compute."""

    def declare(maker: Maker) -> Maker:
        _MAKERS[op] = maker
        if strided:
            STRIDED.add(op)
        return maker

    return declare


def routine_of(node: Node) -> Routine | None:
    """What computes a node, or None where that is NumPy."""
    maker = _MAKERS.get(node.op)
    values = [*node.values, node.out]
    if maker is None or any(value.device is not CPU or 0 in value.shape for value in values):
        return None
    if len({value.dtype for value in values if value.dtype.kind not in "biu"}) > 1:
        return None
    try:
        return maker(node)
    except Unlowered:  # no such instructions here, or no compiler: it is the same in every run on this machine
        return None


def kernel(name: str, dtype: Any) -> Any:
    """The kernel of a source file, which is in single precision, for numbers of a dtype; compiled if it has to be."""
    return built(source_of(name, dtype), name)


def later(name: str, dtype: Any) -> Module:
    """The module with that kernel, which is compiled when there is time."""
    return load(source_of(name, dtype), name)


def start_helpers() -> None:
    """Has helpers share the work of kernels, as soon as their own kernel is there."""
    serve = later("serve", np.dtype(np.float32)).function
    if serve is not None:
        TEAM.start(serve)


def names() -> list[str]:
    """Of all kernels of the library."""
    return sorted(path.stem for path in _SOURCES.glob("*.py"))


def source_of(name: str, dtype: Any) -> str:
    """The source of a kernel for numbers of a dtype."""
    source = (_SOURCES / f"{name}.py").read_text(encoding="utf-8")
    return source if dtype == np.float32 else source.replace("32 as ", "64 as ").replace("1e-30", "1e-290")


__all__ = ["FLOATS", "STRIDED", "Routine", "computes", "kernel", "later", "names", "routine_of", "source_of",
           "start_helpers"]  # fmt: skip
