"""Source code of reductions: initial values and combinations."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiler.kernels.cpu_expressions import ImportedNames, literal
from engine.compiler.kernels.scalar_expression import BOOL

LANE_FUNCTIONS = {"add": "lane_sum", "multiply": "lane_product"}
"""Float reductions that depend on the order, and the function that reduces a block in lanes."""


def is_order_dependent(how: str, dtype: Any) -> bool:
    """Whether the result depends on the order, so that the schedule defines one."""
    return how in LANE_FUNCTIONS and dtype.kind == "f"


def identity_text(how: str, dtype: Any, names: ImportedNames) -> str:
    """The initial value of a reduction."""
    if how == "add":
        return literal(0, dtype, names)
    if how == "multiply":
        return literal(1, dtype, names)
    if how in ("logical_or", "logical_and"):
        return repr(how == "logical_and")
    lowest = how == "maximum"
    if dtype == BOOL:
        return repr(not lowest)
    if dtype.kind == "f":
        return literal(-np.inf if lowest else np.inf, dtype, names)
    limits = np.iinfo(dtype)
    return literal(limits.min if lowest else limits.max, dtype, names)


def combine_text(how: str, dtype: Any, total: str, value: str, names: ImportedNames) -> str:
    """The combination of a total and a value."""
    signs: dict[str, str] = {"add": "+", "multiply": "*", "logical_or": "|", "logical_and": "&"}
    if how in signs:
        found = f"{total} {signs[how]} {value}"
        return f"{names.type(dtype)}({found})" if dtype.kind in "iu" and dtype.itemsize < 8 else found
    if dtype.kind == "f":
        return f"{names.function('larger' if how == 'maximum' else 'smaller')}({total}, {value})"
    return f"{names.function(how)}({total}, {value})"


__all__ = ["LANE_FUNCTIONS", "combine_text", "identity_text", "is_order_dependent"]
