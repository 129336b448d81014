"""The names that PyTorch gives its graph nodes, for printing: ``grad_fn=<MmBackward0>``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Inputs: TypeAlias = Sequence[Any]
"""(shape, array dtype) of each input of the op; the number itself for a Python number."""

SAME: dict[str, str] = {
    "best_along": "Topk0", "between": "Clamp1", "choose": "Where0", "clamp_max": "Clamp1", "clamp_min": "Clamp1",
    "cast": "ToCopy0", "class_entropy": "NllLoss0", "det": "LinalgDet0", "drop": "Mul0", "gather_along": "Gather0",
    "gelu_with_slope": "Gelu0", "inv": "LinalgInvEx0", "narrow": "Slice0", "normalize_rows": "NativeLayerNorm0",
    "p_norm": "LinalgVectorNorm0", "reshape": "View0", "running_sum": "Cumsum0", "sorted_along": "Sort0",
    "deviation": "Std0", "square": "Pow0", "take_at": "Index0", "variance": "Var0",
}  # fmt: skip
"""Ops that are a node of another name in PyTorch."""


def _matmul(inputs: Inputs, statics: dict[str, Any]) -> str:
    (first, _), (second, _) = inputs
    return {(1, 1): "Dot0", (2, 1): "Mv0", (2, 2): "Mm0"}.get((len(first), len(second)), "UnsafeView0")


def _linear(inputs: Inputs, _: dict[str, Any]) -> str:
    has_bias = len(inputs) > 2 and inputs[2] is not None
    if len(inputs[0][0]) == 2:
        return "Addmm0" if has_bias else "Mm0"
    return "View0" if has_bias else "UnsafeView0"


def _slice(_: Inputs, statics: dict[str, Any]) -> str:
    """By the last thing that the index does."""
    done = [item for item in statics["index"] if item is not Ellipsis and item != slice(None)]
    last = done[-1] if done else slice(None)
    return "Unsqueeze0" if last is None else "Slice0" if isinstance(last, slice) else "Select0"


def _over_dimensions(name: str) -> Callable[[Inputs, dict[str, Any]], str]:
    return lambda _, statics: f"{name}{int(statics.get('dim') is not None)}"


def _of_dimensions(dim: Any) -> int:
    """PyTorch's number for a call without, with one, and with several dimensions."""
    return 0 if dim is None else 1 if isinstance(dim, int) else 2


def _power(inputs: Inputs, _: dict[str, Any]) -> str:
    of_numbers = [not isinstance(value, tuple) for value in inputs]
    return "Pow2" if of_numbers[0] else "Pow0" if of_numbers[1] else "Pow1"


BY_CALL: dict[str, Callable[[Inputs, dict[str, Any]], str]] = {
    "amax": lambda _, statics: "Max1" if statics.get("dim") is None else "Amax0",
    "amin": lambda _, statics: "Min1" if statics.get("dim") is None else "Amin0",
    "extreme": lambda _, statics: "Max0" if statics["largest"] else "Min0",
    "linear": _linear,
    "matmul": _matmul,
    "mean": _over_dimensions("Mean"),
    "pow": _power,
    "slice": _slice,
    "squeeze": lambda _, statics: f"Squeeze{_of_dimensions(statics.get('dim'))}",
    "sub": lambda inputs, _: "Sub0" if isinstance(inputs[0], tuple) else "Rsub1",
    "sum": _over_dimensions("Sum"),
}
"""Ops of which PyTorch makes different nodes."""


def node_name(op: str, inputs: Inputs, statics: dict[str, Any]) -> str:
    """What PyTorch calls the node of this call; where it has none, the op's own name in that form."""
    if op in BY_CALL:
        name = BY_CALL[op](inputs, statics)
    else:
        name = SAME.get(op) or "".join(part.capitalize() for part in op.split("_")) + "0"
    return f"{name[:-1]}Backward{name[-1]}"
