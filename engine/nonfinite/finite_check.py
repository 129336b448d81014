"""Whether values are finite, and which inputs of an op explain that its result is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.backend import namespace
from engine.modes import MODES, no_grad
from engine.ops.op_executor import OP_EXECUTOR
from engine.ops.record import Op
from engine.tensors import Tensor

NEUTRAL = 1.0
"""What replaces NaN and infinity to find out whether they explain a result: no op makes NaN of this value alone."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """What a tensor held."""

    shape: tuple[int, ...]
    dtype: str
    low: float
    """Of the finite values; NaN if there is none."""
    high: float
    nan: int
    """Number of values that are NaN."""
    infinite: int

    def __str__(self) -> str:
        if not self.shape and not self.nan and not self.infinite:
            return f"{self.low:.6g}"
        parts = [f"{self.low:.4g} to {self.high:.4g}"] if self.low == self.low else []
        parts += [f"{self.nan:,} NaN"] if self.nan else []
        parts += [f"{self.infinite:,} infinite"] if self.infinite else []
        return ", ".join(parts) or "no values"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the result of an op is not finite."""

    causes: tuple[int, ...]
    """Inputs whose NaN or infinity is in the result."""
    is_source: bool
    """Whether NaN or infinity arises in the op itself, at least in one element."""
    is_constant: bool
    """Whether a number that the op was called with is NaN or infinite, as in a mask."""
    makes_nan: bool
    """Whether the op makes NaN of infinities."""


def numbers_of(value: Any) -> Any:
    """The array of a floating-point tensor with values; None for anything else."""
    if not isinstance(value, Tensor) or value.is_meta or not value.dtype.is_floating_point:
        return None
    array = value._numbers()
    return array if array.dtype.itemsize > 2 or array.dtype == np.float16 else array.astype("float32")


def is_finite(value: Any) -> bool:
    """Whether all values of a tensor are finite; true for anything else."""
    array = numbers_of(value)
    return array is None or bool(namespace(value.device).isfinite(array).all())


def has_nan(value: Any) -> bool:
    """Whether a tensor contains NaN."""
    array = numbers_of(value)
    return array is not None and bool((array != array).any())


def value_range(tensor: Tensor) -> ValueRange:
    """Range and number of NaN and infinite values of a floating-point tensor."""
    array = np.asarray(tensor.detach().cpu().double().numpy())
    finite = array[np.isfinite(array)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (float("nan"), float("nan"))
    nan = int(np.isnan(array).sum())
    return ValueRange(tuple(array.shape), tensor.dtype.name, low, high, nan, array.size - finite.size - nan)


def explain_result(
    op: Op, inputs: Sequence[Any], statics: Mapping[str, Any], outs: Sequence[Any], wrong: Sequence[int]
) -> Explanation:
    """Which inputs explain that a result is not finite.

    Elementwise ops are compared element by element. Other ops run again with 1 in place of NaN and infinity.

    Args:
        wrong: the inputs that are not finite
    """
    is_constant = any(isinstance(value, float) and value - value != 0 for value in (*inputs, *statics.values()))
    if not wrong:
        return Explanation((), True, is_constant, False)
    overwritten = any(inputs[index]._storage is outs[0]._storage and not op.view for index in wrong)
    if overwritten or op.view:
        return Explanation(tuple(wrong), False, is_constant, False)
    with unobserved():
        if op.kind == "elementwise" and len(outs) == 1:
            return _by_elements(op, inputs, outs[0], wrong, is_constant=is_constant)
        return _by_running(op, inputs, statics, outs, wrong, is_constant=is_constant)


@contextmanager
def unobserved() -> Iterator[None]:
    """Run ops without observer, autocast and autograd."""
    observer, autocast = MODES.observer, MODES.autocast
    MODES.observer = MODES.autocast = None
    try:
        with no_grad():
            yield
    finally:
        MODES.observer, MODES.autocast = observer, autocast


def _by_elements(op: Op, inputs: Sequence[Any], out: Tensor, wrong: Sequence[int], *, is_constant: bool) -> Explanation:
    result = _on_cpu(out)
    used = _used_elements(op, inputs, result.shape)
    unexplained, causes, makes_nan = ~np.isfinite(result), set[int](), False
    nan, operands = np.isnan(result), {index: _on_cpu(inputs[index]) for index in wrong}
    for target, test in ((nan, np.isnan), (nan, np.isinf), (np.isinf(result), _not_finite)):
        left = target & unexplained
        for index, values in operands.items():
            explained = left & np.broadcast_to(test(values), result.shape) & used.get(index, True)
            if explained.any():
                causes.add(index)
                unexplained &= ~explained
                makes_nan |= target is nan and test is np.isinf
    return Explanation(tuple(sorted(causes)), bool(unexplained.any()), is_constant, makes_nan)


def _used_elements(op: Op, inputs: Sequence[Any], shape: Any) -> dict[int, Any]:
    """The elements in which an input is used, for an op that chooses between its inputs."""
    if op.name != "where":
        return {}
    chosen = np.broadcast_to(np.asarray(inputs[0].detach().cpu().numpy(), bool), shape)
    return {1: chosen, 2: ~chosen}


def _by_running(
    op: Op,
    inputs: Sequence[Any],
    statics: Mapping[str, Any],
    outs: Sequence[Any],
    wrong: Sequence[int],
    *,
    is_constant: bool,
) -> Explanation:
    replaced = {index: _without_nonfinite(inputs[index]) for index in wrong}

    def finite_with(kept: int | None) -> bool:
        values = [value if index == kept else replaced.get(index, value) for index, value in enumerate(inputs)]
        try:
            found = OP_EXECUTOR.run(op, values, dict(statics))
        except Exception:  # noqa: BLE001 - such as a singular matrix: the values matter
            return True
        return all(is_finite(each) for each in (found if isinstance(found, tuple) else (found,)))

    is_source = not finite_with(None)
    causes = tuple(wrong) if len(wrong) == 1 else tuple(index for index in wrong if is_source or not finite_with(index))
    causes = causes or tuple(wrong)
    makes_nan = any(map(has_nan, outs)) and not any(has_nan(inputs[index]) for index in causes)
    return Explanation(causes, is_source, is_constant, makes_nan and not is_source)


def _without_nonfinite(tensor: Tensor) -> Tensor:
    return tensor.detach().where(tensor.isfinite(), NEUTRAL)


def _on_cpu(tensor: Tensor) -> Any:
    return tensor.detach().cpu().double().numpy()


def _not_finite(values: Any) -> Any:
    return ~np.isfinite(values)


__all__ = ["Explanation", "ValueRange", "explain_result", "has_nan", "is_finite", "unobserved", "value_range"]
