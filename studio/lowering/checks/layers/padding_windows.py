"""Kernels that are so wide that most of their weights only ever meet padding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from engine.shape import format_shape
from studio.document.model import Json
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem

USUAL_KERNEL = 3
"""Kernels up to this size are usual on single pixels, too, as at the end of a deep network."""
LEAST_WASTE = 0.5
"""Share of the weights that meet padding alone, above which it is reported."""


def padding_window_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.group == "Convolution" and name in flow.graph.needed and name not in flow.graph.muted:
            yield from _problem(flow, name, facts)


def _problem(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    values, spec = facts.arguments.values, facts.spec(facts.type.inputs[0].name)
    if facts.outcome.failure or spec is None or spec.ndim < 3 or "Transpose" in facts.type.key:
        return
    sizes, count = spec.shape[2:], spec.ndim - 2
    kernel, padding, dilation, stride = (
        _per_dimension(values.get(param, 1), count) for param in ("kernel_size", "padding", "dilation", "stride")
    )
    if values.get("padding") == "same" and kernel is not None:
        padding = [size // 2 for size in kernel]
    if kernel is None or padding is None or stride is None or dilation is None or set(dilation) != {1}:
        return
    if max(kernel) <= USUAL_KERNEL or not all(isinstance(size, int) for size in sizes):
        return
    pixels = [int(cast("int", size)) for size in sizes]
    used = [_used(*each) for each in zip(kernel, pixels, padding, stride, strict=True)]
    waste = 1 - math.prod(used) / math.prod(kernel)
    if waste < LEAST_WASTE:
        return
    better = [min(size, USUAL_KERNEL, 2 * pixel - 1) for size, pixel in zip(kernel, pixels, strict=True)]
    text = "×".join(map(str, dict.fromkeys(better) if len(set(better)) == 1 else better))
    message = (
        f"{name} has a kernel of {format_shape(tuple(kernel))} for images of {format_shape(tuple(pixels))}, so "
        f"{waste:.0%} of its weights only meet padding. Set kernel_size to {text}, or pool less before it."
    )
    changes: dict[str, Json] = {"kernel_size": _param(better)}
    smaller = [pad - (size - new) // 2 for pad, size, new in zip(padding, kernel, better, strict=True)]
    if values.get("padding") != "same":
        changes["padding"] = _param(smaller)
    fix = quick_fixes.assign_all({name: changes}, f"Set kernel_size to {text}") if min(smaller) >= 0 else None
    evidence = {"kernel": list(kernel), "size": list(pixels), "share": round(waste, 3)}
    yield Problem("warning", "kernel-in-padding", message, node=name, fix=fix, evidence=evidence)


def _used(kernel: int, size: int, padding: int, stride: int) -> int:
    """The number of positions in a kernel that meet a value of the input for at least one output."""
    starts = range(-padding, size + padding - kernel + 1, stride)
    return sum(any(0 <= start + tap < size for start in starts) for tap in range(kernel))


def _per_dimension(value: Any, count: int) -> list[int] | None:
    if isinstance(value, int):
        return [value] * count
    if isinstance(value, (tuple, list)):
        return [int(each) for each in cast("tuple[Any, ...]", value)]
    return None


def _param(sizes: list[int]) -> Json:
    return sizes[0] if len(set(sizes)) == 1 else [*sizes]


__all__ = ["padding_window_problems"]
