"""Functions accept PyTorch's argument names of every overload."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import engine
from engine.ops.composite import Composite
from engine.ops.record import Op
from tests.engine.ops.reference import Record, assert_same, is_public, records, to_engine, to_torch
from tests.engine.ops.sampler import Call, samples
from tests.engine.parity.signatures import Argument, Signature, documented, stubs

torch: Any = pytest.importorskip("torch")

OTHERWISE = {
    "linalg_svd": "vectors may point either way",
    "repeat_interleave": "the overload of counts alone takes them by position",
    "svd": "vectors may point either way",
}
COMPARED = [r for r in records() if is_public(r) and not (isinstance(r, Op) and r.random) and r.name not in OTHERWISE]


@pytest.mark.parametrize("record", COMPARED, ids=lambda record: record.name)
def test_keywords(record: Op | Composite) -> None:
    for name in (record.name, *record.aliases):
        for ours, theirs, overloads in _functions(record, name):
            for call in samples(record):
                for overload in overloads:
                    _compare(ours, theirs, overload, call, name)


def _functions(record: Record, name: str) -> Iterator[tuple[Any, Any, list[Signature]]]:
    """Both functions and PyTorch's overloads. The tensor of a method has no name."""
    if record.public and hasattr(torch, name):
        theirs = getattr(torch, name)
        overloads = stubs("_C/_VariableFunctions.pyi").get(name) or documented(theirs)
        yield getattr(engine, name), theirs, overloads
    if record.method and inspect.ismethoddescriptor(theirs := getattr(torch.Tensor, name, None)):
        overloads = stubs("_C/__init__.pyi", "TensorBase").get(name, [])
        tensor = Argument("", True)
        yield getattr(engine.Tensor, name), theirs, [Signature((tensor, *one.arguments)) for one in overloads]


def _compare(ours: Any, theirs: Any, overload: Signature, call: Call, what: str) -> None:
    names = [argument.name for argument in overload.arguments if argument.positional]
    args, kwargs = call
    if len(args) > len(names) or kwargs.keys() & set(names[: len(args)]):
        return
    by_name = {**dict(zip(names, args, strict=False)), **kwargs}
    first = (by_name.pop(""),) if names[0] == "" else ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args, kwargs = to_torch(torch, (first, by_name))
            want = theirs(*args, **kwargs)
    except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
        return  # arguments of another overload
    args, kwargs = to_engine((first, by_name))
    assert_same(ours(*args, **kwargs), want, (what, list(by_name)))
