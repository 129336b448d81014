"""Labels of any convention: what the check says, and that the project trains after its fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.data import arrays, network, points
from studio.training.data.data_inspector import DataInspector
from tests.studio.mistakes.diagnosing import trained_figure

CROSS_ENTROPY, BINARY, SIGNS = "nn.CrossEntropyLoss", "nn.BCEWithLogitsLoss", "nn.SoftMarginLoss"
ENCODE, SCALE = "transforms.LabelEncode", "transforms.Normalize"


def problems(document: Document) -> list[Problem]:
    report = check(document, catalogue())
    return list(DataInspector().inspect(report).joined(report).problems)


def repaired(document: Document) -> Document:
    """After the first fix, again and again."""
    for _ in range(5):
        fix = next((problem.fix for problem in problems(document) if problem.fix is not None), None)
        if fix is None:
            break
        document = fix.edit(document)
    return document


@pytest.mark.parametrize(
    ("labels", "loss", "outputs", "node"),
    [
        ([1, 2, 3], CROSS_ENTROPY, 3, ENCODE),
        ([1, 2, 3], CROSS_ENTROPY, 4, ENCODE),
        ([10, 20, 30], CROSS_ENTROPY, 3, ENCODE),
        ([10, 20, 30], CROSS_ENTROPY, 31, ENCODE),
        ([10, 20, 30], CROSS_ENTROPY, 5, ENCODE),
        (["low", "middle", "high"], CROSS_ENTROPY, 3, ""),
        ([-1, 1], CROSS_ENTROPY, 2, ""),
        ([-1.0, 1.0], BINARY, 1, SCALE),
        ([1.0, 2.0], BINARY, 1, SCALE),
        ([-1, 1], BINARY, 1, ""),
        ([0.0, 1.0], SIGNS, 1, SCALE),
        ([0, 1], SIGNS, 1, SCALE),
        ([-1, 1], SIGNS, 1, SCALE),
    ],
)
def test_a_project_with_any_labels_trains_after_its_fixes(
    tmp_path: Path, labels: list[Any], loss: str, outputs: int, node: str
) -> None:
    inputs, targets = points(classes=len(labels))
    document = network(arrays(tmp_path, inputs, np.array(labels)[targets]), outputs=outputs, loss=loss)
    fixed = repaired(document)
    assert problems(fixed) == []
    added = {fixed.nodes[name].type for name in set(fixed.nodes) - set(document.nodes)}
    assert added & {ENCODE, SCALE} == ({node} if node else set())
    assert trained_figure(fixed, "val_loss", 8, tmp_path) < 0.1
    if node == ENCODE:
        [encoder] = [each for each in fixed.nodes.values() if each.type == ENCODE]
        assert encoder.params == {"labels": labels, "on": "targets"}


def test_labels_that_may_be_missing_values_are_refused(tmp_path: Path) -> None:
    inputs, targets = points(classes=3)
    [problem] = problems(network(arrays(tmp_path, inputs, targets - 1), outputs=3))
    assert problem.code == "bad-data" and "contains label -1" in problem.message


def test_most_numbers_in_use_are_classes_without_samples(tmp_path: Path) -> None:
    inputs, targets = points(classes=5)
    targets = np.where(targets == 2, 3, targets)
    found = problems(network(arrays(tmp_path, inputs, targets), outputs=5))
    assert {problem.code for problem in found} == {"missing-class"}
