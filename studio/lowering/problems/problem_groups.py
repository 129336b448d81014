"""Groups equal problems of several nodes into one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.problem import Fix, Problem

MIN_GROUP_SIZE = 3
"""Minimum number of equal problems that are merged into one."""
MAX_LISTED = 4
"""Maximum number of node names in a message."""

Key = tuple[object, ...]


def grouped(problems: Iterable[Problem], nodes: Iterable[str]) -> list[Problem]:
    """Merge problems whose code and message are equal except for node names into the first of them.

    Its `also` lists the nodes where the others appear, and its fix applies all fixes. The order is kept.
    """
    problems = tuple(problems)
    names = {*nodes, *(problem.node for problem in problems if problem.node is not None)}
    groups: defaultdict[Key, list[Problem]] = defaultdict(list)
    for problem in problems:
        groups[_key(problem, names)].append(problem)
    found: list[Problem] = []
    for problem in problems:
        group = groups[_key(problem, names)]
        if len(group) < MIN_GROUP_SIZE:
            found.append(problem)
        elif problem is group[0]:
            found.append(_merge(group))
    return found


def _key(problem: Problem, names: set[str]) -> Key:
    """The parts that equal problems share. Problems without a node are equal only if their messages are."""
    if problem.node is None:
        return problem.severity, problem.code, None, problem.message
    return (
        problem.severity,
        problem.code,
        problem.port,
        problem.fix is None,
        re.sub(r"\w+", lambda word: "" if word[0] in names else word[0], f"{problem.message} {problem.option}"),
    )


def _merge(problems: Sequence[Problem]) -> Problem:
    first, *others = problems
    names = tuple(dict.fromkeys(name for each in others if (name := each.affected or each.node) is not None))
    listed = ", ".join(names[:MAX_LISTED]) + (
        f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    )
    fixes = [problem.fix for problem in problems if problem.fix is not None]
    return replace(
        first,
        message=f"{first.message} This also applies to {listed}.",
        also=names,
        fix=_combined_fix(fixes) if len(fixes) == len(problems) else None,
    )


def _combined_fix(fixes: Sequence[Fix]) -> Fix:
    def edit(document: Document) -> Document:
        for fix in fixes:
            try:
                document = fix.edit(document)
            except EditError:  # an earlier fix had the same effect or removed the node
                continue
        return document

    settings = tuple(text for fix in fixes for text in fix.settings) if all(fix.settings for fix in fixes) else ()
    return Fix(f"{fixes[0].title}, and {len(fixes) - 1:,} more", edit, settings, fixes[0].document)
