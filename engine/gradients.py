"""Gradients as a function: `engine.grad`, without touching `.grad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import autograd
from engine.errors import AutogradError
from engine.tensor import Tensor, _seed


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`, one for each.

    Raises AutogradError for an input that the outputs do not depend on, unless `allow_unused`.
    """
    outs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    seeds = (
        (None,) * len(outs)
        if grad_outputs is None
        else (grad_outputs,)
        if isinstance(grad_outputs, Tensor)
        else grad_outputs
    )
    roots: list[tuple[Any, Any]] = []
    for out, seed in zip(outs, seeds, strict=True):
        if out.edge is None:
            raise AutogradError("grad(): an output does not require gradients: no input leads to it")
        roots.append((out.edge, _seed(out, seed)))
    edges: list[Any] = [tensor.edge for tensor in ins]
    if None in edges:
        raise AutogradError(
            f"grad(): input {edges.index(None)} does not require gradients. Call requires_grad_() on it first."
        )
    keep = create_graph if retain_graph is None else retain_graph
    found = autograd.run_backward(roots, retain_graph=keep, create_graph=create_graph, inputs=edges)
    for number, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise AutogradError(
                f"grad(): the outputs do not depend on input {number}. Pass allow_unused=True to get None for it."
            )
    return tuple(found)
