"""Compares a traced graph with its model at small sizes.

Code such as ``if x.shape[0] == 1`` is decided once while a model is traced, for a symbolic size. The outputs of the
graph would silently differ for that size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.ops.movement.primitives import cat
from engine.shape import Dim, Spec
from engine.tensors import Tensor
from engine.tracing.differences import TOLERANCE, difference
from engine.tracing.errors import TraceError

FAILURES = (
    *(EngineError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError),
    *(RuntimeError, MemoryError),
)
"""What ops raise for arguments that do not fit."""
_SIZES = (1, 2)
Runner = Callable[[Sequence[Tensor]], Sequence[NDArray[Any]]]


def compare_small_sizes(
    exported: Runner,
    model: Runner,
    specs: Sequence[Spec],
    sample: Sequence[Tensor],
    names: Sequence[str],
    error_type: type[TraceError] = TraceError,
) -> None:
    """Compare outputs with 1 and 2 in place of each symbolic size. Sizes that one of both refuses are left out.

    Args:
        exported: computes the outputs of the graph
        model: computes the outputs of the model
        specs: shapes of the inputs, with symbolic sizes
        sample: inputs, whose rows are used
        names: names of the outputs
        error_type: error to raise

    Raises:
        TraceError: an output differs.
    """
    symbols = sorted({str(size) for spec in specs for size in spec.shape if isinstance(size, Dim)})
    for symbol, number in product(symbols, _SIZES):
        try:
            inputs = [_resized(tensor, spec, symbol, number) for tensor, spec in zip(sample, specs, strict=True)]
            expected, found = model(inputs), exported(inputs)
        except FAILURES:
            continue
        for name, ours, theirs in zip(names, found, expected, strict=False):
            if len(found) != len(expected) or difference(_with_shape_of(ours, theirs), theirs)[1] > TOLERANCE:
                reason = f"for {symbol} = {number}, {name} of the exported graph differs from that of the model"
                raise error_type(
                    f"{reason[0].upper()}{reason[1:]}. Code that compares sizes, such as `if x.shape[0] == 1`, is "
                    f"decided once while a model is traced. Remove the comparison, or export {symbol} as a fixed size.",
                    reason=reason,
                )


def _resized(tensor: Tensor, spec: Spec, symbol: str, number: int) -> Tensor:
    """The first elements along each dimension of a symbolic size; repeated if there are fewer."""
    for axis, size in enumerate(spec.shape):
        if isinstance(size, Dim) and str(size) == symbol:
            repeats = -(-number // tensor.shape[axis])
            tensor = cat([tensor] * repeats, axis).narrow(axis, 0, number)
    return tensor


def _with_shape_of(found: NDArray[Any], expected: NDArray[Any]) -> NDArray[Any]:
    """`found`, without dimensions of one element that the model removes, as by `squeeze()` of a single row."""
    is_same = np.squeeze(found).shape == np.squeeze(expected).shape
    return found.reshape(expected.shape) if is_same else found


__all__ = ["FAILURES", "compare_small_sizes"]
