"""torch.utils.data: alias of `engine.data`."""

from __future__ import annotations

from engine import data
from engine.data import *  # noqa: F403  (the same `__all__`)

__all__ = data.__all__  # pyright: ignore[reportUnsupportedDunderAll]
