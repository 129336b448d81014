"""Mistakes with Python nodes."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

CODE: tuple[Mistake, ...] = ()

__all__ = ["CODE"]
