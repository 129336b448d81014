"""Arguments learned from data are those of the training samples alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.document import edits
from studio.document.model import Node
from studio.nodes.catalogue import catalogue
from studio.nodes.types import NodeType
from studio.training.data.data_chain import DataProblem
from studio.training.data.transform_fitting import can_fit, fit_arguments
from tests.studio.training.data_documents import arrays, chained, previewed

LEARNING = [kind for kind in catalogue() if can_fit(kind)]


def test_some_can_learn_and_others_cannot() -> None:
    assert {"transforms.Normalize", "transforms.OneHot", "transforms.LabelEncode"} <= {kind.key for kind in LEARNING}
    assert not can_fit(catalogue()["transforms.Resize"])
    assert not can_fit(catalogue()["nn.BatchNorm1d"])


def test_normalize_learns_from_training_samples_only(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(5, 3, (200, 3))
    document = chained(arrays(tmp_path, inputs, np.arange(200) % 2), "transforms.Normalize")
    learned = fit_arguments(document, catalogue(), "b")
    train = previewed(document, "a").after.train
    there = train.arrays(np.arange(len(train)))[0]
    np.testing.assert_allclose(learned.params["mean"], there.mean(0), rtol=1e-5)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(learned.params["std"], there.std(0), rtol=1e-5)  # pyright: ignore[reportArgumentType]
    assert learned.samples == 160
    assert isinstance(learned.params["mean"], list), "as it is written to a file"


@pytest.mark.parametrize("kind", LEARNING, ids=lambda kind: kind.key)
def test_what_is_learned_fits_the_node(tmp_path: Path, kind: NodeType) -> None:
    on_targets = kind.group == "Labels"
    source = arrays(tmp_path, np.random.default_rng(0).random((50, 3)), np.arange(50) % 4)
    params: dict[str, Any] = {"on": "targets"} if on_targets else {}
    document = chained(source, Node(kind.key, params))
    learned = fit_arguments(document, catalogue(), "b")
    for name, value in learned.params.items():
        parameter = kind.param(name)
        assert parameter is not None
        assert parameter.problem(value) is None
        document = edits.set_param(document, "b", name, value)
    facts = previewed(document).facts
    assert facts.counts["training"] == 40


def test_progress_is_reported_and_can_cancel(tmp_path: Path) -> None:
    document = chained(arrays(tmp_path, np.zeros((2000, 2)), np.arange(2000) % 2), "transforms.Normalize")
    told: list[tuple[int, int]] = []
    fit_arguments(document, catalogue(), "b", lambda done, total: told.append((done, total)))
    assert told[0] == (0, 1600)
    assert len(told) > 2

    class Enough(Exception):  # noqa: N818
        pass

    def stop(done: int, total: int) -> None:
        raise Enough

    with pytest.raises(Enough):
        fit_arguments(document, catalogue(), "b", stop)


def test_wrong_arguments_do_not_matter_as_they_are_learned() -> None:
    document = chained("data.Digits", Node("transforms.Normalize", {"mean": [1.0, 2.0, 3.0]}))
    assert fit_arguments(document, catalogue(), "b").samples == 1438


def test_what_leaves_nothing_to_learn_is_said_with_its_node(tmp_path: Path) -> None:
    inputs = np.full((20, 2), np.nan)
    document = chained(arrays(tmp_path, inputs, np.arange(20) % 2), "transforms.Normalize")
    with pytest.raises(DataProblem, match="has only missing values") as caught:
        fit_arguments(document, catalogue(), "b")
    assert caught.value.node == "b"
    muted = edits.set_flag(chained("data.Digits", "transforms.Normalize"), ["b"], muted=True)
    with pytest.raises(DataProblem, match="muted"):
        fit_arguments(muted, catalogue(), "b")
