"""Devices, and every op's path to a GPU: run on a stand-in for CuPy that is as strict, up to the launch."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
import pytest

import engine
from engine import backend, nn, optim
from engine.backend import CPU, META, Device
from engine.errors import DeviceError
from tests.engine import fake_cupy


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    module = fake_cupy.module(devices=2)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)


# -- names ------------------------------------------------------------------------------------


def test_equal_devices_are_one_object() -> None:
    assert Device("cpu") is Device("cpu:0") is CPU
    assert Device("cuda") is Device("cuda:0") is Device("cuda", 0) is not Device("cuda:1")
    assert Device(Device("meta")) is META
    assert (str(Device("cuda:1")), repr(Device("cuda:1")), repr(CPU)) == (
        "cuda:1", "device(type='cuda', index=1)", "device(type='cpu')",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "CPU", "cuda:1:2"])
def test_unknown_devices(name: str) -> None:
    with pytest.raises(DeviceError, match=r"unknown device .*Use 'cpu', 'cuda', 'cuda:N' or 'meta'"):
        Device(name)


def test_a_device_is_the_default_inside_its_block() -> None:
    with Device("meta"):
        with Device("cpu"):
            assert engine.zeros(1).device is CPU
        assert engine.zeros(1).is_meta
        other: list[Device] = []
        thread = threading.Thread(target=lambda: other.append(engine.zeros(1).device))
        thread.start()
        thread.join()
        assert other == [CPU]
    assert engine.zeros(1).device is CPU


# -- without CuPy -----------------------------------------------------------------------------


@pytest.mark.usefixtures("no_cupy")
def test_without_cupy_cuda_is_refused_with_the_remedy() -> None:
    assert not engine.cuda_available()
    assert backend.resolve("auto") is CPU
    for use in (
        lambda: engine.zeros(1, device="cuda"),
        lambda: engine.zeros(1).to("cuda"),
        lambda: engine.zeros(1).cuda(),
    ):
        with pytest.raises(DeviceError, match=r"CUDA needs CuPy.*pip install 'gradwire\[gpu\]'.* or use 'cpu'"):
            use()


def test_cupy_is_imported_only_when_needed() -> None:
    assert "cupy" not in sys.modules or sys.modules["cupy"] is None


# -- with CuPy --------------------------------------------------------------------------------


def test_auto_selects_cuda_if_available(cupy: Any) -> None:
    assert engine.cuda_available()
    assert backend.resolve("auto") is Device("cuda")
    with pytest.raises(DeviceError, match=r"cuda:2 does not exist: this machine has 2 CUDA device"):
        engine.zeros(1, device="cuda:2")
    cupy.cuda.runtime.getDeviceCount = lambda: 0
    assert not engine.cuda_available()


def test_tensors_move_to_cuda_and_back(cupy: Any) -> None:
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    there = x.to("cuda:1")
    assert (there.device, there.is_cuda, type(there._array)) == (Device("cuda:1"), True, fake_cupy.ndarray)
    assert repr(there.detach()) == "tensor([1., 2.], device='cuda:1')"
    assert there.cpu().tolist() == [1.0, 2.0]
    with pytest.raises(DeviceError, match=r"tensor\.cpu\(\)\.numpy\(\)"):
        there.detach().numpy()
    (there * there).sum().backward()
    assert x.grad is not None
    assert (x.grad.device, x.grad.tolist()) == (CPU, [2.0, 4.0])
    assert cupy.cuda.used[1] > 0


@pytest.mark.usefixtures("cupy")
def test_tensors_on_different_devices_are_not_mixed() -> None:
    x = engine.ones(2, device="cuda")
    with pytest.raises(DeviceError, match=r"add\(\): .*: 2 on cuda:0, 2 on cpu\..*\.to\(device\)"):
        x + engine.ones(2)
    with pytest.raises(DeviceError, match="2 on cuda:0, 2 on cuda:1"):
        x.add_(engine.ones(2, device="cuda:1"))
    assert (x + engine.tensor(1.0)).tolist() == [2.0, 2.0]  # one CPU number goes with any device
    one = engine.tensor(1.0, requires_grad=True)
    (one - x).sum().backward()
    assert one.grad is not None
    assert (one.grad.device, one.grad.item()) == (CPU, 2.0)
    x += engine.tensor(2.0)
    assert x.tolist() == [3.0, 3.0]
    for target, source in ((engine.tensor(1.0), x.sum()), (engine.ones(2), engine.ones(2, device="meta"))):
        with pytest.raises(DeviceError, match="cannot be written to a tensor on cpu"):
            target.add_(source)


@pytest.mark.usefixtures("cupy")
def test_creation_on_cuda() -> None:
    with Device("cuda"):
        like = engine.zeros_like(engine.ones(1))
        samples = engine.rand(2)
        filled = [engine.zeros(2), engine.ones(2, 2), engine.full((2,), 3), engine.eye(2)]
        counted = [engine.tensor([1, 2]), engine.arange(3), engine.linspace(0, 1, 3)]
        made = [like, samples, *filled, *counted]
    assert all(x.is_cuda and type(x._numbers()) is fake_cupy.ndarray for x in made)
    assert like.new_zeros(2).is_cuda
    assert counted[0].new_tensor([1.5]).tolist() == [1]


@pytest.mark.usefixtures("cupy")
def test_indexing_on_cuda() -> None:
    x = engine.arange(12.0).reshape(3, 4).to("cuda")
    assert x[1, 1:].tolist() == [5.0, 6.0, 7.0]
    assert x[[0, 2], 0].tolist() == [0.0, 8.0]
    assert x[engine.tensor([0, 2])].is_cuda
    assert x[np.array([True, False, False])].tolist() == [[0.0, 1.0, 2.0, 3.0]]
    x[0] = 7.0
    x[:, 1] = engine.ones(3)
    x[x > 8] = 0.0
    x[[2], 3] = 5.0
    assert x.tolist() == [[7.0, 1.0, 7.0, 7.0], [4.0, 1.0, 6.0, 7.0], [8.0, 1.0, 0.0, 5.0]]


@pytest.mark.usefixtures("cupy")
def test_a_step_of_training_on_cuda() -> None:
    def losses(device: str) -> list[float]:
        engine.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 3)
        )
        model = model.to(device)
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        images = engine.rand(5, 1, 8, 8).to(device)
        labels = engine.tensor([0, 1, 2, 0, 1]).to(device)
        result = []
        for _ in range(3):
            loss = nn.CrossEntropyLoss()(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            result.append(loss.item())
        return result

    assert losses("cuda") == pytest.approx(losses("cpu"), rel=1e-5)
