"""Mistakes with training, which a run shows."""

from __future__ import annotations

from studio.reference.mistakes.mistake import Mistake

RUNS: tuple[Mistake, ...] = ()

__all__ = ["RUNS"]
