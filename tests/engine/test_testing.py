from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine.testing import assert_allclose, assert_close, make_tensor

torch = pytest.importorskip("torch")
NAN = float("nan")

PAIRS: list[tuple[Any, Any, dict[str, Any]]] = [
    ([1.0, 2.0], [1.0, 2.0], {}),
    ([1.0, 2.0], [1.0, 2.00001], {}),
    ([1.0, 2.0], [1.0, 2.0001], {}),
    ([1.0, 2.0], [1.0, 2.1], {"rtol": 0.1, "atol": 0.0}),
    ([1.0, 2.0], [1.0, 2.0, 3.0], {}),
    ([1, 2], [1, 2], {}),
    ([1, 2], [1, 3], {}),
    ([True], [False], {}),
    ([NAN], [NAN], {}),
    ([NAN], [NAN], {"equal_nan": True}),
    ([], [], {}),
    ([1.0], [1], {}),
    ([1.0], [1], {"check_dtype": False}),
    ([float("inf")], [float("inf")], {}),
]


def outcome(library: Any, ours: Any, theirs: Any, options: dict[str, Any]) -> str:
    try:
        library.testing.assert_close(ours, theirs, **options)
    except AssertionError as error:
        return str(error).partition("\n")[0].replace("torch.", "engine.")
    return "close"


@pytest.mark.parametrize(("ours", "theirs", "options"), PAIRS)
def test_assert_close_matches_pytorch(ours: Any, theirs: Any, options: dict[str, Any]) -> None:
    result = [outcome(lib, lib.tensor(ours), lib.tensor(theirs), options) for lib in (engine, torch)]
    assert result[0] == result[1]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(1.0, 1.0), (1.0, 1.1), (1, 1), (1, 2), ([1.0, 2.0], (1.0, 2.0)), ([1.0], [2.0]), ({"a": 1.0}, {"a": 1.0 + 1e-9})],
)
def test_assert_close_of_numbers_and_structures(ours: Any, theirs: Any) -> None:
    result = [outcome(lib, ours, theirs, {}) for lib in (engine, torch)]
    assert result[0].partition("!")[0] == result[1].partition("!")[0]


def test_messages() -> None:
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 4 \(25\.0%\)\nGreatest absolute.*\(1, 0\)"):
        assert_close(engine.tensor([[1.0, 2.0], [3.5, 4.0]]), engine.tensor([[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^! Scalars"):
        assert_close(1, 2, msg=lambda text: f"! {text}")
    with pytest.raises(AssertionError, match=r"lengths differ: 1 != 2"):
        assert_close([1], [1, 2])
    with pytest.raises(AssertionError, match=r"keys differ: ..b"):
        assert_close({"a": 1}, {"a": 1, "b": 1})
    with pytest.raises(AssertionError, match="cannot be compared with 1"):
        assert_close(engine.ones(1), 1)
    with pytest.raises(ValueError, match="pass both rtol and atol"):
        assert_close(1, 1, rtol=1)


@pytest.mark.parametrize("name", ["float32", "int64", "uint8", "bool"])
def test_random_tensors(name: str) -> None:
    dtype = getattr(engine, name)
    made = make_tensor(40, 30, dtype=dtype, device="cpu", noncontiguous=True, exclude_zero=True)
    assert (made.shape, made.dtype, made.is_contiguous()) == ((40, 30), dtype, False)
    assert (made != 0).all()
    samples = make_tensor((200,), dtype=dtype, device="cpu", low=0, high=2).double()
    assert (samples.min().item(), samples.max().item()) == pytest.approx((0, 2 if name == "float32" else 1), abs=0.05)
    assert np.isfinite(samples.numpy()).all()


def test_deprecated_assert_allclose() -> None:
    with pytest.warns(FutureWarning, match="old form"):
        assert_allclose(engine.tensor([1.0, float("nan")]), np.array([1.0, np.nan]))
    with pytest.warns(FutureWarning, match="old form"), pytest.raises(AssertionError, match="not close"):
        assert_allclose(engine.ones(2), [1.0, 1.1])
