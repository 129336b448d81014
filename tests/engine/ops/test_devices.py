"""Every op and composite has the CPU's shapes on the meta device, and its values on a GPU and CuPy's substitute."""

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
from tests.engine.ops.reference import Record, float_tensors, leaves, map_nested, to_engine
from tests.engine.ops.sampler import samples

RECORDS = reference.records()
each = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)

ON_NUMBERS = {
    "allclose", "argwhere", "bincount", "equal", "histogram", "masked_select", "nonzero",
    "one_hot", "repeat_interleave", "repeat_interleave_indices", "unique", "unique_consecutive", "where",
}  # fmt: skip
"""Functions whose result or shape depends on values: they raise on the meta device."""


OF_LARGE_SIZES = {"diag", "diagonal", "linalg_qr", "geqrf", "linalg_svd", "slice"}
"""Functions that compare sizes: symbols count as large numbers, but the samples are small."""


def specs(record: Record, result: Any) -> list[Any]:
    """Shapes and dtypes, for private ops without the bytes that they save for gradients."""
    items = [item for item in leaves(result) if reference.is_public(record) or item.dtype is not engine.uint8]
    return [item.spec if isinstance(item, Tensor) else item for item in items]


DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "uint8", "bool")


@each
def test_meta_device_infers_shape_and_dtype(record: Record) -> None:
    dtypes = DTYPES if reference.is_public(record) else [dtype for dtype in DTYPES if "float" in dtype]
    for call, dtype in itertools.product(samples(record), dtypes):
        args, kwargs = to_engine(variants.with_dtype(call, engine.dtypes.dtype_from_name(dtype).numpy.type))
        try:
            real = record.function(*args, **kwargs)
        except (EngineError, TypeError, ZeroDivisionError, ValueError):
            continue  # the dtype is not supported
        args, kwargs = map_nested(lambda item: item.to("meta") if isinstance(item, Tensor) else item, (args, kwargs))
        try:
            found = record.function(*args, **kwargs)
        except EngineError as error:
            assert record.name in ON_NUMBERS and re.search("meta device|depends on the values", str(error)), call
        else:
            assert specs(record, found) == specs(record, real), call


def symbolic(value: Any, size: int) -> Any:
    """Arrays as meta tensors with a symbol for the first size if it is `size`."""

    def convert(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        shape = (Dim("N"), *item.shape[1:]) if item.ndim and item.shape[0] == size else item.shape
        return Tensor(backend.MetaArray(shape, item.dtype))

    return map_nested(convert, value)


@each
def test_symbolic_sizes_equal_actual_sizes(record: Record) -> None:
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
            continue  # the other arguments require this size
        for ours, want in zip(leaves(found), leaves(real), strict=True):
            if isinstance(want, Tensor):
                at = tuple(side.at(size) if isinstance(side, Dim) else side for side in ours.shape)
                assert at == tuple(want.shape), call


# -- a GPU ------------------------------------------------------------------------------------


def on(device: str, record: Record, call: Any) -> list[Any]:
    """Results and gradients of a call, copied to the CPU."""
    args, kwargs = to_engine(call, requires_grad=True, device=device)
    found = record.function(*args, **kwargs)
    tensors = [item for item in leaves(found) if isinstance(item, Tensor)]
    if not reference.is_public(record):
        tensors = [item for item in tensors if item.dtype is not engine.uint8]  # bytes saved for the gradient
    assert all(out.device.type == device for out in tensors), record.name
    tracked = [out.sum() for out in tensors if out.requires_grad]
    grads = engine.grad(tracked, float_tensors((args, kwargs)), allow_unused=True) if tracked else ()
    return [None if item is None else item.detach().cpu().numpy() for item in (*tensors, *grads)]


@each
def test_cupy_substitute_gives_the_same_values(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    for call in samples(record):
        for ours, want in zip(on("cuda", record, call), on("cpu", record, call), strict=True):
            np.testing.assert_allclose(ours, want, atol=1e-12) if want is not None else None


WRITTEN = [r for r in RECORDS if r.in_place and r.method and r.name not in reference.SHAPE_IN_PLACE]


@pytest.mark.parametrize("record", WRITTEN, ids=lambda record: record.name)
def test_in_place_ops_on_cupy_substitute(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_gpu_gives_the_same_values(record: Record) -> None:
    for call, dtype in itertools.product(samples(record), ("float64", "float32", "float16")):
        call = variants.with_dtype(call, np.dtype(dtype).type)
        for ours, want in zip(on("cuda", record, call), on("cpu", record, call), strict=True):
            np.testing.assert_allclose(ours, want, **reference.TOLERANCES[dtype]) if want is not None else None
