"""Translates errors of the engine for the canvas: node names instead of code locations."""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.errors import DTypeError, EngineError, EngineWarning, LinAlgError, StaleTensorError

NodeAt = Callable[[str, int], str | None]
"""(file name, line) → node of a generated program."""

_LOCATION = re.compile(r" \((<gradwire [^<>]*>):(\d+)\)")
"""Location in a generated program, as it appears in errors of the engine."""

STEPS: tuple[tuple[type[EngineError], str], ...] = (
    (StaleTensorError, "Turn inplace off at the node that follows it."),
    (DTypeError, "Convert it with Cast, or the data with a transform before the loader, or connect another output."),
    (LinAlgError, "Add a small multiple of the identity matrix to its input."),
)
"""Next step on the canvas by error type, for errors whose remedy is a change of Python code."""


def translate_error(error: BaseException, node_at: NodeAt | None = None) -> str:
    """The text of an error with node names instead of code locations."""
    if not isinstance(error, (EngineError, EngineWarning)):
        return str(error)

    def node_name(match: re.Match[str]) -> str:
        node = None if node_at is None else node_at(match[1], int(match[2]))
        return "" if node is None else f" at {node}"

    text = _LOCATION.sub(node_name, error.text or str(error))
    step = next((step for kind, step in STEPS if isinstance(error, kind)), "") if error.in_code else ""
    return f"{text} {step}".rstrip()


__all__ = ["STEPS", "translate_error"]
