"""Class targets in plans are checked as in eager mode."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.compiler.kernels.library.class_targets_kernel import ClassTargets
from engine.errors import IndexRangeError
from engine.nn import functional
from engine.ops.cross_entropy import check_class_targets


def found(targets: list[int], **statics: int) -> tuple[np.ndarray, np.ndarray]:
    routine = ClassTargets(len(targets), statics)
    routine._module.wait()  # pyright: ignore[reportPrivateUsage]
    valid, classes = np.zeros(len(targets), bool), np.full(len(targets), 77)
    routine(np.array(targets), valid, classes)
    return valid, classes


@pytest.mark.parametrize("targets", [[0, 1, 2], [-100, 2, -100], [-100], [2] * 70])
def test_ignored_targets_become_class_0(targets: list[int]) -> None:
    statics = {"ignore_index": -100, "count": 3}
    expected = check_class_targets.kernel(np, np.array(targets), **statics)
    for one, other in zip(found(targets, **statics), expected, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(("targets", "wrong"), [([0, 3, 1], 3), ([0, -1], -1), ([2**40], 2**40)])
def test_a_target_that_is_no_class_is_named(targets: list[int], wrong: int) -> None:
    with pytest.raises(IndexRangeError, match=f"{wrong} is not one of the 3 classes"):
        found(targets, ignore_index=-100, count=3)


def test_compiled_losses_name_it_as_well() -> None:
    compiled = engine.compile(functional.cross_entropy)
    scores = engine.randn(4, 3)
    for _ in range(3):
        compiled(scores, engine.tensor([0, 1, 2, -100]))
    with pytest.raises(IndexRangeError, match="7 is not one of the 3 classes"):
        compiled(scores, engine.tensor([0, 7, 2, 1]))
