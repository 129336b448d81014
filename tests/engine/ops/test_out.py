"""`out=` of every function that has it in PyTorch, and in-place ops in every dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.ops import variants
from tests.engine.ops.pytorch import COMPARED, call_pytorch
from tests.engine.ops.reference import Record, assert_same, counterpart, dtype_of, leaves, numbers, to_engine, to_torch
from tests.engine.ops.sampler import Call, samples

torch = pytest.importorskip("torch")


def takes_out(record: Record) -> bool:
    """Whether PyTorch's function has `out=`, by its documentation: signatures do not tell."""
    if record.name == "histogramdd":
        return False  # nested tuples, which the documentation does not mention
    found = counterpart(torch, record.name)
    return "out=None" in (getattr(found, "__doc__", None) or "").partition("\n\n")[0]


OUTS = {
    "same": lambda shape, dtype: engine.zeros(shape, dtype=dtype),
    "to be resized": lambda _, dtype: engine.empty(0, dtype=dtype),
    "a view": lambda shape, dtype: engine.zeros(*shape, 2, dtype=dtype)[..., 1],
    "wider": lambda shape, dtype: engine.zeros(shape, dtype=engine.float64 if dtype.is_floating_point else dtype),
}


@pytest.mark.parametrize("record", [record for record in COMPARED if takes_out(record)], ids=lambda record: record.name)
def test_out(record: Record) -> None:
    for call in samples(record, np.float32)[:2]:
        want = call_pytorch(record, *to_torch(torch, call))
        if want is None:
            continue
        shapes = [(tuple(one.shape), getattr(engine, dtype_of(one))) for one in leaves(want)]
        args, kwargs = to_engine(call)
        for name, make in OUTS.items():
            outs = [make(shape, dtype) for shape, dtype in shapes]
            found = record.function(*args, **kwargs, out=tuple(outs) if isinstance(want, tuple) else outs[0])
            for result, out, other, (_, dtype) in zip(leaves(found), outs, leaves(want), shapes, strict=True):
                assert result is out, name
                assert tuple(out.shape) == tuple(other.shape), name
                np.testing.assert_allclose(numbers(out), numbers(other), rtol=3e-5, atol=3e-6, err_msg=name)
                assert name == "wider" or out.dtype is dtype, name
        if all(one.numel() for one in leaves(want)):
            refused(record, args, kwargs, shapes, isinstance(want, tuple))


def refused(record: Record, args: Any, kwargs: Any, shapes: Any, several: bool) -> None:
    """Outputs of another shape, and integer outputs for floating-point results."""
    outs = [engine.zeros(*shape, 2, dtype=dtype) for shape, dtype in shapes]
    with pytest.raises(engine.errors.ShapeError, match=r"out= has shape"):
        record.function(*args, **kwargs, out=tuple(outs) if several else outs[0])
    if any(dtype.is_floating_point for _, dtype in shapes):
        outs = [engine.zeros(shape, dtype=engine.int64) for shape, _ in shapes]
        with pytest.raises(engine.errors.DTypeError, match=r"out= is int64"):
            record.function(*args, **kwargs, out=tuple(outs) if several else outs[0])


# -- in place ---------------------------------------------------------------------------------

LARGER = {
    ("addr", "bool"): "the sum of booleans is whole",
    ("cumprod", "bool"): "the product of booleans is whole",
    ("cumsum", "bool"): "the sum of booleans is whole",
}
"""Functions for which PyTorch silently converts the result to the dtype of `out`."""


def mixed(call: Call) -> dict[str, Call]:
    """The call in every dtype, and with another dtype for the first tensor or for the others."""
    dtypes: dict[str, Any] = {"float32": np.float32, **variants.HALVES, **variants.WHOLE}
    found = {name: variants.with_dtype(call, dtype) for name, dtype in dtypes.items()}
    (first, *rest), kwargs = found["float32"]
    for name in ("float16", "int64"):
        (other, *others), more = found[name]
        found[f"{name} into float32"] = (first, *others), more
        found[f"float32 into {name}"] = (other, *rest), kwargs
    return found


@pytest.mark.parametrize(
    "record",
    [
        record
        for record in COMPARED
        if record.method and all(hasattr(library.Tensor, f"{record.name}_") for library in (engine, torch))
    ],
    ids=lambda record: record.name,
)
def test_in_place_in_every_dtype(record: Record) -> None:
    for call in samples(record):
        if not isinstance(call[0][0], np.ndarray):
            continue
        for name, other in mixed(call).items():
            args, kwargs = to_torch(torch, other)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    want = getattr(args[0].clone(), f"{record.name}_")(*args[1:], **kwargs)
            except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
                continue
            if (record.name, name) in LARGER:
                continue
            args, kwargs = to_engine(other)
            found = getattr(args[0].clone(), f"{record.name}_")(*args[1:], **kwargs)
            if " into " in name and "float16" in name:  # PyTorch rounds intermediate results
                np.testing.assert_allclose(numbers(found), numbers(want), rtol=1e-2, atol=2e-3, err_msg=name)
            else:
                assert_same(found, want, (name, other))
