"""Switches of opt_einsum, which the engine does not use: they are accepted so that programs run unchanged."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Never."""
    return False
