"""The elements of several tensors in one vector."""

from __future__ import annotations

from engine.ops.record import op
from engine.shape import Spec, count


@op(
    "movement",
    method=False,
    public=False,
    promotes=True,
    sample=lambda s: [((s.normal(2, 3), s.normal(), s.normal(4)), {})],
)
def join_elements(xp, *tensors):
    """All elements of the tensors, one tensor after the other."""
    return xp.concatenate(tensors, axis=None)


@join_elements.shape
def _(*tensors: Spec):
    return (sum(count(x.shape) for x in tensors),)


@join_elements.gradient
def _(g, tensors: Spec):
    start, pieces = 0, []
    for spec in tensors:  # pyright: ignore[reportGeneralTypeIssues]
        size = count(spec.shape)
        pieces.append(g.narrow(0, start, size).reshape(spec.shape))
        start += size
    return tuple(pieces)


__all__ = ["join_elements"]
