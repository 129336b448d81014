"""The memory of a call is estimated before it begins, also where values are not what they seem."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import Tensor, export, nn
from engine.export import Artifact, ArtifactError
from engine.nn import functional as F

ROWS = 1000


def needed(found: Artifact, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that a call with 1000 rows needs, from its error."""
    free = type("Memory", (), {"available": -1})
    monkeypatch.setattr("engine.export.graph_runner.psutil.virtual_memory", lambda: free)
    with pytest.raises(ArtifactError, match="of memory for these inputs") as caught:
        found(engine.zeros(ROWS, *found.inputs[0].spec.shape[1:]))
    return int(re.findall(r"needs ([\d,]+) bytes", str(caught.value))[0].replace(",", ""))


def viewed(x: Tensor) -> Tensor:
    """Views keep the memory of a value that is used no longer."""
    first = (x.unsqueeze(-1) + engine.zeros(100))[:, 0, 0]
    second = (x.unsqueeze(-1) * engine.ones(100))[:, 0, 0]
    return first + second


@pytest.mark.parametrize(("function", "values"), [
    (lambda x: (engine.randn_like(x[:, :1].expand(x.shape[0], 50)) * 2).sum(), 50 * ROWS + 50 * ROWS),
    (lambda x: x.sum() + x[:, :1].expand(x.shape[0], 70).reshape(-1).sum(), 70 * ROWS),
    (viewed, 2 * 400 * ROWS),
    (lambda x: x, 4 * ROWS),
    (lambda x: F.max_pool2d(x[:, None, None], 3, 1, padding=1).sum(), 3 * 6 * ROWS),
    (lambda x: F.conv2d(x[:, None, None], engine.ones(1, 1, 21, 1), padding=(10, 0)).sum(), 21 * 4 * ROWS),
    (lambda x: x[:, :1].expand(x.shape[0], 60).var(), 60 * ROWS),
    (lambda x: F.linear(x[:, :1].expand(x.shape[0], 60), engine.ones(1, 60)), 60 * ROWS),
])  # fmt: skip
def test_everything_that_a_call_needs_counts(
    function: Callable[[Tensor], Any], values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = export.export(function, engine.randn(3, 4), dynamic_shapes=({0: "N"},))
    assert needed(found, monkeypatch) >= 4 * values


def test_values_that_are_used_no_longer_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = export.export(
        nn.Sequential(*[nn.ReLU() for _ in range(20)]), engine.randn(3, 4), dynamic_shapes=({0: "N"},)
    )
    assert needed(found, monkeypatch) <= 3 * 16 * ROWS


def test_free_memory_is_compared_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    found = export.export(nn.ReLU(), engine.randn(3, 4), dynamic_shapes=({0: "N"},))
    found(engine.zeros(ROWS, 4))
    assert needed(found, monkeypatch) > 0
    with pytest.raises(ArtifactError, match="of memory for these inputs"):
        found(engine.zeros(ROWS, 4))


def test_negative_sizes_are_refused() -> None:
    found = export.export(lambda x: x[2:] + 1, engine.randn(3, 4), dynamic_shapes=({0: "N"},))
    with pytest.raises(ArtifactError, match=r"a size of N - 2×4 is negative for N = 1. Pass other sizes"):
        found(engine.zeros(1, 4))
