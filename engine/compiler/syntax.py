"""Python source as a syntax tree, in whichever thread."""

from __future__ import annotations

import ast

_ATTEMPTS = 20


def parsed(source: str) -> ast.Module:
    """The tree of a source. Raises SyntaxError.

    Python 3.11 keeps count of the depth of a tree for all threads together, and raises SystemError in one that parses
    while another one does (gh-106905). Then it is tried again.
    """
    for _ in range(_ATTEMPTS):
        try:
            return ast.parse(source)
        except SystemError:
            continue
    return ast.parse(source)


__all__ = ["parsed"]
