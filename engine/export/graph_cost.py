"""Memory and steps of a graph for given sizes, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.export.op_allowance import TRACE_OPS, VIEW_OPS
from engine.ops.record import REGISTRY
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Spec, count, format_shape
from engine.tracing.op_evaluation import with_sizes
from engine.tracing.traced_graph import TracedGraph, TracedOp, TracedValue

_MAX_KERNEL = 1_000_000
"""Kernel positions of a convolution, which are visited one by one."""
_MAX_STEPS = 10_000_000
"""Length of a dimension along which an op computes step by step."""
_STEPWISE = frozenset(("elman_layer", "gru_layer", "lstm_layer", "linear_recurrence"))
_ALONG = frozenset(("cummax_or_cummin", "logcumsumexp"))
_DRAWN_BYTES = 16
"""Temporary bytes for each random number."""


def peak_bytes(graph: TracedGraph, freed: Sequence[Sequence[int]], sizes: Mapping[str, int]) -> int:
    """The largest number of bytes that the values of a graph need at once.

    It is an upper bound: a reshaped value counts as a copy, and a view keeps the memory of its base.

    Args:
        graph: checked graph
        freed: for each op, ids of the values that are freed after it
        sizes: numbers of the symbolic sizes

    Raises:
        ValueError: a size is negative, or an op needs too many steps.
        ArithmeticError: a size is divided by zero.
    """
    memory = _Memory(sizes)
    for drawn in graph.random_inputs:
        memory.add(drawn.value)
        memory.use(memory.elements(drawn.value) * _DRAWN_BYTES)
    for op, dead in zip(graph.ops, freed, strict=True):
        _check_steps(op, sizes)
        for value in op.outputs:
            memory.add_result(op, value)
        memory.use(_workspace(op, memory))
        for key in dead:
            memory.release(key)
    for value in graph.outputs:
        memory.use_more(memory.nominal(value))  # the copy of an output that shares memory
    return memory.peak


class _Memory:
    """Bytes that are held while a graph runs. Inputs and weights are held anyway and count as 0."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self.peak = self._held = 0
        self._owners: dict[int, frozenset[int]] = {}
        """Ids of the values whose memory a value uses."""
        self._users: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._elements: dict[int, int] = {}
        self._expanded: set[int] = set()

    def shape(self, value: TracedValue) -> tuple[int, ...]:
        return _sized(value.spec, self._sizes)

    def elements(self, value: TracedValue) -> int:
        found = self._elements.get(id(value))
        if found is None:
            found = self._elements[id(value)] = count(self.shape(value))
        return found

    def nominal(self, value: TracedValue) -> int:
        """Bytes of a value if it was contiguous."""
        return self.elements(value) * value.spec.dtype.itemsize

    def is_expanded(self, value: TracedValue) -> bool:
        """Whether a value may have more elements than its memory."""
        return id(value) in self._expanded

    def add(self, value: TracedValue, bytes_needed: int | None = None, bases: frozenset[int] = frozenset()) -> None:
        key = id(value)
        self._bytes[key] = self.nominal(value) if bytes_needed is None else bytes_needed
        self._owners[key] = bases | {key}
        for owner in self._owners[key]:
            self._users[owner] = self._users.get(owner, 0) + 1
        self._held += self._bytes[key]
        self.peak = max(self.peak, self._held)

    def add_result(self, op: TracedOp, value: TracedValue) -> None:
        """Add the result of an op. One of a view or an assignment keeps the memory of the inputs."""
        if op.name not in VIEW_OPS and op.name != "assign":
            self.add(value)
            return
        bases = frozenset().union(*(self._owners.get(id(each), ()) for each in op.operands))
        self.nominal(value)  # checks the shape
        if op.name in ("assign", "expand", "unfold") or any(id(each) in self._expanded for each in op.operands):
            self._expanded.add(id(value))
        self.add(value, None if op.name in ("assign", "reshape") else 0, bases)

    def use(self, temporary: int) -> None:
        self.peak = max(self.peak, self._held + temporary)

    def use_more(self, held: int) -> None:
        self._held += held
        self.peak = max(self.peak, self._held)

    def release(self, key: int) -> None:
        for owner in self._owners.pop(key, ()):
            self._users[owner] -= 1
            if not self._users[owner]:
                self._held -= self._bytes[owner]


