"""Numbers with thousands separators, currency signs, percent signs or units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.tables.arrow import compute, pa

pc: Any = compute  # its functions are created at import, which type checkers cannot see

_SIGNS = "$€£¥₹₽₩₺%‰°"
_SIGN = rf"(?:[{_SIGNS}]|[A-Z]{{3}}|[A-Z]{{1,3}}\$|kr\.?|Fr\.?)"
_UNIT = r"(?:[A-Za-zµ°]{1,5}[²³23]?(?:/[A-Za-z]{1,4}[²³23]?)?)"
_NUMBER = {
    ".": r"(?:\d{1,3}(?:[, '’\x{00A0}\x{202F}]\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?",
    ",": r"(?:\d{1,3}(?:[. '’\x{00A0}\x{202F}]\d{3})+|\d+)?(?:,\d+)?(?:[eE][+-]?\d+)?",
}


def parse_formatted(column: Any, decimal_point: str) -> NDArray[np.float64]:
    """Numbers of a string column: ``$1,200.50``, ``45 %``, ``(300)`` as -300, ``12 kg``. NaN for other texts.

    Args:
        column: strings of pyarrow
        decimal_point: "." or ","
    """
    pattern = (
        rf"^\s*(?P<paren>\()?\s*(?P<minus>[-−])?\s*\+?\s*{_SIGN}?\s*(?P<inner>[-−])?"
        rf"(?P<number>{_NUMBER[decimal_point]})\s*(?:{_SIGN}|{_UNIT})?\s*\)?\s*$"
    )
    parts = pc.extract_regex(column, pattern)
    number = pc.struct_field(parts, "number")
    kept = r"[^0-9.eE+-]" if decimal_point == "." else r"[^0-9,eE+-]"
    digits = pc.replace_substring_regex(number, kept, "")
    if decimal_point == ",":
        digits = pc.replace_substring(digits, ",", ".")
    has_digit = pc.match_substring_regex(digits, r"^[0-9.]*[0-9]")
    values = pc.if_else(has_digit, digits, pa.scalar(None, pa.string())).cast(pa.float64())
    signs = [pc.not_equal(pc.struct_field(parts, name), "") for name in ("paren", "minus", "inner")]
    is_negative = pc.or_(pc.or_(signs[0], signs[1]), signs[2]).fill_null(False)
    numbers = values.to_numpy(zero_copy_only=False)
    return np.where(is_negative.to_numpy(zero_copy_only=False), -numbers, numbers)
