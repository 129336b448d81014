"""Which ops an artifact can contain."""

from __future__ import annotations

from engine.ops.record import REGISTRY

TRACE_OPS = frozenset(("arange", "assign", "fill", "to_device"))
"""Ops of traces that compute without the kernel of a registered op."""


def refusal(name: str) -> str:
    """Why an artifact cannot contain an op; empty if it can."""
    if name in TRACE_OPS:
        return ""
    op = REGISTRY.get(name)
    if op is None:
        return "this version of Gradwire has no such op"
    if op.random:
        return "it draws random numbers in an op; artifacts have those of Noise layers and creation functions only"
    if name == "as_strided":
        return "its result depends on the layout of tensors in memory, which a file does not keep"
    if name.endswith("_backward"):
        return "it computes a gradient, and artifacts compute results only"
    return ""


__all__ = ["TRACE_OPS", "refusal"]
