"""Measured times of the ops that a thread runs one by one, with their source lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import MethodType, TracebackType
from typing import Any, NamedTuple

from engine.graph import SourceLocation
from engine.modes import MODES
from engine.observe import Relay, call_origin
from engine.ops.flop_count import count_flops
from engine.ops.record import Op, op_name
from engine.profiler.recorder import call_kernels_by
from engine.shape import Spec, count


class OpEvent(NamedTuple):
    """A run of an op. Times are those of `time.perf_counter_ns`, of the kernel alone."""

    op: str
    where: SourceLocation
    """The line that called it; in a backward pass, that of the forward op."""
    backward: bool
    start: int
    end: int
    read: int
    """Bytes of its inputs; 0 if unknown."""
    written: int
    flops: int
    dtype: str


class OpTimer(Relay):
    """Context manager that times the ops of this thread.

    Runs of plans of compiled functions are no ops.

    Args:
        observes: whether ops are observed, which tells the forward lines of ops of the backward pass. Compiled
            functions do not trace observed ops.
    """

    def __init__(self, *, observes: bool) -> None:
        super().__init__(None)
        self.events: list[OpEvent] = []
        self._observes = observes
        self._pending: list[tuple[str, int, int]] = []
        """Kernels of the op that is running: name, start and end."""

    def __enter__(self) -> OpTimer:
        self._call_silently, self._observer = MODES.call_silently, MODES.observer
        call_kernels_by(self._timed)
        if self._observes:
            MODES.observer = self
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        if self._observes:
            MODES.observer = self._observer
        call_kernels_by(self._call_silently)

    def call(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any], outs: Sequence[Any]) -> SourceLocation:
        """Note an op that has run. Returns its line."""
        where, backward = call_origin()
        specs = [getattr(value, "spec", value) for value in inputs]
        outputs = [out.spec for out in outs]
        if self._pending:
            start, end = self._pending[0][1], self._pending[-1][2]
            self._pending.clear()
            read = sum(_nbytes(spec) for spec in specs if isinstance(spec, Spec))
            written = 0 if op.view else sum(map(_nbytes, outputs))
            flops = count_flops(op, outputs, specs, statics)
            dtype = outputs[0].dtype.name
            self.events.append(OpEvent(op.name, where, backward, start, end, read, written, flops, dtype))
        return where

    def _timed(self, kernel: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter_ns()
        try:
            return self._call_silently(kernel, *args, **kwargs)
        finally:
            end = time.perf_counter_ns()
            if MODES.observer is self:
                self._pending.append((op_name(kernel), start, end))
            elif not isinstance(kernel, MethodType):  # methods run plans
                self.events.append(OpEvent(op_name(kernel), *call_origin(), start, end, 0, 0, 0, ""))


def _nbytes(spec: Spec) -> int:
    return count(spec.shape) * spec.dtype.itemsize


__all__ = ["OpEvent", "OpTimer"]
