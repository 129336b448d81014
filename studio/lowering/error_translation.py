"""Errors of the engine in terms of the canvas: nodes instead of lines of code, steps instead of Python."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.errors import DTypeError, EngineError, EngineWarning, StaleTensorError

NodeAt = Callable[[str, int], str | None]
"""The node of a line of a program."""

_PLACE = re.compile(r" \((<gradwire [^<>]*>):(\d+)\)")
"""Where an op stands in a generated program, as errors of the engine say it."""

STEPS: tuple[tuple[type[EngineError], str], ...] = (
    (StaleTensorError, "Turn inplace off at the node behind it."),
    (DTypeError, "Convert the data by a transform before the loader, or wire something else."),
)
"""What to do on the canvas, by type of an error whose remedy is Python; the first type that fits counts."""


def translate_error(error: BaseException, node_at: NodeAt | None = None) -> str:
    """The text of an error without Python code and lines of generated code."""
    if not isinstance(error, (EngineError, EngineWarning)):
        return str(error)

    def named(found: re.Match[str]) -> str:
        node = None if node_at is None else node_at(found[1], int(found[2]))
        return "" if node is None else f" at {node}"

    text = _PLACE.sub(named, error.text or str(error))
    step = next((step for kind, step in STEPS if isinstance(error, kind)), "") if error.in_code else ""
    return f"{text} {step}".rstrip()


__all__ = ["STEPS", "translate_error"]
