"""Files written by PyTorch are read back with equal values, dtypes and shared memory."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn, optim
from engine.errors import WeightsError
from engine.io import open_weights
from engine.io.pytorch.records import DTYPES
from tests.engine.io.torch_bytes import FLOATS, zip_file
from tests.engine.io.torch_bytes import weights as weights_pickle

torch = pytest.importorskip("torch", reason="PyTorch writes the files")

FORMATS = [{}, {"_use_new_zipfile_serialization": False}, {"pickle_protocol": 4}]


def load(value: Any, **options: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return engine.load(io.BytesIO(buffer.getvalue()))


def bits(tensor: Any) -> bytes:
    return tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("options", FORMATS)
@pytest.mark.parametrize("name", sorted(DTYPES))
def test_every_dtype(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    dtype = getattr(torch, name)
    values = torch.arange(12).reshape(3, 4).to(dtype)
    torch.save(
        {"a": values, "view": values.T[1:], "empty": values[:0], "scalar": values[1, 2]}, tmp_path / "a", **options
    )
    stored = open_weights(tmp_path / "a")
    for key, expected in {"a": values, "view": values.T[1:], "empty": values[:0], "scalar": values[1, 2]}.items():
        assert stored[key].dtype == DTYPES[name]
        assert stored[key].shape == tuple(expected.shape)
        assert stored[key].read().tobytes() == bits(expected)
    if name not in engine.dtypes.BY_NAME:
        with pytest.raises(WeightsError, match=f"dtype {name}, which the engine does not have"):
            engine.load(tmp_path / "a")
        return
    loaded = engine.load(tmp_path / "a")
    assert loaded["a"].dtype is engine.dtypes.BY_NAME[name]
    assert loaded["view"].stride() == values.T[1:].stride()
    assert loaded["view"].numpy().tobytes() == bits(values.T[1:])
    assert loaded["scalar"].shape == ()


@pytest.mark.parametrize("options", FORMATS)
def test_memory_is_shared_as_in_pytorch(options: dict[str, Any]) -> None:
    base = torch.arange(12.0)
    tied = torch.nn.Linear(2, 2).weight
    found = load(
        {"base": base, "view": base[2:8].view(2, 3).T, "tied": [tied, tied], "again": tied.detach()}, **options
    )
    found["base"][3] = 100
    assert found["view"].tolist() == [[2, 5], [100, 6], [4, 7]]
    assert found["view"]._version == found["base"]._version
    assert found["tied"][0] is found["tied"][1]
    assert isinstance(found["tied"][0], nn.Parameter)
    assert found["tied"][0].requires_grad
    with engine.no_grad():
        found["tied"][0][0, 0] = -1
    assert found["again"][0, 0].item() == -1


@pytest.mark.parametrize("options", FORMATS)
def test_structures(options: dict[str, Any]) -> None:
    value = {
        "epoch": 3,
        2: [1.5, None, True, 1 << 70, "größe", b"ab", b"", 2j],
        ("a", 1): (torch.Size((2, 3)), {1, 2}, frozenset("a"), Counter({1: 2})),
        "ordered": OrderedDict(b=1, a=2),
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "expanded": torch.ones(1).expand(4),
        "gradient": torch.ones(2, requires_grad=True),
    }
    found = load(value, **options)
    assert list(found) == list(value)
    assert found[2] == value[2]
    assert found["a", 1] == (engine.Size((2, 3)), {1, 2}, frozenset("a"), Counter({1: 2}))
    assert type(found["a", 1][0]) is engine.Size
    assert list(found["ordered"].items()) == [("b", 1), ("a", 2)]
    assert (found["dtype"], found["device"]) == (engine.bfloat16, engine.device("cpu"))
    assert found["expanded"].stride() == (0,)
    assert found["gradient"].requires_grad
    cycle: list[Any] = [1]
    cycle.append(cycle)
    assert (loop := load(cycle, **options))[1] is loop


@pytest.mark.parametrize("options", FORMATS)
def test_training_continues_from_a_checkpoint(options: dict[str, Any]) -> None:
    """Model, optimizer and schedule, after two steps in PyTorch, give the same third step here."""
    data = torch.arange(12.0).reshape(4, 3) / 10
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    adam = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(adam, [1, 5])

    def step(network: Any, optimizer: Any, inputs: Any) -> None:
        optimizer.zero_grad()
        (network(inputs) ** 2).mean().backward()
        optimizer.step()

    for _ in range(2):
        step(model, adam, data)
        schedule.step()
    parts = {"model": model, "optimizer": adam, "schedule": schedule}
    saved = load({name: part.state_dict() for name, part in parts.items()}, **options)
    ours = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    ours.load_state_dict(saved["model"])
    optimizer = optim.Adam(ours.parameters(), lr=0.5)
    optimizer.load_state_dict(saved["optimizer"])
    again = optim.lr_scheduler.MultiStepLR(optimizer, [1, 5])
    again.load_state_dict(saved["schedule"])
    step(model, adam, data)
    step(ours, optimizer, engine.from_numpy(data.numpy()))
    assert again.get_last_lr() == schedule.get_last_lr()
    for name, tensor in ours.state_dict().items():
        np.testing.assert_allclose(tensor.numpy(), model.state_dict()[name].numpy(), rtol=1e-4, atol=1e-6, err_msg=name)


def test_paths_files_and_devices(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pth")
    assert engine.load(str(tmp_path / "a.pth"), map_location="cpu", weights_only=True)["w"].tolist() == [1, 1]
    with open(tmp_path / "a.pth", "rb") as file:
        assert engine.load(file)["w"].tolist() == [1, 1]
    assert engine.load(tmp_path / "a.pth", map_location="meta")["w"].is_meta


def test_big_endian_files_are_swapped() -> None:
    swapped = np.frombuffer(FLOATS, "<f4").astype(">f4").tobytes()
    content = zip_file(weights_pickle(), {"0": swapped}, more={"archive/byteorder": b"big"})
    assert engine.load(io.BytesIO(content))["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert torch.load(io.BytesIO(content))["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


REFUSED = {
    "a quantized tensor": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "a sparse tensor": lambda: torch.eye(2).to_sparse(),
    "a tensor on the meta device, without data": lambda: torch.ones(2, device="meta"),
    "a conjugated or negated view": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "refers to torch.nn.modules.linear.Linear": lambda: torch.nn.Linear(1, 1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", REFUSED)
def test_other_tensors_and_objects_are_named(problem: str) -> None:
    for options in FORMATS:
        with pytest.raises(WeightsError, match=problem):
            load({"x": REFUSED[problem]()}, **options)


@pytest.mark.filterwarnings("ignore")
def test_torchscript_is_named() -> None:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.Linear(1, 1), torch.ones(1, 1)), buffer)
    with pytest.raises(WeightsError, match=r"TorchScript program.*state_dict\(\)"):
        engine.load(io.BytesIO(buffer.getvalue()))


def test_a_view_reads_only_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    big = torch.arange(1 << 20, dtype=torch.float32)
    torch.save({"big": big, "part": big[5:8]}, tmp_path / "a")
    stored = open_weights(tmp_path / "a")
    sizes: list[int] = []
    monkeypatch.setattr(
        "engine.io.pytorch.torch_file.ByteRange.read", lambda part: sizes.append(part.size) or bytes(12)
    )
    stored["part"].read()
    assert sizes == [12]
