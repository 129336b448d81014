"""What the recurrent layers share: the steps in their order, and gradients of gradients.

A layer runs over all its steps in one op, with kernels for both ways: as a composition a step costs fifteen ops, and
their overhead and temporaries three times the time of the arithmetic (docs/decisions). Only the second gradient is
composed: the layer is run again in ops, and those are differentiated.

Sequences of different lengths are sorted by length, longest first; `batch_sizes` says how many there are at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.dtypes import DType, uint8
from engine.ops.movement.primitives import cat
from engine.shape import Spec

BatchSizes: TypeAlias = tuple[int, ...] | None


@dataclass(slots=True)
class Differentiation:
    """Who differentiates a composition: filled in by `engine.nn.functional`, which may use autograd."""

    grad: Callable[..., Any] | None = None


DIFFERENTIATION = Differentiation()


def derived(
    composed: Callable[..., Any], inputs: Sequence[Any], statics: dict[str, Any], gradients: Sequence[Any]
) -> list[Any]:
    """The inputs' gradients, with history, of `composed(*inputs, **statics)`, whose outputs have these `gradients`."""
    wanted = [x for x in inputs if x is not None and x.requires_grad]
    outputs = composed(*inputs, **statics)
    pairs = [(out, g) for out, g in zip(outputs, gradients, strict=True) if g is not None and out.requires_grad]
    assert DIFFERENTIATION.grad is not None
    found = iter(
        DIFFERENTIATION.grad(
            [out for out, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True
        )
    )
    return [next(found) if x is not None and x.requires_grad else None for x in inputs]


def steps(length: int, batch: Any, batch_sizes: BatchSizes, reverse: bool) -> Iterator[tuple[int, Any]]:
    """Each step's position in time and how many sequences it has, in the order of the computation."""
    order = range(length - 1, -1, -1) if reverse else range(length)
    return ((t, batch if batch_sizes is None else batch_sizes[t]) for t in order)


def previous(xp: Any, states: Any, first: Any, batch_sizes: BatchSizes, reverse: bool) -> Any:
    """The state before each step, T×N×H, from those after each step and the first."""
    found = xp.zeros((*states.shape[:2], first.shape[-1]), first.dtype)
    length = states.shape[0]
    for t, size in steps(length, states.shape[1], batch_sizes, reverse):
        before = t + 1 if reverse else t - 1
        if not 0 <= before < length:
            found[t, :size] = first[:size]
            continue
        known = size if batch_sizes is None else min(size, batch_sizes[before])
        found[t, :known] = states[before, :known]
        found[t, known:size] = first[known:size]
    return found


def stepped(
    cell: Callable[..., tuple[Any, ...]], gates: Any, states: tuple[Any, ...], batch_sizes: BatchSizes, reverse: bool
) -> tuple[Any, ...]:
    """A layer as a composition: `cell(gates at t, *states)` returns the new states; the first one is the result."""
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


def flat(array: Any) -> Any:
    """T×N×H as rows."""
    return array.reshape(-1, array.shape[-1])


def as_bytes(x: Spec) -> Spec:
    """The memory of `x`'s rows."""
    return Spec((*x.shape[:-1], x.shape[-1] * computed_size(x.dtype)), uint8)


def computed_size(dtype: DType) -> int:
    """Bytes of a number in kernels, which see bfloat16 as float32."""
    return dtype.itemsize if dtype.numpy.kind == "f" else 4
