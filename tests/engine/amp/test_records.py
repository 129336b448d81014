"""Autocast gives every op and composite the dtypes that PyTorch's gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import engine
from engine.amp.op_lists import NAMES
from engine.ops import COMPOSITES, REGISTRY
from engine.ops.record import Op
from tests.engine.ops.reference import (
    APART,
    Record,
    counterpart,
    dtype_of,
    is_public,
    leaves,
    records,
    to_engine,
    to_torch,
)
from tests.engine.ops.sampler import samples
from tests.engine.ops.variants import HALVES, with_dtype

torch: Any = pytest.importorskip("torch")

COMPARED = [r for r in records() if is_public(r) and not (isinstance(r, Op) and r.random) and r.name not in APART]


@pytest.mark.parametrize("record", COMPARED, ids=lambda record: record.name)
def test_result_dtypes_match_pytorch(record: Record) -> None:
    theirs: Any = counterpart(torch, record.name)
    for call in samples(record, np.float32):
        for variant in (call, with_dtype(call, HALVES["bfloat16"])):
            args, kwargs = to_torch(torch, variant)
            kwargs = {name: value for name, value in kwargs.items() if not (name == "dim" and value is None)}
            try:
                with warnings.catch_warnings(), torch.autocast("cpu", torch.bfloat16):
                    warnings.simplefilter("ignore")
                    expected = _dtypes(theirs(*args, **kwargs))
            except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
                continue  # which PyTorch cannot
            args, kwargs = to_engine(variant)
            with engine.autocast("cpu", engine.bfloat16):
                actual = _dtypes(record.function(*args, **kwargs))
            assert actual == expected, variant


def test_op_lists_name_existing_ops() -> None:
    named = frozenset[str]().union(*NAMES.values()) - {"pad_with_input"}  # within pad
    assert [
        n for n in named if n not in REGISTRY and n not in COMPOSITES and not hasattr(engine.nn.functional, n)
    ] == []


def _dtypes(result: Any) -> list[str]:
    return [dtype_of(part) for part in leaves(result) if hasattr(part, "dtype")]
