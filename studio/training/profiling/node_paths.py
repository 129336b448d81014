"""Paths of nodes in profiles."""

from __future__ import annotations


def without_copies(path: str) -> str:
    """A path without the numbers of the copies of repeated blocks, which count as one."""
    return ".".join(part for part in path.split(".") if not part.isdigit())


__all__ = ["without_copies"]
