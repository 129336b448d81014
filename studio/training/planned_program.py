"""The program of a document: checked and lowered once, when the training thread needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import Program, lower
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue


class PlannedProgram:
    """The program that a session trains.

    Args:
        document: what to train, with the length of the run
        catalogue: the node types
        base: folder of the project file, to which relative paths refer
        name: the project's name, used for the generated classes
        get_report: returns an earlier check of the document, which is reused
    """

    def __init__(
        self,
        document: Document,
        catalogue: Catalogue,
        *,
        base: Path | None,
        name: str | None,
        get_report: Callable[[], Report] | None = None,
    ) -> None:
        self.document = document
        self.program: Program | None = None
        """None before the first call of `lowered`."""
        self._catalogue, self._base, self._name = catalogue, base, name
        self._get_report = get_report
        self._report: Report | None = None

    def lowered(self) -> Program:
        """The program. Raises LoweringError if the document has errors."""
        if self.program is None:
            if self._report is None and self._get_report is not None:
                self._report = self._get_report()
            self._report = self.report()
            self.program = lower(self._report, self._name)
        return self.program

    def report(self) -> Report:
        """The check of the document."""
        return self._checked(self.document)

    def has_same_source(self, document: Document) -> bool:
        """Whether another document gives the same program."""
        return lower(self._checked(document), self._name).source == self.lowered().source

    def _checked(self, document: Document) -> Report:
        """The check of a document: the given one, or a new one that reuses it."""
        report = self._report
        if report is not None and report.dataflow is not None and report.document is document:
            return report
        return check(document, self._catalogue, self._base, previous=report)


__all__ = ["PlannedProgram"]
