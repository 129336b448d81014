"""Time steps, previous states and second gradients of the recurrent layers.

A layer is one op over all time steps, with kernels for forward and backward. As a composition each step takes about
fifteen ops, whose overhead and temporaries take three times as long as the arithmetic (docs/decisions). Only second
gradients use a composition: the layer is run again in differentiable ops.

Sequences of different lengths are sorted by length, longest first. `batch_sizes` is the number of sequences at each
time step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.ops.movement.primitives import cat

BatchSizes: TypeAlias = tuple[int, ...] | None


@dataclass(slots=True)
class Differentiation:
    """The function that differentiates a composition. `engine.nn.functional` sets it, as ops cannot import autograd."""

    grad: Callable[..., Any] | None = None


DIFFERENTIATION = Differentiation()


def composition_gradients(
    composition: Callable[..., Any], inputs: Sequence[Any], statics: dict[str, Any], gradients: Sequence[Any]
) -> list[Any]:
    """Differentiable gradients of `composition(*inputs, **statics)` for its inputs; None for inputs without gradient.

    Args:
        gradients: gradients of the outputs, or None
    """
    differentiable = [x for x in inputs if x is not None and x.requires_grad]
    outputs = composition(*inputs, **statics)
    pairs = [(out, g) for out, g in zip(outputs, gradients, strict=True) if g is not None and out.requires_grad]
    assert DIFFERENTIATION.grad is not None
    results = iter(
        DIFFERENTIATION.grad(
            [out for out, _ in pairs], differentiable, [g for _, g in pairs], create_graph=True, allow_unused=True
        )
    )
    return [next(results) if x is not None and x.requires_grad else None for x in inputs]


def steps(length: int, batch: Any, batch_sizes: BatchSizes, reverse: bool) -> Iterator[tuple[int, Any]]:
    """Time index and number of sequences of each step, in the order of computation."""
    order = range(length - 1, -1, -1) if reverse else range(length)
    return ((t, batch if batch_sizes is None else batch_sizes[t]) for t in order)


def previous_states(xp: Any, states: Any, first: Any, batch_sizes: BatchSizes, reverse: bool) -> Any:
    """The state before each step, T×N×H, from the states after each step and the initial state."""
    result = xp.zeros((*states.shape[:2], first.shape[-1]), first.dtype)
    length = states.shape[0]
    for t, size in steps(length, states.shape[1], batch_sizes, reverse):
        neighbor = t + 1 if reverse else t - 1
        if not 0 <= neighbor < length:
            result[t, :size] = first[:size]
            continue
        continuing = size if batch_sizes is None else min(size, batch_sizes[neighbor])
        result[t, :continuing] = states[neighbor, :continuing]
        result[t, continuing:size] = first[continuing:size]
    return result


def run_cell(
    cell: Callable[..., tuple[Any, ...]], gates: Any, states: tuple[Any, ...], batch_sizes: BatchSizes, reverse: bool
) -> tuple[Any, ...]:
    """Run a layer as a composition.

    `cell(gates at t, *states)` returns the new states. The first state is the result of the step.
    """
    length, batch = gates.shape[:2]
    results: dict[int, Any] = {}
    for t, size in steps(length, batch, batch_sizes, reverse):
        if batch_sizes is None:
            states = cell(gates[t], *states)
            results[t] = states[0]
            continue
        new = cell(gates[t, :size], *(state[:size] for state in states))
        states = tuple(cat([a, b[size:]]) for a, b in zip(new, states, strict=True))
        results[t] = cat([new[0], new[0].new_zeros((batch - size, new[0].shape[-1]))])
    joined = cat([results[t].unsqueeze(0) for t in range(length)])
    return joined, *states
