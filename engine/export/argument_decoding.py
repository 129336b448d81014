"""Arguments of ops from JSON.

Only the kinds of values below can be in a file, and they are data. Numbers, texts and nesting have limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from engine.dtypes import BY_NAME, DType
from engine.export.argument_encoding import MAX_ARRAY, MAX_INTEGER
from engine.export.op_allowance import view_refusal
from engine.ops.indexing.index import TensorSlot
from engine.ops.indexing.index_checks import IndexCaller
from engine.ops.record import REGISTRY, Op
from engine.ops.spatial.resample import ResampleTable
from engine.ops.spatial.sliding_windows import SlidingWindows
from engine.shape import Dim, SymInt

_MAX_DEPTH = 12
_MAX_TERMS = 32
_MAX_SYMBOLS = 6
"""Terms of a symbolic size, and symbols of a term."""
_MAX_TEXT = 1000
MAX_DIMENSIONS = 16
_MAX_ITEMS = 64
_MAX_NUMBERS = 100_000
"""Items of a list, and of a list of numbers only, such as the batch sizes of a packed sequence."""
_MAX_KERNEL = 1_000_000
"""Positions of a window, which kernels visit one by one."""
_MAX_VIEWS = 100
MAX_SIZE = 2**48
"""Largest size of a dimension."""
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class UnknownArgumentError(ValueError):
    """An argument that a file must not contain. The text completes "argument NAME …"."""


def decode(record: Any, symbols: frozenset[str], depth: int = 0) -> Any:
    """An argument from JSON. Raises UnknownArgumentError for anything that is not a known kind of value.

    Args:
        record: decoded JSON
        symbols: names of the symbolic sizes of the inputs
    """
    if depth > _MAX_DEPTH:
        raise UnknownArgumentError(f"is nested more than {_MAX_DEPTH} levels deep")
    if record is None or isinstance(record, (bool, float)):
        return record
    if isinstance(record, int):
        return _checked_integer(record)
    if isinstance(record, str):
        return _checked_text(record)
    if isinstance(record, list):
        return _decode_items(record, symbols, depth)
    if not isinstance(record, dict) or len(record) != 1:
        raise UnknownArgumentError("has an object without exactly one key")
    [(kind, content)] = record.items()
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise UnknownArgumentError(f"has the unknown kind of value {_shown(kind)}")
    try:
        return decoder(content, symbols, depth + 1)
    except ArithmeticError as error:
        raise UnknownArgumentError(f"has a value that cannot be computed: {error}") from None


def _decode_items(record: list[Any], symbols: frozenset[str], depth: int) -> tuple[Any, ...]:
    most = _MAX_NUMBERS if all(type(each) is int for each in record) else _MAX_ITEMS
    if len(record) > most:
        raise UnknownArgumentError(f"has a list of {len(record):,} values; at most {most:,} are read")
    return tuple(decode(each, symbols, depth + 1) for each in record)


def decode_size(record: Any, symbols: frozenset[str]) -> SymInt:
    """A size of a shape. Raises UnknownArgumentError for a negative number and for anything but a size."""
    size = decode(record, symbols)
    if type(size) is not int and not isinstance(size, Dim):
        raise UnknownArgumentError(f"{_shown(record)} is not a size")
    if isinstance(size, int) and not 0 <= size < MAX_SIZE:
        raise UnknownArgumentError(f"{size} is not a size from 0 to {MAX_SIZE:,}")
    return size


def _decode_symbolic(content: Any, symbols: frozenset[str], depth: int) -> SymInt:
    if isinstance(content, str):
        return _symbol(content, symbols)
    total: SymInt = 0
    for term in _list(content, _MAX_TERMS):
        factor, *factors = _list(term, _MAX_SYMBOLS + 1) or [None]
        if type(factor) is not int:
            raise UnknownArgumentError("has a symbolic size whose term has no integer factor")
        product: SymInt = _checked_integer(factor)
        for each in factors:
            product = product * _factor(each, symbols, depth)
        total = total + product
    return total


def _factor(record: Any, symbols: frozenset[str], depth: int) -> SymInt:
    if isinstance(record, str):
        return _symbol(record, symbols)
    if not isinstance(record, dict) or set(record) != {"quotient"}:
        raise UnknownArgumentError("has a symbolic size with a factor that is neither a symbol nor a quotient")
    found = [decode(each, symbols, depth + 1) for each in _list(record["quotient"], 2)]
    if len(found) != 2 or any(type(each) is not int and not isinstance(each, Dim) for each in found) or found[1] == 0:
        raise UnknownArgumentError("has a symbolic size with a quotient that is not one of two sizes")
    quotient = found[0] // found[1]
    terms = list(quotient.terms()) if isinstance(quotient, Dim) else []
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        raise UnknownArgumentError("has a symbolic size with a quotient that is a number or a polynomial")
    return quotient


def _symbol(name: str, symbols: frozenset[str]) -> Dim:
    if name not in symbols:
        raise UnknownArgumentError(f"has the symbolic size {_shown(name)}, which no input has")
    return Dim(name)


def _decode_slice(content: Any, symbols: frozenset[str], depth: int) -> slice:
    parts = [decode(each, symbols, depth) for each in _list(content, 3)]
    if len(parts) != 3 or any(type(each) not in (int, type(None)) and not isinstance(each, Dim) for each in parts):
        raise UnknownArgumentError("has a slice that is not [start, stop, step]")
    return slice(*parts)


def _decode_views(content: Any, symbols: frozenset[str], depth: int) -> tuple[tuple[Op, dict[str, Any]], ...]:
    chain: list[tuple[Op, dict[str, Any]]] = []
    for link in _list(content, _MAX_VIEWS):
        name, arguments = _list(link, 2) if len(_list(link, 2)) == 2 else (None, None)
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise UnknownArgumentError("has a view that is not [op, arguments]")
        if reason := view_refusal(name):
            raise UnknownArgumentError(f"has a view by {_shown(name)}: {reason}")
        op = REGISTRY[name]
        chain.append((op, decode_arguments(op, arguments, symbols, depth)))
    return tuple(chain)


def decode_arguments(op: Op, arguments: Mapping[str, Any], symbols: frozenset[str], depth: int = 0) -> dict[str, Any]:
    """The static arguments of an op from JSON. Raises UnknownArgumentError, with the name of the argument."""
    unknown = [name for name in arguments if name not in op.static_names]
    missing = [name for name in op.static_names if name not in arguments and name not in op.defaults]
    if unknown or missing:
        problem = f"has no argument {_shown(unknown[0])}" if unknown else f"is missing the argument {missing[0]!r}"
        raise UnknownArgumentError(f"op {op.name} {problem}")
    found: dict[str, Any] = {}
    for name, record in arguments.items():
        try:
            found[name] = decode(record, symbols, depth)
            _check_shape(name, found[name])
        except UnknownArgumentError as error:
            raise UnknownArgumentError(f"argument {name} {error}") from None
    return found


def _check_shape(name: str, value: Any) -> None:
    """Raise UnknownArgumentError for a shape of too many or too large dimensions: their product is computed."""
    if name == "batch_sizes" or not isinstance(value, tuple):
        return
    if len(value) > _MAX_ITEMS:
        raise UnknownArgumentError(f"has a list of {len(value):,} values; at most {_MAX_ITEMS} are read")
    if name in ("shape", "size", "sizes", "repeats") and len(value) > MAX_DIMENSIONS:
        raise UnknownArgumentError(f"has {len(value):,} dimensions; at most {MAX_DIMENSIONS} are read")


def _decode_dtype(content: Any, *_: Any) -> DType:
    dtype = BY_NAME.get(content) if isinstance(content, str) else None
    if dtype is None:
        raise UnknownArgumentError(f"has the unknown dtype {_shown(content)}")
    return dtype


def _decode_array(content: Any, *_: Any) -> np.ndarray[Any, Any]:
    parts = _list(content, 3)
    if len(parts) != 3 or parts[0] not in ("int32", "int64", "float32", "float64"):
        raise UnknownArgumentError("has an array that is not [dtype, shape, numbers]")
    shape, numbers = _list(parts[1], 8), _list(parts[2], MAX_ARRAY)
    is_integer = parts[0].startswith("int")
    kinds = {int} if is_integer else {int, float}
    if any(type(each) not in kinds for each in numbers) or any(type(each) is not int or each < 0 for each in shape):
        raise UnknownArgumentError("has an array with values that are no numbers")
    if math.prod(shape) != len(numbers) or (is_integer and any(abs(each) >= MAX_INTEGER for each in numbers)):
        raise UnknownArgumentError("has an array whose numbers do not fit its shape or dtype")
    if any(each > MAX_ARRAY for each in shape):
        raise UnknownArgumentError(f"has an array with a dimension above {MAX_ARRAY:,}")
    try:
        return np.asarray(numbers, parts[0]).reshape(shape)
    except (OverflowError, ValueError):
        raise UnknownArgumentError(f"has an array with numbers that do not fit {parts[0]}") from None


def _decode_windows(content: Any, symbols: frozenset[str], depth: int) -> SlidingWindows:
    found = _fields("sliding_windows", content, ("kernel", "stride", "padding", "dilation", "ceil_mode"))
    parts = [decode(_list(each, MAX_DIMENSIONS), symbols, depth) for each in found[:4]]
    if any(type(each) is not int for part in parts for each in part) or len({len(part) for part in parts}) != 1:
        raise UnknownArgumentError("has sliding_windows that are not four lists of as many integers")
    kernel, stride, padding, dilation = parts
    if min((*kernel, *stride, *dilation), default=1) < 1 or min(padding, default=0) < 0:
        raise UnknownArgumentError("has sliding_windows with numbers that are too small")
    if math.prod(kernel) > _MAX_KERNEL:
        raise UnknownArgumentError(f"has windows of {math.prod(kernel):,} positions; at most {_MAX_KERNEL:,} are read")
    return SlidingWindows(*parts, ceil_mode=found[4] is True)


def _decode_table(content: Any, symbols: frozenset[str], depth: int) -> ResampleTable:
    index, weight, size = [
        decode(each, symbols, depth) for each in _fields("resample_table", content, ("index", "weight", "size"))
    ]
    are_arrays = isinstance(index, np.ndarray) and isinstance(weight, np.ndarray)
    if not are_arrays or index.dtype.kind != "i" or index.ndim != 2 or index.shape != weight.shape:
        raise UnknownArgumentError("has a resample_table whose indices and weights are not arrays of one shape")
    if type(size) is not int or (index.size and not 0 <= index.min() <= index.max() < size):
        raise UnknownArgumentError("has a resample_table with indices beyond its size")
    return ResampleTable(index, weight, size)


def _fields(kind: str, content: Any, names: tuple[str, ...]) -> list[Any]:
    if not isinstance(content, dict) or set(content) != set(names):
        raise UnknownArgumentError(f"has {kind} with other fields than {', '.join(names)}")
    return [content[name] for name in names]


def _decode_caller(content: Any, *_: Any) -> IndexCaller:
    texts = [_checked_text(each) for each in _list(content, 2) if isinstance(each, str)]
    if len(texts) != 2:
        raise UnknownArgumentError("has an index_caller that is not two texts")
    return IndexCaller(*texts)


def _decode_slot(content: Any, *_: Any) -> TensorSlot:
    if type(content) is not int or not 0 <= content < 64:
        raise UnknownArgumentError("has a tensor_slot that is not a number from 0 to 63")
    return TensorSlot(content)


def _decode_special(content: Any, *_: Any) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise UnknownArgumentError(f"has the unknown number {_shown(content)}")
    return _SPECIAL[content]


_DECODERS: dict[str, Callable[[Any, frozenset[str], int], Any]] = {
    "float": _decode_special,
    "size": _decode_symbolic,
    "slice": _decode_slice,
    "ellipsis": lambda content, symbols, depth: ...,
    "dtype": _decode_dtype,
    "array_dtype": lambda content, symbols, depth: _decode_dtype(content).numpy,
    "array": _decode_array,
    "views": _decode_views,
    "index_caller": _decode_caller,
    "tensor_slot": _decode_slot,
    "sliding_windows": _decode_windows,
    "resample_table": _decode_table,
}


def _shown(value: Any) -> str:
    """A value of a file in an error."""
    return repr(value[:40]) if isinstance(value, str) else f"a value of type {type(value).__name__}"


def _list(content: Any, most: int) -> list[Any]:
    if not isinstance(content, list) or len(content) > most:
        raise UnknownArgumentError(f"has {_shown(content)} in place of a list of at most {most:,} values")
    return content


def _checked_integer(value: int) -> int:
    if abs(value) >= MAX_INTEGER:
        raise UnknownArgumentError(f"has an integer of {value.bit_length():,} bits; at most 64 are read")
    return value


def _checked_text(text: str) -> str:
    if len(text) > _MAX_TEXT:
        raise UnknownArgumentError(f"has a text of {len(text):,} characters; at most {_MAX_TEXT:,} are read")
    return text


__all__ = ["MAX_DIMENSIONS", "UnknownArgumentError", "decode", "decode_arguments", "decode_size"]
