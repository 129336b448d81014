"""Random healthy projects: no rule reports anything, in a check or in a run."""

from __future__ import annotations

import os

import pytest

from studio.document.edits import set_param
from tests.studio.mistakes.healthy_graphs import FAMILIES, complaints, healthy_graph

GRAPHS = int(os.environ.get("HEALTHY_GRAPHS", "44"))
RUNS = int(os.environ.get("HEALTHY_RUNS", "4"))
"""150 graphs, and as many runs, are tried by hand."""


def test_a_check_reports_nothing_in_healthy_graphs() -> None:
    assert len(FAMILIES) <= GRAPHS
    found = {seed: list(complaints(healthy_graph(seed)[1])) for seed in range(GRAPHS)}
    assert {seed: texts for seed, texts in found.items() if texts} == {}


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_reports_nothing_in_healthy_graphs(seed: int) -> None:
    assert list(complaints(healthy_graph(seed)[1], run=True)) == []


def test_a_mistake_in_a_healthy_graph_is_a_complaint() -> None:
    document = healthy_graph(0)[1]
    optimizer = next(name for name, node in document.nodes.items() if node.type.startswith("optim."))
    [text] = complaints(set_param(document, optimizer, "lr", 0.0))
    assert "learning-rate-zero" in text
