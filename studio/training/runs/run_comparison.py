"""What a run was made of and what came of it, in rows: of one run to read, of two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import asdict

from studio.document.document_errors import FileError
from studio.document.model import Document, Node
from studio.nodes.catalogue import Catalogue
from studio.training.runs.run_history import Run


class Missing:
    """Stands for the value of a run that has none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
_OUTSIDE = ("at", "collapsed", "note", "params", "type")
"""Fields of a node that are not settings: its place and the like."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One fact, with a value for each run."""

    name: str
    values: tuple[Any, ...]
    rows: tuple[ComparisonRow, ...] = ()
    node: str | None = None
    """The node of the canvas that it is about."""

    @property
    def differs(self) -> bool:
        """The runs are not alike in this, or in something below it."""
        return any(value != self.values[0] for value in self.values[1:]) or any(row.differs for row in self.rows)


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    title: str
    rows: tuple[ComparisonRow, ...]

    @property
    def differs(self) -> bool:
        return any(row.differs for row in self.rows)


def compare_runs(runs: Sequence[Run], catalogue: Catalogue) -> tuple[ComparisonGroup, ...]:
    """Everything that is known of these runs, in groups. What no run tells is left out."""
    documents = [_document(run) for run in runs]
    groups = (
        ComparisonGroup("Results", _rows([_figures(run) for run in runs])),
        ComparisonGroup("Graph", compare_graphs(documents, catalogue)),
        ComparisonGroup(
            "Settings",
            _rows([settings_in_effect(run, document) for run, document in zip(runs, documents, strict=True)]),
        ),
        ComparisonGroup("Data", _rows([_data(run) for run in runs])),
        ComparisonGroup("Versions", _rows([_mapping(run.about.get("versions")) for run in runs])),
        ComparisonGroup("Machine", _rows([_mapping(run.about.get("machine")) for run in runs])),
    )
    return tuple(group for group in groups if group.rows)


def compare_graphs(documents: Sequence[Document | None], catalogue: Catalogue) -> tuple[ComparisonRow, ...]:
    """A row for each node with its parameters below it, then one for the wires that not all have."""
    names = dict.fromkeys(name for document in documents if document is not None for name in document.nodes)
    rows = [_node_row(name, [None if d is None else d.nodes.get(name) for d in documents], catalogue) for name in names]
    wires = [frozenset() if document is None else frozenset(map(str, document.wires)) for document in documents]
    shared = frozenset.intersection(*wires) if wires else frozenset()
    loose = sorted(frozenset.union(*wires) - shared) if wires else []
    if loose:
        below = tuple(
            ComparisonRow(wire, tuple("there" if wire in own else MISSING for own in wires)) for wire in loose
        )
        rows.append(ComparisonRow("Wires", tuple(len(own) for own in wires), below))
    return tuple(rows)


def describe_differences(here: Document, there: Document, catalogue: Catalogue) -> list[str]:
    """In what a document trains otherwise than one from before, in words."""
    rows = compare_graphs((here, there), catalogue)
    loose = [row.name for row in rows if MISSING in row.values]
    found = [words for row in rows for words in _told_row(row, loose)]
    ours, theirs = asdict(here.training), asdict(there.training)
    names = [name for name in ours if ours[name] != theirs[name]]
    return [*found, *(f"{name} is {_said(ours[name])}, not {_said(theirs[name])}" for name in names)]


def _told_row(row: ComparisonRow, loose: Sequence[str]) -> Iterator[str]:
    """Wires of nodes that are new or gone are so, too."""
    if row.node is None:
        wires = [wire for wire in row.rows if not any(f"{name}." in wire.name for name in loose)]
        yield from (f"the wire {wire.name} is {_known_by(wire)}" for wire in wires)
    elif MISSING in row.values:
        yield f"{row.name} is {_known_by(row)}"
    elif row.values[0] != row.values[1]:
        yield f"{row.name} is {row.values[0]}, not {row.values[1]}"
    else:
        for below in row.rows:
            if below.differs:
                yield f"{row.name}.{below.name} is {_said(below.values[0])}, not {_said(below.values[1])}"


def _known_by(row: ComparisonRow) -> str:
    return "new" if row.values[1] is MISSING else "gone"


def _said(value: Any) -> str:
    return "left to follow" if value is MISSING else "none" if value is None else str(value)


def settings_in_effect(run: Run, document: Document | None) -> dict[str, Any]:
    """How a run was trained: its document's settings, and what was asked for this run instead."""
    written = {} if document is None else asdict(document.training)
    return {**written, **{name: value for name, value in run.settings.items() if value is not None or name == "epochs"}}


def varying_settings(runs: Sequence[Run], catalogue: Catalogue) -> dict[Run, dict[str, Any]]:
    """Of many runs, the settings and parameters in which they are not all alike, with the values of each run."""
    found = {run: _flat(run, catalogue) for run in runs}
    names = dict.fromkeys(name for flat in found.values() for name in flat)
    loose = [name for name in names if len({repr(flat.get(name, MISSING)) for flat in found.values()}) > 1]
    return {run: {name: flat[name] for name in loose if name in flat} for run, flat in found.items()}


def _flat(run: Run, catalogue: Catalogue) -> dict[str, Any]:
    document = _document(run)
    flat = settings_in_effect(run, document)
    for name, node in document.nodes.items() if document is not None else ():
        flat |= {f"{name}.{parameter}": value for parameter, value in _parameters(node, catalogue).items()}
    return flat


def _document(run: Run) -> Document | None:
    try:
        return run.read_document()
    except FileError:
        return None


def _figures(run: Run) -> dict[str, Any]:
    ended, started = run.ended, run.started
    taken = {} if ended is None or started is None else {"duration": ended - started}
    best = {f"best {name}": value for name, value in run.best.items() if name not in ("epoch", "step")}
    at = {"best epoch": run.best["epoch"]} if "epoch" in run.best else {}
    return {**run.last, **at, **best, **taken}


def _node_row(name: str, nodes: Sequence[Node | None], catalogue: Catalogue) -> ComparisonRow:
    kinds = tuple(MISSING if node is None else _kind(node, catalogue) for node in nodes)
    below = _rows([{} if node is None else _parameters(node, catalogue) for node in nodes])
    return ComparisonRow(name, kinds, below, node=name)


def _kind(node: Node, catalogue: Catalogue) -> str:
    kind = catalogue.get(node.type)
    return node.type if kind is None else kind.title


def _parameters(node: Node, catalogue: Catalogue) -> dict[str, Any]:
    """What was set by hand and what is the default; not what follows from the wires."""
    kind = catalogue.get(node.type)
    defaults = {} if kind is None else {p.name: p.default for p in kind.params if not p.required and not p.from_input}
    states = {name: True for name, value in asdict(node).items() if name not in _OUTSIDE and value}
    return {**defaults, **node.params, **states}


def _data(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for file in run.about.get("data") or ():
        if isinstance(file, dict):
            found[str(file.get("path"))] = f"{str(file.get('sha256'))[:12]} · {int(file.get('bytes') or 0):,} bytes"
    return found


def _rows(values: Sequence[Mapping[str, Any]]) -> tuple[ComparisonRow, ...]:
    names = dict.fromkeys(name for one in values for name in one)
    return tuple(ComparisonRow(name, tuple(one.get(name, MISSING) for one in values)) for name in names)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def changed_nodes(groups: Iterable[ComparisonGroup]) -> tuple[str, ...]:
    """The nodes in which two runs are not alike."""
    return tuple(row.node for group in groups for row in group.rows if row.node is not None and row.differs)


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
