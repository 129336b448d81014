"""Removes duplicate problems and fixes that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.change_records import changes
from studio.lowering.problems.problem import Fix, Problem

_WORK = 12_000
"""Maximum total number of nodes in trial documents per check; each fix copies the document once or twice."""
_LEAST_TRIED = 8
"""Minimum number of fixes that are tried."""
_NEW = "a new node"

Key = tuple[str, ...]
"""What a fix sets: ("params", node, parameter), ("input", node, port), ("nodes", node), …"""


def deduplicate_problems(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """One problem for each cause, and only fixes that can be applied and do not contradict those before.

    Of several problems with one code and fixes that lead to one document, the first stays. Of two fixes that set one
    thing to two values, or where one removes what the other changes, the first is offered. Two that add to one list
    are both offered. Fixes beyond a budget stay as they are.
    """
    kept: list[Problem] = []
    mended: dict[tuple[str, str], list[Document]] = {}
    offered = _Offered(document)
    tries = max(_WORK // max(len(document.nodes), 1), _LEAST_TRIED)
    for problem in dict.fromkeys(problems):
        fix = problem.fix
        if fix is None or tries == 0:
            kept.append(problem.within(document))
            continue
        tries -= 1
        try:
            after = fix.edit(document)
        except EditError:  # a remedy that cannot be applied is not offered
            kept.append(replace(problem, fix=None))
            continue
        same = mended.setdefault((problem.code, fix.title), [])
        if after in same:
            continue
        same.append(after)
        kept.append(offered.weigh(problem, fix, effects(document, after)).within(document))
    return kept


def effects(before: Document, after: Document) -> dict[Key, object]:
    """What an edit sets, by thing; None for what it removes. Names and places of new nodes do not count."""
    found: dict[Key, object] = {}
    for change in changes(before, after):
        match change:
            case {"remove": name}:
                found["nodes", name] = None
            case {"insert": _, "wire": [_, target]}:
                found["input", *_split(target)] = _NEW
            case {"disconnect": [_, target]}:
                found["input", *_split(target)] = None
            case {"connect": [source, target]} if _split(target)[0] in before.nodes:
                found["input", *_split(target)] = source if _split(source)[0] in before.nodes else _NEW
            case {"set": name, "param": param, "value": value}:
                found["params", name, param] = value
            case {"clear": name, "param": param}:
                found["params", name, param] = None
            case {"change": name, **fields}:
                found |= {("fields", name, field): value for field, value in fields.items()}
            case {"training": settings}:
                found |= {("training", name): value for name, value in settings.items()}
            case _:
                continue
    return found


def _split(end: str) -> list[str]:
    return end.split(".", 1)


class _Offered:
    """The effects of the fixes that are offered."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._set: dict[Key, tuple[object, Fix]] = {}
        """By thing: its new value, and the fix that sets it."""
        self._nodes: dict[str, Fix] = {}
        """Nodes that a fix changes."""

    def weigh(self, problem: Problem, fix: Fix, found: Mapping[Key, object]) -> Problem:
        """The problem; without its fix if that contradicts one that is offered."""
        other = self._contradicted(fix, found)
        if other is not None:
            return replace(problem, message=f'{problem.message} Do either this or "{other.title}", not both.', fix=None)
        self._set |= {key: (value, fix) for key, value in found.items()}
        self._nodes |= {key[1]: fix for key in found if len(key) == 3}
        return problem

    def _contradicted(self, fix: Fix, found: Mapping[Key, object]) -> Fix | None:
        """A fix that sets one of these things otherwise, or that meets a node which only one removes."""
        for key, value in found.items():
            here = self._set.get(key)
            if here is not None and here[0] != value and not (key[0] == "params" and self._agree(here[1], fix)):
                return here[1]
            other = self._nodes.get(key[1]) if key[0] == "nodes" else None
            if other is None and len(key) == 3:
                other = self._set.get(("nodes", key[1]), (None, None))[1]
                other = other or self._of_type(key)
            if other is not None and ("nodes", key[1]) not in found.keys() & self._set.keys():
                return other
        return None

    def _agree(self, one: Fix, other: Fix) -> bool:
        """Whether the second fix keeps what the first one did, so that the first has nothing left to do."""
        try:
            both = other.edit(one.edit(self._document))
            return one.edit(both) == both
        except EditError:
            return False

    def _of_type(self, key: Key) -> Fix | None:
        """A fix that gives a node another type, which has other parameters."""
        return self._set.get(("fields", key[1], "type"), (None, None))[1] if key[0] == "params" else None
