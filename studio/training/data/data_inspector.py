"""Looks at samples of all loaders of a checked document, within seconds, and reports their problems."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from engine.data.splits import Splits
from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.check import settle_problems
from studio.lowering.problems.dismissal import with_dismissals
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes.types import Role
from studio.training.data.data_chain import Chain, ChainOpener, DataProblem, chain_to
from studio.training.data.data_statistics import Progress, ReadingLimits, collect_statistics
from studio.training.data.findings.find_problems import find_data_problems
from studio.training.data.sample_preview import Part, Preview
from studio.training.data.statistics_records import Statistics

SECONDS = 2.0
"""Time within which the samples of a document are looked at."""
_SHARE_FOR_READING = 0.5
"""Share of the time that reads samples; the rest is for opening the data and for rules that read more."""
_BYTES, _SAMPLES, _TARGETS = 4 * 2**20, 10_000, 2_000_000
_REMEMBERED = 8
"""Number of chains whose statistics are cached."""

_CLASS_COUNTS = frozenset({"too-few-classes", "too-many-classes"})
REPLACED = {
    "sorted-samples": frozenset({"not-shuffled"}),
    "labels-from-one": _CLASS_COUNTS,
    "labels-with-gaps": _CLASS_COUNTS,
    "numbers-as-classes": _CLASS_COUNTS,
    "identifier-as-target": _CLASS_COUNTS,
}
"""Codes of problems of samples, with the problems of the check that have the same cause."""


COVERED = {
    "unscaled-inputs": frozenset({"tokens-as-numbers", "channels-last"}),
    "numbers-as-classes": frozenset({"wrong-target"}),
}
"""Codes of problems of samples that are consequences of problems of the check."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """How many samples of a part were looked at."""

    node: str
    part: Part
    looked_at: int
    samples: int
    """Estimated for tables that are not read completely."""

    def __str__(self) -> str:
        noun = f"{self.part} samples at {self.node}"
        return f"{self.looked_at:,} of {self.samples:,} {noun}"

    def as_dict(self) -> dict[str, Any]:
        return {"node": self.node, "part": self.part, "looked_at": self.looked_at, "samples": self.samples}


@dataclass(frozen=True, slots=True)
class Inspection:
    """The problems of the samples of a document."""

    problems: tuple[Problem, ...] = ()
    dismissed: tuple[Problem, ...] = ()
    """Problems that the document dismisses. They are not in `problems`."""
    looked_at: tuple[LookedAt, ...] = ()
    is_cancelled: bool = False

    def at(self, document: Document) -> Inspection:
        """For another version of the document: without problems of removed nodes, with its dismissals."""
        kept = [each for each in (*self.problems, *self.dismissed) if each.node_on_canvas in document.nodes]
        return replace(self, **_by_dismissal(kept, document))

    def joined(self, report: Report) -> Report:
        """The report of a check with the problems of the samples; a cause that both show is reported once."""
        known = {(each.code, each.node) for each in (*report.problems, *report.dismissed)}
        added: list[Problem] = []
        replaced: set[str] = set()
        found = {each.code for each in report.problems}
        for problem in self.problems:
            if (problem.code, problem.node) not in known and not COVERED.get(problem.code, frozenset[str]()) & found:
                codes = REPLACED.get(problem.code, frozenset[str]())
                is_error = any(each.code in codes and each.severity == "error" for each in report.problems)
                added.append(replace(problem, severity="error") if is_error else problem)
                replaced |= codes
        problems = [*(each for each in report.problems if each.code not in replaced), *added]
        dismissed = (each for each in self.dismissed if (each.code, each.node) not in known)
        ordered = tuple(sorted(problems, key=lambda problem: problem.rank))
        return replace(report, problems=ordered, dismissed=(*report.dismissed, *dismissed))


class DataInspector:
    """Inspects successive versions of a document. Samples of chains that an edit did not change are not read again."""

    def __init__(self) -> None:
        self._opener = ChainOpener(is_sampled=True)
        self._known: OrderedDict[Chain, tuple[Splits, Preview, Statistics]] = OrderedDict()
        self._lock = threading.Lock()
        self.readings = 0
        """Number of chains whose samples were read."""

    def inspect(
        self, report: Report, *, seconds: float = SECONDS, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Inspection:
        """Look at samples of every loader that a run uses. Never raises because of data; can be called in any thread.

        Args:
            report: the check of the document
            seconds: time after which reading ends
            is_cancelled: called between blocks of samples; once it returns true, the result is empty
        """
        if report.dataflow is None:
            return Inspection()
        flow, start = report.checked, time.monotonic()
        problems: list[Problem] = []
        looked_at: list[LookedAt] = []
        loaders = [name for name in flow.graph.with_role(Role.LOADER) if name in flow.graph.needed]
        with self._lock:
            for position, name in enumerate(loaders):
                share = _SHARE_FOR_READING * (position + 1) / len(loaders)
                try:
                    known = self._read(name, flow, start + share * seconds, is_cancelled)
                except DataProblem as error:
                    if not report.errors:  # which say why
                        problems.append(_unreadable(error, name, flow))
                    continue
                if is_cancelled():
                    return Inspection(is_cancelled=True)
                if known is not None:
                    preview, found = known
                    problems += _problems(found, preview, flow)
                    looked_at += _looked_at(name, found, preview)
        found = _by_dismissal(settle_problems(problems, flow), report.document)
        return Inspection(**found, looked_at=tuple(looked_at))

    def _read(
        self, loader: str, flow: Dataflow, deadline: float, is_cancelled: Callable[[], bool]
    ) -> tuple[Preview, Statistics] | None:
        """The statistics of samples at a loader; None if cancelled. Raises DataProblem if they cannot be read."""
        chain = chain_to(loader, flow.document, flow.graph, flow.base)
        splits = self._opener.open(chain)
        known = self._known.get(chain)
        if known is None or known[0] is not splits[0]:
            preview = Preview(chain, splits, 0)
            found = _statistics(preview, ReadingLimits(_BYTES, _SAMPLES, _TARGETS, deadline), is_cancelled)
            if found is None:
                return None
            self.readings += 1
            known = self._known[chain] = splits[0], preview, found
        self._known.move_to_end(chain)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return known[1:]


def _unreadable(error: DataProblem, loader: str, flow: Dataflow) -> Problem:
    """The problem of samples that cannot be read: at the transform that its text names, otherwise at the source."""
    node = error.node
    if node == loader:
        source, *others = chain_to(loader, flow.document, flow.graph, flow.base)
        named = (each.name for each in others if str(error).startswith(f"{each.key.rpartition('.')[2]}:"))
        node = next(named, source.name)
    return Problem("error", "bad-data", f"{node}: {error}", node=node)


def _looked_at(loader: str, found: Statistics, preview: Preview) -> Iterator[LookedAt]:
    """The numbers of samples. Those of a table that is not read completely are estimated."""
    total, read = preview.splits[0].total_rows, sum(part.samples for part in found.parts)
    for part in found.parts:
        samples = part.samples if total is None or not read else round(total * part.samples / read)
        yield LookedAt(loader, part.part, part.looked_at, samples)


def _by_dismissal(problems: Iterable[Problem], document: Document) -> dict[str, Any]:
    """The fields `problems` and `dismissed` of an inspection."""
    found = list(with_dismissals(problems, document))
    return {
        "problems": tuple(each for each in found if not each.dismissed),
        "dismissed": tuple(each for each in found if each.dismissed),
    }


def _statistics(preview: Preview, limits: ReadingLimits, is_cancelled: Callable[[], bool]) -> Statistics | None:
    """None if cancelled."""
    for item in collect_statistics(preview, limits):
        if is_cancelled():
            return None
        if not isinstance(item, Progress):
            return item
    return None


def _problems(found: Statistics, preview: Preview, flow: Dataflow) -> list[Problem]:
    """The problems of samples at a loader, except those that the check reports as well."""
    try:
        return list(find_data_problems(found, preview, flow))
    except DataProblem:  # a sample that a rule reads
        return []


__all__ = ["SECONDS", "DataInspector", "Inspection", "LookedAt"]
