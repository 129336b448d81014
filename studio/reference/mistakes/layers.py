"""Mistakes with layers and operations."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

LAYERS: tuple[Mistake, ...] = ()

__all__ = ["LAYERS"]
