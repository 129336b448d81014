"""`engine.cuda`, devices and switches: without a GPU, and on a stand-in for CuPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import DeviceError, HostError
from tests.engine import fake_cupy


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module = fake_cupy.module(devices=2)
    chosen = [0]
    pool = SimpleNamespace(used_bytes=lambda: 512, total_bytes=lambda: 1024, free_all_blocks=lambda: None)
    properties = {"name": b"Stand-in", "major": 9, "minor": 0, "totalGlobalMem": 1 << 30, "multiProcessorCount": 4}
    module.cuda.runtime = SimpleNamespace(
        getDeviceCount=lambda: 2,
        getDevice=lambda: chosen[0],
        setDevice=lambda index: chosen.__setitem__(0, index),
        deviceSynchronize=lambda: None,
        getDeviceProperties=lambda index: properties,
        memGetInfo=lambda: (100, 200),
    )
    module.cuda.alloc_pinned_memory = lambda size: np.zeros(size, np.uint8)
    module.get_default_memory_pool = module.get_default_pinned_memory_pool = lambda: pool
    monkeypatch.setitem(sys.modules, "cupy", module)
    yield module
    engine.set_default_device(None)


@pytest.fixture
def no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)


@pytest.mark.usefixtures("no_cupy")
def test_without_a_gpu_queries_work_and_computation_is_refused() -> None:
    cuda = engine.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.is_initialized(), cuda.is_bf16_supported()) == (
        False, 0, False, False,
    )  # fmt: skip
    assert cuda.memory_allocated() == cuda.max_memory_allocated() == cuda.memory_reserved() == 0
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    with cuda.device(None), cuda.device(-1):
        pass
    for request in (cuda.synchronize, cuda.current_device, cuda.get_device_name, cuda.init, cuda.mem_get_info,
                    lambda: engine.ones(2).cuda(), lambda: engine.ones(2, device="cuda"), lambda: engine.ones(2).to(0),
                    lambda: engine.ones(2).pin_memory(), cuda.Event):  # fmt: skip
        with pytest.raises(DeviceError, match="CuPy"):
            request()


@pytest.mark.usefixtures("cupy")
def test_with_a_gpu() -> None:
    cuda = engine.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.current_device()) == (True, 2, 0)
    cuda.set_device("cuda:1")
    assert cuda.current_device() == 1
    assert (cuda.get_device_name(), cuda.get_device_capability("cuda:0")) == ("Stand-in", (9, 0))
    assert cuda.get_device_properties(0).total_memory == 1 << 30
    assert (cuda.memory_allocated(), cuda.memory_reserved(), cuda.mem_get_info()) == (512, 1024, (100, 200))
    cuda.synchronize()
    cuda.empty_cache()
    state = cuda.get_rng_state_all()
    engine.rand(1)
    cuda.set_rng_state_all(state)
    assert cuda.get_rng_state() == engine.get_rng_state() == state[0] == state[1]
    assert engine.accelerator.current_accelerator() == engine.device("cuda")
    assert (engine.accelerator.current_device_index(), engine.accelerator.get_memory_info()) == (1, (100, 200))
    with cuda.device(1):
        assert cuda.is_bf16_supported()


@pytest.mark.usefixtures("cupy")
def test_tensors_on_cuda() -> None:
    x = engine.ones(2, 3, device="cuda")
    assert (x.is_cuda, x.is_cpu, x.get_device(), str(x.device), x.device.index) == (True, False, 0, "cuda:0", 0)
    assert x.is_shared()
    assert not x.is_pinned()
    assert engine.ones(2).to(1).device == engine.ones(2).cuda(1).device == engine.device("cuda", 1) == engine.device(1)
    assert engine.ones(2).cuda().type() == "engine.cuda.FloatTensor"
    assert x.cpu().tolist() == [[1.0] * 3] * 2
    assert x.to(engine.ones(1, dtype=engine.int8)).spec == engine.ones(2, 3, dtype=engine.int8).spec
    with pytest.raises(HostError, match=r"\.cpu\(\)"):
        x.numpy()
    with pytest.raises(TypeError):
        np.asarray(x)
    assert isinstance(x, engine.cuda.FloatTensor)
    assert not isinstance(x, engine.FloatTensor)
    assert engine.ones(2).type(engine.cuda.LongTensor).type() == "engine.cuda.LongTensor"
    assert engine.ones(2).type("torch.cuda.DoubleTensor").dtype is engine.float64
    assert engine.cuda.FloatTensor([1, 2]).cpu().tolist() == [1.0, 2.0]
    assert x.numpy(force=True).tolist() == [[1.0] * 3] * 2
    with pytest.raises(DeviceError, match=r"different devices: 2×3 on cuda:0, 2×3 on cpu.*\.to\(device\)"):
        x + engine.ones(2, 3)
    assert (x + engine.tensor(1.0)).device == x.device
    assert x[1:, 1].storage_offset() == 4
    assert x.view(engine.int32).dtype is engine.int32
    assert x.resize_(4, 4).shape == (4, 4)
    assert engine.empty_strided((2, 3), (1, 2), device="meta").shape == (2, 3)


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("make", [
    lambda **on: engine.zeros(2, **on), lambda **on: engine.full((2,), 3, **on), lambda **on: engine.arange(3, **on),
    lambda **on: engine.linspace(0, 1, 3, **on), lambda **on: engine.eye(2, **on),
    lambda **on: engine.tensor([1], **on),
    lambda **on: engine.tril_indices(2, 2, **on), lambda **on: engine.as_tensor(np.ones(2), **on),
    lambda **on: engine.rand(2, generator=engine.Generator(1), **on), lambda **on: engine.ones(2).new_ones(2, **on),
    lambda **on: engine.randn(2, generator=engine.Generator(1), dtype=engine.bfloat16, **on),
    lambda **on: engine.randint(5, (2,), generator=engine.Generator(1), **on),
    lambda **on: engine.randperm(5, generator=engine.Generator(1), **on),
    lambda **on: engine.zeros(3, **on).uniform_(generator=engine.Generator(1)),
    lambda **on: engine.zeros(3, **on).bernoulli_(engine.full((3,), 0.5, **on), generator=engine.Generator(1)),
    lambda **on: engine.multinomial(engine.ones(3, **on), 2, generator=engine.Generator(1)),
    lambda **on: engine.poisson(engine.ones(3, **on), generator=engine.Generator(1)),
    lambda **on: engine.normal(engine.ones(3, **on), 2.0, generator=engine.Generator(1)),
])  # fmt: skip
def test_cuda_creation_equals_cpu_creation(make: Any) -> None:
    there, here = make(device="cuda:1"), make()
    assert (str(there.device), there.dtype) == ("cuda:1", here.dtype)
    assert there.cpu().tolist() == here.tolist()
    engine.set_default_device("cuda:1")
    assert engine.get_default_device() == engine.device("cuda:1")
    with engine.device("cpu"):
        assert make(device=None).device.type == "cpu"
    engine.set_default_device("cpu")


def test_default_tensor_type() -> None:
    try:
        engine.set_default_tensor_type(engine.DoubleTensor)
        assert engine.ones(1).dtype is engine.float64
        engine.set_default_tensor_type("torch.HalfTensor")
        assert engine.ones(1).dtype is engine.float16
    finally:
        engine.set_default_tensor_type("engine.FloatTensor")
    assert engine.ones(1).dtype is engine.float32


def test_switches_are_remembered() -> None:
    engine.backends.cudnn.benchmark = engine.backends.cudnn.deterministic = True
    engine.backends.cuda.matmul.allow_tf32 = True
    assert not engine.backends.mps.is_available()
    assert not engine.backends.mps.is_built()
    assert not engine.backends.cudnn.is_available()
    try:
        engine.use_deterministic_algorithms(True)
        assert engine.are_deterministic_algorithms_enabled()
        assert engine.get_deterministic_debug_mode() == 2
        engine.use_deterministic_algorithms(True, warn_only=True)
        assert engine.is_deterministic_algorithms_warn_only_enabled()
        engine.set_deterministic_debug_mode("default")
        assert not engine.are_deterministic_algorithms_enabled()
        engine.set_float32_matmul_precision("high")
        assert engine.get_float32_matmul_precision() == "high"
        with pytest.raises(ValueError, match="not 'low'"):
            engine.set_float32_matmul_precision("low")
    finally:
        engine.use_deterministic_algorithms(False)
        engine.set_float32_matmul_precision("highest")
        engine.backends.cudnn.benchmark = engine.backends.cudnn.deterministic = False


def test_data_parallel_moves_inputs_to_the_first_gpu(cupy: Any) -> None:
    module = engine.nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="cuda:0 only, not on 2 devices"):
        wrapped = engine.nn.DataParallel(module, device_ids=[0, 1])
    assert (wrapped.device_ids, wrapped.output_device) == ([0], 0)
    assert wrapped(engine.ones(3, 2)).device.type == module.weight.device.type == "cuda"
