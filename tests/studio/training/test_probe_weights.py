"""Weights that probes are computed with: initial ones, those of a session, and those of checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.document import edits
from studio.document.model import Document
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import ProbeError
from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.probe_views import ViewRequest, make_views
from studio.training.probing.probe_weights import INITIAL, WeightsRequest, checkpoint_steps, read_weights
from studio.training.training_session import TrainingSession

WEIGHT = "hidden.weight"


def test_weights_of_every_origin(
    session: Callable[..., TrainingSession], digits: Callable[..., Document], tmp_path: Path
) -> None:
    made = edits.set_training(digits(epochs=1), checkpoint_steps=2, checkpoints=9)
    report = check(made, catalogue())
    initial = read_weights(WeightsRequest(), report)
    run = session(made, out=tmp_path / "run", steps=5)
    before = read_weights(WeightsRequest("Run 1", made, run), report)
    assert before.source == initial.source == INITIAL, "no step was trained"
    run.start()
    assert run.join(120)
    live = WeightsRequest("Run 1", made, run)
    last = read_weights(live, report)
    assert last.source == "Run 1, step 5" and not np.array_equal(last.values[WEIGHT], initial.values[WEIGHT])
    folder = WeightsRequest("Run 1", made, None, tmp_path / "run", 5)
    assert np.array_equal(read_weights(folder, report).values[WEIGHT], last.values[WEIGHT])
    steps = checkpoint_steps(tmp_path / "run")
    assert steps
    earlier = read_weights(replace(folder, step=steps[0], is_last=False), report)
    assert earlier.source == f"Run 1, step {steps[0]}"
    with pytest.raises(ProbeError, match=r"no weights of step 1\. It has checkpoints of step"):
        read_weights(replace(folder, step=1, is_last=False), report)
    with pytest.raises(ProbeError, match="missing"):
        read_weights(replace(folder, folder=tmp_path / "missing"), report)
    other = edits.set_param(made, "hidden", "out_features", 9)
    found = read_weights(live, check(other, catalogue()))
    assert found.source == "Initial weights: Run 1 trained another graph"
    assert tuple(found.values[WEIGHT].shape) == (9, 64)
    target = ProbeTarget("logits", "output")
    views = make_views(report, [ViewRequest(target), ViewRequest(None)], folder, ChainOpener(), is_verified=True)
    shown, missing = views.results
    assert shown.view is not None and shown.verification is not None and shown.verification.is_identical
    assert missing.view is None and missing.problem
    again = make_views(report, [ViewRequest(target, "heat map", 3)], folder, ChainOpener(), views.known)
    assert again.known is views.known and again.results[0].verification == shown.verification


def test_a_graph_that_cannot_train_has_weights_layer_by_layer(digits: Callable[..., Document]) -> None:
    broken = edits.set_param(digits(), "logits", "in_features", 3)
    report = check(broken, catalogue())
    assert read_weights(WeightsRequest(), report).values == {}
    requests = [ViewRequest(ProbeTarget("hidden", "output"))]
    views = make_views(report, requests, WeightsRequest(), ChainOpener(), is_verified=True)
    (result,) = views.results
    assert result.view is not None and result.view.statistics.shape == (128, 32)
    assert result.verification is not None and "no training program yet" in result.verification.problem
