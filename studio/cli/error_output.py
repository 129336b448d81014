"""What is wrong with a command's input: one clear message and an exit code, never a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import typer

from engine.errors import EngineError, WeightsError
from studio.document.document_errors import DocumentError, FileError
from studio.lowering.problems.problem import Problem
from studio.lowering.program import LoweringError

FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but the end of a line; and what turns the direction of writing."""


class InputError(Exception):
    """Something that the user gave cannot be used. The text says what, and what to do."""


@contextmanager
def report_errors(*, as_json: bool = False) -> Iterator[None]:
    """Turns errors in what the user gave into a message on standard error and exit code 2.

    With `as_json` the message goes to standard output as well, as a line of its own.
    """
    try:
        yield
    except LoweringError as error:
        for problem in error.problems[:-1]:
            print_problem(problem, as_json=as_json)
        exit_with_error(error.problems[-1], as_json=as_json)
    except InputError as error:
        exit_with_error(Problem("error", "bad-usage", str(error)), as_json=as_json)
    except (FileError, FileNotFoundError, WeightsError) as error:
        exit_with_error(Problem("error", "bad-file", str(error)), as_json=as_json)
    except (DocumentError, EngineError) as error:
        exit_with_error(Problem("error", "bad-input", str(error)), as_json=as_json)
    except OSError as error:
        if not isinstance(error.filename, (str, os.PathLike)):  # such as standard output that its reader closed
            raise
        message = str(FileError.from_os_error(error.filename, "cannot be used", error))
        exit_with_error(Problem("error", "bad-file", message), as_json=as_json)


def exit_with_error(problem: Problem, *, as_json: bool = False, code: int = BAD_INPUT) -> NoReturn:
    """End the command with an exit code. Raises typer.Exit."""
    print_problem(problem, as_json=as_json)
    raise typer.Exit(code)


def print_problem(problem: Problem, *, as_json: bool = False) -> None:
    """What ends a command: for people on standard error, and as a record for programs."""
    named = problem.node is None or problem.message.startswith(problem.node)
    print_error(problem.message if named else f"{problem.node}: {problem.message}")
    if as_json:
        print_json({"event": "failed", **problem.as_dict()})


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
