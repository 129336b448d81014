"""Equations of einsum, such as "nqd,nkd->nqk"."""

from __future__ import annotations

import re
from string import ascii_lowercase

_TERM = r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM}){{0,25}}(?:->{_TERM})?")


def equation_problem(text: str) -> str | None:
    """Why a text is no equation, as the end of a sentence; None if it is one."""
    if len(text) <= 200 and _EQUATION.fullmatch(text.replace(" ", "")) is not None and text.strip():
        return None
    return f"must be letters for the dimensions of each input, as in 'nqd,nkd->nqk', not {text[:40]!r}"


def operands(text: str) -> tuple[str, ...]:
    """Names of the inputs: a, b, c, … Raises ValueError if the text is no equation."""
    if (problem := equation_problem(text)) is not None:
        raise ValueError(problem)
    return tuple(ascii_lowercase[: text.partition("->")[0].count(",") + 1])


__all__ = ["equation_problem", "operands"]
