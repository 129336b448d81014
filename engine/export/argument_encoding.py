"""Arguments of ops as JSON.

Numbers, strings, booleans and null are themselves, an array is a tuple. All else is an object with one key, such as
``{"dtype": "float32"}``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import EllipsisType
from typing import Any

import numpy as np

from engine.dtypes import DType
from engine.export.op_allowance import view_refusal
from engine.ops.indexing.index import TensorSlot
from engine.ops.indexing.index_checks import IndexCaller
from engine.ops.record import Op
from engine.ops.spatial.resample import ResampleTable
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Dim

MAX_INTEGER = 2**63
MAX_ARRAY = 1_000_000
"""Elements of an array among the arguments."""


class UnstorableArgumentError(ValueError):
    """An argument that an artifact cannot contain. The text says which."""


def encode(value: Any) -> Any:
    """An argument as JSON. Raises UnstorableArgumentError for a value that is no plain data."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) >= MAX_INTEGER:
            raise UnstorableArgumentError("an integer above 64 bits")
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": "nan" if math.isnan(value) else str(value)}
    for kind, (key, function) in _ENCODERS.items():
        if isinstance(value, kind):
            return {key: function(value)}
    if isinstance(value, (tuple, list)):
        return [encode(each) for each in value]
    raise UnstorableArgumentError(f"a {type(value).__name__}")


def _encode_size(size: Dim) -> Any:
    """A symbol by its name, another size as terms: factor and symbols."""
    terms = [[factor, *map(_encode_symbol, symbols)] for symbols, factor in size.terms()]
    is_symbol = len(terms) == 1 and len(terms[0]) == 2 and terms[0][0] == 1 and isinstance(terms[0][1], str)
    return terms[0][1] if is_symbol else terms


def _encode_symbol(symbol: str) -> Any:
    quotient = Dim.quotient(symbol)
    return str(symbol) if quotient is None else {"quotient": [encode(each) for each in quotient]}


def _encode_views(chain: tuple[tuple[Op, Mapping[str, Any]], ...]) -> Any:
    for op, _ in chain:
        if reason := view_refusal(op.name):
            raise UnstorableArgumentError(f"a write through a view by {op.name}: {reason}")
    return [[op.name, encode_arguments(statics)] for op, statics in chain]


def encode_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The static arguments of an op as JSON. Raises UnstorableArgumentError, with the name of the argument."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        try:
            found[name] = {"views": _encode_views(value)} if name == "chain" else encode(value)
        except UnstorableArgumentError as error:
            raise UnstorableArgumentError(f"argument {name}: {error}") from None
    return found


def _encode_array(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype.kind not in "if" or array.size > MAX_ARRAY:
        raise UnstorableArgumentError(f"an array of {array.size:,} numbers of dtype {array.dtype}")
    return [array.dtype.name, list(array.shape), [encode(each) for each in array.ravel().tolist()]]


def _encode_fields(value: Any) -> dict[str, Any]:
    return {field.name: encode(getattr(value, field.name)) for field in fields(value)}


_ENCODERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    Dim: ("size", _encode_size),
    slice: ("slice", lambda value: [encode(each) for each in (value.start, value.stop, value.step)]),
    EllipsisType: ("ellipsis", lambda value: True),
    DType: ("dtype", lambda value: value.name),
    np.dtype: ("array_dtype", lambda value: value.name),
    np.ndarray: ("array", _encode_array),
    IndexCaller: ("index_caller", list),
    TensorSlot: ("tensor_slot", lambda value: value.number),
    SlidingWindows: ("sliding_windows", _encode_fields),
    ResampleTable: ("resample_table", _encode_fields),
}

__all__ = ["MAX_ARRAY", "MAX_INTEGER", "UnstorableArgumentError", "encode", "encode_arguments"]
