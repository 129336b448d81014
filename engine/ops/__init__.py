"""The ops, one record each, by kind. Importing this package declares them all."""

from engine.ops import conv, elementwise, index, linalg, movement, normalization, pool, random, reduce, softmax
from engine.ops.record import COMPOSITES, REGISTRY, Op, composite, op, operators

__all__ = [
    "COMPOSITES",
    "REGISTRY",
    "Op",
    "composite",
    "conv",
    "elementwise",
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
]
