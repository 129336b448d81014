"""The error of a model that cannot be traced, or whose trace cannot be written."""

from __future__ import annotations

from engine.errors import EngineError


class TraceError(EngineError, RuntimeError):
    """A model that cannot be written as a graph of ops.

    Attributes:
        node: path of the module, or name of the canvas node, that cannot be exported; empty if unknown
        op: name of the op that cannot be exported; empty if unknown
        reason: why, without location and remedy
    """

    def __init__(
        self, text: str, *, node: str = "", op: str = "", reason: str = "", location: tuple[str, int] | None = None
    ) -> None:
        super().__init__(text, location=location)
        self.node, self.op, self.reason = node, op, reason


__all__ = ["TraceError"]
