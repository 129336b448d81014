"""Mistakes with optimizers and schedules."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

OPTIMIZERS: tuple[Mistake, ...] = ()

__all__ = ["OPTIMIZERS"]
