"""Error messages of commands: one message and an exit code instead of a traceback."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `gradwire --help` must not import the studio
    from studio.lowering.problems.diagnosis import Severity

FAILED, BAD_INPUT, UNTRUSTED, BREAKPOINT, INTERRUPTED, CLOSED_PIPE = 1, 2, 3, 4, 130, 141

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except newline, and marks that change the writing direction."""


class InputError(Exception):
    """Invalid user input. The message names the problem and the next step."""


def escape_control(text: str) -> str:
    """Escape control characters: text from a file must not control the terminal."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def print_text(text: str) -> None:
    """Print a line on standard output."""
    sys.stdout.write(f"{escape_control(text)}\n")


def print_error(message: str, severity: Severity = "error") -> None:
    """Print "error: MESSAGE", or likewise a warning or hint, on standard error."""
    sys.stderr.write(f"{severity}: {escape_control(message)}\n")


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object as a line on standard output and flush."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()
