"""Mistakes with data."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

DATA: tuple[Mistake, ...] = ()

__all__ = ["DATA"]
