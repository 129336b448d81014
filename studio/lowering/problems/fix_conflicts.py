"""Removes duplicate problems and fixes that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from studio.document.document_errors import EditError
from studio.document.model import Document
from studio.lowering.problems.change_records import changes
from studio.lowering.problems.problem import Fix, Problem

_MAX_COPIED_NODES = 12_000
"""Maximum total number of nodes in trial documents per check; each fix copies the document once or twice."""
_MIN_TRIED_FIXES = 8
"""Minimum number of fixes that are tried."""
_NEW = "a new node"

Key = tuple[str, ...]
"""A setting that a fix changes: ("params", node, parameter), ("input", node, port), ("nodes", node), …"""


def deduplicate_problems(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """Remove duplicate problems, and fixes that cannot be applied or that conflict with an earlier fix.

    Problems are duplicates if their code is equal and their fixes result in the same document. Fixes conflict if they
    set one setting to different values, or if one removes a node that the other changes. Fixes that add to the same
    list do not conflict. Fixes beyond the budget of trial documents are not checked.
    """
    result: list[Problem] = []
    results_by_title: dict[tuple[str, str], list[Document]] = {}
    offered_fixes = _OfferedFixes(document)
    tries = max(_MAX_COPIED_NODES // max(len(document.nodes), 1), _MIN_TRIED_FIXES)
    for problem in dict.fromkeys(problems):
        fix = problem.fix
        if fix is None or tries == 0:
            result.append(problem.within(document))
            continue
        tries -= 1
        try:
            after = fix.edit(document)
        except EditError:  # a fix that cannot be applied is not offered
            result.append(replace(problem, fix=None))
            continue
        documents = results_by_title.setdefault((problem.code, fix.title), [])
        if after in documents:
            continue
        documents.append(after)
        result.append(offered_fixes.resolve(problem, fix, effects(document, after)).within(document))
    return result


def effects(before: Document, after: Document) -> dict[Key, object]:
    """The values that an edit sets, by setting; None for removals. Names and positions of new nodes are ignored."""
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


class _OfferedFixes:
    """The effects of the fixes that are offered."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._set: dict[Key, tuple[object, Fix]] = {}
        """By setting: the new value, and the fix that sets it."""
        self._nodes: dict[str, Fix] = {}
        """Nodes that a fix changes."""

    def resolve(self, problem: Problem, fix: Fix, found: Mapping[Key, object]) -> Problem:
        """The problem; without its fix if an offered fix conflicts with it."""
        conflicting = self._conflicting_fix(fix, found)
        if conflicting is not None:
            return replace(
                problem, message=f'{problem.message} Do either this or "{conflicting.title}", not both.', fix=None
            )
        self._set |= {key: (value, fix) for key, value in found.items()}
        self._nodes |= {key[1]: fix for key in found if len(key) == 3}
        return problem

    def _conflicting_fix(self, fix: Fix, found: Mapping[Key, object]) -> Fix | None:
        """An offered fix that sets one of these settings to another value, or changes a node that only one removes."""
        for key, value in found.items():
            existing = self._set.get(key)
            if (
                existing is not None
                and existing[0] != value
                and not (key[0] == "params" and self._are_compatible(existing[1], fix))
            ):
                return existing[1]
            conflicting = self._nodes.get(key[1]) if key[0] == "nodes" else None
            if conflicting is None and len(key) == 3:
                conflicting = self._set.get(("nodes", key[1]), (None, None))[1]
                conflicting = conflicting or self._type_fix(key)
            if conflicting is not None and ("nodes", key[1]) not in found.keys() & self._set.keys():
                return conflicting
        return None

    def _are_compatible(self, first: Fix, second: Fix) -> bool:
        """Whether the second fix keeps the effect of the first."""
        try:
            both = second.edit(first.edit(self._document))
            return first.edit(both) == both
        except EditError:
            return False

    def _type_fix(self, key: Key) -> Fix | None:
        """An offered fix that changes the type of the node, and with it its parameters."""
        return self._set.get(("fields", key[1], "type"), (None, None))[1] if key[0] == "params" else None
