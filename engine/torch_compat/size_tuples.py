"""torch.nn.modules.utils: sizes that may be given as one number for all dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _ntuple(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def repeat(value: Any) -> tuple[Any, ...]:
        """Repeat a value for each dimension; return a list or tuple as a tuple."""
        return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count

    return repeat


_single, _pair, _triple, _quadruple = map(_ntuple, (1, 2, 3, 4))
