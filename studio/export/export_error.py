"""The error of a project that cannot be exported."""

from __future__ import annotations


class ExportError(Exception):
    """What cannot be exported, why, and what to do.

    Args:
        message: names the node or the setting, the reason and the next step
        node: path of the node, if it is about one
    """

    def __init__(self, message: str, node: str | None = None) -> None:
        super().__init__(message)
        self.node = node


__all__ = ["ExportError"]
