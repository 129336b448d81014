"""Parts of a Python file that no graph can express, as sources of Python nodes. Nothing is executed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Sequence

from engine.system.syntax import parse_source
from studio.lowering.source_import.reading.callables import KNOWN_NAMES, LIBRARIES
from studio.lowering.source_import.reading.source_errors import SourceError, refuse
from studio.nodes.python_errors import CodeError
from studio.nodes.python_source import defined_names, read_code

_PACKAGES = frozenset({*sys.stdlib_module_names, "numpy"})
"""Packages that sources may import besides the engine."""
_ENGINE = "engine"


class FileCode:
    """The functions and classes of a file with what they need of it.

    Args:
        text: a file that can be parsed
    """

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").split("\n")
        self._statements = parse_source(text).body
        self._defined: dict[str, ast.stmt] = {}
        for statement in self._statements:
            made = ast.Module([statement], [])
            self._defined.update(dict.fromkeys(defined_names(made), statement))

    def parts_at(self, line: int) -> list[str]:
        """The functions that a line of a class calls, and the class."""
        found = next((each for each in self._statements if each.lineno <= line <= (each.end_lineno or 0)), None)
        if not isinstance(found, ast.ClassDef):
            return []
        called = [
            node.func.id
            for node in ast.walk(found)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.lineno == line
        ]
        functions = [name for name in called if isinstance(self._defined.get(name), ast.FunctionDef)]
        return [*dict.fromkeys(functions), found.name]

    def derived(self, names: Iterable[str]) -> str | None:
        """A class outside of `names` that derives from one of them."""
        known = set(names)
        for each in self._statements:
            if isinstance(each, ast.ClassDef) and each.name not in known:
                bases = {base.id for base in each.bases if isinstance(base, ast.Name)}
                if bases & known:
                    return each.name
        return None

    def source(self, name: str) -> str:
        """The source of a Python node with a function or class.

        Raises:
            SourceError: it is not complete without other packages, or a Python node cannot use it.
        """
        definition = self._defined[name]
        needed = self._needed(definition)
        imports = [text for each in needed if (text := self._import(each, name, needed)) is not None and text]
        others = [each for each in needed if not isinstance(each, (ast.Import, ast.ImportFrom, ast.ClassDef))]
        classes = [each for each in needed if isinstance(each, ast.ClassDef)]
        if isinstance(definition, ast.ClassDef):
            classes = [*(each for each in classes if each is not definition), definition]
        parts = ["\n".join(imports)] if imports else []
        parts += [self._text(each, _sizes(each) if each is definition else ()) for each in (*others, *classes)]
        source = "\n\n\n".join(parts)
        try:
            entry = read_code(source).entry
        except CodeError as error:
            raise SourceError(f"{name} cannot be a Python node; {error.reason}.", definition.lineno) from None
        if entry != name:
            refuse(definition, f"{name} cannot be a Python node, as it uses the class {entry}.")
        return source

    def _needed(self, definition: ast.stmt) -> list[ast.stmt]:
        """A statement and those that define what it uses, in the order of the file."""
        found, waiting = {id(definition)}, [definition]
        while waiting:
            for node in ast.walk(waiting.pop()):
                statement = self._defined.get(node.id) if isinstance(node, ast.Name) else None
                if statement is not None and id(statement) not in found:
                    found.add(id(statement))
                    waiting.append(statement)
        return [each for each in self._statements if id(each) in found]

    def _import(self, statement: ast.stmt, name: str, needed: Iterable[ast.stmt]) -> str | None:
        """An import with the engine in place of PyTorch; empty for names that need none; None for other statements."""
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None
        used = {node.id for each in needed for node in ast.walk(each) if isinstance(node, ast.Name)}
        return "\n".join(
            text
            for alias in statement.names
            if (alias.asname or alias.name).partition(".")[0] in used
            for text in _imported(statement, alias, name)
        )

    def _text(self, statement: ast.stmt, sizes: Sequence[ast.arg]) -> str:
        """The lines of a statement, where some arguments get the annotation of whole numbers."""
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", []))])
        lines = self._lines[first - 1 : statement.end_lineno]
        for argument in reversed(sizes):
            index = (argument.end_lineno or argument.lineno) - first
            encoded = lines[index].encode()
            end = argument.end_col_offset or 0
            lines[index] = (encoded[:end] + b": int" + encoded[end:]).decode()
        return "\n".join(lines)


def _imported(statement: ast.Import | ast.ImportFrom, alias: ast.alias, name: str) -> Iterator[str]:
    """The statement that imports one name in a source; none for names that every source may use."""
    is_module = isinstance(statement, ast.Import)
    module = alias.name if is_module else statement.module or ""
    level = 0 if is_module else statement.level
    package, _, rest = module.partition(".")
    if level or (package not in _PACKAGES and package not in LIBRARIES):
        other = module if module and not level else "another file"
        refuse(statement, f"{name} cannot be a Python node, as it uses {other}. Remove what uses it.")
    renamed = f" as {alias.asname}" if alias.asname else ""
    if package in LIBRARIES:
        path = rest if is_module else ".".join(filter(None, [rest, alias.name]))
        if (is_module and not renamed) or KNOWN_NAMES.get(alias.asname or alias.name) == path:
            return
        module = ".".join(filter(None, [_ENGINE, rest]))
    yield f"import {module}{renamed}" if is_module else f"from {module} import {alias.name}{renamed}"


def _sizes(definition: ast.stmt) -> list[ast.arg]:
    """Arguments of a constructor without an annotation and a default. Their values are whole numbers."""
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    made = next((each for each in body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    if made is None:
        return []
    arguments = made.args.args[1 : len(made.args.args) - len(made.args.defaults)]
    keywords = zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
    arguments += [each for each, default in keywords if default is None]
    found = [each for each in arguments if each.annotation is None]
    names = {each.arg for each in found}
    for node in ast.walk(made):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) | ast.Subscript(value=ast.Name(id=name)) if name in names:
                pass
            case ast.Call(func=ast.Name(id=name)) | ast.For(iter=ast.Name(id=name)) if name in names:
                pass
            case _:
                continue
        argument = next(each for each in found if each.arg == name)
        refuse(argument, f"It cannot be a Python node, as its parameter {name} is neither a number nor a text.")
    return found


__all__ = ["FileCode"]
