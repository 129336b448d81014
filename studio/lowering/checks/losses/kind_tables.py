"""Kinds of values by the node that computes them: scores, probabilities, logarithms, and others with a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Noun: TypeAlias = Literal["unbounded scores", "probabilities", "log-probabilities", "values"]


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of values, with the range that contains them."""

    noun: Noun = "values"
    low: float = -math.inf
    high: float = math.inf

    @property
    def is_bounded(self) -> bool:
        return not math.isinf(self.low) or not math.isinf(self.high)

    @property
    def range(self) -> str:
        """The range in words: "at least 0", "from -1 to 1"."""
        if math.isinf(self.high):
            return "of any size" if math.isinf(self.low) else f"of at least {self.low:.3g}"
        return f"of at most {self.high:.3g}" if math.isinf(self.low) else f"from {self.low:.3g} to {self.high:.3g}"


SCORES = ValueKind("unbounded scores")
PROBABILITIES = ValueKind("probabilities", 0, 1)
LOG_PROBABILITIES = ValueKind("log-probabilities", high=0)
UNLIMITED = ValueKind()
POSITIVE = ValueKind(low=0)
SYMMETRIC = ValueKind(low=-1, high=1)

SQUASHING: Mapping[str, str] = {
    "nn.Softmax": "softmax",
    "nn.Softmax2d": "softmax",
    "nn.Softmin": "softmin",
    "nn.LogSoftmax": "log-softmax",
    "nn.Sigmoid": "a sigmoid",
    "nn.Hardsigmoid": "a sigmoid",
    "nn.LogSigmoid": "a log-sigmoid",
}
"""Activations that make probabilities or their logarithms of scores, in words."""

OVER_CLASSES = frozenset({"nn.Softmax", "nn.Softmax2d", "nn.Softmin", "nn.LogSoftmax"})
"""Those whose outputs depend on the scores of all classes."""

KINDS: Mapping[str, ValueKind] = {
    **dict.fromkeys(("nn.Softmax", "nn.Softmax2d", "nn.Softmin", "nn.Sigmoid", "nn.Hardsigmoid"), PROBABILITIES),
    **dict.fromkeys(("nn.LogSoftmax", "nn.LogSigmoid"), LOG_PROBABILITIES),
    **dict.fromkeys(("nn.ReLU", "nn.Softplus", "ops.abs", "ops.square", "ops.exp", "ops.exp2", "ops.sqrt"), POSITIVE),
    **dict.fromkeys(("nn.Tanh", "nn.Softsign", "ops.sin", "ops.cos", "ops.sign"), SYMMETRIC),
    **dict.fromkeys(("nn.LeakyReLU", "nn.PReLU", "nn.RReLU", "nn.Hardshrink", "nn.Softshrink"), UNLIMITED),
    "nn.ReLU6": ValueKind(low=0, high=6),
    "nn.GELU": ValueKind(low=-0.17),
    "nn.SiLU": ValueKind(low=-0.28),
    "nn.Mish": ValueKind(low=-0.31),
    "nn.Hardswish": ValueKind(low=-0.375),
    "nn.SELU": ValueKind(low=-1.76),
}
"""Kinds of values by the type of the node that computes them."""

__all__ = [
    "KINDS",
    "LOG_PROBABILITIES",
    "OVER_CLASSES",
    "POSITIVE",
    "PROBABILITIES",
    "SCORES",
    "SQUASHING",
    "SYMMETRIC",
    "UNLIMITED",
    "ValueKind",
]
