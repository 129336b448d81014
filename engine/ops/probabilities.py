"""Range check of probabilities. It is an op so that compiled steps run it as well."""

from __future__ import annotations

import math

import numpy as np

from engine.errors import RangeError
from engine.ops.record import op
from engine.shape import Spec

LEAST = math.exp(-100)
"""Smallest probability whose logarithm is computed: logarithms are clamped to -100, as in PyTorch."""


@op("other", method=False, public=False, sample=lambda s: [((abs(np.tanh(s.normal(3, 4))),), {})])
def smallest_probability(xp, x):
    """Smallest probability whose logarithm is computed, as a scalar in the dtype of x.

    Raises:
        RangeError: a number in x is NaN, less than 0 or greater than 1.
    """
    if x.size and not (x.min() >= 0 and x.max() <= 1):
        wrong = x[~((x >= 0) & (x <= 1))]
        raise RangeError(
            f"binary_cross_entropy: the input must be probabilities between 0 and 1, not {float(wrong[0]):.6g}. "
            "Apply a sigmoid first, or use binary_cross_entropy_with_logits."
        )
    return xp.asarray(LEAST, x.dtype)


@smallest_probability.shape
def _(x: Spec):
    return Spec((), x.dtype)
