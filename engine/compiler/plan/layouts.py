"""In which steps the elements of each value lie, so that kernels can be made for them ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.graph import Node, Value
from engine.compiler.instruction import has_scalars
from engine.compiler.plan.steps import Decisions

Strides = tuple[int, ...]
"""In elements."""


def strides_of(decisions: Decisions) -> dict[Value, Strides]:
    """The strides of all values. What ops put into new memory counts as in C's order; plans see to that."""
    found: dict[Value, Strides] = {}
    for slot, value in decisions.graph.inputs.items():
        found[value] = tuple(step // value.dtype.itemsize for step in decisions.graph.forms[slot].strides)
    for step in decisions.steps:
        for value in step.outputs:
            view = isinstance(step, Node) and step.op.view and not has_scalars(step.statics)
            found[value] = _viewed(step, found) if isinstance(step, Node) and view else _in_order(value)
    return found


def _in_order(value: Value) -> Strides:
    steps, size = [], 1
    for length in reversed(value.shape):
        steps.append(size)
        size *= length
    return tuple(reversed(steps))


def _viewed(step: Node, known: dict[Value, Strides]) -> Strides:
    """Strides of a view, found by taking it of memory that is laid out alike and never touched."""
    base = step.values[0]
    array = _dummy(base, known[base])
    view: Any = step.op.kernel(np, array, **(step.statics or {}))
    return tuple(one // base.dtype.itemsize for one in view.strides)


def _dummy(value: Value, strides: Strides) -> Any:
    if 0 in value.shape:
        return np.empty(value.shape, value.dtype)
    reach = 1 + sum((size - 1) * abs(step) for size, step in zip(value.shape, strides, strict=True))
    memory = np.empty(reach, value.dtype)
    return np.lib.stride_tricks.as_strided(memory, value.shape, [step * value.dtype.itemsize for step in strides])


__all__ = ["Strides", "strides_of"]
