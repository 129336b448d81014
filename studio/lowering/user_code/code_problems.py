"""Problems of Python nodes: untrusted code, code that fails, and mistakes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from studio.document.code_trust import TRUST
from studio.document.edits import set_param
from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import NodeOutcome
from studio.lowering.codegen.code_sections import CodeSection
from studio.lowering.problems.diagnosis import Severity
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.user_code.code_errors import described, line_in
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.code_mistakes import code_mistakes
from studio.lowering.user_code.document_code import untrusted_code
from studio.lowering.user_code.repeatable_code import state_change
from studio.nodes.python_node import PYTHON, SOURCE, source_of

UNTRUSTED = "untrusted-code"
MAX_LISTED = 5
"""Maximum number of nodes that a message names."""


def code_problems(flow: Dataflow) -> Iterator[Problem]:
    """One warning for all untrusted code, and for each node its failure and the mistakes in its source."""
    if untrusted := untrusted_code(flow.document):
        yield untrusted_problem(untrusted, is_error=False)
    for name, facts in flow.facts.items():
        if facts.type.key == PYTHON and name not in flow.graph.muted:
            yield from _node_problems(name, source_of(facts.node.params), facts.outcome)


def unobserved_code(flow: Dataflow) -> list[Problem]:
    """Nodes whose code changes more than its outputs, so that a run cannot compute a batch once more to observe it."""
    found: list[Problem] = []
    for name, facts in flow.facts.items():
        if facts.type.key != PYTHON or name in flow.graph.muted:
            continue
        if (reason := state_change(source_of(facts.node.params))) is not None:
            message = (
                f"The layers of this run are not observed, because the code of {name} has effects: {reason}. "
                "Only its losses are examined."
            )
            found.append(Problem("hint", "not-observed", message, node=name))
    return found


def _node_problems(name: str, source: str, outcome: NodeOutcome) -> Iterator[Problem]:
    """The mistakes in the source of a node, and its failure unless one of them is the cause."""
    mistakes = code_mistakes(source)
    failure = outcome.failure if outcome.fails_on == "code" else ""
    if failure and not any(failure.startswith(f"line {mistake.line}:") for mistake in mistakes):
        yield Problem("error", "code-failed", f"{name}: {failure}.", node=name)
    for mistake in mistakes:
        severity: Severity = "error" if failure.startswith(f"line {mistake.line}:") else "warning"
        fix = None
        if mistake.source is not None:
            fix = Fix(mistake.title, partial(_corrected, name=name, code=mistake.code))
        message = f"{name}: line {mistake.line}: {mistake.message}."
        yield Problem(severity, mistake.code, message, node=name, fix=fix, evidence={"line": mistake.line})


def _corrected(document: Document, *, name: str, code: str) -> Document:
    """The document with a source without a mistake. It is trusted, for this process, as the source before was."""
    before = source_of(document.nodes[name].params)
    after = next((each.source for each in code_mistakes(before) if each.code == code), None)
    if after is None:
        return document
    return changed_source(document, name=name, source=after)


def changed_source(document: Document, *, name: str, source: str) -> Document:
    """The document with another source of a node, which is trusted, for this process, as the one before was."""
    if is_trusted(source_of(document.nodes[name].params)):
        TRUST.allow([source])
    return set_param(document, name, SOURCE, source)


def untrusted_problem(untrusted: Mapping[str, Sequence[str]], *, is_error: bool = True, file: str = "FILE") -> Problem:
    """The problem of a project with untrusted code.

    Args:
        untrusted: paths of the nodes of each source
        file: the project file, for the command that trusts it
    """
    paths = [path for listed in untrusted.values() for path in listed]
    shown = ", ".join(paths[:MAX_LISTED])
    more = f" and {len(paths) - MAX_LISTED:,} more" if len(paths) > MAX_LISTED else ""
    is_one = len(paths) == 1
    message = (
        f"{shown}{more} contain{'s' if is_one else ''} Python code that is not trusted, so it "
        f"{'was not run' if is_error else 'is not run, and the shapes after it are unknown'}. "
        f"Read the code, then trust it with File › Trust Python code, or with the command gradwire trust {file}."
    )
    return Problem("error" if is_error else "warning", UNTRUSTED, message, node=paths[0])


def failed_code(section: CodeSection, filename: str, error: Exception) -> Problem:
    """The problem of code that raised an exception while its function or class was defined."""
    line = line_in(error, filename)
    where = "" if line is None else f"line {section.source_line(line)}: "
    node = section.nodes[0]
    return Problem("error", "code-failed", f"{node}: {where}{described(error, str(error))}.", node=node)


__all__ = ["UNTRUSTED", "changed_source", "code_problems", "failed_code", "unobserved_code", "untrusted_problem"]
