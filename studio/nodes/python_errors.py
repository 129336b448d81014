"""The error of source that a Python node cannot use."""

from __future__ import annotations


class CodeError(ValueError):
    """Source cannot be used. `reason` is what is wrong and what to write instead; line and column begin at 1."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason, self.line, self.column = reason, line, column


__all__ = ["CodeError"]
