"""Signatures of PyTorch's functions, methods and classes, and differences of the engine's."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from engine.ops import REGISTRY
from engine.parity.names import MODULES, Name, engine_space, names

NONE = inspect.Parameter.empty
UNKNOWN = object()
"""A default that is not written down as a value."""
EVERYWHERE = {"out", "layout", "pin_memory", "memory_format", "names", "self"}
"""Arguments that are not compared: output tensors and memory layout."""
BY_NAME = {name: op for op in REGISTRY.values() for name in (op.name, *op.aliases)}


class Argument(NamedTuple):
    name: str
    positional: bool
    default: Any = NONE


class Signature(NamedTuple):
    arguments: tuple[Argument, ...]
    takes_more: bool = False
    """It has `*args` or `**kwargs`."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Further names of arguments."""


def compared() -> Iterator[tuple[str, Signature, list[Signature]]]:
    """Names in both libraries with known signatures."""
    for name in names():
        if name.there and name.namespace != MODULES and (theirs := reference(name)):
            target = getattr(engine_space(name.namespace), name.name)
            if callable(target) and (signature := own(target, name)) is not None:
                yield name.path, signature, theirs


def differences(path: str, ours: Signature, theirs: list[Signature]) -> Iterator[str]:
    """One line for each argument that is missing or has another default or position."""
    mine = {argument.name: argument for argument in ours.arguments}
    aliases = ours.aliases
    mine = {other: mine[name] for other, name in aliases.items() if name in mine} | mine
    defaults: dict[str, list[Any]] = {}
    for signature in theirs:
        for argument in signature.arguments:
            defaults.setdefault(argument.name, []).append(argument.default)
    for name, found in defaults.items():
        if len(found) < len(theirs):
            found.append(UNKNOWN)  # an overload does not have the argument, so its default is unknown
        if name in EVERYWHERE or name.startswith("_") or (name not in mine and ours.takes_more):
            continue
        if name not in mine:
            yield f"{path}({name})"
        elif not any(same(mine[name].default, default) for default in found):
            yield f"{path}({name}={mine[name].default!r})"
    for signature in theirs:
        order = [argument.name for argument in signature.arguments if argument.positional and argument.name in mine]
        given = [argument.name for argument in ours.arguments if argument.positional]
        placed = [name for own in given for name in (own, *[n for n in aliases if aliases[n] == own]) if name in order]
        if placed != order and not ours.takes_more and len(theirs) == 1:
            yield f"{path}({', '.join(placed)})"
            return


def same(mine: Any, theirs: Any) -> bool:
    if theirs is UNKNOWN or mine is UNKNOWN or mine is theirs:
        return True
    if mine is NONE or theirs is NONE:
        return False
    if isinstance(mine, (list, tuple)) or isinstance(theirs, (list, tuple)):
        return list(mine or ()) == list(theirs or ())
    plain = (int, float, str, bool, type(None))
    return mine == theirs if isinstance(mine, plain) and isinstance(theirs, plain) else True


def own(target: Any, name: Name) -> Signature | None:
    found = inspected(target)
    if found is None:
        return None
    method = name.namespace == "torch.Tensor"
    if not found.arguments:
        return found._replace(takes_more=True)
    record = BY_NAME.get(name.name)
    if record is not None and name.namespace in ("torch", "torch.Tensor", "torch.special"):
        keyword_overloads = tuple(Argument(key, False, UNKNOWN) for key in record.keyword_overloads or ())
        found = found._replace(arguments=(*found.arguments, *keyword_overloads))
    arguments = found.arguments[1:] if method and not found.takes_more else found.arguments
    return Signature(arguments, found.takes_more, getattr(target, "argument_aliases", {}))


def inspected(target: Any) -> Signature | None:
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    takes_more = any(p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD) for p in parameters)
    plain = [p for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    return Signature(tuple(Argument(p.name, p.kind is not kinds.KEYWORD_ONLY, p.default) for p in plain), takes_more)


def reference(name: Name) -> list[Signature]:
    """PyTorch's signatures of a name, one for each overload; empty if unknown."""
    owner = importlib.import_module("torch") if name.namespace == "torch.Tensor" else None
    space = owner.Tensor if owner is not None else importlib.import_module(name.namespace)
    target = getattr(space, name.name, None)
    if not callable(target):
        return []
    if name.namespace == "torch.Tensor":
        stub = stubs("_C/__init__.pyi", "TensorBase").get(name.name) or []
        found = inspected(target) if inspect.isfunction(target) else None
        return stub or ([Signature(found.arguments[1:], found.takes_more)] if found else [])
    if inspect.isbuiltin(target) or type(target).__name__ in ("builtin_function_or_method", "method_descriptor"):
        stub = stubs("_C/_VariableFunctions.pyi").get(name.name) if name.namespace == "torch" else None
        return stub or documented(target)
    found = inspected(target)
    return [found] if found and not (found.takes_more and len(found.arguments) == 0) else []


@functools.cache
def stubs(file: str, inside: str | None = None) -> dict[str, list[Signature]]:
    """Signatures in a stub file of PyTorch, or in a class of it."""
    torch = importlib.import_module("torch")
    body = ast.parse((Path(torch.__file__).parent / file).read_text(encoding="utf-8")).body
    if inside is not None:
        body = next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == inside)
    found: dict[str, list[Signature]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            static = inside is None
            signature = of_tree(node.args)
            arguments = signature.arguments if static else signature.arguments[1:]
            found.setdefault(node.name, []).append(signature._replace(arguments=arguments))
    return found


def documented(target: Callable[..., Any]) -> list[Signature]:
    """The signature in the first line of a docstring, such as `linalg.inv(A, *, out=None) -> Tensor`."""
    line = (target.__doc__ or "").strip().partition("\n")[0]
    match = re.match(r"[\w.]+\((.*)\)\s*->", line)
    if match is None:
        return []
    try:
        (node,) = ast.parse(f"def f({match[1]}): ...").body
    except SyntaxError:
        return []
    assert isinstance(node, ast.FunctionDef)
    return [of_tree(node.args)]


def of_tree(tree: ast.arguments) -> Signature:
    positional = [*tree.posonlyargs, *tree.args]
    padded = [None] * (len(positional) - len(tree.defaults)) + list(tree.defaults)
    arguments = [Argument(a.arg, True, value(d)) for a, d in zip(positional, padded, strict=True)]
    arguments += [Argument(a.arg, False, value(d)) for a, d in zip(tree.kwonlyargs, tree.kw_defaults, strict=True)]
    return Signature(tuple(arguments), tree.vararg is not None or tree.kwarg is not None)


def value(node: ast.expr | None) -> Any:
    if node is None:
        return NONE
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return UNKNOWN
    return UNKNOWN if found is ... else found


def found() -> list[str]:
    """All differences."""
    return [line for row in compared() for line in differences(*row)]


if __name__ == "__main__":
    print(*found(), sep="\n")  # noqa: T201
