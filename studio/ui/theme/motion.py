"""Animation durations; zero with "reduce motion"."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve

EASING = QEasingCurve.Type.OutCubic

_reduced = False


def set_reduced(reduced: bool) -> None:
    global _reduced
    _reduced = reduced


def is_reduced() -> bool:
    return _reduced


def duration(milliseconds: int = 140) -> int:
    """`milliseconds`, or 0 if the user reduces motion."""
    return 0 if _reduced else milliseconds
