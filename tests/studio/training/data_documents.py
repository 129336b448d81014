"""Chains of data nodes for tests."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.document.model import Document, Node
from studio.lowering.analysis.node_graph import NodeGraph
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener, chain_to
from studio.training.data.data_statistics import compute_statistics
from studio.training.data.sample_preview import Preview
from studio.training.data.statistics_records import Statistics
from tests.studio.lowering.graphs import document


def chained(*nodes: Node | str, loader: bool = False) -> Document:
    """Data nodes one after the other, called a, b, c, …"""
    named = {chr(ord("a") + place): node for place, node in enumerate([*nodes, *(["data.Batches"] if loader else [])])}
    names = list(named)
    wires = [f"{one}.samples -> {two}.{_input(named[two])}" for one, two in pairwise(names)]
    return document(dict(named), wires)


def _input(node: Node | str) -> str:
    return catalogue()[node if isinstance(node, str) else node.type].inputs[0].name


def previewed(made: Document, name: str | None = None, base: Path | None = None) -> Preview:
    """Of the last node, unless another one is named."""
    chain = chain_to(name or list(made.nodes)[-1], made, NodeGraph(made, catalogue()), base)
    return Preview(chain, ChainOpener().open(chain), made.training.seed)


def described(preview: Preview) -> Statistics:
    [*_, found] = compute_statistics(preview)
    assert isinstance(found, Statistics)
    return found


def arrays(folder: Path, inputs: NDArray[Any], targets: NDArray[Any], name: str = "arrays.npz") -> Node:
    """A source of these arrays, with a file in `folder`."""
    np.savez(folder / name, x=inputs, y=targets)
    return Node("data.NPY", {"path": str(folder / name)})
