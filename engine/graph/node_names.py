"""PyTorch's names of autograd nodes: ``grad_fn=<MmBackward0>``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Inputs: TypeAlias = Sequence[Any]
"""(shape, array dtype) of each input of the op; a Python number is stored as the number."""

PYTORCH_NAMES: dict[str, str] = {
    "assign": "CopyBackwards", "batch_norm": "NativeBatchNorm0", "cast": "ToCopy0", "clamp": "Clamp1",
    "clamp_max": "Clamp1", "clamp_min": "Clamp1", "convolution_transpose": "Convolution0", "copy_slices": "CopySlices",
    "cross_entropy": "NllLoss0", "det": "LinalgDet0", "dropout": "Mul0", "erfcx": "SpecialErfcx0",
    "euclidean_dist": "EuclideanDist0", "i0e": "SpecialI0E0", "i1": "SpecialI10", "i1e": "SpecialI1E0",
    "inv": "LinalgInvEx0", "layer_norm": "NativeLayerNorm0", "matrix_exp": "LinalgMatrixExp0", "narrow": "Slice0",
    "reshape": "View0", "square": "Pow0", "to_device": "ToCopy0", "zeta": "SpecialZeta0",
}  # fmt: skip
"""Ops whose PyTorch node has another name. A name that ends in a digit becomes `NAMEBackwardDIGIT`."""


def _matmul(inputs: Inputs, statics: dict[str, Any]) -> str:
    (first, _), (second, _) = inputs
    return {(1, 1): "Dot0", (2, 1): "Mv0", (2, 2): "Mm0"}.get((len(first), len(second)), "UnsafeView0")


def _linear(inputs: Inputs, _: dict[str, Any]) -> str:
    has_bias = len(inputs) > 2 and inputs[2] is not None
    if len(inputs[0][0]) == 2:
        return "Addmm0" if has_bias else "Mm0"
    return "View0" if has_bias else "UnsafeView0"


def _slice(_: Inputs, statics: dict[str, Any]) -> str:
    """Return the name for the last step of the index."""
    steps = [item for item in statics["index"] if item is not Ellipsis and item != slice(None)]
    last = steps[-1] if steps else slice(None)
    return "Unsqueeze0" if last is None else "Slice0" if isinstance(last, slice) else "Select0"


def _over_dimensions(name: str) -> Callable[[Inputs, dict[str, Any]], str]:
    return lambda _, statics: f"{name}{int(statics.get('dim') is not None)}"


def _with_tensor(name: str) -> Callable[[Inputs, dict[str, Any]], str]:
    """Append 0 if the second operand is a number, 1 if it is a tensor."""
    return lambda inputs, _: f"{name}{int(not _is_number(inputs[1]))}"


def _is_number(value: Any) -> bool:
    return not isinstance(value, tuple)


def _of_dimensions(dim: Any) -> int:
    """Return PyTorch's digit for a call with no, one or several dimensions."""
    return 0 if dim is None else 1 if isinstance(dim, int) else 2


def _power(inputs: Inputs, _: dict[str, Any]) -> str:
    are_numbers = [not isinstance(value, tuple) for value in inputs]
    return "Pow2" if are_numbers[0] else "Pow0" if are_numbers[1] else "Pow1"


BY_CALL: dict[str, Callable[[Inputs, dict[str, Any]], str]] = {
    "amax": lambda _, statics: "Max1" if statics.get("dim") is None else "Amax0",
    "amin": lambda _, statics: "Min1" if statics.get("dim") is None else "Amin0",
    "cummax_or_cummin": lambda _, statics: "Cummax0" if statics["largest"] else "Cummin0",
    "elu": lambda _, statics: "Elu0" if statics["width"] == 1 else "Celu0",
    "fmod": _with_tensor("Fmod"),
    "lerp": lambda inputs, _: f"Lerp{int(isinstance(inputs[2], tuple))}",
    "linear": _linear,
    "matmul": _matmul,
    "max_or_min": lambda _, statics: "Max0" if statics["largest"] else "Min0",
    "max_pool_with_indices": lambda inputs, _: f"MaxPool{max(len(inputs[0][0]) - 2, 2)}DWithIndices0",
    "mean": _over_dimensions("Mean"),
    "pow": _power,
    "prod": _over_dimensions("Prod"),
    "remainder": _with_tensor("Remainder"),
    "round": lambda _, statics: f"Round{int(statics['decimals'] != 0)}",
    "slice": _slice,
    "squeeze": lambda _, statics: f"Squeeze{_of_dimensions(statics.get('dim'))}",
    "sub": lambda inputs, _: "Sub0" if isinstance(inputs[0], tuple) else "Rsub1",
    "sum": _over_dimensions("Sum"),
    "xlogy": lambda inputs, _: "Xlogy1" if not isinstance(inputs[0], tuple) else f"Xlogy{_is_number(inputs[1]) * 2}",
}
"""Ops with several PyTorch nodes: the name depends on the inputs and static arguments."""


def node_name(op: str, inputs: Inputs, statics: dict[str, Any]) -> str:
    """Return PyTorch's name of the node of a call. Ops that PyTorch lacks get a name in the same form."""
    if op in BY_CALL:
        name = BY_CALL[op](inputs, statics)
    else:
        name = (
            PYTORCH_NAMES.get(op)
            or "".join(_WORD.sub(lambda match: match[0].upper(), part) for part in op.split("_")) + "0"
        )
    return f"{name[:-1]}Backward{name[-1]}" if name[-1].isdigit() else name


_WORD = re.compile(r"^[a-z]|(?<=\d)[a-z]")
"""Letters that PyTorch capitalizes: first letters of words and letters after a digit, as in `Log1PBackward0`."""
