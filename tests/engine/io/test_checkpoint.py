from __future__ import annotations

import io
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import nn, optim
from engine.errors import WeightsError

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
OBJECTS = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(PLAIN, inner)
        | st.dictionaries(st.text(), inner).map(OrderedDict)
    ),
    max_leaves=12,
)


def round_trip(value: Any) -> Any:
    buffer = io.BytesIO()
    engine.save(value, buffer)
    buffer.seek(0)
    return engine.load(buffer)


@given(OBJECTS)
def test_structures_round_trip(value: Any) -> None:
    result = round_trip(value)
    assert result == value
    assert repr(result) == repr(value)


def test_tensors_round_trip() -> None:
    given = {
        "a": engine.arange(6.0).reshape(2, 3).T,
        "a_": [engine.tensor(3, dtype=engine.int16), engine.ones(0, 2)],
        ("a",): engine.ones(2, requires_grad=True),
        0: np.arange(3),
        "device": engine.device("cpu"),
        "dtype": engine.float16,
    }
    result = round_trip(given)
    assert result["a"].tolist() == given["a"].tolist()
    assert result["a_"][0].dtype is engine.int16
    assert result["a_"][1].shape == (0, 2)
    assert result["a",].requires_grad
    assert isinstance(result[0], np.ndarray)
    assert (result["device"], result["dtype"]) == (given["device"], given["dtype"])


def test_training_continues(tmp_path: Path) -> None:
    """Two steps after loading a checkpoint equal two steps without it."""

    def steps(model: nn.Module, optimizer: optim.Optimizer, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            ((model(engine.ones(4, 3)) - 1) ** 2).mean().backward()
            optimizer.step()

    model = nn.Linear(3, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    steps(model, optimizer, 3)
    engine.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    steps(model, optimizer, 2)
    again = nn.Linear(3, 2)
    resumed = optim.Adam(again.parameters(), lr=0.5)
    checkpoint = engine.load(tmp_path / "a.pt", map_location="cpu", weights_only=True)
    again.load_state_dict(checkpoint["model"])
    resumed.load_state_dict(checkpoint["optimizer"])
    assert checkpoint["epoch"] == 3
    steps(again, resumed, 2)
    np.testing.assert_array_equal(again.weight.detach().numpy(), model.weight.detach().numpy())


def test_other_programs_read_the_weights(tmp_path: Path) -> None:
    engine.save(nn.Linear(3, 2).state_dict(), tmp_path / "weights")
    assert list(engine.io.load_file(tmp_path / "weights")) == ["bias", "weight"]
    engine.io.save_file({"a": engine.ones(2)}, tmp_path / "plain")
    assert engine.load(tmp_path / "plain")["a"].tolist() == [1, 1]


def test_refused_values_and_files(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"model is a Linear, which cannot be saved.*state_dict\(\)"):
        engine.save({"model": nn.Linear(1, 1)}, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(WeightsError, match=r"model\.state_dict\(\), \".*a\.pt\"\).*load_state_dict\(engine\.load\("):
        engine.save(nn.Linear(1, 1), tmp_path / "a.pt")
    with pytest.raises(FileNotFoundError, match="No such file"):
        engine.load(tmp_path / "a")
    with pytest.raises(WeightsError, match="directory at the end of the archive is missing"):
        engine.load(io.BytesIO(b"PK\x03\x04"))
    with pytest.raises(WeightsError, match="damaged, incomplete, or not a safetensors file"):
        engine.load(io.BytesIO(b"\x09"))
    with pytest.raises(WeightsError, match="file: 'tensor' has no data"):
        engine.save(engine.ones(2, device="meta"), io.BytesIO())


def test_a_length_that_looks_like_a_pickle(tmp_path: Path) -> None:
    lengths = set()
    for size in range(300, 700):
        engine.save({"x": "a" * size}, tmp_path / "file")
        start = (tmp_path / "file").read_bytes()[:2]
        lengths.add(start)
        assert engine.load(tmp_path / "file") == {"x": "a" * size}
    assert b"\x80\x02" in lengths
