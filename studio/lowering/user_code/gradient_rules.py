"""Results of Python nodes that have no gradient, because the source detaches its inputs or only compares them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.source_edits import TextEdit, end_of

_WITHOUT = frozenset(
    {"argmax", "argmin", "argsort", "round", "floor", "ceil", "trunc", "sign", "long", "int", "bool", "eq", "ne", "gt"}
) | {"lt", "ge", "le", "zeros_like", "ones_like", "rand_like", "randn_like", "numpy", "tolist", "item", "size", "dim"}
"""Functions and methods whose result depends on a tensor without a gradient."""
_NOT_VALUES = frozenset({"shape", "ndim", "dtype", "device", "grad"})


def without_gradient(function: CodeFunction) -> Iterator[Finding]:
    """A `forward`, or a function, that passes no gradient on to its inputs."""
    arguments = [each.arg for each in function.tree.args.args if function.tensors.holds_name(each.arg)]
    results = [each for each in function.nodes() if isinstance(each, ast.Return) and each.value is not None]
    if not arguments or not results or _has_nested_functions(function):
        return
    live = _live_names(function, set(arguments))
    if any(each.value is not None and _is_live(each.value, live) and not _is_cut(each, function) for each in results):
        return
    used = {each.id for each in function.nodes() if isinstance(each, ast.Name)}
    cut = _cut(function)
    if cut is None or not used & set(arguments):
        return
    node, what, edits = cut
    message = f"{what}, so the layers before this node get no gradient. Compute with the tensor itself"
    yield Finding("code-no-gradient", node, message, "Compute with the tensor itself", edits)


def _has_nested_functions(function: CodeFunction) -> bool:
    return any(isinstance(each, (ast.FunctionDef, ast.Lambda)) for each in function.nodes())


def _live_names(function: CodeFunction, live: set[str]) -> set[str]:
    """The names whose values have a gradient. A name that is ever assigned such a value counts."""
    count = -1
    while count != len(live):
        count = len(live)
        for node in function.nodes():
            match node:
                case ast.Assign(targets=targets, value=value) if _is_live(value, live) and not _is_cut(node, function):
                    live |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
                case ast.AugAssign(target=ast.Name(id=name), value=value) if _is_live(value, live):
                    live.add(name)
                case ast.For(target=target, iter=value) if _is_live(value, live):
                    live |= {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
                case _:
                    pass
    return _reassigned(function, live)


def _reassigned(function: CodeFunction, live: set[str]) -> set[str]:
    """Without arguments that the first statements replace by values without a gradient: `x = x.detach()`."""
    for statement in function.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if not _is_live(value, live):
                    live = live - {name}
                elif not _is_cut(statement, function):
                    live = live | {name}
            case ast.With():
                return live
            case _:
                pass
    return live


def _is_live(value: ast.expr, live: set[str]) -> bool:
    """Whether an expression has a gradient."""
    match value:
        case ast.Compare():
            return False
        case ast.Attribute(attr="data") if not (isinstance(value.value, ast.Name) and value.value.id == "self"):
            return False
        case ast.Attribute(attr=name) if name in _NOT_VALUES:
            return False
        case ast.Call(func=ast.Attribute(attr="detach" | "detach_")):
            return False
        case ast.Call(func=ast.Attribute(attr=name)) if name in _WITHOUT:
            return False
        case ast.Name(id=name):
            return name in live
        case _:
            return any(
                _is_live(each, live) for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)
            ) or any(
                _is_live(each.value, live) for each in ast.iter_child_nodes(value) if isinstance(each, ast.keyword)
            )


def _is_cut(statement: ast.stmt, function: CodeFunction) -> bool:
    """Whether a statement is in `with no_grad()`."""
    blocks = (each for each in function.nodes() if isinstance(each, ast.With) and _is_no_grad(each))
    return any(statement in ast.walk(block) for block in blocks)


def _is_no_grad(block: ast.With) -> bool:
    return any("no_grad" in ast.unparse(item.context_expr) for item in block.items)


def _cut(function: CodeFunction) -> tuple[ast.expr | ast.stmt, str, tuple[TextEdit, ...]] | None:
    """What removes the gradient, in words, and edits without it."""
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="detach"), args=[]):
                return node, f"{shown(node)} has no gradient", (TextEdit(end_of(value), end_of(node), ""),)
            case ast.Attribute(value=ast.Name(id=name) as value, attr="data") if function.tensors.holds_name(name):
                return node, f"{shown(node)} has no gradient", (TextEdit(end_of(value), end_of(node), ""),)
            case ast.With() if _is_no_grad(node):
                return node, "no_grad() records no gradient", ()
            case ast.Call(
                func=ast.Attribute(attr="argmax" | "argmin" | "argsort" | "round" | "sign" | "floor" | "ceil")
            ):
                return node, f"{shown(node)} is constant between its steps", ()
            case ast.Compare() if function.tensors.holds(node.left):
                return node, f"{shown(node)} is constant between its steps", ()
            case _:
                pass
    return None


__all__ = ["without_gradient"]
