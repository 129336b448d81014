"""Wrappers for several devices and processes: the module itself, with PyTorch's keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn

LIBRARIES = ["engine", "torch"]


def network(m: Any) -> Any:
    return m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3))


@pytest.mark.parametrize("library", LIBRARIES)
def test_data_parallel_calls_its_module(library: str) -> None:
    m = pytest.importorskip(library)
    module = network(m)
    wrapped = m.nn.DataParallel(module, device_ids=[0])
    assert list(wrapped.state_dict()) == [f"module.{key}" for key in module.state_dict()]
    assert wrapped.module is module
    assert wrapped.device_ids == []
    x = m.ones(4, 2)
    assert (wrapped.eval()(x) == module(x)).all()
    other = network(m)
    other.load_state_dict({key.removeprefix("module."): value for key, value in wrapped.state_dict().items()})
    assert (other.eval()(x) == module(x)).all()


def test_distributed_data_parallel_calls_its_module() -> None:
    module = network(engine)
    wrapped = nn.parallel.DistributedDataParallel(module, device_ids=None, find_unused_parameters=True)
    assert list(wrapped.state_dict()) == [f"module.{key}" for key in module.state_dict()]
    with wrapped.no_sync():
        assert not wrapped.require_backward_grad_sync
        wrapped(engine.ones(4, 2)).sum().backward()
    assert wrapped.require_backward_grad_sync
    assert module[0].weight.grad is not None
    with wrapped.join():
        wrapped(engine.ones(4, 2))


def test_distributed_data_parallel_refuses_unsupported_arguments() -> None:
    frozen = nn.Linear(2, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match="no parameter of the module requires a gradient"):
        nn.parallel.DistributedDataParallel(frozen)
    with pytest.raises(ValueError, match=r"engine\.autocast"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 1), mixed_precision=object())


def test_data_parallel_as_a_function() -> None:
    module, x = network(engine).eval(), engine.ones(4, 2)
    assert (nn.parallel.data_parallel(module, x) == module(x)).all()
    assert (nn.parallel.data_parallel(module, (), module_kwargs={"input": x}) == module(x)).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_converting_to_synchronized_batch_norm(library: str) -> None:
    m = pytest.importorskip(library)
    module = m.nn.Sequential(network(m), m.nn.BatchNorm2d(4, affine=False), m.nn.BatchNorm3d(2, momentum=None)).eval()
    before = module.state_dict()
    result = m.nn.SyncBatchNorm.convert_sync_batchnorm(module)
    assert result is module
    kinds = [type(one).__name__ for one in (result[0][1], result[1], result[2])]
    assert kinds == ["SyncBatchNorm"] * 3
    assert [one.training for one in (result[0][1], result[1], result[2])] == [False] * 3
    assert (result[1].affine, result[2].momentum) == (False, None)
    assert list(result.state_dict()) == list(before)
    assert result[0][1].running_mean is not None
    x = m.ones(4, 2)
    assert result[0](x).shape == (4, 3)


def test_synchronized_batch_norm_is_batch_norm() -> None:
    x = engine.tensor(np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32))
    plain, result = nn.BatchNorm1d(3), nn.SyncBatchNorm(3)
    for _ in range(2):
        assert (result(x) == plain(x)).all()
    assert (result.running_var == plain.running_var).all()
    assert result(x.unsqueeze(-1)).shape == (4, 3, 5, 1)
