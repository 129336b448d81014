"""Check of probabilities, an op so that compiled steps run it too."""

from __future__ import annotations

import math

import numpy as np

from engine.errors import RangeError
from engine.ops.record import op
from engine.shape import Spec

LEAST = math.exp(-100)
"""Logarithms of probabilities stop at -100, as in PyTorch."""


@op("other", method=False, public=False, sample=lambda s: [((abs(np.tanh(s.normal(3, 4))),), {})])
def smallest_probability(xp, x):
    """The bound below which logarithms of the probabilities in x stop, as a scalar of its dtype.

    Raises:
        RangeError: a number in x is NaN, less than 0 or greater than 1.
    """
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        wrong = x[~((x >= 0) & (x <= 1))]
        raise RangeError(
            f"binary_cross_entropy: the input holds {float(wrong[0]):.6g}, but probabilities are between 0 and 1. "
            "Put a sigmoid before it, or use binary_cross_entropy_with_logits for scores."
        )
    return xp.asarray(LEAST, x.dtype)


@smallest_probability.shape
def _(x: Spec):
    return Spec((), x.dtype)
