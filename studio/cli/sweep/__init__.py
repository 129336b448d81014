"""The ``sweep`` command: one project trained with many values, in parallel."""

from __future__ import annotations

from studio.cli.sweep.sweep_command import sweep as sweep

__all__ = ["sweep"]
