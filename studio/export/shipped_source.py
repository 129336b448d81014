"""Parts of the Python files in `assets/export`, which exported packages contain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from engine.system.assets import asset
from engine.system.syntax import parse_source

_EMPTY_LINES = re.compile(r"\n\n\n+(?=    )")
FEATURE = "HAS_"
"""Beginning of the names of conditions that are decided when a project is exported."""


@dataclass(frozen=True, slots=True)
class ShippedSource:
    """A file of functions and classes. A package gets the ones that it uses."""

    definitions: Mapping[str, str]
    """Source by name, in the order of the file."""
    needs: Mapping[str, frozenset[str]]
    """Names of the file that each definition refers to."""

    def selected(self, names: Iterable[str]) -> str:
        """The definitions with these names and those that they need, separated by two empty lines."""
        waiting, chosen = list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name not in chosen:
                chosen.add(name)
                waiting += self.needs[name]
        return "\n\n\n".join(text for name, text in self.definitions.items() if name in chosen)


@cache
def shipped(path: str) -> ShippedSource:
    """Read a file of `assets/export`, such as "pytorch/layers.py"."""
    return split(shipped_text(path))


@cache
def shipped_text(path: str) -> str:
    return asset(f"export/{path}").read_text(encoding="utf-8")


def split(text: str) -> ShippedSource:
    """The functions, classes and constants at the top level of a source."""
    lines = text.splitlines()
    nodes = {name: node for node in parse_source(text).body if (name := _defined(node))}
    definitions = {name: "\n".join(lines[_first_line(node) - 1 : node.end_lineno]) for name, node in nodes.items()}
    needs = {name: frozenset(names_in(node) & nodes.keys() - {name}) for name, node in nodes.items()}
    return ShippedSource(definitions, needs)


def _defined(node: ast.stmt) -> str:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def names_in(node: ast.AST) -> set[str]:
    """The names that are read in a tree."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


# -- conditions


def decided(text: str, features: Mapping[str, bool], names: Mapping[str, str]) -> str:
    """A source without the branches that a package does not need.

    Args:
        features: which `if HAS_…:` hold
        names: identifiers that replace others
    """
    lines: list[str | None] = list(text.splitlines())
    tree = parse_source(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id.startswith(FEATURE):
            _decide(node, lines, features[node.test.id])
    kept = "\n".join(line for line in lines if line is not None)
    return _renamed(_EMPTY_LINES.sub("\n\n", kept), names) + "\n"


def _decide(node: ast.If, lines: list[str | None], holds: bool) -> None:
    """Keep the lines of one branch, with less indentation, and drop the others."""
    assert node.end_lineno is not None
    chosen = node.body if holds else node.orelse
    kept = range(_first_line(chosen[0]), (chosen[-1].end_lineno or 0) + 1) if chosen else range(0)
    is_elif = bool(chosen) and chosen[0].col_offset == node.col_offset
    for number in range(node.lineno, node.end_lineno + 1):
        line = lines[number - 1]
        if number not in kept:
            lines[number - 1] = None
        elif line is not None and not is_elif:
            lines[number - 1] = line.removeprefix("    ")


def _renamed(text: str, names: Mapping[str, str]) -> str:
    lines = text.splitlines()
    found = [each for each in ast.walk(parse_source(text)) if isinstance(each, ast.Name) and each.id in names]
    for node in sorted(found, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        encoded = lines[node.lineno - 1].encode()
        start, end = node.col_offset, node.end_col_offset or 0
        lines[node.lineno - 1] = (encoded[:start] + names[node.id].encode() + encoded[end:]).decode()
    return "\n".join(lines)


__all__ = ["ShippedSource", "decided", "names_in", "shipped", "shipped_text", "split"]
