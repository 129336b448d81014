"""Memory that is shared with NumPy, PyTorch, buffers and other processes, and what is copied."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import engine
from engine.errors import ArrayError, AutogradError, SharingError
from engine.nn import Parameter
from engine.tensors.creation import from_data

DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


@pytest.mark.parametrize("name", DTYPES)
def test_numpy_shares_both_ways(name: str) -> None:
    array = np.ones((2, 3), name)
    x = engine.from_numpy(array[:, 1:])
    array[0, 1] = 0
    assert x[0, 0].item() == 0
    assert x.numpy() is not array
    assert np.shares_memory(x.numpy(), array)
    assert np.shares_memory(engine.as_tensor(array).numpy(), array)
    assert not np.shares_memory(engine.tensor(array).numpy(), array)
    x[1, 1] = 0
    assert array[1, 2] == 0


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("change", [lambda x: x, lambda x: x[:, 1:], lambda x: x.T, lambda x: x[0], lambda x: x[:0]])
def test_dlpack_shares_both_ways(name: str, change: Any) -> None:
    torch = pytest.importorskip("torch")
    x = change(engine.ones(2, 3, dtype=getattr(engine, name)))
    theirs = torch.from_dlpack(x)
    assert (tuple(theirs.shape), theirs.stride(), str(theirs.dtype)) == (tuple(x.shape), x.stride(), f"torch.{name}")
    back = engine.from_dlpack(theirs)
    assert (back.dtype, back.shape, back.tolist()) == (x.dtype, x.shape, x.tolist())
    assert not x.numel() or back.data_ptr() == theirs.data_ptr() == x.data_ptr()
    array = np.from_dlpack(x)
    assert np.shares_memory(array, x.numpy()) or not x.numel()
    assert engine.utils.dlpack.from_dlpack(array).data_ptr() == x.data_ptr() or not x.numel()
    assert engine.utils.dlpack.from_dlpack(engine.utils.dlpack.to_dlpack(x)).tolist() == x.tolist()
    if x.numel():
        theirs.zero_()
        assert not x.any()


def test_dlpack_refusals() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(SharingError, match=r"detach\(\)"):
        torch.from_dlpack(engine.ones(2, requires_grad=True))
    with pytest.raises(SharingError, match="bfloat16"):
        np.from_dlpack(engine.ones(2, dtype=engine.bfloat16))
    with pytest.raises(ArrayError, match="from_dlpack"):
        engine.from_dlpack(torch.ones(2, dtype=torch.bfloat16))


def test_asarray_copies_on_demand_only() -> None:
    array, x = np.ones(2, np.float32), engine.ones(2)
    assert np.shares_memory(engine.asarray(array).numpy(), array)
    assert not np.shares_memory(engine.asarray(array, copy=True).numpy(), array)
    assert engine.asarray(x) is x
    assert engine.asarray(x, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ArrayError, match="needs a copy"):
        engine.asarray(array, dtype=engine.int8, copy=False)


def test_arrays_that_cannot_be_shared_are_copied_by_tensor() -> None:
    for array in (np.arange(4)[::-1], np.arange(4, dtype=">i4"), np.arange(4.0)[::-2]):
        with pytest.raises(ArrayError, match=r"engine\.tensor"):
            engine.from_numpy(array)
        assert engine.tensor(array).tolist() == engine.as_tensor(array).tolist() == array.tolist()


def test_read_only_array_warns_once() -> None:
    from_data._warn_about_readonly.cache_clear()
    array = np.frombuffer(b"\0\0\x80?", np.float32)
    with pytest.warns(UserWarning, match="not writable"):
        x = engine.from_numpy(array)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine.from_numpy(array)
    assert x.tolist() == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)


class _Foreign:
    def __init__(self, array: Any) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.array, dtype)


def test_foreign_arrays() -> None:
    assert engine.tensor(_Foreign([1, 2])).tolist() == [1, 2]
    assert engine.as_tensor(_Foreign(np.ones(2, np.float32))).dtype is engine.float32
    assert engine.tensor([_Foreign([1.5]), _Foreign([2.0])]).tolist() == [[1.5], [2.0]]
    assert memoryview(engine.ones(2).numpy()).format == "f"


def test_numpy_functions_on_tensors() -> None:
    x = engine.tensor([0.25, 1.0])
    assert isinstance(np.sqrt(x), engine.Tensor)
    assert np.sqrt(x).tolist() == [0.5, 1.0]
    assert np.isfinite(x).tolist() == [True, True]
    with pytest.raises(AutogradError, match="detach"):
        np.sqrt(x.requires_grad_())


# -- copies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)], ids=str)
def test_pickle_and_copies(dtype: str, shape: tuple[int, ...]) -> None:
    x = engine.ones(shape, dtype=getattr(engine, dtype))
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (other.dtype, other.shape, other.tolist(), type(other)) == (x.dtype, x.shape, x.tolist(), engine.Tensor)
        assert other.numel() == 0 or other.data_ptr() != x.data_ptr()
    shallow = copy.copy(x)
    assert shallow is not x
    assert shallow.data_ptr() == x.data_ptr()


def test_pickle_keeps_requires_grad_and_class() -> None:
    weight = Parameter(engine.ones(2, 2)[:, 1:])
    other = pickle.loads(pickle.dumps(weight))
    assert (type(other), other.requires_grad, other.tolist()) == (Parameter, True, [[1.0], [1.0]])
    (other * 2).sum().backward()
    assert other.grad.tolist() == [[2.0], [2.0]]
    meta = pickle.loads(pickle.dumps(engine.ones(2, 3, device="meta")))
    assert (meta.is_meta, meta.shape) == (True, (2, 3))
    with pytest.raises(AutogradError, match="only leaves can be pickled"):
        pickle.dumps(weight * 2)
    layer = engine.nn.Linear(2, 2)
    assert pickle.loads(pickle.dumps(layer)).weight.tolist() == layer.weight.tolist()


def _write(x: Any) -> None:
    x[0] = 5.0


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes share by being forked")
def test_shared_memory_is_seen_by_other_processes() -> None:
    x = engine.zeros(2).share_memory_()
    assert x.is_shared()
    assert x[1:].is_shared()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forking with threads
        process = multiprocessing.get_context("fork").Process(target=_write, args=(x,))
        process.start()
    process.join()
    assert x.tolist() == [5.0, 0.0]