def _sized(spec: Spec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    shape = with_sizes(spec.shape, sizes)
    if min(shape, default=0) < 0:
        shown = ", ".join(f"{name} = {number}" for name, number in sizes.items())
        raise ValueError(f"a size of {format_shape(spec.shape)} is negative for {shown}")
    return shape


def _check_steps(op: TracedOp, sizes: Mapping[str, int]) -> None:
    """Raise ValueError for an op that computes too many steps one after the other."""
    operands = list(op.operands)
    if op.name.startswith("convolution") and len(operands) > 1:
        positions = count(_sized(operands[1].spec, sizes)[2:])
        if positions > _MAX_KERNEL:
            raise ValueError(f"{op.name} has {positions:,} kernel positions; at most {_MAX_KERNEL:,} are possible")
    if op.name in _STEPWISE or op.name in _ALONG:
        shape = _sized(operands[0].spec, sizes)
        steps = max(shape, default=0) if op.name in _ALONG or op.name == "linear_recurrence" else shape[0]
        if steps > _MAX_STEPS:
            raise ValueError(f"{op.name} has {steps:,} steps; at most {_MAX_STEPS:,} are possible")


def _workspace(op: TracedOp, memory: _Memory) -> int:
    """Temporary bytes of an op, beside its results."""
    if op.name in TRACE_OPS or op.name in VIEW_OPS:
        return 0
    operands = list(op.operands)
    kind = REGISTRY[op.name].kind
    if kind == "elementwise":
        return 0
    copied = sum(memory.nominal(each) for each in operands if kind == "reduce" or memory.is_expanded(each))
    windows = op.statics.get("windows")
    if isinstance(windows, SlidingWindows):
        return copied + _window_bytes(op, windows, memory)
    if op.name.startswith("convolution"):
        return copied + _convolution_bytes(op, memory)
    if op.name == "scaled_dot_product_attention":
        query, key = memory.shape(operands[0]), memory.shape(operands[1])
        return copied + count(query[:-1]) * key[-2] * operands[0].spec.dtype.itemsize
    return copied


def _window_bytes(op: TracedOp, windows: SlidingWindows, memory: _Memory) -> int:
    """Bytes of the padded input, or of the padded result of `col2im`."""
    [value] = op.operands
    found = op.outputs[0] if op.name == "col2im" else value
    shape = memory.shape(found)
    padded = count(size + 2 * p for size, p in zip(shape[2:], windows.padding, strict=True))
    windowed = sum(memory.nominal(each) for each in op.outputs)
    return count(shape[:2]) * padded * found.spec.dtype.itemsize + 2 * windowed


def _convolution_bytes(op: TracedOp, memory: _Memory) -> int:
    """Bytes of the padded input; of a transposed convolution, that of the convolution of the same sizes."""
    operands = list(op.operands)
    found = op.outputs[0] if op.name == "convolution_transpose" else operands[0]
    kernel, shape = memory.shape(operands[1])[2:], memory.shape(found)
    statics: Mapping[str, Any] = op.statics
    paddings = statics.get("padding", (0,) * len(kernel))
    dilations = statics.get("dilation", (1,) * len(kernel))
    padded = count(
        size + 2 * max(p, d * (k - 1) if found is not operands[0] else 0)
        for size, k, p, d in zip(shape[2:], kernel, paddings, dilations, strict=True)
    )
    return count(shape[:2]) * padded * found.spec.dtype.itemsize


__all__ = ["peak_bytes"]
