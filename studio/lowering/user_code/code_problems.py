"""Problems of Python nodes: untrusted code, and code that fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.codegen.code_sections import CodeSection
from studio.lowering.problems.problem import Problem
from studio.lowering.user_code.code_errors import described, line_in
from studio.lowering.user_code.document_code import untrusted_code

UNTRUSTED = "untrusted-code"
MAX_LISTED = 5
"""Maximum number of nodes that a message names."""


def code_problems(flow: Dataflow) -> Iterator[Problem]:
    """One warning for all untrusted code, and an error for each node whose code fails."""
    if untrusted := untrusted_code(flow.document):
        yield untrusted_problem(untrusted, is_error=False)
    for name, facts in flow.facts.items():
        if facts.outcome.fails_on == "code":
            yield Problem("error", "code-failed", f"{name}: {facts.outcome.failure}.", node=name)


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


__all__ = ["UNTRUSTED", "code_problems", "failed_code", "untrusted_problem"]
