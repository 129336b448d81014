"""What nodes and wires of a canvas show, from the document, the check report and live values of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.analysis.node_facts import NodeInfo
from studio.lowering.analysis.node_graph import node_type
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes.catalogue import Catalogue
from studio.ui.canvas.nodes.node_content import NodeContent, node_content

_NO_INFO = NodeInfo()


class SceneContent:
    """Combines nodes with the last check report and the live values of a run."""

    def __init__(self, catalogue: Catalogue, is_locked: Callable[[str], bool]) -> None:
        self._catalogue, self._is_locked = catalogue, is_locked
        self._report = Report()
        self._problems: dict[str, tuple[Problem, ...]] = {}
        self._wire_errors: dict[Wire | Endpoint, str] = {}
        self._live: dict[str, str] = {}
        self._figures: Mapping[str, str] = {}
        self.breakpoints: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        """Nodes with enabled breakpoints, and those with disabled ones."""

    def set_report(self, report: Report, names: Iterable[str]) -> list[str]:
        """Set the check report. Returns those of `names` whose summary or problems have changed."""
        by_node: defaultdict[str, list[Problem]] = defaultdict(list)
        for problem in report.problems:
            if problem.node_on_canvas is not None:
                by_node[problem.node_on_canvas].append(problem)
        old_infos, old_problems = self._report.nodes, self._problems
        self._report, self._wire_errors = report, _wire_errors(report)
        self._problems = {name: tuple(found) for name, found in by_node.items()}
        infos, problems = report.nodes, self._problems
        return [
            name
            for name in names
            if infos.get(name, _NO_INFO) is not old_infos.get(name, _NO_INFO)
            or problems.get(name, ()) != old_problems.get(name, ())
        ]

    def set_live(self, values: Mapping[str, str]) -> set[str]:
        """Set the live values by node. Returns the nodes that have or had one."""
        names = {*values, *self._live}
        self._live = dict(values)
        return names

    def set_figures(self, figures: Mapping[str, str]) -> set[str]:
        """Set the figures by which nodes are colored. Returns the nodes whose figure has changed."""
        old, self._figures = self._figures, figures
        return {name for name in (*old, *figures) if old.get(name) != figures.get(name)}

    def remove_live(self, name: str) -> None:
        """Remove the live value of a node that was renamed."""
        self._live.pop(name, None)

    def of_node(self, name: str, node: Node, document: Document) -> NodeContent:
        """The content of a node of `document`."""
        content = node_content(
            name,
            node,
            node_type(document, self._catalogue, name),
            summary=self._report.nodes.get(name, _NO_INFO).summary,
            live=self._live.get(name, ""),
            problems=self._problems.get(name, ()),
        )
        enabled, disabled = self.breakpoints
        if name in enabled or name in disabled:
            content = replace(content, breakpoint="enabled" if name in enabled else "disabled")
        if self._is_locked(name):
            content = replace(content, locked=True)
        figure = self._figures.get(name, "")
        has_room = content.has_line or not content.labeled  # the figure does not change the size of the node
        return replace(content, live=figure) if figure and has_room and not content.live else content

    def label_and_error(self, wire: Wire) -> tuple[str, str]:
        """Shape label and error message of a wire; empty if there is none."""
        return self._report.wires.get(wire, ""), self._wire_errors.get(wire) or self._wire_errors.get(wire.target, "")


def _wire_errors(report: Report) -> dict[Wire | Endpoint, str]:
    """Error messages by wire, or by the input at its end."""
    errors: dict[Wire | Endpoint, str] = {}
    for problem in report.errors:
        if problem.wire is not None:
            errors[problem.wire] = problem.message
        elif problem.node is not None and problem.port is not None:
            errors[Endpoint(problem.node, problem.port)] = problem.message
    return errors


__all__ = ["SceneContent"]
