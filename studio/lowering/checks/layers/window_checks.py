"""Windows of convolutions and pooling that are larger than their input."""

from __future__ import annotations

from typing import Any

from engine.shape import format_shape
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.parameter_causes import shrinking
from studio.lowering.checks.parameters.parameter_trials import Trial, first_that_works, of, same_padding
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem

USUAL_KERNEL = 3


def window_beyond_input(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A window that does not fit into the image or sequence at its node."""
    kernel: Any = facts.arguments.values.get("kernel_size")
    port = facts.type.inputs[0].name if facts.type.inputs else ""
    spec = facts.spec(port)
    if facts.type.group not in ("Convolution", "Pooling") or kernel is None or spec is None or spec.ndim < 3:
        return None
    sizes = spec.shape[2:]
    dilation: Any = facts.arguments.values.get("dilation") or 1
    windows = [
        each * (size - 1) + 1
        for size, each in zip(_per_dimension(kernel, len(sizes)), _per_dimension(dilation, len(sizes)), strict=False)
    ]
    pairs = list(zip(windows, sizes, strict=False))
    if len(pairs) != len(sizes) or not any(isinstance(size, int) and size < window for window, size in pairs):
        return None
    fix, advice = _remedy(flow, name, facts, min(size for size in sizes if isinstance(size, int)))
    if fix is None:
        return None
    path = shrinking(flow, name, facts)
    reason = f" The size changes from {path}." if path else ""
    end = flow.graph.source(name, port)
    message = (
        f"{name} needs at least {format_shape(tuple(windows))} values in each channel but gets "
        f"{format_shape(sizes)} from {'its input' if end is None else end.node}.{reason} {advice}."
    )
    evidence = {"window": windows, "size": [size if isinstance(size, int) else None for size in sizes]}
    return Problem("error", "window-too-large", message, node=name, port=port, fix=fix, evidence=evidence)


def _remedy(flow: Dataflow, name: str, facts: NodeFacts, size: int) -> tuple[Fix | None, str]:
    """The removal of a layer that pools single values, a smaller window, or padding."""
    values = facts.arguments.values
    if facts.type.group == "Pooling" and size <= 1:
        fix = quick_fixes.bypass(name, facts.type.inputs[0].name)
        return fix, fix.title
    padding = same_padding(values)
    trials: list[Trial] = []
    if padding is not None and padding != values.get("padding") and facts.type.group == "Convolution":
        trials.append(of(name, padding=padding))
    smaller = [of(name, kernel_size=each) for each in (min(USUAL_KERNEL, size), size)]
    is_oversized = max(_per_dimension(values["kernel_size"], 1)) > 2 * USUAL_KERNEL
    trials = [*smaller, *trials] if is_oversized or not trials else [*trials, *smaller]
    if facts.type.group == "Pooling":
        trials = [of(name, kernel_size=size)]
    trial = first_that_works(flow, name, trials)
    return (None, "") if trial is None else (trial.fix, trial.advice.rstrip("."))


def _per_dimension(value: Any, count: int) -> list[int]:
    """A size for each dimension."""
    return list(value) if isinstance(value, (tuple, list)) else [value] * count  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


__all__ = ["window_beyond_input"]
