"""Values and dtypes of every op and composite, and of their methods and operators, equal PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.ops import reference, variants
from tests.engine.ops.pytorch import (
    COMPARED,
    DTYPES_OTHERWISE,
    MEMORY_OTHERWISE,
    PUBLIC,
    RANDOM,
    SPECIAL_OTHERWISE,
    call_pytorch,
)
from tests.engine.ops.reference import (
    APART,
    Record,
    assert_same,
    counterpart,
    float_tensors,
    gradients,
    leaves,
    to_engine,
    to_torch,
    weighted_sum,
)
from tests.engine.ops.sampler import Call, samples

torch = pytest.importorskip("torch")

each = pytest.mark.parametrize("record", COMPARED, ids=lambda record: record.name)


def compare(record: Record, call: Call, what: str) -> bool:
    """Assert equal values and dtypes. Returns whether PyTorch accepts the arguments."""
    want = call_pytorch(record, *to_torch(torch, call))
    if want is None:
        return False
    args, kwargs = to_engine(call)
    assert_same(record.function(*args, **kwargs), want, (what, call))
    return True


@pytest.mark.parametrize("record", PUBLIC, ids=lambda record: record.name)
def test_every_op_exists_in_pytorch_or_is_listed(record: Record) -> None:
    if record not in RANDOM:
        for name in (record.name, *record.aliases):
            assert (counterpart(torch, name) is None) is (name in APART), name


@each
def test_values_and_dtypes(record: Record) -> None:
    took = [compare(record, call, "float64") for call in samples(record)]
    assert any(took), f"PyTorch takes none of the samples of {record.name}"
    for call in samples(record, np.float32):
        compare(record, call, "float32")


@each
def test_other_dtypes(record: Record) -> None:
    for call in samples(record):
        for name, dtype in {**variants.HALVES, **variants.WHOLE}.items():
            if (record.name, name) not in DTYPES_OTHERWISE:
                compare(record, variants.with_dtype(call, dtype), name)


SIZES_OTHERWISE = {
    "cholesky": "PyTorch takes empty matrices that are not square",
    "ormqr": "PyTorch takes empty matrices without looking at their sizes",
}
"""Ops that refuse what PyTorch takes."""


@each
def test_other_sizes(record: Record) -> None:
    if record.name in SIZES_OTHERWISE:
        return
    for call in samples(record):
        for name, change in variants.SIZES.items():
            compare(record, variants.change_arrays(change, call), name)


@each
def test_special_values(record: Record) -> None:
    if record.name in SPECIAL_OTHERWISE:
        return
    for call in samples(record):
        compare(record, variants.change_floats(variants.special, call), "special numbers")


@each
def test_memory_layouts(record: Record) -> None:
    if record.name in MEMORY_OTHERWISE:
        return
    for call in samples(record):
        want = call_pytorch(record, *to_torch(torch, call))
        for name, change in variants.MEMORY.items() if want is not None else ():
            args, kwargs = variants.change_arrays(change, call)
            assert_same(record.function(*args, **kwargs), want, (name, call))


# -- views and in-place -----------------------------------------------------------------------


def shared(out: Any, source: Any) -> bool:
    """Whether `out` shares memory with `source`."""
    if isinstance(out, engine.Tensor):
        return out._storage is source._storage
    return out.untyped_storage().data_ptr() == source.untyped_storage().data_ptr()


@each
def test_views_equal_pytorch(record: Record) -> None:
    for call in samples(record):
        targs, tkwargs = to_torch(torch, call)
        want = call_pytorch(record, targs, tkwargs)
        if want is None or not hasattr(targs[0], "numel"):
            continue
        args, kwargs = to_engine(call)
        found = record.function(*args, **kwargs)
        for ours, other in zip(leaves(found), leaves(want), strict=True):
            if hasattr(other, "numel") and other.numel():
                assert shared(ours, args[0]) is shared(other, targs[0]), call
                assert ours.is_contiguous() or not other.is_contiguous(), call


IN_PLACE_LATER: dict[str, str] = {}
"""In-place variants of PyTorch that the engine does not have, with the reason."""


@each
def test_in_place_variants_exist(record: Record) -> None:
    for name in (record.name, *record.aliases):
        if reference.is_public(record) and hasattr(torch.Tensor, f"{name}_") and record.method:
            assert hasattr(engine.Tensor, f"{name}_") or name in IN_PLACE_LATER, f"{name}_"


@pytest.mark.parametrize(
    "record",
    [r for r in COMPARED if hasattr(engine.Tensor, f"{r.name}_") and r.method],
    ids=lambda record: record.name,
)
def test_in_place_variants_give_the_same_values(record: Record) -> None:
    for call in samples(record):
        if not isinstance(call[0][0], np.ndarray):
            call = (call[0][::-1], call[1])  # the tensor is the second argument of the function
        args, kwargs = to_engine(call)
        with engine.no_grad():
            want = record.function(*args, **kwargs)
        write = getattr(engine.Tensor, f"{record.name}_")
        target = args[0].clone()
        if want.is_floating_point() and not target.is_floating_point():
            with pytest.raises(engine.errors.DTypeError, match="cannot write its"):
                write(target, *args[1:], **kwargs)
            continue
        if tuple(want.shape) != tuple(target.shape) and record.name not in reference.SHAPE_IN_PLACE:
            with pytest.raises(engine.errors.EngineError):
                write(target, *args[1:], **kwargs)
            continue
        version = target._version
        assert write(target, *args[1:], **kwargs) is target
        assert target._version > version or record.name in reference.SHAPE_IN_PLACE
        np.testing.assert_array_equal(target.numpy(), want.to(target.dtype).numpy(), err_msg=str(call))
        if want.is_floating_point():
            check_gradient_in_place(record, call)


def check_gradient_in_place(record: Record, call: Call) -> None:
    """Assert that an in-place op has the gradient of the op and none for the replaced value."""
    found = []
    for name in (record.name, f"{record.name}_"):
        args, kwargs = to_engine(call, requires_grad=True)
        if not float_tensors((args, kwargs)):
            return
        result = getattr(args[0] * 1, name)(*args[1:], **kwargs)
        if not result.requires_grad:
            with pytest.raises(engine.errors.AutogradError, match="has no gradient"):
                getattr(args[0] * 1, f"{record.name}_")(*args[1:], **kwargs)
            return
        value = weighted_sum(engine, result)
        found.append([] if value is None else gradients(engine, value, float_tensors((args, kwargs)), create=False))
    for ours, want in zip(*found, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), want.detach().numpy(), err_msg=str(call))


# -- operators --------------------------------------------------------------------------------

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "eq", "ne",
          "lt", "le", "gt", "ge")  # fmt: skip
OPERANDS = {
    "numbers": (np.array([1.5, 2.0, 3.25]), np.array([[2.0], [0.5]])),
    "whole numbers": (np.array([5, 6, 7]), np.array([[1], [2]])),
    "booleans": (np.array([True, False]), np.array([True, True])),
    "a tensor and a number": (np.array([5, 6, 7]), 2),
    "a tensor and a fraction": (np.array([5, 6, 7]), 2.5),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("operands", OPERANDS)
def test_reflected_and_augmented_operators(name: str, operands: str) -> None:
    x, y = OPERANDS[operands]
    for method in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
        if not hasattr(torch.Tensor, method):
            continue
        try:
            want = getattr(to_torch(torch, x), method)(to_torch(torch, y))
        except (RuntimeError, TypeError):
            continue
        if want is not NotImplemented:
            assert_same(getattr(to_engine(x), method)(to_engine(y)), want, (method, x, y))


def test_unary_operators() -> None:
    x = np.array([1.5, -2.0])
    for name in ("__neg__", "__abs__", "__pos__"):
        assert_same(getattr(to_engine(x), name)(), getattr(to_torch(torch, x), name)(), name)
    assert_same(~to_engine(x > 0), ~to_torch(torch, x > 0), "~")
    assert_same(~to_engine(np.array([1, 2])), ~to_torch(torch, np.array([1, 2])), "~")


# -- out= -------------------------------------------------------------------------------------


def test_out_argument() -> None:
    x, y, out = engine.tensor([1.0, 2.0]), engine.tensor([3.0, 5.0]), engine.zeros(2)
    assert engine.add(x, y, out=out) is out
    assert out.tolist() == [4.0, 7.0]
    empty = engine.empty(0)
    assert engine.cumsum(x, 0, out=empty) is empty
    assert empty.tolist() == [1.0, 3.0]
    values, indices = engine.empty(0), engine.empty(0, dtype=engine.int64)
    engine.sort(engine.tensor([2.0, 1.0]), out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([1.0, 2.0], [1, 0])
    with pytest.raises(engine.errors.ShapeError, match=r"add\(\): out= has shape \(3,\) but the result has \(2,\)"):
        engine.add(x, y, out=engine.zeros(3))
    with pytest.raises(engine.errors.DTypeError, match="out= is int64 but the result is float32"):
        engine.add(x, y, out=engine.zeros(2, dtype=engine.int64))
    with pytest.raises(engine.errors.AutogradError, match="does not support gradients"):
        engine.add(x.requires_grad_(), y, out=out)


def test_argument_names_of_pytorch_and_numpy() -> None:
    x = engine.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert engine.sum(input=x, axis=0, keepdims=True).tolist() == [[4.0, 7.0]]
    assert engine.add(input=x, other=x).tolist() == (x * 2).tolist()
    assert engine.std(input=x, axis=1, unbiased=False).tolist() == [0.5, 1.0]
    with pytest.raises(TypeError, match=r"sum\(\) has no argument 'along'"):
        x.sum(along=1)


# -- index errors ----------------------------------------------------------------------------


def test_index_out_of_range_errors() -> None:
    F = engine.nn.functional
    scores, rows = engine.zeros(2, 4), engine.zeros(5, 2)
    cases: dict[str, Any] = {
        "cross_entropy: 7 is not one of the 4 classes. Use 0 to 3.": lambda: F.cross_entropy(
            scores, engine.tensor([0, 7])
        ),
        "nll_loss: -1 is not one of the 4 classes. Use 0 to 3.": lambda: F.nll_loss(scores, engine.tensor([0, -1])),
        "embedding: 5 is not one of the 5 rows of the weight. Use 0 to 4.": lambda: F.embedding(
            engine.tensor([5]), rows
        ),
        "index_select: index 5 is out of range for dimension 0 of size 5. Use 0 to 4.": lambda: rows.index_select(
            0, engine.tensor([5])
        ),
        "gather: index 9 is out of range for dimension 1 of size 4. Use 0 to 3.": lambda: scores.gather(
            1, engine.tensor([[9]])
        ),
    }
    for message, call in cases.items():
        with pytest.raises(IndexError) as caught:
            call()
        assert str(caught.value) == message
