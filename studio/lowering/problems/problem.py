"""A problem of a document, and the fix that a button applies.

Rules for all problems:

- `node` is the node where the user acts: the one whose parameters, name or wires the first remedy changes. If the
  problem appears at another node, the message names both, and `affected` is the node where it appears.
- A message is one sentence with the expected and the actual value, then the next step as an imperative sentence. It
  names nodes by name, ports as ``node.port`` and parameters by name.
- The title of a fix is the next step in a few words, such as "Set lr to 0.001".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from studio.document.document_errors import EditError
from studio.document.model import Document, Wire
from studio.lowering.problems.change_records import Change, changes
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.diagnosis import SEVERITIES, Severity


@dataclass(frozen=True, slots=True)
class Fix:
    """A quick fix: an edit with its button title."""

    title: str
    edit: Callable[[Document], Document] = field(compare=False)
    settings: tuple[str, ...] = ()
    """The same edit as arguments of `--set`: "adam.lr=0.001". Empty if it changes wires or nodes."""
    document: Document | None = field(default=None, compare=False, repr=False)
    """The document that the fix applies to."""
    reason: str = ""
    """Why it is recommended before other fixes of the problem, or what a trial of it measured."""
    inner: Callable[[str], Callable[[Document], Document]] | None = field(default=None, compare=False, repr=False)
    """The edit of the definition of a block, for nodes of the flat graph whose paths begin with a prefix: `edit_flat`
    cannot add nodes to definitions. None if the fix adds none."""

    def because(self, reason: str) -> Fix:
        """The fix with the reason why it is recommended."""
        return replace(self, reason=reason)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The edit as data; empty if its document is unknown or the edit cannot be applied."""
        if self.document is None:
            return ()
        try:
            return changes(self.document, self.edit(self.document))
        except EditError:  # a check tries only some of many fixes
            return ()

    def as_dict(self) -> dict[str, Any]:
        """The JSON record of one of several fixes."""
        return {"fix": self.title, "set": list(self.settings), "edits": list(self.changes), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, its location, and how to fix it. `code` is that of a declared diagnosis."""

    severity: Severity
    code: str
    message: str
    """Expected and actual values, and the next step."""
    node: str | None = None
    """The node where the user acts, by its path; None for a problem of the whole project."""
    port: str | None = None
    """A port of `node`."""
    wire: Wire | None = None
    fix: Fix | None = None
    option: str = ""
    """Argument of `--set` that fixes the problem: "digits.folder=PATH"."""
    also: tuple[str, ...] = ()
    """Other nodes with the same problem, if several problems are merged into one."""
    affected: str | None = None
    """The node where the problem appears, if not at `node`. An error only prevents runs that use this node."""
    block: str = ""
    """The block whose definition has the problem; `node` is in its first instance. Empty for other problems."""
    others: tuple[Fix, ...] = ()
    """Other remedies. `fix` is the recommended one; its `reason` says why."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """What was measured, by name, as JSON values: {"mean": 131.2, "std": 60.1}. The message gives it in words."""

    dismissed: bool = False
    """Whether the document says that problems with this code are not reported for the node."""

    @property
    def rank(self) -> int:
        """0 for errors, 1 for warnings, 2 for hints."""
        return SEVERITIES.index(self.severity)

    @property
    def node_on_canvas(self) -> str | None:
        """The node itself, or the outermost instance of a block that it is in."""
        return None if self.node is None else self.node.partition(".")[0]

    @property
    def help(self) -> str:
        """Explanation of problems with this code."""
        return DIAGNOSES[self.code].help if self.code in DIAGNOSES else ""

    def within(self, document: Document) -> Problem:
        """The problem with its fix bound to a document."""
        if self.fix is None:
            return self
        others = tuple(replace(other, document=document) for other in self.others)
        return replace(self, fix=replace(self.fix, document=document), others=others)

    def as_dict(self) -> dict[str, Any]:
        """The JSON record of the problem, the same in every command."""
        fix = self.fix
        settings = [] if fix is None else list(fix.settings)
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "node": self.node,
            "port": self.port,
            "wire": None if self.wire is None else str(self.wire),
            "fix": None if fix is None else fix.title,
            "set": settings or ([self.option] if self.option else []),
            "edits": [] if fix is None else list(fix.changes),
            "reason": "" if fix is None else fix.reason,
            "others": [other.as_dict() for other in self.others],
            "evidence": dict(self.evidence),
            "dismissed": self.dismissed,
            "help": self.help,
        }


__all__ = ["Fix", "Problem"]
