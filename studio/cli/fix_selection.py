"""``--fix CODE``, ``--fix NODE:CODE`` and ``--fix all``: which problems a command fixes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from studio.cli.error_output import InputError
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.problem import Problem

ALL = "all"


def chosen_problems(texts: Sequence[str]) -> Callable[[Problem], bool]:
    """Whether a problem is chosen. Raises InputError for an unknown code.

    Args:
        texts: values of the option, each perhaps with commas
    """
    wanted = [each.strip() for text in texts for each in text.split(",") if each.strip()]
    if not wanted:
        raise InputError("--fix: expected all, CODE or NODE:CODE, for example --fix adam:learning-rate-too-high.")
    for text in wanted:
        code = text.rpartition(":")[2]
        if text != ALL and code not in DIAGNOSES:
            close = difflib.get_close_matches(code, DIAGNOSES, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "`gradwire check --json` prints all codes."
            raise InputError(f"--fix {text}: there is no problem with the code {code!r}. {hint}")
    return lambda problem: any(_is_chosen(problem, text) for text in wanted)


def _is_chosen(problem: Problem, text: str) -> bool:
    node, colon, code = text.rpartition(":")
    if text == ALL:
        return True
    return problem.code == code and (not colon or node in (problem.node, problem.affected))


__all__ = ["ALL", "chosen_problems"]
