"""Executes the source of Python nodes that the user trusts. Nothing else in the studio executes source of a project."""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from collections.abc import Callable, Mapping
from typing import Any

import engine
from engine import linalg, nn
from engine.nn import functional
from engine.utils import checkpoint
from studio.document.code_trust import TRUST
from studio.lowering.user_code.shipped_code import shipped_sources
from studio.nodes.python_node import DEFAULT_SOURCE
from studio.nodes.python_source import code_tree, read_code

KNOWN_NAMES: Mapping[str, Any] = {
    "engine": engine,
    "torch": engine,
    "nn": nn,
    "F": functional,
    "functional": functional,
    "linalg": linalg,
    "checkpoint": checkpoint,
    "Tensor": engine.Tensor,
}
"""Names that source may use without an import."""

MODULE = "gradwire_code"
"""`__name__` of the source of Python nodes."""


class UntrustedCodeError(Exception):
    """Source that the user does not trust would have to be executed."""


def is_trusted(source: str) -> bool:
    """Whether the user trusts a source, or it is part of Gradwire."""
    return source == DEFAULT_SOURCE or TRUST.covers(source) or source in shipped_sources()


def load_code(
    source: str,
    filename: str,
    *,
    first_line: int = 1,
    changed: tuple[str, str] | None = None,
    show: Callable[..., None] | None = None,
    names: Mapping[str, Any] | None = None,
) -> Any:
    """Execute a trusted source and return its function or class.

    Args:
        filename: file name in tracebacks
        first_line: line of that file where the source begins
        changed: the source with other names, and the name of the function or class in it
        show: replaces `print`, which otherwise writes to standard error, as standard output may have a format
        names: further names that the changed source uses

    Raises:
        UntrustedCodeError: the user does not trust the source. It was not executed.
        CodeError: the source has no function or class that can be used. It was not executed.
    """
    if not is_trusted(source):
        raise UntrustedCodeError
    text, entry = changed or (source, read_code(source).entry)
    tree = code_tree(text)
    ast.increment_lineno(tree, first_line - 1)
    compiled = compile(tree, filename, "exec", __future__.annotations.compiler_flag, dont_inherit=True)
    namespace: dict[str, Any] = {**KNOWN_NAMES, "__name__": MODULE, "print": show or _print_to_stderr, **(names or {})}
    exec(compiled, namespace)  # noqa: S102 - the user trusts this very source
    return namespace[entry]


def _print_to_stderr(*values: object, **options: Any) -> None:
    options.setdefault("file", sys.stderr)
    print(*values, **options)  # noqa: T201 - the print of the user's code


def show_in_tracebacks(filename: str, text: str) -> None:
    """Let tracebacks show the lines of a text that is not on disk."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)


__all__ = ["KNOWN_NAMES", "MODULE", "UntrustedCodeError", "is_trusted", "load_code", "show_in_tracebacks"]
