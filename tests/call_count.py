"""Work measured in calls: the same number on every machine, under every load."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls(action: Callable[[], object]) -> int:
    """How many functions of Python and C are called by `action` on this thread."""
    count = 0

    def add(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(add)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count
