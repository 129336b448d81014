"""How much of the graph is drawn at a zoom."""

from __future__ import annotations

from enum import IntEnum

SMALLEST_TEXT = 8.0
"""Pixels on the screen below which no text is drawn."""


class Detail(IntEnum):
    COLOR = 0
    """A node is a patch of its colour."""
    NAME = 1
    """Colour and name."""
    FULL = 2


def detail(scale: float) -> Detail:
    if scale >= 0.6:
        return Detail.FULL
    return Detail.NAME if scale >= 0.3 else Detail.COLOR


def readable(pixels: float, scale: float) -> bool:
    return pixels * scale >= SMALLEST_TEXT - 0.2
