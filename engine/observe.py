"""Watching ops as they run: who called which op from where, and what gradients came back."""

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

from engine.graph import Node, SourceLocation
from engine.modes import MODES
from engine.ops.record import Op
from engine.shape import Spec

_ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PYTHON = sysconfig.get_path("stdlib") + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


@dataclass(frozen=True, slots=True)
class Call:
    """One op call. Inputs are Specs, numbers, or None."""

    op: str
    inputs: tuple[Any, ...]
    statics: dict[str, Any]
    outputs: tuple[Spec, ...]
    where: SourceLocation
    """The first line outside the engine on the way to the call."""
    macs: Any
    """Multiply-adds; symbolic when a size is."""


@dataclass(slots=True)
class Observer:
    """Collects calls and gradient norms while it is entered. Observers nest; the inner one is told."""

    norms: bool = False
    """Measure gradients in a backward pass; reads numbers, so it is slow."""
    calls: list[Call] = field(default_factory=list)
    gradient_norms: dict[int, float] = field(default_factory=dict)
    """Sequence number of a node → norm of the gradient that reached its first output."""
    _outer: list[Any] = field(default_factory=list)

    def __enter__(self) -> Observer:
        self._outer.append(MODES.observer)
        MODES.observer = self
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.observer = self._outer.pop()

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        """Told of an op that ran; says where it was called."""
        where = call_site()
        specs = tuple(getattr(value, "spec", value) for value in inputs)
        outputs = tuple(out.spec for out in outs)
        macs = op.count_macs(outputs[0], specs, statics)
        self.calls.append(Call(op.name, specs, statics, outputs, where, macs))
        return where

    def gradient(self, node: Node, grads: Sequence[Any]) -> None:
        norm = norm_of(grads[0]) if self.norms else None
        if norm is not None:
            self.gradient_norms[node.sequence] = norm


class Relay:
    """An observer that leaves the collecting to the one that was there before it, if any."""

    lines = True
    """Whether autograd nodes learn their line, although nobody collects."""

    def __init__(self, outer: Any) -> None:
        self.outer = outer

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        if self.outer is not None:
            return self.outer.call(op, inputs, statics, outs)
        return call_site() if self.lines else None

    def gradient(self, node: Node, grads: Sequence[Any]) -> None:
        if self.outer is not None:
            self.outer.gradient(node, grads)


def norm_of(tensor: Any) -> float | None:
    """Euclidean norm, computed unobserved in double precision; None if there are no numbers."""
    if tensor is None or tensor.is_meta:
        return None
    observer, MODES.observer = MODES.observer, None
    try:
        numbers = tensor.detach().double()
        return float((numbers * numbers).sum()) ** 0.5
    finally:
        MODES.observer = observer


@functools.cache
def _is_passed_over(filename: str) -> bool:
    if filename.startswith((_ENGINE, _NUMPY)):
        return True
    return filename.startswith(_PYTHON) and "-packages" not in filename  # which others install there


def call_site() -> SourceLocation:
    """File and line of the innermost frame that is neither the engine's, nor NumPy's, nor Python's own."""
    frame = sys._getframe(1)
    while frame is not None and _is_passed_over(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
