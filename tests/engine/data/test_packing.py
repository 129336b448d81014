"""What travels between a loader and its workers comes out as it went in."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import engine
from engine.data.workers.packing import pack, unpack

Pair = namedtuple("Pair", "image label")


class Own(np.ndarray):
    """A subclass of array."""


WIDE = np.arange(4000, dtype=np.float32).reshape(4, 10, 100)
ARRAYS = {
    "large": WIDE,
    "small": np.arange(3),
    "no dimension": np.array(3.5),
    "empty": np.empty((0, 3), np.int32),
    "truth": WIDE % 2 == 0,
    "complex": WIDE + 1j,
    "half": WIDE.astype(np.float16),
    "strided": WIDE[::2, :, ::3],
    "columns first": np.asfortranarray(WIDE),
    "other bytes first": WIDE.astype(">f4"),
    "texts": np.array(["a", "bc"]),
    "times": np.array(["2020-01-01"], "datetime64[D]"),
    "fields": np.zeros(700, [("a", "f4"), ("b", "i8")]),
    "objects": np.array([1, "a", None], object),
}


def through(value: Any) -> Any:
    content, buffers = pack(value)
    return unpack(content, [bytearray(buffer.raw()) for buffer in buffers])


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays(array: np.ndarray) -> None:
    found = through({"it": array})["it"]
    assert type(found) is np.ndarray
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    assert found.flags.f_contiguous == array.flags.f_contiguous or not array.flags.forc
    assert np.array_equal(found, array)
    assert found.flags.writeable


@pytest.mark.parametrize(
    "array", [array for array in ARRAYS.values() if array.dtype.kind in "bif" and array.dtype.isnative]
)
def test_tensors(array: np.ndarray) -> None:
    tensor = engine.from_numpy(array.copy())
    pair = through(Pair(tensor, [tensor]))
    assert isinstance(pair, Pair)
    assert pair.image is pair.label[0], "one tensor stays one"
    assert type(pair.image) is engine.Tensor
    assert (pair.image.shape, pair.image.dtype) == (tensor.shape, tensor.dtype)
    assert np.array_equal(pair.image.numpy(), array)
    pair.image.zero_()


def test_tensors_with_gradient_or_attributes_are_pickled_completely() -> None:
    parameter = engine.nn.Parameter(engine.ones(3))
    assert type(through(parameter)) is engine.nn.Parameter
    assert through(engine.ones(3, requires_grad=True)).requires_grad


def test_an_array_subclass_is_preserved() -> None:
    assert type(through(WIDE.view(Own))) is Own


def test_pickle_stream_of_a_batch_is_small() -> None:
    images, labels = engine.from_numpy(WIDE.copy()), engine.from_numpy(np.arange(4))
    content, buffers = pack([images, labels])
    assert [buffer.raw().nbytes for buffer in buffers] == [WIDE.nbytes]
    assert len(content) < 250
