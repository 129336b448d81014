"""Immutable copies of static arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

_UNCHANGING = frozenset((int, float, bool, str, type(None)))


def freeze_statics(statics: dict[str, Any]) -> dict[str, Any]:
    """`statics` with lists, arrays and 0-d tensors replaced by tuples and numbers.

    Gradients, views and captured steps read static arguments after the call. Later changes by the caller to a list or
    tensor must not affect them.
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
