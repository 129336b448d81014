"""First and second gradients of every op and composite equal PyTorch's; first gradients also in every variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.ops import variants
from tests.engine.ops.pytorch import COMPARED, DTYPES_OTHERWISE, MEMORY_OTHERWISE, call_pytorch
from tests.engine.ops.reference import (
    TOLERANCES,
    Record,
    assert_same,
    dtype_of,
    float_tensors,
    gradients,
    leaves,
    numbers,
    to_engine,
    to_torch,
    weighted_sum,
)
from tests.engine.ops.sampler import Call, samples

torch = pytest.importorskip("torch")

NO_GRADIENT_THERE = {
    "as_strided_scatter": "PyTorch's gradient exchanges written and other elements",
    "cholesky_inverse": "PyTorch fills the other triangle; test_linalg compares the triangle that counts",
    "cholesky_solve": "PyTorch fills the other triangle; test_linalg compares the triangle that counts",
    "nanmean": "of nothing but NaN PyTorch multiplies 0 by infinity",
    "nextafter": "PyTorch's has no second gradient",
}
"""Ops whose gradient PyTorch lacks, or has otherwise, and why ours is right."""

each = pytest.mark.parametrize(
    "record",
    [record for record in COMPARED if record.name not in NO_GRADIENT_THERE and record.name != "broadcast_shapes"],
    ids=lambda record: record.name,
)


def both_orders(library: Any, result: Any, inputs: list[Any]) -> list[Any]:
    """First gradients, and gradients of their weighted squares."""
    value = weighted_sum(library, result)
    if value is None:
        return []
    first = gradients(library, value, inputs, create=True)
    again = weighted_sum(library, [g * g for g in first])
    return [*first, *([x * 0 for x in inputs] if again is None else gradients(library, again, inputs, create=False))]


@each
def test_gradients_of_first_and_second_order(record: Record) -> None:
    for call in samples(record):
        args, kwargs = to_torch(torch, call, requires_grad=True)
        result = call_pytorch(record, args, kwargs)
        if result is None:
            continue
        try:
            want = both_orders(torch, result, float_tensors((args, kwargs)))
        except (RuntimeError, NotImplementedError):
            continue  # PyTorch has no second gradient; test_records compares with finite differences
        args, kwargs = to_engine(call, requires_grad=True)
        ours = record.function(*args, **kwargs)
        tracked = [bool(getattr(out, "requires_grad", False)) for out in leaves(ours)]
        assert tracked == [bool(getattr(out, "requires_grad", False)) for out in leaves(result)], call
        for mine, other in zip(both_orders(engine, ours, float_tensors((args, kwargs))), want, strict=True):
            assert_same(mine.detach(), other, call)


# -- variants ---------------------------------------------------------------------------------


def compare(record: Record, call: Call, ours: Call, what: str, alone: int | None = None) -> None:
    """Compare first gradients; with `alone`, only that input requires gradients. Results at NaN may differ at kinks."""
    found = []
    for library, (args, kwargs) in ((torch, to_torch(torch, call, requires_grad=True)), (engine, ours)):
        inputs = float_tensors((args, kwargs))
        for position, leaf in enumerate(inputs):
            leaf.requires_grad_(alone in (None, position))
        inputs = [leaf for leaf in inputs if leaf.requires_grad]
        result = call_pytorch(record, args, kwargs) if library is torch else record.function(*args, **kwargs)
        value = weighted_sum(library, result)
        if library is torch and (result is None or value is None):
            return
        assert value is not None, f"{record.name} lost its history: {what}"
        try:
            found.append(gradients(library, value, inputs, create=False))
        except (RuntimeError, NotImplementedError):
            if library is engine:
                raise
            return
        found.append(inputs)
    for other, leaf, mine in zip(found[0], found[1], found[2], strict=True):
        assert (dtype_of(mine), tuple(mine.shape)) == (dtype_of(other), tuple(other.shape)), (what, call)
        nan = np.isnan(numbers(leaf))
        a, b = (np.where(nan, 0.0, numbers(x).astype(np.float64)) for x in (mine, other))
        close = TOLERANCES[dtype_of(other)]
        size = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=close["rtol"], atol=close["atol"] * size, err_msg=str((what, call)))


FLOATS = {"float32": np.float32, **variants.HALVES}


@each
def test_other_dtypes(record: Record) -> None:
    for call in samples(record):
        for name, dtype in FLOATS.items():
            if (record.name, name) not in DTYPES_OTHERWISE:
                other = variants.with_dtype(call, dtype)
                compare(record, other, to_engine(other, requires_grad=True), name)


SIZES_OTHERWISE = {
    "block_diag": "PyTorch mistakes the places of gradients after a matrix without rows",
    "combinations": "of nothing",
    "householder_product": "of no reflections, which PyTorch gives no gradient",
    "ormqr": "more columns than rows",
    "pdist": "PyTorch crashes",
    "var": "too few elements for the correction: PyTorch computes 0 · ∞, and then 0",
    "var_mean": "too few elements for the correction: PyTorch computes 0 · ∞, and then 0",
}
"""Ops whose gradients are not compared where there are no elements."""


@each
def test_other_sizes(record: Record) -> None:
    for call in samples(record) if record.name not in SIZES_OTHERWISE else ():
        for name, change in variants.SIZES.items():
            other = variants.change_arrays(change, call)
            compare(record, other, to_engine(other, requires_grad=True), name)


OUTSIDE = "outside of where the function is defined there is nothing to compare"
BETWEEN = "NaN is shared out, or kept from its neighbors, by other steps"
SPECIAL_OTHERWISE = {
    "segment_reduce": "of a largest NaN, whose gradient is NaN here",
    **dict.fromkeys(("acosh", "digamma", "logit", "mvlgamma", "polygamma"), OUTSIDE),
    **dict.fromkeys(
        ("cumprod", "einsum", "householder_product", "logcumsumexp", "norm", "prod", "renorm", "triangular_solve"),
        BETWEEN,
    ),
    **dict.fromkeys(("cdist", "pdist"), "PyTorch drops NaN from infinite differences, or makes it"),
    **dict.fromkeys(("index_reduce", "scatter_reduce"), "PyTorch shares the gradient of what is NaN otherwise"),
    **dict.fromkeys(("max", "min"), "of NaN PyTorch gives the gradient to NaN alone, but in amax to everything"),
    "clamp": "between bounds that are NaN, or equal",
    "copysign": "PyTorch has 0 · ∞, where only the sign counts",
    "det": "LAPACK refuses what is not a number",
    "ormqr": "LAPACK computes with what is not a number, differently on other processors",
    "prelu": "0 times a slope that is infinite or NaN",
    "topk": "PyTorch orders zeros of both signs by chance",
}
"""Ops with other gradients than PyTorch at infinities and near NaN."""


@each
def test_special_values(record: Record) -> None:
    for call in samples(record) if record.name not in SPECIAL_OTHERWISE else ():
        other = variants.change_floats(variants.special, call)
        compare(record, other, to_engine(other, requires_grad=True), "special numbers")


@each
def test_memory_layouts(record: Record) -> None:
    for call in samples(record) if record.name not in MEMORY_OTHERWISE else ():
        for name, change in variants.MEMORY.items():
            compare(record, call, variants.change_arrays(tracked(change), call), name)


def tracked(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`change` for floating-point arrays, as tensors that require gradients."""
    return lambda a: change(a).detach().requires_grad_() if a.dtype.kind == "f" else change(a)


@each
def test_gradient_of_each_input_alone(record: Record) -> None:
    for call in samples(record):
        count = len(float_tensors(to_engine(call, requires_grad=True)))
        for position in range(count) if count > 1 else ():
            compare(record, call, to_engine(call, requires_grad=True), f"input {position} alone", alone=position)
