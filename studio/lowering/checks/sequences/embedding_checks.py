"""The number of rows that an embedding needs for the indices of its data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

EMBEDDING = "nn.Embedding"
EMBEDDINGS = (EMBEDDING, "nn.EmbeddingBag")
ROWS = "num_embeddings"


def few_embeddings(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Fewer embedding rows than indices in the data, where a loader provides them."""
    rows, loader = facts.arguments.values.get(ROWS), _index_loader(flow, name)
    scale = flow.scale(loader) if loader is not None and isinstance(rows, int) else None
    if loader is None or scale is None or not isinstance(rows, int):
        return
    needed, tokens = int(scale.high) + 1, _token_count(flow, loader)
    found = f"the indices in {scale.samples:,} samples go up to {scale.high:,.0f}"
    if tokens > needed:
        needed, found = tokens, f"the data has {tokens:,} different tokens"
    if rows < needed:
        message = f"{name} has {rows:,} rows but {found}. Set {ROWS} to {needed} or more."
        evidence = {"rows": rows, "needed": needed}
        fix = quick_fixes.assign(name, ROWS, needed)
        yield Problem("error", "few-embeddings", message, node=name, fix=fix, evidence=evidence)


def fitting_rows(flow: Dataflow, name: str) -> tuple[str, Fix] | None:
    """Advice and a fix that gives an embedding without a number of rows one for each index of its data."""
    loader = _index_loader(flow, name)
    scale = flow.scale(loader) if loader is not None else None
    if loader is None or scale is None:
        return None
    rows = max(int(scale.high) + 1, _token_count(flow, loader))
    advice = f"The inputs of {loader} are indices from 0 to {rows - 1}. Set {ROWS} to {rows}."
    return advice, quick_fixes.assign(name, ROWS, rows)


def _token_count(flow: Dataflow, loader: str) -> int:
    """The number of tokens of a text whose targets are the next tokens; 0 for other data."""
    samples = next(iter(flow.facts[loader].inputs.values()), None)
    if not isinstance(samples, SampleSpec) or samples.classes is None or samples.target != samples.input:
        return 0
    return samples.classes


def _index_loader(flow: Dataflow, name: str) -> str | None:
    """The loader whose inputs are the indices of an embedding."""
    *_, end = walk([Endpoint(name, "output")], partial(_index_source, flow))
    spec, loader = flow.facts[name].spec("input"), flow.facts.get(end.node)
    if spec is None or spec.dtype.is_floating_point or loader is None:
        return None
    return end.node if loader.type.role is Role.LOADER and end.port == "input" else None


def _index_source(flow: Dataflow, end: Endpoint) -> list[Endpoint]:
    """The source of indices, through lookup and reshape layers."""
    node_type = flow.graph.types[end.node]
    is_passing = node_type.key in (*EMBEDDINGS, "Tensor.to") or node_type.group == "Shape"
    source = flow.graph.source(end.node, node_type.inputs[0].name) if is_passing and node_type.inputs else None
    return [] if source is None else [source]


__all__ = ["EMBEDDING", "EMBEDDINGS", "ROWS", "few_embeddings", "fitting_rows"]
