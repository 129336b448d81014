"""Static arguments as an op keeps them: values that the caller cannot change after the call."""

from __future__ import annotations

from typing import Any

import numpy as np

_UNCHANGING = frozenset((int, float, bool, str, type(None)))


def freeze_statics(statics: dict[str, Any]) -> dict[str, Any]:
    """`statics` with tuples and numbers in place of lists, arrays and tensors.

    Gradients, views and captured steps read them after the call. What the caller writes into a list, or adds to a
    tensor that counts, must not reach them.
    """
    for value in statics.values():
        kind = type(value)
        if kind in _UNCHANGING:
            continue
        if kind is not tuple:
            break
        for one in value:
            if type(one) not in _UNCHANGING:
                break
        else:
            continue
        break
    else:
        return statics
    return {name: _settled(value) for name, value in statics.items()}


def _settled(value: Any) -> Any:
    kind = type(value)
    if kind in _UNCHANGING:
        return value
    if kind is list or kind is tuple:
        return tuple(map(_settled, value))
    if isinstance(value, np.ndarray):
        return _settled(value.tolist())
    return value.item() if hasattr(value, "_storage") and not value.ndim else value
