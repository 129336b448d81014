"""Build Python AST nodes. Values become `ast.Constant` and names pass `identifier`; code text is never inserted."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from typing import Any

from studio.lowering.codegen.safe_identifiers import identifier


def name(text: str, *, internal: bool = False) -> ast.Name:
    """A name that is read. Only `internal` names begin with an underscore, as none from a document does."""
    return ast.Name(_checked(text, internal=internal), ast.Load())


def variable(text: str, *, internal: bool = False) -> ast.Name:
    """A name that is assigned."""
    return ast.Name(_checked(text, internal=internal), ast.Store())


def argument(text: str, *, internal: bool = False) -> ast.arg:
    """A parameter of a function."""
    return ast.arg(_checked(text, internal=internal))


def _checked(text: str, *, internal: bool) -> str:
    return f"_{identifier(text.removeprefix('_'))}" if internal else identifier(text)


def attribute(*path: str) -> ast.expr:
    """`a.b.c`."""
    return member(name(path[0]), *path[1:])


def member(owner: ast.expr, *path: str) -> ast.expr:
    """`owner.a.b`."""
    for part in path:
        owner = ast.Attribute(owner, identifier(part), ast.Load())
    return owner


def literal(value: Any) -> ast.expr:
    """The AST of a parameter value. Raises TypeError unless it is plain data."""
    if isinstance(value, (list, tuple)):
        items = [literal(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        return ast.List(items, ast.Load()) if isinstance(value, list) else ast.Tuple(items, ast.Load())
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"{value} has no literal")
    if value is None or type(value) in (bool, int, float, str):
        return ast.Constant(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as a literal")


def call(
    function: ast.expr, positional: Iterable[ast.expr] = (), keywords: Mapping[str, Any] | None = None
) -> ast.Call:
    """A call; keyword values are plain data or AST nodes."""
    named = [
        ast.keyword(identifier(key), value if isinstance(value, ast.expr) else literal(value))
        for key, value in (keywords or {}).items()
    ]
    return ast.Call(function, list(positional), named)


def submodule(owner: ast.expr, path: str) -> ast.expr:
    """`owner.encoder[3].query` for the path "encoder.3.query"."""
    for part in path.split("."):
        if part.isdecimal():
            owner = ast.Subscript(owner, ast.Constant(int(part)), ast.Load())
        else:
            owner = member(owner, part)
    return owner


def comprehension(element: ast.expr, variables: list[str], sequences: list[Any]) -> ast.ListComp:
    """`[element for a, b in zip(first, second)]`; without variables `[element for _ in range(count)]`."""
    values = [value if isinstance(value, ast.expr) else literal(value) for value in sequences]
    targets: list[ast.expr] = [variable(each) for each in variables or ["_"]]
    source = values[0] if len(variables) == 1 else call(name("zip" if variables else "range"), values)
    target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
    return ast.ListComp(element, [ast.comprehension(target, source, [], 0)])


def loop(target: str, sequence: ast.expr, body: list[ast.stmt]) -> ast.For:
    """`for target in sequence:`."""
    return ast.For(variable(target), sequence, body, [], lineno=0)


def assign(targets: list[ast.expr], value: ast.expr, *, unpacks: bool = False) -> ast.Assign:
    """`a = value`, or `a, b = value`; with `unpacks`, `a, = value` for one target."""
    for target in targets:
        target.ctx = ast.Store()  # pyright: ignore[reportAttributeAccessIssue]
    is_one = len(targets) == 1 and not unpacks
    return ast.Assign([targets[0] if is_one else ast.Tuple(list(targets), ast.Store())], value, lineno=0)


def returns(values: list[ast.expr]) -> ast.Return:
    return ast.Return(values[0] if len(values) == 1 else ast.Tuple(values, ast.Load()))


def method(title: str, arguments: Iterable[str], body: Iterable[ast.stmt]) -> ast.FunctionDef:
    return function(title, ("self", *arguments), body)


def function(title: str, arguments: Iterable[str], body: Iterable[ast.stmt]) -> ast.FunctionDef:
    parameters = ast.arguments(
        posonlyargs=[], args=[argument(each) for each in arguments], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(identifier(title), parameters, list(body), [], lineno=0)


def subclass(title: str, base: ast.expr, body: Iterable[ast.stmt]) -> ast.ClassDef:
    return class_definition(title, [base], body)


def class_definition(title: str, bases: Iterable[ast.expr], body: Iterable[ast.stmt]) -> ast.ClassDef:
    return ast.ClassDef(identifier(title), list(bases), [], list(body), [])


def import_of(module: str) -> ast.Import:
    return ast.Import([ast.alias(identifier(module))])


def from_import(module: str, names: Iterable[str]) -> ast.ImportFrom:
    path = ".".join(map(identifier, module.split(".")))
    return ast.ImportFrom(path, [ast.alias(identifier(each)) for each in names], 0)


# -- text -------------------------------------------------------------------------------------


def source_text(imports: Iterable[ast.stmt], classes: Iterable[ast.ClassDef]) -> str:
    """Format source code: two empty lines before a class, one before a method."""
    return "\n\n\n".join([imports_text(imports), *(_class_text(each) for each in classes)]) + "\n"


def imports_text(imports: Iterable[ast.stmt]) -> str:
    return "\n".join(_text(statement) for statement in imports)


def _class_text(definition: ast.ClassDef) -> str:
    first, _, rest = _text(definition).partition("\n")
    return f"{first}\n{rest.lstrip(chr(10))}"


def _text(statement: ast.stmt) -> str:
    return ast.unparse(statement)
