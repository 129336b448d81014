"""What is wrong with a command's input: one clear message and an exit code, never a traceback."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but the end of a line; and what turns the direction of writing."""


class InputError(Exception):
    """Something that the user gave cannot be used. The text says what, and what to do."""


def escape_control(text: str) -> str:
    """A text that may come from a file, as a terminal shows it: control characters are written out, not obeyed."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def print_text(text: str) -> None:
    """A line of standard output."""
    sys.stdout.write(f"{escape_control(text)}\n")


def print_error(message: str) -> None:
    sys.stderr.write(f"gradwire: {escape_control(message)}\n")


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output, at once."""
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()
