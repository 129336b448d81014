"""Observation of ops as they run: op and source line."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import numpy as np

from engine.graph import Edge, Node, SourceLocation
from engine.modes import MODES
from engine.ops.record import Op
from engine.shape import Spec

_ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PYTHON = sysconfig.get_path("stdlib") + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


@dataclass(frozen=True, slots=True)
class Call:
    """Op call. Inputs are Specs, numbers or None."""

    op: str
    inputs: tuple[Any, ...]
    statics: dict[str, Any]
    outputs: tuple[Spec, ...]
    where: SourceLocation
    """First line outside the engine in the call stack."""
    macs: Any
    """Multiply-accumulate operations; symbolic if a size is."""


@dataclass(slots=True)
class Observer:
    """Context manager that collects calls. Of nested observers only the innermost records."""

    calls: list[Call] = field(default_factory=list)
    _outer: list[Any] = field(default_factory=list)

    def __enter__(self) -> Observer:
        self._outer.append(MODES.observer)
        MODES.observer = self
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.observer = self._outer.pop()

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        """Record an op call and return its source location."""
        where = call_site()
        specs = tuple(getattr(value, "spec", value) for value in inputs)
        outputs = tuple(out.spec for out in outs)
        macs = op.count_macs(outputs[0], specs, statics)
        self.calls.append(Call(op.name, specs, statics, outputs, where, macs))
        return where

    def location(self) -> SourceLocation:
        """Source location of an autograd node that no op makes."""
        return call_site()

    def gradient(self, target: Any, grads: Sequence[Any]) -> None:
        """Receive the gradients that reach a node or leaf in a backward pass."""

    def recorded(self, node: Node, inputs: Sequence[Any]) -> None:
        """Receive the autograd node of a call, after `call`."""

    def cut(self, edge: Edge, alias: Any, kind: str) -> None:
        """Receive a tensor without history that shares the memory of one with `edge`."""


class Relay:
    """Observer that passes calls on to the previous observer, if there is one."""

    lines = True
    """Whether autograd nodes record their source line, even if no observer collects calls."""

    def __init__(self, outer: Any) -> None:
        self.outer = outer

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        if self.outer is not None:
            return self.outer.call(op, inputs, statics, outs)
        return call_site() if self.lines else None

    def location(self) -> SourceLocation:
        return call_site() if self.outer is None else self.outer.location()

    def gradient(self, target: Any, grads: Sequence[Any]) -> None:
        if self.outer is not None:
            self.outer.gradient(target, grads)

    def recorded(self, node: Node, inputs: Sequence[Any]) -> None:
        if self.outer is not None:
            self.outer.recorded(node, inputs)

    def cut(self, edge: Edge, alias: Any, kind: str) -> None:
        if self.outer is not None:
            self.outer.cut(edge, alias, kind)


def norm_of(tensor: Any) -> float | None:
    """Return the Euclidean norm in float64, computed unobserved; None for a tensor without data."""
    if tensor is None or tensor.is_meta:
        return None
    observer, MODES.observer = MODES.observer, None
    try:
        numbers = tensor.detach().double()
        return float((numbers * numbers).sum()) ** 0.5
    finally:
        MODES.observer = observer


@functools.cache
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to the engine, NumPy or Python's library."""
    if filename.startswith((_ENGINE, _NUMPY)):
        return True
    return filename.startswith(_PYTHON) and "-packages" not in filename  # packages are installed there too


class CallSite(tuple[str, int]):  # noqa: SLOT001 - a tuple cannot have slots
    """A source location that also has the lines that led to it."""

    callers: tuple[tuple[str, int], ...] = ()
    """Lines outside the engine, NumPy and Python's library that called it, the outermost first."""


def call_site_with_callers() -> SourceLocation:
    """Return `call_site()` with the lines of its callers, which tell the calls of a shared method apart."""
    found: list[tuple[str, int]] = []
    frame = sys._getframe(1)
    while frame is not None:
        if not is_library_file(frame.f_code.co_filename):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    if not found:
        return None
    site = CallSite(found[0])
    site.callers = tuple(found[:0:-1])
    return site


def call_site() -> SourceLocation:
    """Return file and line of the innermost frame outside the engine, NumPy and Python's library."""
    frame = sys._getframe(1)
    while frame is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def call_origin() -> tuple[SourceLocation, bool]:
    """The line that called an op, or the forward line in a backward pass; and whether a backward pass is running."""
    backward_pass = MODES.backward_pass
    if backward_pass is None:
        return call_site_with_callers(), False
    node = backward_pass.node
    return (None if node is None else node.where) or call_site_with_callers(), True
