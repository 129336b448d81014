"""Mistakes with sequences."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

SEQUENCES: tuple[Mistake, ...] = ()

__all__ = ["SEQUENCES"]
