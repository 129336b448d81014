"""Generated sources, which users read, equal the reviewed ones: `python FILE` rewrites them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine.compiler.kernels import compile
from tests.engine.compiler.kernels.groups import Group

GOLDEN = Path(__file__).parent / "golden"


def bias_relu() -> str:
    group = Group()
    x, b = group.input(np.ones((4, 8), np.float32)), group.input(np.ones(8, np.float32))
    return _source(group, [group.add("relu", group.add("add", x, b))])


def softmax() -> str:
    group = Group()
    x = group.input(np.ones((4, 8), np.float32))
    powers = group.add("exp", group.add("sub", x, group.add("amax", x, dim=1, keepdim=True)))
    return _source(group, [group.add("div", powers, group.add("sum", powers, dim=1, keepdim=True))])


def column_sums() -> str:
    group = Group()
    x = group.input(np.ones((4, 8)))
    return _source(group, [group.add("sum", group.add("mul", x, 2.0), dim=0)])


def _source(group: Group, outputs: list[object]) -> str:
    return compile(group.fused((4, 8), outputs)).source  # pyright: ignore[reportArgumentType]


CASES: list[Callable[[], str]] = [bias_relu, softmax, column_sums]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_sources_match_the_golden_files(case: Callable[[], str]) -> None:
    assert case() == (GOLDEN / f"{case.__name__}.txt").read_text(encoding="utf-8")


if __name__ == "__main__":
    for one in CASES:
        (GOLDEN / f"{one.__name__}.txt").write_text(one(), encoding="utf-8")
