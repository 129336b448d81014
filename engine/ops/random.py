"""Random ops. Counters are reserved before the call, so that eager, compiled, CPU and GPU draw the same numbers."""

from __future__ import annotations

from typing import Any

from engine import random
from engine.ops.record import op
from engine.ops.update import clone
from engine.shape import Spec, count


@op(
    "other",
    method=False,
    random=True,
    sample=lambda s: [((s.normal(3, 4),), {"p": 0.5, "state": random.State(0, 0, 0)})],
)
def keep_mask(xp, x, p: float, state: random.State):
    """1 / (1 − p) with probability 1 − p, else 0, in x's shape and dtype, from the counters at `state`."""
    keep = random.kept(state, x.size, p).reshape(x.shape)
    return xp.multiply(xp.asarray(keep), 1 / (1 - p) if p < 1 else 0.0, dtype=x.dtype)


@keep_mask.shape
def _(x: Spec, p: float, state: random.State):
    return x


def dropout(x: Any, p: float = 0.5, training: bool = True, generator: random.Generator | None = None) -> Any:
    """Zeroes elements with probability p and scales the rest by 1 / (1 − p); only while training.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be a probability between 0 and 1, not {p}")
    if not training or p == 0:
        return clone(x) if training else x
    if x.is_meta:
        state = random.State(0, 0, 0)
    else:
        state = (generator or random.default_generator).reserve(-(-count(x.shape) // 2))
    return x * keep_mask(x.detach(), p=p, state=state)
