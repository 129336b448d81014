"""The command `data`: statistics of a project's samples, and problems found in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated

import typer

from studio.cli.error_output import InputError, escape_control, print_json, print_text
from studio.cli.error_reporting import exit_with_error, report_errors
from studio.cli.shared_options import Assignments, File, Json, project_folder, read_project
from studio.document.model import Document
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import DATA_ROLES, ChainOpener, DataProblem, chain_to, data_node_for_selection
from studio.training.data.data_statistics import Progress, compute_statistics
from studio.training.data.sample_preview import Preview
from studio.training.data.statistics_records import ChannelFigures, Statistics

_LONGEST_NAME = 60
"""Longest name of a class or column in the text output; --json prints full names."""
_MOST_LINES = 40
"""Most classes or columns in the text output; --json prints all."""


def data(
    file: File,
    node: Annotated[
        str | None,
        typer.Argument(metavar="NODE", help="Source, transform, split or loader (default: the training loader)."),
    ] = None,
    assignments: Assignments = None,
    as_json: Json = False,
) -> None:
    with report_errors(as_json=as_json):
        document = read_project(file, assignments)
        graph = NodeGraph(document, catalogue())
        name = _chosen_node(document, graph, node)
    try:
        chain = chain_to(name, document, graph, project_folder(file))
        preview = Preview(chain, ChainOpener().open(chain), document.training.seed)
        found = _compute_statistics(preview, check(document, catalogue(), project_folder(file)).dataflow)
    except DataProblem as problem:
        exit_with_error(Problem("error", "bad-data", str(problem), node=problem.node), as_json=as_json)
    if as_json:
        spec, target = str(found.spec), str(found.target)
        problems = [problem.within(document).as_dict() for problem in found.problems]
        figures = asdict(replace(found, problems=()))
        print_json({"event": "described", **figures, "spec": spec, "target": target, "problems": problems})
        return
    for line in _statistics_lines(found, chain[0].name):
        print_text(line)


def _chosen_node(document: Document, graph: NodeGraph, node: str | None) -> str:
    if node is not None and node not in document.nodes:
        raise InputError(f"there is no node {node!r}. Data nodes of the project: {_data_nodes(graph)}.")
    if node is not None and graph.types[node].role not in DATA_ROLES:
        raise InputError(f"{node} is not a data node. Data nodes of the project: {_data_nodes(graph)}.")
    name = node or data_node_for_selection(graph, ())
    if name is None:
        raise InputError("the project has no data source. Add one, for example Digits.")
    return name


def _data_nodes(graph: NodeGraph) -> str:
    return ", ".join(name for name, kind in graph.types.items() if kind.role in DATA_ROLES) or "none"


def _compute_statistics(preview: Preview, flow: Dataflow | None) -> Statistics:
    found = None
    for item in compute_statistics(preview, flow=flow):
        found = None if isinstance(item, Progress) else item
    assert found is not None
    return found


def _statistics_lines(found: Statistics, source: str) -> Iterator[str]:
    yield f"{found.node}: {found.spec} → {found.target}" + (f", from {source}" if source != found.node else "")
    for part in found.parts:
        examined = "" if part.looked_at == part.samples else f" ({part.looked_at:,} examined)"
        first = "the first " if part.is_stream else ""
        yield f"{part.part}: {first}{part.samples:,} samples{' of a stream' if first else ''}{examined}"
    if found.class_names:
        classes = [_shorten(name) for name in found.class_names[:_MOST_LINES]]
        width = max(5, *map(len, classes))
        yield ""
        yield f"{'class':{width}}" + "".join(f" {part.part:>12}" for part in found.parts)
        for number, name in enumerate(classes):
            yield f"{name:{width}}" + "".join(f" {part.classes[number]:12,}" for part in found.parts)
        yield from _omitted(len(found.class_names), "classes")
    training = found.parts[0]
    channels = [*training.channels, *training.targets]
    columns = [_shorten(channel.name) for channel in channels[:_MOST_LINES]]
    width = max(map(len, columns))
    yield ""
    titles = ("low", "high", "mean", "std", "missing", "infinite")
    yield " " * width + "".join(f" {title:>11}" for title in titles) + "  (training)"
    for name, channel in zip(columns, channels, strict=False):
        yield f"{name:{width}}" + _channel_columns(channel)
    yield from _omitted(len(channels), "columns")
    for problem in found.problems:
        yield f"{problem.severity}: {problem.message}"


def _shorten(name: str) -> str:
    """Shorten a name to one line."""
    shown = escape_control(name.replace("\n", " "))
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"


def _channel_columns(channel: ChannelFigures) -> str:
    figures = (channel.low, channel.high, channel.mean, channel.std) if channel.numbers else (float("nan"),) * 4
    counts = (channel.missing, channel.infinite)
    return "".join(f" {figure:11.4g}" for figure in figures) + "".join(f" {count:11,}" for count in counts)


def _omitted(count: int, noun: str) -> Iterator[str]:
    if count > _MOST_LINES:
        yield f"… and {count - _MOST_LINES:,} more {noun}"


__all__ = ["data"]
