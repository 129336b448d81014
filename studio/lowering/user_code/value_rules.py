"""Mistakes with tensors and their values in the source of Python nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.lowering.user_code.source_edits import TextEdit, end_of, replaced, start_of, without_statement, wrapped

READING = frozenset({"float", "int", "bool"})
READING_METHODS = frozenset({"item", "tolist", "numpy"})


def training_step(function: CodeFunction) -> Iterator[Finding]:
    for body in function.bodies():
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as called)) if _trains(called):
                    message = (
                        f"{shown(called)}() is part of a training step, and the gradients that it adds are never "
                        "cleared. Remove it: the optimizer node computes, applies and clears gradients"
                    )
                    edit = without_statement(statement, body)
                    yield Finding("code-training-step", statement, message, f"Remove {method}()", (edit,))
                case _:
                    pass


def _trains(called: ast.Attribute) -> bool:
    """Whether it is `loss.backward`, or `step` or `zero_grad` of an optimizer."""
    is_optimizer = "optim" in ast.unparse(called.value).lower()
    return called.attr == "backward" or (called.attr in ("step", "zero_grad") and is_optimizer)


def kept_tensors(function: CodeFunction) -> Iterator[Finding]:
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=kept, attr="append"), args=[value]) if _outlives(kept, function):
                pass
            case ast.AugAssign(target=kept, value=value) if _outlives(kept, function):
                pass
            case _:
                continue
        if not function.tensors.holds(value) or _is_detached(value):
            continue
        is_primary = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        before, behind = ("", ".detach()") if is_primary else ("(", ").detach()")
        message = (
            f"{shown(kept)} keeps {shown(value)} of every step, and with it the memory of the whole computation. "
            f"Keep {before}{shown(value)}{behind}"
        )
        edits = wrapped(value, before, behind)
        yield Finding("code-kept-values", node, message, "Keep detached values", edits)


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


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _is_detached(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "detach"


def fixed_device(function: CodeFunction) -> Iterator[Finding]:
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="cuda" | "cpu") as called) if not node.keywords:
                edit = TextEdit(end_of(value), end_of(node), "")
            case ast.Call(func=ast.Attribute(value=value, attr="to") as called, args=[ast.Constant(value=str())]):
                edit = TextEdit(end_of(value), end_of(node), "")
            case ast.Call(func=ast.Attribute() as called) if (device := _literal_device(node)) is not None:
                first = next(iter(_inputs(function)), None)
                if first is None or function.makes_layers:
                    continue
                edit, value = replaced(device, f"{first}.device"), node
            case _:
                continue
        if owner_name(called) in NAMESPACES and called.attr != "to" and value is not node:
            continue  # engine.cuda is a module
        if _is_read(node, function):
            continue
        message = (
            f"{shown(node)} fixes the device of a tensor, so it is not that of the others if the training device "
            "changes. Use the device of the input"
        )
        yield Finding("code-device", node, message, "Use the device of the input", (edit,))


def _literal_device(call: ast.Call) -> ast.Constant | None:
    values = (each.value for each in call.keywords if each.arg == "device")
    found = next(values, None)
    return found if isinstance(found, ast.Constant) and isinstance(found.value, str) else None


def _inputs(function: CodeFunction) -> Iterator[str]:
    names = [each.arg for each in function.tree.args.args if each.arg != "self"]
    return (name for name in names if function.tensors.holds_name(name))


def _is_read(node: ast.AST, function: CodeFunction) -> bool:
    """Whether the values are read next, as in `x.cpu().numpy()`, which is another mistake."""
    return any(
        isinstance(each, ast.Attribute) and each.value is node and each.attr in READING_METHODS
        for each in function.nodes()
    )


def values_read(function: CodeFunction) -> Iterator[Finding]:
    if function.makes_layers:
        return
    decisions = _decisions(function)
    for node in function.nodes():
        if node in decisions:
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[]):
                is_used = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
                edits = (TextEdit(end_of(value), end_of(node), ""),) if is_used else ()
            case ast.Call(func=ast.Attribute(value=value, attr="numpy" | "tolist"), args=[]) if _is_tensor(
                value, function
            ):
                edits = ()
            case ast.Call(func=ast.Name(id=name), args=[value]) if name in READING and function.tensors.holds(value):
                if any(isinstance(each, ast.Attribute) and each.attr in READING_METHODS for each in ast.walk(value)):
                    continue  # reported at the method
                edits = () if name == "int" else _unwrapped(node, value)
            case _:
                continue
        message = (
            f"{shown(node)} reads a value in every step, so the device waits, the compiled step is split, and no "
            "gradient flows through it. Compute with the tensor itself"
        )
        yield Finding("code-read-back", node, message, "Compute with the tensor", edits)


def _decisions(function: CodeFunction) -> set[ast.AST]:
    """What conditions consist of: a decision in Python needs a value."""
    tests = [each.test for each in function.nodes() if isinstance(each, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    return {node for test in tests for node in ast.walk(test)}


def _unwrapped(call: ast.Call, value: ast.expr) -> tuple[TextEdit, ...]:
    """Edits that leave the argument of a call, in parentheses."""
    return TextEdit(start_of(call), start_of(value), "("), TextEdit(end_of(value), end_of(call), ")")


def _is_tensor(value: ast.expr, function: CodeFunction) -> bool:
    """Whether it is a tensor, or one moved to the CPU."""
    while (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("cpu", "detach")
    ):
        value = value.func.value
    return function.tensors.holds(value)


__all__ = ["fixed_device", "kept_tensors", "training_step", "values_read"]
