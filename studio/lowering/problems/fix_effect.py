"""What a fix changes, as text and as differences between two documents, without applying it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studio.document.document_errors import EditError
from studio.document.graph_comparison import KINDS, MISSING, Change, Comparison, Value, compare, text_of
from studio.document.model import Document
from studio.lowering.problems.problem import Fix
from studio.lowering.report import Report

_MAX_LINES = 8


@dataclass(frozen=True, slots=True)
class FixEffect:
    """The document that a fix makes, and its differences from the current one."""

    document: Document
    comparison: Comparison

    def lines(self, before: Report, after: Report | None = None) -> list[str]:
        """The changes as lines of text: "in_channels of conv: 3 → 1".

        Args:
            after: report of the fixed document, which gives the values that parameters without a value get
        """
        ordered = sorted(self.comparison.changes, key=lambda change: KINDS.index(change.kind))
        found = [line for change in ordered for line in _lines(change, before, after)]
        found += [f"Training: {value}" for value in self.comparison.training]
        more = len(found) - _MAX_LINES
        return found if more <= 0 else [*found[:_MAX_LINES], f"and {more} more"]


def effect_of(fix: Fix, document: Document) -> FixEffect | None:
    """The effect of a fix on a document; None if it cannot be applied."""
    try:
        after = fix.edit(document)
    except EditError:
        return None
    return FixEffect(after, compare(document, after))


def _lines(change: Change, before: Report, after: Report | None) -> Iterator[str]:
    if change.kind == "block changed":
        return
    if change.kind == "added":
        yield f"Add {change.path}"
    elif change.kind == "removed":
        yield f"Remove {change.path}"
    elif change.kind == "renamed":
        yield f"Rename {change.old} to {change.new}"
    place = f" of {change.path}"
    yield from (_with_inferred(value, change, before, after, place) for value in change.values)
    yield from (f"Remove the wire {wire}" for wire in change.wires_removed)
    yield from (f"Connect {wire.source} to {wire.target}" for wire in change.wires_added)


def _with_inferred(value: Value, change: Change, before: Report, after: Report | None, place: str) -> str:
    """A changed value. A missing one is that of the report: inferred from the wire, or the default."""
    sides = ((value.old, change.old, before), (value.new, change.new, after))
    old, new = (
        text_of(given) if given != MISSING or not (known := _known(report, node, value.name)) else known
        for given, node, report in sides
    )
    return f"{value.name}{place}: {old} → {new}"


def _known(report: Report | None, node: str | None, param: str) -> str:
    info = None if report is None or node is None else report.nodes.get(node)
    if info is None or param not in info.arguments:
        return ""
    kind = "inferred" if param in info.inferred else "default"
    return f"{text_of(info.arguments[param])} ({kind})"


__all__ = ["FixEffect", "effect_of"]
