"""Every op and composite gives the CPU's shapes on the meta device, and its numbers on a GPU and CuPy's stand-in."""

from __future__ import annotations

import itertools
import re
import sys
from typing import Any

import numpy as np
import pytest

import engine
from engine import backend
from engine.errors import EngineError
from engine.shape import Dim
from engine.tensors import Tensor
from tests.engine import fake_cupy
from tests.engine.ops import reference, variants
from tests.engine.ops.reference import Record, floats_of, leaves, mapped, to_engine
from tests.engine.ops.sampler import samples

RECORDS = reference.records()
each = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)

ON_NUMBERS = {
    "allclose", "argwhere", "bincount", "equal", "histogram", "masked_select", "nonzero",
    "one_hot", "repeat_interleave", "repeat_interleave_indices", "unique", "unique_consecutive", "where",
}  # fmt: skip
"""Functions whose result or shape depends on values: they raise on the meta device."""


OF_LARGE_SIZES = {"diag", "diagonal", "linalg_qr", "geqrf", "linalg_svd", "slice"}
"""Functions that compare sizes: a symbol stands for a large number, which the samples' sizes are not."""


def specs(record: Record, result: Any) -> list[Any]:
    """Shapes and dtypes; of private ops without the bytes that they keep for their gradients."""
    kept = [item for item in leaves(result) if reference.offered(record) or item.dtype is not engine.uint8]
    return [item.spec if isinstance(item, Tensor) else item for item in kept]


DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool")


@each
def test_the_meta_device_foretells_shape_and_dtype(record: Record) -> None:
    dtypes = DTYPES if reference.offered(record) else [dtype for dtype in DTYPES if "float" in dtype]
    for call, dtype in itertools.product(samples(record), dtypes):
        args, kwargs = to_engine(variants.with_dtype(call, engine.dtypes.dtype_from_name(dtype).numpy.type))
        try:
            real = record.function(*args, **kwargs)
        except (EngineError, TypeError, ZeroDivisionError, ValueError):
            continue  # not for this dtype
        args, kwargs = mapped(lambda item: item.to("meta") if isinstance(item, Tensor) else item, (args, kwargs))
        try:
            found = record.function(*args, **kwargs)
        except EngineError as error:
            assert record.name in ON_NUMBERS and re.search("meta device|depends on the values", str(error)), call
        else:
            assert specs(record, found) == specs(record, real), call


def symbolic(value: Any, size: int) -> Any:
    """Arrays as meta tensors whose first size, where it is `size`, is a symbol."""

    def convert(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        shape = (Dim("N"), *item.shape[1:]) if item.ndim and item.shape[0] == size else item.shape
        return Tensor(backend.MetaArray(shape, item.dtype))

    return mapped(convert, value)


@each
def test_symbolic_sizes_are_the_real_ones(record: Record) -> None:
    if record.name in ON_NUMBERS or record.name in OF_LARGE_SIZES:
        return
    for call in samples(record):
        first = next((a for a in leaves(call[0]) if isinstance(a, np.ndarray)), None)
        if first is None or not first.ndim or first.shape[0] < 2:
            continue
        size = first.shape[0]
        args, kwargs = to_engine(call)
        real = record.function(*args, **kwargs)
        args, kwargs = symbolic(call, size)
        try:
            found = record.function(*args, **kwargs)
        except EngineError:
            continue  # the other arguments are for the one size only
        for ours, want in zip(leaves(found), leaves(real), strict=True):
            if isinstance(want, Tensor):
                at = tuple(side.at(size) if isinstance(side, Dim) else side for side in ours.shape)
                assert at == tuple(want.shape), call


# -- a GPU ------------------------------------------------------------------------------------


def on(device: str, record: Record, call: Any) -> list[Any]:
    """Results and gradients of a call, in main memory."""
    args, kwargs = to_engine(call, requires_grad=True, device=device)
    found = record.function(*args, **kwargs)
    tensors = [item for item in leaves(found) if isinstance(item, Tensor)]
    if not reference.offered(record):
        tensors = [item for item in tensors if item.dtype is not engine.uint8]  # bytes that the gradient reads
    assert all(out.device.type == device for out in tensors), record.name
    tracked = [out.sum() for out in tensors if out.requires_grad]
    grads = engine.grad(tracked, floats_of((args, kwargs)), allow_unused=True) if tracked else ()
    return [None if item is None else item.detach().cpu().numpy() for item in (*tensors, *grads)]


@each
def test_the_stand_in_for_cupy_gives_the_same_numbers(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    for call in samples(record):
        for ours, want in zip(on("cuda", record, call), on("cpu", record, call), strict=True):
            np.testing.assert_allclose(ours, want, atol=1e-12) if want is not None else None


WRITTEN = [r for r in RECORDS if r.in_place and r.method and r.name not in reference.SHAPE_IN_PLACE]


@pytest.mark.parametrize("record", WRITTEN, ids=lambda record: record.name)
def test_writes_in_place_on_the_stand_in(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    for call in samples(record):
        found = []
        for device in ("cpu", "cuda"):
            args, kwargs = to_engine(
                call if isinstance(call[0][0], np.ndarray) else (call[0][::-1], call[1]), device=device
            )
            if args[0].spec == record.function(*args, **kwargs).spec:
                found.append(getattr(args[0], f"{record.name}_")(*args[1:], **kwargs).cpu().numpy())
        np.testing.assert_array_equal(*found) if found else None


@pytest.mark.gpu
@pytest.mark.skipif(not engine.cuda_available(), reason="needs CuPy and a CUDA device")
@each
def test_a_gpu_gives_the_same_numbers(record: Record) -> None:
    for call, dtype in itertools.product(samples(record), ("float64", "float32", "float16")):
        call = variants.with_dtype(call, np.dtype(dtype).type)
        for ours, want in zip(on("cuda", record, call), on("cpu", record, call), strict=True):
            np.testing.assert_allclose(ours, want, **reference.TOLERANCES[dtype]) if want is not None else None
