"""Indices as text, such as ":, -1" or "..., 1:-1": parsed into a syntax tree, never evaluated."""

from __future__ import annotations

import ast
import re

MAX_ITEMS = 8
_NUMBER = r"\s*(-?\d{1,9})?\s*"
_SLICE = re.compile(rf"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_INDEX = re.compile(r"\s*(-?\d{1,9})\s*")
ALLOWED = "an index such as -1, a range such as 2:5 or 0:-1:2, : for a whole dimension, and one ... for the rest"


def parse_slice(text: str) -> ast.expr:
    """The index between the brackets of `x[…]`. Raises ValueError with the part that is not valid."""
    parts = text.split(",")
    if len(parts) > MAX_ITEMS:
        raise ValueError(f"must have at most {MAX_ITEMS} dimensions, not {len(parts)}")
    if sum(part.strip() == "..." for part in parts) > 1:
        raise ValueError("must have at most one ...")
    items = [_item(part) for part in parts]
    return items[0] if len(items) == 1 else ast.Tuple(items, ast.Load())


def slice_problem(text: str) -> str | None:
    """Why a text is no index, as the end of a sentence; None if it is one."""
    try:
        parse_slice(text)
    except ValueError as error:
        return str(error)
    return None


def _item(part: str) -> ast.expr:
    if part.strip() == "...":
        return ast.Constant(...)
    if (index := _INDEX.fullmatch(part)) is not None:
        return number_tree(int(index[1]))
    found = _SLICE.fullmatch(part)
    if found is None:
        raise ValueError(f"must be {ALLOWED}, separated by commas, not {part.strip()[:40]!r}")
    start, stop, step = (None if each is None else int(each) for each in found.groups())
    if step is not None and step < 1:
        raise ValueError(f"must have steps of at least 1, not {step}. Use the node Flip to reverse a dimension")
    return ast.Slice(*(None if each is None else number_tree(each) for each in (start, stop, step)))


def number_tree(value: float) -> ast.expr:
    """A number as Python parses it: the sign of a negative one is an operator."""
    return ast.UnaryOp(ast.USub(), ast.Constant(-value)) if value < 0 else ast.Constant(value)


__all__ = ["ALLOWED", "number_tree", "parse_slice", "slice_problem"]
