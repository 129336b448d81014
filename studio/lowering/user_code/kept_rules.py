"""Tensors that the source of Python nodes keeps from step to step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import owner_name
from studio.lowering.user_code.source_edits import TextEdit, wrapped
from studio.nodes.python_source import code_tree

_ADDING = frozenset({"append", "appendleft", "add", "insert", "extend"})
"""Methods that add their last argument to a container."""
_DETACHING = frozenset({"detach", "item", "tolist", "numpy"})


def kept_tensors(function: CodeFunction) -> Iterator[Finding]:
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=kept, attr=method), args=[*_, value]) if method in _ADDING:
                is_kept = _outlives(kept, function)
            case ast.AugAssign(target=ast.Subscript(value=kept), value=value):
                is_kept = _outlives(kept, function) and _is_container(kept, function)
            case ast.AugAssign(target=kept, value=value):
                is_kept = _outlives(kept, function)
            case ast.Assign(targets=[ast.Subscript(value=kept)], value=value):
                is_kept = _outlives(kept, function) and _is_container(kept, function)
            case ast.Assign(targets=[kept], value=ast.BinOp() as value):
                is_kept = _outlives(kept, function) and any(_is_same(each, kept) for each in ast.walk(value))
                value = _other_operand(value, kept)
            case _:
                continue
        values = [each for each in _elements(value) if function.tensors.holds(each) and not _is_detached(each)]
        if not is_kept or not values:
            continue
        first = values[0]
        message = (
            f"{shown(kept)} keeps {shown(first)} of every step, and with it the memory of the whole computation. "
            f"Keep {shown(first)}.detach()"
        )
        edits = tuple(edit for each in values for edit in _detached(each))
        yield Finding("code-kept-values", node, message, "Keep detached values", edits)


def _detached(value: ast.expr) -> tuple[TextEdit, ...]:
    is_plain = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return wrapped(value, "", ".detach()") if is_plain else wrapped(value, "(", ").detach()")


def _elements(value: ast.expr) -> Iterator[ast.expr]:
    """The values in tuples, lists and dicts of an expression, or the expression itself."""
    match value:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for each in elements:
                yield from _elements(each)
        case ast.Dict(values=elements):
            for each in elements:
                yield from _elements(each)
        case _:
            yield value


def _other_operand(value: ast.BinOp, kept: ast.expr) -> ast.expr:
    """What is added to a sum: `y` of `self.total + y`."""
    if _is_same(value.left, kept):
        return value.right
    return value.left if _is_same(value.right, kept) else value


def _is_same(node: ast.AST, kept: ast.expr) -> bool:
    return isinstance(node, (ast.Attribute, ast.Name)) and ast.unparse(node) == ast.unparse(kept)


def _outlives(kept: ast.expr, function: CodeFunction) -> bool:
    """Whether a list or a sum is still there in the next step: an attribute, or a name of the source itself."""
    if isinstance(kept, ast.Attribute):
        return owner_name(kept) == "self"
    if not isinstance(kept, ast.Name):
        return False
    local = {each.id for each in ast.walk(function.tree) if isinstance(each, ast.Name) and _is_stored(each)}
    shared = {name for each in ast.walk(function.tree) if isinstance(each, ast.Global) for name in each.names}
    arguments = {each.arg for each in ast.walk(function.tree) if isinstance(each, ast.arg)}
    return kept.id in shared or kept.id not in local | arguments


def _is_container(kept: ast.expr, function: CodeFunction) -> bool:
    """Whether a value is surely a dict or a list, not a tensor that is written in place."""
    places = code_tree(function.source) if isinstance(kept, ast.Name) else function.owner
    text = ast.unparse(kept)
    for node in () if places is None else ast.walk(places):
        match node:
            case ast.Assign(targets=[target], value=ast.Dict() | ast.List() | ast.DictComp() | ast.ListComp()):
                pass
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id="dict" | "list" | "defaultdict" | "OrderedDict"))
            ):
                pass
            case _:
                continue
        if ast.unparse(target) == text:
            return True
    return False


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_detached(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _DETACHING


__all__ = ["kept_tensors"]
