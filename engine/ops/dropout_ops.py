"""Random ops. Counters are reserved before the call, so that eager, compiled, CPU and GPU draw the same numbers."""

from __future__ import annotations

from typing import Any

from engine import random
from engine.dtypes import bool_
from engine.ops.elementwise.update import clone
from engine.ops.record import op
from engine.random.philox import State, keep_mask
from engine.shape import Spec, count


@op(
    "other",
    method=False,
    random=True,
    outputs=2,
    sample=lambda s: [((s.normal(3, 4),), {"p": 0.5, "state": State(0, 0, 0)})],
)
def dropout_op(xp, x, p: float, state: State):
    """x / (1 − p) with probability 1 − p, else 0, drawn at counter `state`; and the mask of the kept elements."""
    keep = dropout_mask.kernel(xp, x, p, state)
    return _scaled(xp, x, keep, p), keep


@dropout_op.shape
def _(x: Spec, p: float, state: State):
    return x, Spec(x.shape, bool_)


@dropout_op.gradient
def _(g, out1, p):
    return masked_scale(g[0], out1, p=p)


@op("other", method=False, public=False, random=True, sample=lambda s: [
    ((s.normal(3, 4),), {"p": 0.5, "state": State(0, 0, 0)}),
])  # fmt: skip
def dropout_mask(xp, x, p: float, state: State):
    """Mask of the elements that `dropout` keeps in a tensor of the shape of x."""
    return xp.asarray(keep_mask(state, x.size, p).reshape(x.shape))


@dropout_mask.shape
def _(x: Spec, p: float, state: State):
    return Spec(x.shape, bool_)


@op("other", method=False, sample=lambda s: [((s.normal(3, 4), s.booleans(3, 4)), {"p": 0.5})])
def masked_scale(xp, x, keep, p: float):
    """x / (1 − p) where `keep` is true, else 0."""
    return _scaled(xp, x, keep, p)


@masked_scale.shape
def _(x: Spec, keep: Spec, p: float):
    return x


@masked_scale.gradient("x")
def _(g, keep, p):
    return masked_scale(g, keep, p=p)


def _scaled(xp: Any, x: Any, keep: Any, p: float) -> Any:
    out = xp.multiply(x, keep)
    out *= 1 / (1 - p) if p < 1 else 0.0
    return out


def dropout(x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None) -> Any:
    """Zero elements with probability p and scale the others by 1 / (1 − p), only in training.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be a probability between 0 and 1, not {p}")
    if not training or p == 0:
        return clone(x) if training else x
    if x.is_meta:
        state = State(0, 0, 0)
    else:
        state = (generator or random.default_generator).reserve(-(-count(x.shape) // 2))
    return dropout_op(x, p=p, state=state)[0]
