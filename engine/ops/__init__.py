"""The ops, one record each, by kind. Importing this package declares them all."""

from engine.ops import (
    activation,
    arithmetic,
    choice,
    comparison,
    conv,
    index,
    linalg,
    movement,
    normalization,
    pool,
    random,
    reduce,
    softmax,
    transcendental,
    update,
)
from engine.ops.record import COMPOSITES, REGISTRY, Op, composite, op, operators

__all__ = [
    "COMPOSITES",
    "REGISTRY",
    "Op",
    "activation",
    "arithmetic",
    "choice",
    "comparison",
    "composite",
    "conv",
    "index",
    "linalg",
    "movement",
    "normalization",
    "op",
    "operators",
    "pool",
    "random",
    "reduce",
    "softmax",
    "transcendental",
    "update",
]
