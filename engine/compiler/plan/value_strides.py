"""Strides of all values, which kernels need in advance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.compiler.instruction import has_scalars
from engine.compiler.ir import IRGraph, IRNode, IRValue
from engine.compiler.plan.fusion import PlanStep

Strides = tuple[int, ...]
"""Strides in elements."""


def value_strides(graph: IRGraph, steps: Sequence[PlanStep]) -> tuple[dict[IRValue, Strides], set[IRNode]]:
    """The strides of all values, and the nodes whose op usually returns a view but copies here.

    Results of other ops are C-ordered; plans ensure this.
    """
    found: dict[IRValue, Strides] = {}
    copies: set[IRNode] = set()
    for slot, value in graph.inputs.items():
        found[value] = tuple(step // value.dtype.itemsize for step in graph.forms[slot].strides)
    for step in steps:
        for value in step.outputs:
            if isinstance(step, IRNode) and step.op.view and not has_scalars(step.statics):
                found[value], is_copy = _view_strides(step, found)
                copies |= {step} if is_copy else set()
            else:
                found[value] = _contiguous_strides(value)
    return found, copies


def _contiguous_strides(value: IRValue) -> Strides:
    steps, size = [], 1
    for length in reversed(value.shape):
        steps.append(size)
        size *= length
    return tuple(reversed(steps))


def _view_strides(step: IRNode, strides_of: dict[IRValue, Strides]) -> tuple[Strides, bool]:
    """The strides of a view, computed on dummy memory; and whether the op copies."""
    base = step.values[0]
    array = _dummy(base, strides_of[base])
    view: Any = step.op.kernel(np, array, **(step.statics or {}))
    strides = tuple(one // view.itemsize for one in view.strides)
    return strides, view.size > 0 and not np.may_share_memory(view, array)


def _dummy(value: IRValue, strides: Strides) -> Any:
    if 0 in value.shape:
        return np.empty(value.shape, value.dtype)
    steps = [(size - 1) * step for size, step in zip(value.shape, strides, strict=True)]
    memory = np.empty(1 + sum(map(abs, steps)), value.dtype)
    first = -sum(step for step in steps if step < 0) * memory.itemsize
    return np.ndarray(value.shape, value.dtype, memory, first, [step * memory.itemsize for step in strides])


__all__ = ["Strides", "value_strides"]
