"""The states that `panel_states.py` makes pictures of: a function for each, which brings a new window into it."""

from __future__ import annotations

# Each module registers its states. Their order is that of the pictures.
from window_states import (  # noqa: F401
    canvas,
    code,
    data,
    focus,
    imports,
    inspector,
    long,
    palette,
    problems,
    python_code,
    runs,
    shipped,
    start,
    wiring,
)
from window_states.registry import PARTS, STATES

__all__ = ["PARTS", "STATES"]
