"""Errors that user code raises: the line of the user's code and the message."""

from __future__ import annotations

from types import TracebackType

MAX_CHARACTERS = 300


def line_in(error: BaseException, filename: str) -> int | None:
    """The innermost line of a file that raised an exception; None if it is not in the traceback."""
    found: int | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found


def described(error: BaseException, text: str) -> str:
    """The type and text of an error. The text of engine errors, which explain themselves, is enough."""
    name = type(error).__name__
    text = " ".join(text.split())[:MAX_CHARACTERS].rstrip(".")
    return f"{name}: {text}" if text else name


__all__ = ["described", "line_in"]
