"""Computes traced ops with the engine, at given sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from engine.modes import MODES, no_grad
from engine.ops.record import REGISTRY
from engine.shape import Dim, Size, Spec
from engine.tensors import Tensor
from engine.tensors.creation import arange, full
from engine.tracing.traced_graph import TracedOp


@contextmanager
def plain_computation() -> Iterator[None]:
    """Context that records no gradients, and in which autocast is off: a trace contains its casts."""
    outer = MODES.autocast
    MODES.autocast = None
    try:
        with no_grad():
            yield
    finally:
        MODES.autocast = outer


def evaluate(op: TracedOp, inputs: Sequence[Any], sizes: Mapping[str, int]) -> tuple[Tensor, ...]:
    """The results of a traced op, in the dtypes of the trace.

    Args:
        op: the op; not a layer
        inputs: tensors in place of traced values, and numbers
        sizes: numbers of the symbolic sizes
    """
    found = _results(op, [with_sizes(each, sizes) for each in inputs], sizes)
    return tuple(result.to(traced.spec.dtype) for traced, result in zip(op.outputs, found, strict=True))


def _results(op: TracedOp, inputs: list[Any], sizes: Mapping[str, int]) -> tuple[Tensor, ...]:
    statics: dict[str, Any] = with_sizes(dict(op.statics), sizes)
    if op.name in ("fill", "empty"):
        return (full(statics["shape"], statics.get("value", 0), dtype=op.outputs[0].spec.dtype),)
    if op.name == "arange":
        return (arange(statics["length"]),)
    if op.name == "assign":
        shape = with_sizes(op.outputs[0].spec.shape, sizes)
        value = inputs[1]
        return (value.expand(shape) if isinstance(value, Tensor) else full(shape, value),)
    record = REGISTRY[op.name]
    found = record.function(tuple(inputs), **statics) if record.variadic else record.function(*inputs, **statics)
    return found if isinstance(found, tuple) else (found,)


def with_sizes(value: Any, sizes: Mapping[str, int]) -> Any:
    """A value with numbers in place of symbolic sizes."""
    if isinstance(value, Dim):
        return value.evaluate(sizes)
    if isinstance(value, slice):
        return slice(*(with_sizes(each, sizes) for each in (value.start, value.stop, value.step)))
    if type(value) in (tuple, list, Size):
        return type(value)(with_sizes(each, sizes) for each in value)
    if isinstance(value, dict):
        return {name: with_sizes(each, sizes) for name, each in value.items()}
    return value


def named_sizes(pairs: Iterable[tuple[Spec, Sequence[int]]]) -> dict[str, int]:
    """Numbers of the symbols in the shapes of inputs, from the shapes of arrays."""
    found: dict[str, int] = {}
    for spec, shape in pairs:
        found |= {str(size): number for size, number in zip(spec.shape, shape, strict=True) if isinstance(size, Dim)}
    return found


__all__ = ["evaluate", "named_sizes", "plain_computation", "with_sizes"]
