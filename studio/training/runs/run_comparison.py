"""Rows that describe one run, or compare several: metrics, graph, settings, data, versions and machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict

from studio.document.blocks.block_expansion import flat_document
from studio.document.document_errors import FileError
from studio.document.model import Document, Node
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.nodes.catalogue import Catalogue
from studio.training.runs.run_history import Run


class Missing:
    """Marker for a missing value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
_OUTSIDE = ("at", "collapsed", "dismissed", "note", "params", "type")
"""Fields of a node that are not settings."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One property with a value per run."""

    name: str
    values: tuple[Any, ...]
    rows: tuple[ComparisonRow, ...] = ()
    node: str | None = None
    """The canvas node of the row, if any."""

    @property
    def differs(self) -> bool:
        """Whether the runs differ in this row or in a row below it."""
        return any(value != self.values[0] for value in self.values[1:]) or any(row.differs for row in self.rows)


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    key: str
    """Key in JSON output."""
    title: str
    rows: tuple[ComparisonRow, ...]

    @property
    def differs(self) -> bool:
        return any(row.differs for row in self.rows)


def compare_runs(runs: Sequence[Run], catalogue: Catalogue) -> tuple[ComparisonGroup, ...]:
    """All properties of the runs, in groups. Groups without rows are omitted."""
    documents = [_document(run) for run in runs]
    groups = (
        ComparisonGroup("figures", "Results", _rows([_metrics(run) for run in runs])),
        ComparisonGroup("problems", "Problems", _problem_rows(runs)),
        ComparisonGroup("graph", "Graph", compare_graphs(documents, catalogue)),
        ComparisonGroup(
            "settings",
            "Settings",
            _rows([settings_in_effect(run, document) for run, document in zip(runs, documents, strict=True)]),
        ),
        ComparisonGroup("data", "Data", _rows([_data(run) for run in runs])),
        ComparisonGroup("versions", "Versions", _rows([_mapping(run.metadata.get("versions")) for run in runs])),
        ComparisonGroup("machine", "Machine", _rows([_mapping(run.metadata.get("machine")) for run in runs])),
    )
    return tuple(group for group in groups if group.rows)


def compare_graphs(documents: Sequence[Document | None], catalogue: Catalogue) -> tuple[ComparisonRow, ...]:
    """One row per node with its parameters below it, then a row for wires that not all documents have."""
    names = dict.fromkeys(name for document in documents if document is not None for name in document.nodes)
    rows = [_node_row(name, [None if d is None else d.nodes.get(name) for d in documents], catalogue) for name in names]
    wires = [frozenset() if document is None else frozenset(map(str, document.wires)) for document in documents]
    shared = frozenset.intersection(*wires) if wires else frozenset()
    unshared = sorted(frozenset.union(*wires) - shared) if wires else []
    if unshared:
        rows_of_wires = tuple(
            ComparisonRow(wire, tuple("there" if wire in of_run else MISSING for of_run in wires)) for wire in unshared
        )
        rows.append(ComparisonRow("Wires", tuple(len(of_run) for of_run in wires), rows_of_wires))
    return tuple(rows)


def describe_differences(here: Document, there: Document, catalogue: Catalogue) -> list[str]:
    """Describe the differences of `here` from the earlier document `there`."""
    rows = compare_graphs((here, there), catalogue)
    unpaired = [row.name for row in rows if MISSING in row.values]
    texts = [text for row in rows for text in _describe_row(row, unpaired)]
    ours, theirs = asdict(here.training), asdict(there.training)
    names = [name for name in ours if ours[name] != theirs[name]]
    return [*texts, *(f"{name} is {_format_value(ours[name])}, not {_format_value(theirs[name])}" for name in names)]


def _describe_row(row: ComparisonRow, unpaired: Sequence[str]) -> Iterator[str]:
    """Describe a differing row. Wires of added or removed nodes are omitted."""
    if row.node is None:
        wires = [wire for wire in row.rows if not any(f"{name}." in wire.name for name in unpaired)]
        yield from (f"the wire {wire.name} is {_added_or_removed(wire)}" for wire in wires)
    elif MISSING in row.values:
        yield f"{row.name} is {_added_or_removed(row)}"
    elif row.values[0] != row.values[1]:
        yield f"{row.name} is {row.values[0]}, not {row.values[1]}"
    else:
        for child in row.rows:
            if child.differs:
                here, there = map(_format_value, child.values)
                yield f"{row.name}.{child.name} is {here}, not {there}"


def _added_or_removed(row: ComparisonRow) -> str:
    return "added" if row.values[1] is MISSING else "removed"


