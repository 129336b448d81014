"""A strict parser for the header of .npy files. It evaluates nothing and limits the size that it reads.

Source: NumPy, "A simple file format for NumPy arrays" (NEP 1), versions 1.0 to 3.0.
"""

from __future__ import annotations

import re
import struct
from typing import IO, Any, NamedTuple

import numpy as np

from engine.errors import DataError

MAGIC = b"\x93NUMPY"

_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
"""struct format of the header length, by format version."""
_MAX_HEADER_BYTES = 65_536
_MAX_DIMENSIONS = 32
_MAX_SIZE_DIGITS = 19
"""Digits of a 64-bit integer."""

_LONGEST_TEXT = 4096
"""Bytes of one text."""

_FIELD = r"""(['"])(?P<name>descr|fortran_order|shape)\1\s*:\s*(?P<value>{})""".format(
    r"""'[^'"\\]*'|"[^'"\\]*"|True|False|\([\dL,\s]*\)|\[.*\]"""
)
_FIELDS = re.compile(rf"\s*{_FIELD}\s*(?P<end>,\s*\}}|,|\}})", re.DOTALL)
"""One entry of the header dictionary, as NumPy writes it."""
_SIZE = re.compile(r"\d+")
_DESCR = re.compile(r"""(['"])[<>=|]?(?P<kind>[a-zA-Z])(?P<size>\d{0,9})(\[\w{1,9}\])?\1""")


class NPYHeader(NamedTuple):
    """Shape, memory order and dtype of an array."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]


def read_header(file: IO[bytes], name: str, *, allow_text: bool = False) -> NPYHeader:
    """Read the header at the position of `file` and leave the position at the start of the data.

    Args:
        file: a file, or a member of an archive
        name: name of the array in errors
        allow_text: accept arrays of text, such as labels

    Raises:
        DataError: the header is damaged, or the array does not contain numbers.
    """
    try:
        fields = _fields(_text(file))
        shape, is_fortran, descr = fields["shape"], fields["fortran_order"], fields["descr"]
        if is_fortran not in ("True", "False") or shape[0] != "(":
            raise ValueError("a field has a value of another type")
        shape_texts = _SIZE.findall(shape)
        if len(shape_texts) > _MAX_DIMENSIONS or any(len(size) > _MAX_SIZE_DIGITS for size in shape_texts):
            raise ValueError(f"the shape has {len(shape_texts)} dimensions or a size beyond 64 bits")
        return NPYHeader(tuple(map(int, shape_texts)), is_fortran == "True", _dtype(descr, name, allow_text=allow_text))
    except DataError:
        raise
    except (ValueError, TypeError, struct.error) as error:
        raise DataError(f"{name}: damaged header ({error}). Save the array again.") from None


def _text(file: IO[bytes]) -> str:
    start = file.read(len(MAGIC) + 2)
    if len(start) < len(MAGIC) + 2 or not start.startswith(MAGIC):
        raise ValueError("no .npy signature")
    major, minor = start[-2:]
    if major not in _LENGTHS or minor:
        raise ValueError(f"unknown format version {major}.{minor}")
    length_format = _LENGTHS[major]
    (length,) = struct.unpack(length_format, file.read(struct.calcsize(length_format)))
    if length > _MAX_HEADER_BYTES:
        raise ValueError(f"it declares {length:,} bytes, but at most {_MAX_HEADER_BYTES:,} are read")
    content = file.read(length)
    if len(content) < length:
        raise ValueError("it ends early")
    return content.decode("utf-8" if major == 3 else "latin-1")


def _fields(text: str) -> dict[str, str]:
    """The unparsed values of the three fields. Raises ValueError for any other dictionary."""
    fields: dict[str, str] = {}
    opening = re.match(r"\s*\{", text)
    end = "" if opening is None else ","
    position = 0 if opening is None else opening.end()
    while end == ",":
        found = _FIELDS.match(text, position)
        if found is None or found["name"] in fields:
            raise ValueError("it is not a dictionary of descr, fortran_order and shape")
        fields[found["name"]] = found["value"]
        position, end = found.end(), found["end"]
    if len(fields) < 3 or text[position:].strip():
        raise ValueError("it is not a dictionary of descr, fortran_order and shape")
    return fields


def _dtype(descr: str, name: str, *, allow_text: bool) -> np.dtype[Any]:
    if descr[0] == "[":
        raise DataError(f"{name}: has a structured dtype, but numbers are needed. Save an array of numbers.")
    found = _DESCR.fullmatch(descr)
    if found is None or found["kind"] not in "biufcmMSUVO":
        raise ValueError("descr is not the text of a dtype")
    if found["kind"] == "O":
        raise DataError(f"{name}: contains Python objects, which are never loaded. Save an array of numbers.")
    dtype = np.dtype(descr[1:-1])
    if allow_text and dtype.kind in "US" and 0 < dtype.itemsize <= _LONGEST_TEXT:
        return dtype
    if dtype.kind not in "iufb" or dtype.itemsize > 8:
        raise DataError(f"{name}: has dtype {dtype}, but numbers are needed. Save an array of numbers.")
    return dtype
