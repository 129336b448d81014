"""Tensors print as PyTorch's do, to the letter; only the names of the libraries and of graph nodes differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import engine

NORMAL = np.random.default_rng(0).normal
CASES: dict[str, Any] = {
    "whole": [1.0, 2.0],
    "negative": [1.5, -2.0],
    "nothing": [],
    "a row of nothing": [[]],
    "no columns": np.zeros((3, 0)),
    "a number": 3.0,
    "a fraction": -0.5,
    "integers": [1, -20, 300],
    "booleans": [True, False],
    "matrix": [[1.0, 2.0], [3.0, 4.25]],
    "far apart": [1e-5, 1.0],
    "large": [1e9, 1.0],
    "small": [1e-4, 1e-4],
    "smaller": np.arange(10.0) * 1e-6,
    "long": [123456.5, 1.0],
    "at the limit": [99999999.0, 1.0],
    "beyond the limit": [1e8, 2e8],
    "NaN": [float("nan"), 1.0],
    "only NaN": [float("nan")],
    "infinite": [float("inf"), -float("inf"), 2.5],
    "infinite and whole": [float("inf"), -1.0],
    "zeros": [0.0, -0.0],
    "hidden digits": [0.1 + 1e-9],
    "several lines": NORMAL(size=30) * 100,
    "three dimensions": NORMAL(size=(3, 4, 5)),
    "four dimensions": np.ones((1, 1, 1, 1)),
    "summary": np.arange(2000.0) / 7,
    "summary of a matrix": np.arange(2400).reshape(40, 60),
    "summary in three dimensions": np.arange(2400).reshape(2, 3, 400),
    "large, but not in the middle": np.where(np.arange(2000) == 1000, 1e9, 1.0),
}


def _expected(tensor: Any) -> str:
    return repr(tensor).replace("torch.", "engine.")


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "float16", "bfloat16", "int64", "int16", "uint8", "uint16", "bool"],
)
@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_text_matches_pytorch(data: Any, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    with np.errstate(all="ignore"):
        numbers = np.asarray(data).astype({"bfloat16": "float32"}.get(dtype, dtype))
    x, tx = (lib.tensor(numbers).to(getattr(lib, dtype)) for lib in (engine, torch))
    exact = (lambda text: text) if dtype in ("float32", "int64", "bool") else str.split  # a dtype may go on a new line
    assert exact(repr(x)) == exact(_expected(tx))
    if x.is_floating_point():
        # One letter more in the library's name may put the remark on a new line.
        assert repr(x.requires_grad_()).split() == _expected(tx.requires_grad_()).split()


@settings(max_examples=100)
@given(arrays.arrays(st.sampled_from(["f2", "f4", "f8", "i8", "i2", "u1", "?"]), arrays.array_shapes(max_side=4)))
def test_text_of_random_numbers_matches_pytorch(numbers: Any) -> None:
    torch = pytest.importorskip("torch")
    assert repr(engine.tensor(numbers)).split() == _expected(torch.tensor(numbers)).split()


def test_suffixes() -> None:
    assert repr(engine.zeros(2, device="meta")) == "tensor(..., device='meta', size=(2,))"
    meta = engine.zeros(2, dtype=engine.int64, device="meta", requires_grad=False)
    assert repr(meta) == "tensor(..., device='meta', size=(2,), dtype=engine.int64)"
    assert repr(engine.ones(2, requires_grad=True).exp()) == "tensor([2.7183, 2.7183], grad_fn=<ExpBackward0>)"
    long = repr(engine.full((9,), 0.125, requires_grad=True).exp())
    assert long.endswith("\n       grad_fn=<ExpBackward0>)")


OPTIONS: tuple[dict[str, Any], ...] = (
    {"precision": 2}, {"precision": 0}, {"precision": 10}, {"threshold": 5}, {"edgeitems": 1, "threshold": 5},
    {"linewidth": 30}, {"sci_mode": True}, {"sci_mode": False}, {"profile": "short"}, {"profile": "full"},
    {"profile": "default"}, {"profile": "short", "precision": 7}, {"precision": 1, "sci_mode": True, "linewidth": 40},
)  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    try:
        for lib in (engine, torch):
            lib.set_printoptions(**options)
        for data in CASES.values():
            assert repr(engine.tensor(data)) == _expected(torch.tensor(data))
    finally:
        for lib in (engine, torch):
            lib.set_printoptions(profile="default")


def test_options_are_combined() -> None:
    torch = pytest.importorskip("torch")
    try:
        for lib in (engine, torch):
            lib.set_printoptions(precision=2)
            lib.set_printoptions(linewidth=40)
        numbers = NORMAL(size=30)
        assert repr(engine.tensor(numbers)) == _expected(torch.tensor(numbers))
    finally:
        for lib in (engine, torch):
            lib.set_printoptions(profile="default")
