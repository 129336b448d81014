"""The first op whose NaN or infinity reaches the loss or a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.graph import Node
from engine.nonfinite.finite_check import ValueRange, has_nan, is_finite, unobserved, value_range
from engine.nonfinite.nonfinite_trace import CallSite, NonfiniteTrace, TracedCall
from engine.tensors import Tensor

Source: TypeAlias = TracedCall | Tensor


@dataclass(frozen=True, slots=True)
class NonfiniteOrigin:
    """Where NaN or infinity arose."""

    kind: Literal["result", "gradient", "tensor"]
    """The result of an op, a gradient that it computes, or a tensor that no op of the step has made."""
    op: str
    """Name of the op; for a tensor, the first op that reads it."""
    value: Literal["NaN", "infinity"]
    site: CallSite | None
    forward_site: CallSite | None
    """For a gradient: where the op that it belongs to was called in the forward pass."""
    inputs: tuple[ValueRange, ...]
    """The tensors of the op, before it; for a tensor, that tensor."""
    elements: tuple[float, ...] = ()
    """For an elementwise op: its operands at the first element that is not finite, and the result."""
    tensor: Tensor | None = None
    """For the kind "tensor"."""
    leaves: tuple[Tensor, ...] = ()
    """For a gradient: the leaves that get it from the op."""
    receivers: tuple[CallSite, ...] = ()
    """For a gradient: the calls whose results it belongs to."""
    nan_at: CallSite | None = None
    """For an infinity: the call that made NaN of it, if one did."""


def find_nonfinite_origin(
    trace: NonfiniteTrace, losses: Iterable[Tensor], leaves: Iterable[Tensor], given: Iterable[Tensor] = ()
) -> NonfiniteOrigin | None:
    """The first call, in the order of execution, whose NaN or infinity reaches a loss or the gradient of a leaf.

    Infinities that a caller wrote, as in a mask, are no origin by themselves: the origin is the first op that makes NaN
    of them. Values that never reach a loss or gradient are ignored.

    Args:
        trace: recorded while the losses and the gradients were computed
        losses: if one is not finite, the origin of that is found, else that of the gradients
        leaves: parameters whose `.grad` was computed
        given: tensors that the step received, such as the batch; infinities in others may be there on purpose
    """
    leaves = list(leaves)
    wrong = [loss for loss in losses if not is_finite(loss)]
    made: list[TracedCall | None]
    if wrong:
        made = [trace.producer(loss) for loss in wrong]
    else:
        made = [trace.producer_of_gradient(leaf) for leaf in leaves]
    known = {id(each._storage) for each in (*leaves, *given)}
    found = _first_source([each for each in made if each is not None], known)
    if found is None:
        return None
    source, reader, nan_at = found
    if isinstance(source, Tensor):
        return _tensor_origin(source, reader)
    if source.node is None:
        return NonfiniteOrigin(
            "result", source.op, _word(source), source.site, None, source.inputs, source.elements, nan_at=nan_at
        )
    targets = [edge[0] for edge in source.node.edges if edge is not None]
    return NonfiniteOrigin(
        "gradient",
        source.op,
        _word(source),
        source.site,
        source.node.where if isinstance(source.node.where, CallSite) else None,
        source.inputs,
        source.elements,
        leaves=tuple(each for each in targets if isinstance(each, Tensor) and not is_finite(each.grad)),
        receivers=tuple(
            each.where
            for each in targets
            if isinstance(each, Node) and isinstance(each.where, CallSite) and trace.gradients_of(each)
        ),
        nan_at=nan_at,
    )


def _first_source(ends: list[TracedCall], known: set[int]) -> tuple[Source, TracedCall, CallSite | None] | None:
    """The earliest source of NaN or infinity before these calls, the call that reads or is it, and where NaN arose."""
    calls = _upstream(ends)
    only_constants: dict[int, bool] = {}
    """By call: whether all that reaches it are infinities that a caller wrote."""
    sources: list[tuple[int, Source, TracedCall]] = []
    written: list[tuple[int, Source, TracedCall]] = []
    for call in calls:
        before = [only_constants[each.index] for each in call.causes if isinstance(each, TracedCall)]
        tensors = [each for each in call.causes if isinstance(each, Tensor)]
        constants = [each for each in tensors if id(each._storage) not in known and not has_nan(each)]
        sources += [(call.index, each, call) for each in tensors if not any(each is other for other in constants)]
        written += [(call.index, each, call) for each in constants]
        is_written = call.is_source and call.is_constant
        if call.is_source:
            (written if is_written and not call.has_nan else sources).append((call.index, call, call))
        from_constants = all(before) and len(constants) == len(tensors) and (not call.is_source or is_written)
        if from_constants and call.has_nan and (call.makes_nan or call.is_source):
            sources.append((call.index, call, call))  # NaN of infinities that were written on purpose
            from_constants = False
        only_constants[call.index] = from_constants
    found = sources or written
    if not found:
        return None
    index, source, reader = min(found, key=lambda each: each[0])
    nan_at = None
    if isinstance(source, TracedCall) and not source.has_nan:
        nan_at = next((each.site for each in calls if each.index > index and each.makes_nan), None)
    return source, reader, nan_at


def _upstream(ends: list[TracedCall]) -> list[TracedCall]:
    """These calls and all that they depend on, in the order of execution."""
    found: dict[int, TracedCall] = {}
    pending = list(ends)
    while pending:
        call = pending.pop()
        if call.index not in found:
            found[call.index] = call
            pending += [each for each in call.causes if isinstance(each, TracedCall)]
    return [found[index] for index in sorted(found)]


def _tensor_origin(tensor: Tensor, reader: TracedCall) -> NonfiniteOrigin:
    with unobserved():
        values = value_range(tensor)
    word = "NaN" if values.nan else "infinity"
    forward = None if reader.node is None or not isinstance(reader.node.where, CallSite) else reader.node.where
    return NonfiniteOrigin("tensor", reader.op, word, reader.site, forward, (values,), tensor=tensor)


def _word(call: TracedCall) -> Literal["NaN", "infinity"]:
    return "NaN" if call.has_nan else "infinity"


__all__ = ["NonfiniteOrigin", "find_nonfinite_origin"]
