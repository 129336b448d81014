"""Groups equal problems of several nodes into one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.problem import Fix, Problem

LEAST = 3
"""Equal problems shown as one."""
FEW = 4
"""Names that are listed."""

Key = tuple[object, ...]


def grouped(problems: Iterable[Problem], nodes: Iterable[str]) -> list[Problem]:
    """The problems in order; those with equal code and message, except for node names, are grouped at the first.

    The others are in its `also`. Its fix applies all of theirs.
    """
    problems = tuple(problems)
    names = {*nodes, *(problem.node for problem in problems if problem.node is not None)}
    alike: defaultdict[Key, list[Problem]] = defaultdict(list)
    for problem in problems:
        alike[_key(problem, names)].append(problem)
    found: list[Problem] = []
    for problem in problems:
        same = alike[_key(problem, names)]
        if len(same) < LEAST:
            found.append(problem)
        elif problem is same[0]:
            found.append(_together(same))
    return found


def _key(problem: Problem, names: set[str]) -> Key:
    """What equal problems have in common; the message for problems of no node."""
    if problem.node is None:
        return problem.severity, problem.code, None, problem.message
    return (
        problem.severity,
        problem.code,
        problem.port,
        problem.fix is None,
        re.sub(r"\w+", lambda word: "" if word[0] in names else word[0], f"{problem.message} {problem.option}"),
    )


def _together(problems: Sequence[Problem]) -> Problem:
    first, *others = problems
    names = tuple(dict.fromkeys(problem.node for problem in others if problem.node is not None))
    listed = ", ".join(names[:FEW]) + (f" and {len(names) - FEW:,} more" if len(names) > FEW else "")
    fixes = [problem.fix for problem in problems if problem.fix is not None]
    return replace(
        first,
        message=f"{first.message} This also applies to {listed}.",
        also=names,
        fix=_all(fixes) if len(fixes) == len(problems) else None,
    )


def _all(fixes: Sequence[Fix]) -> Fix:
    def edit(document: Document) -> Document:
        for fix in fixes:
            try:
                document = fix.edit(document)
            except EditError:  # one before it has done the same, or taken its node away
                continue
        return document

    settings = tuple(text for fix in fixes for text in fix.settings) if all(fix.settings for fix in fixes) else ()
    return Fix(f"{fixes[0].title}, and {len(fixes) - 1:,} more", edit, settings, fixes[0].document)
