"""Ops that are compared with PyTorch, and how PyTorch is called."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from engine.ops.record import Op
from tests.engine.ops import reference
from tests.engine.ops.reference import APART, Record, counterpart

torch = pytest.importorskip("torch")

PUBLIC = [record for record in reference.records() if reference.is_public(record)]
COMPARED = [record for record in PUBLIC if record.name not in APART]
RANDOM = [record for record in PUBLIC if isinstance(record, Op) and record.random]
SIGNS = {"linalg_qr", "linalg_svd", "qr", "svd"}
"""Decompositions whose vectors may point either way: test_linalg compares what does not depend on it."""
COMPARED = [record for record in COMPARED if record not in RANDOM and record.name not in SIGNS]

DTYPES_OTHERWISE = {
    ("histc", "bfloat16"): "PyTorch rounds the edges of the bins to bfloat16",
    ("addr", "bool"): "PyTorch takes the factors for booleans",
    ("matrix_exp", "float16"): "PyTorch's powers overflow",
    ("matrix_exp", "bfloat16"): "PyTorch's powers overflow",
}
"""Ops that compute more exactly than PyTorch in halves."""

SPECIAL_OTHERWISE: dict[str, str] = {
    "cdist": "PyTorch has NaN where an infinite distance is computed by a product",
    "cholesky_solve": "LAPACK refuses, or computes with what is not a number",
    "geqrf": "LAPACK refuses, or computes with what is not a number",
    "lu_solve": "LAPACK refuses, or computes with what is not a number",
    "ormqr": "LAPACK refuses, or computes with what is not a number",
    "slogdet": "LAPACK refuses, or computes with what is not a number",
    "bucketize": "the boundaries would not be in order any more",
    "lerp": "PyTorch computes from the nearer end, which hides or makes NaN",
    "mvlgamma": "defined only for large numbers; the libraries differ outside of this range",
    "polygamma": "of minus infinity and huge negative numbers PyTorch gives what is left of sin(πx)",
    "scatter_reduce": "PyTorch drops NaN among what is compared first",
    "searchsorted": "the sequence would not be in order any more",
    "std_mean": "PyTorch gives NaN for the mean of infinities of one sign",
    "topk": "PyTorch orders zeros of both signs by chance",
    "unique": "PyTorch sorts rows with NaN in front",
    "var_mean": "PyTorch gives NaN for the mean of infinities of one sign",
}
"""Ops that treat NaN and infinities on purpose as PyTorch does not."""

MEMORY_OTHERWISE = {"as_strided", "view", "view_as"}
"""Ops with strides as arguments."""


def call_pytorch(record: Record, args: Any, kwargs: Any) -> Any:
    """PyTorch's result, or None if it rejects the arguments, which are then not compared."""
    function: Any = counterpart(torch, record.name)
    without = {name: value for name, value in kwargs.items() if not (name == "dim" and value is None)}
    for keywords in (kwargs, without) if len(without) < len(kwargs) else (kwargs,):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(*args, **keywords)
        except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError):
            pass  # some functions do not accept None for a dimension but have a default
    return None
