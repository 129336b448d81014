"""Errors of commands: one message and an exit code instead of a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from engine.errors import EngineError, WeightsError
from studio.cli.error_output import BAD_INPUT, UNTRUSTED, InputError, print_error, print_json
from studio.document.document_errors import DocumentError, FileError
from studio.lowering.problems.problem import Problem
from studio.lowering.program import LoweringError
from studio.lowering.user_code.code_problems import UNTRUSTED as UNTRUSTED_CODE


@contextmanager
def report_errors(*, as_json: bool = False) -> Iterator[None]:
    """Turn errors of user input into a message on standard error and exit code 2.

    With `as_json`, also print a "failed" record on standard output.
    """
    try:
        yield
    except LoweringError as error:
        for problem in error.problems[:-1]:
            print_problem(problem, as_json=as_json)
        last = error.problems[-1]
        exit_with_error(last, as_json=as_json, code=UNTRUSTED if last.code == UNTRUSTED_CODE else BAD_INPUT)
    except InputError as error:
        exit_with_error(Problem("error", "bad-usage", str(error)), as_json=as_json)
    except (FileError, FileNotFoundError, WeightsError) as error:
        exit_with_error(Problem("error", "bad-file", str(error)), as_json=as_json)
    except (DocumentError, EngineError) as error:
        exit_with_error(Problem("error", "bad-input", str(error)), as_json=as_json)
    except OSError as error:
        if not isinstance(error.filename, (str, os.PathLike)):  # for example a closed standard output
            raise
        message = str(FileError.from_os_error(error.filename, "cannot be used", error))
        exit_with_error(Problem("error", "bad-file", message), as_json=as_json)


def exit_with_error(problem: Problem, *, as_json: bool = False, code: int = BAD_INPUT) -> NoReturn:
    """Print a problem and exit. Raises typer.Exit."""
    print_problem(problem, as_json=as_json)
    raise typer.Exit(code)


def print_problem(problem: Problem, *, as_json: bool = False) -> None:
    """Print a fatal problem on standard error; with `as_json` also as a record on standard output."""
    named = problem.node is None or problem.message.startswith(problem.node)
    print_error(problem.message if named else f"{problem.node}: {problem.message}")
    if as_json:
        print_json({"event": "failed", **problem.as_dict()})