def _format_value(value: Any) -> str:
    return "unset" if value is MISSING else "none" if value is None else str(value)


def settings_in_effect(run: Run, document: Document | None) -> dict[str, Any]:
    """Settings of a run: those of its document with the run's overrides."""
    written = {} if document is None else asdict(document.training)
    return {**written, **{name: value for name, value in run.settings.items() if value is not None or name == "epochs"}}


def varying_settings(runs: Sequence[Run], catalogue: Catalogue) -> dict[Run, dict[str, Any]]:
    """Settings and parameters that differ between runs, with the values of each run."""
    found = {run: _flat(run, catalogue) for run in runs}
    names = dict.fromkeys(name for flat in found.values() for name in flat)
    varying = [name for name in names if len({repr(flat.get(name, MISSING)) for flat in found.values()}) > 1]
    return {run: {name: flat[name] for name in varying if name in flat} for run, flat in found.items()}


def _flat(run: Run, catalogue: Catalogue) -> dict[str, Any]:
    document = _document(run)
    flat = settings_in_effect(run, document)
    for name, node in document.nodes.items() if document is not None else ():
        flat |= {f"{name}.{parameter}": value for parameter, value in _parameters(node, catalogue).items()}
    return flat


def _document(run: Run) -> Document | None:
    try:
        return flat_document(run.read_document())
    except FileError:
        return None


def _metrics(run: Run) -> dict[str, Any]:
    ended, started = run.ended, run.started
    duration = {} if ended is None or started is None else {"duration": ended - started}
    best = {f"best {name}": value for name, value in run.best.items() if name not in ("epoch", "step")}
    at = {"best epoch": run.best["epoch"]} if "epoch" in run.best else {}
    return {**run.last, **at, **best, **duration}


def _node_row(name: str, nodes: Sequence[Node | None], catalogue: Catalogue) -> ComparisonRow:
    kinds = tuple(MISSING if node is None else _kind(node, catalogue) for node in nodes)
    below = _rows([{} if node is None else _parameters(node, catalogue) for node in nodes])
    return ComparisonRow(name, kinds, below, node=name.partition(".")[0])


def _kind(node: Node, catalogue: Catalogue) -> str:
    kind = catalogue.get(node.type)
    return node.type if kind is None else kind.title


def _parameters(node: Node, catalogue: Catalogue) -> dict[str, Any]:
    """Set and default parameters of a node, without inferred ones."""
    kind = catalogue.get(node.type)
    defaults = {} if kind is None else {p.name: p.default for p in kind.params if not p.required and not p.from_input}
    states = {name: True for name, value in asdict(node).items() if name not in _OUTSIDE and value}
    return {**defaults, **node.params, **states}


def _data(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in run.metadata.get("data") or ():
        if isinstance(file, dict):
            found[str(file.get("path"))] = f"{str(file.get('sha256'))[:12]} · {int(file.get('bytes') or 0):,} bytes"
    return found


def _problem_rows(runs: Sequence[Run]) -> tuple[ComparisonRow, ...]:
    """One row per kind of problem that a run has shown, with its message."""
    found = [{str(each["code"]): each for each in run.metadata.get("problems") or ()} for run in runs]
    rows: list[ComparisonRow] = []
    for problem_code in dict.fromkeys(problem_code for problems in found for problem_code in problems):
        title = DIAGNOSES[problem_code].title if problem_code in DIAGNOSES else problem_code
        messages = (problems[problem_code]["message"] if problem_code in problems else MISSING for problems in found)
        rows.append(ComparisonRow(title, tuple(messages), node=_problem_node(problem_code, found)))
    return tuple(rows)


def _problem_node(problem_code: str, found: Sequence[Mapping[str, Mapping[str, Any]]]) -> str | None:
    nodes = [each[problem_code].get("node") for each in found if problem_code in each]
    return str(nodes[0]).partition(".")[0] if nodes and nodes[0] else None


def _rows(values: Sequence[Mapping[str, Any]]) -> tuple[ComparisonRow, ...]:
    names = dict.fromkeys(name for one in values for name in one)
    return tuple(ComparisonRow(name, tuple(one.get(name, MISSING) for one in values)) for name in names)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def changed_nodes(groups: Iterable[ComparisonGroup]) -> tuple[str, ...]:
    """The nodes that differ between runs."""
    return tuple(
        row.node
        for group in groups
        for row in group.rows
        if group.key == "graph" and row.node is not None and row.differs
    )


__all__ = [
    "MISSING",
    "ComparisonGroup",
    "Missing",
    "ComparisonRow",
    "changed_nodes",
    "compare_runs",
    "compare_graphs",
    "settings_in_effect",
    "describe_differences",
    "varying_settings",
]
