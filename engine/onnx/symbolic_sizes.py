"""Symbolic sizes as text of an ONNX shape, such as `4*N + 1` or `N//2`."""

from __future__ import annotations

from engine.shape import SymInt


def size_text(size: SymInt) -> int | str:
    """A size for an ONNX shape: an integer, or an expression of symbols."""
    if isinstance(size, int):
        return size
    return str(size).replace("·", "*").replace("⌊", "").replace("⌋", "").replace("/", "//")


__all__ = ["size_text"]
