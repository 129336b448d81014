"""Mistakes with tensors and their values in the source of Python nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.lowering.user_code.registration_rules import CREATORS
from studio.lowering.user_code.source_edits import (
    TextEdit,
    added_argument,
    end_of,
    replaced,
    start_of,
    without_statement,
)

READING = frozenset({"float", "int", "bool"})
_FUNCTIONS = frozenset({"sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "log10", "log1p", "expm1", "floor", "ceil"})
"""Functions of `math` that the engine has for tensors."""
_REDUCTIONS = frozenset({"max", "min", "mean", "sum", "std", "var"})
_MOVING = frozenset({"cpu", "detach"})
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
    is_optimizer = "opt" in ast.unparse(called.value).lower()
    return called.attr == "backward" or (called.attr in ("step", "zero_grad") and is_optimizer)


def fixed_device(function: CodeFunction) -> Iterator[Finding]:
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="cuda" | "cpu") as called) if not node.keywords:
                edit = TextEdit(end_of(value), end_of(node), "")
            case ast.Call(func=ast.Attribute(value=value, attr="to") as called, args=[ast.Constant(value=str())]):
                edit = TextEdit(end_of(value), end_of(node), "")
            case ast.Call(func=ast.Attribute(attr="device") as called, args=[ast.Constant(value=str())]):
                first = next(iter(_inputs(function)), None)
                if first is None or function.makes_layers or owner_name(called) not in NAMESPACES:
                    continue
                edit, value = replaced(node, f"{first}.device"), node
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


def default_device(function: CodeFunction) -> Iterator[Finding]:
    """Tensors that are created on the CPU, wherever the network trains."""
    first = next(iter(_inputs(function)), None)
    if first is None or function.makes_layers:
        return
    moved = {each.value for each in function.nodes() if isinstance(each, ast.Attribute) and each.attr in ("to", "cuda")}
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(attr=name) as called, args=[size, *_]) if name in CREATORS:
                pass
            case _:
                continue
        given = {keyword.arg for keyword in node.keywords}
        if owner_name(called) not in NAMESPACES or given & {"device", "requires_grad", None} or node in moved:
            continue
        if name in ("tensor", "arange") or (name == "full" and isinstance(size, ast.Tuple) and not size.elts):
            continue  # numbers combine with tensors of each device, and positions often are indices
        message = (
            f"{shown(node)} is created on the CPU, so it cannot be combined with the others on a GPU. "
            f"Pass device={first}.device"
        )
        edit = added_argument(node, f"device={first}.device")
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
            case ast.Call(func=ast.Attribute(value=value, attr="numpy" | "tolist" as method), args=[]) if _is_tensor(
                value, function
            ):
                edits = _reduced_by_tensor(node, function) if method == "numpy" else ()
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="asarray" | "array"), args=[value]
            ):
                if not _is_tensor(value, function):
                    continue
                edits = ()
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math") as owner, attr=name), args=[value]):
                if not function.tensors.holds(value):
                    continue
                edits = (replaced(owner, "engine"),) if name in _FUNCTIONS else ()
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


def printed_values(function: CodeFunction) -> Iterator[Finding]:
    for body in function.bodies():
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Name(id="print")) as call) if _shows_tensor(call, function):
                    message = (
                        f"{shown(call)} reads values in every step, so the device waits and the step is split. "
                        "Remove it, and look at the tensor at the node's wire"
                    )
                    edit = without_statement(statement, body)
                    yield Finding("code-read-back", statement, message, "Remove print()", (edit,))
                case _:
                    pass


def _shows_tensor(call: ast.Call, function: CodeFunction) -> bool:
    """Whether a call of `print` shows a tensor, also in an f-string or by `format`."""
    texts = [each for argument in call.args for each in (argument, *_formatted(argument))]
    return any(function.tensors.holds(each) for each in texts)


def _formatted(text: ast.expr) -> Iterator[ast.expr]:
    match text:
        case ast.JoinedStr(values=values):
            yield from (each.value for each in values if isinstance(each, ast.FormattedValue))
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="format"), args=arguments):
            yield from arguments
        case ast.BinOp(left=ast.Constant(value=str()), right=right):
            yield from right.elts if isinstance(right, ast.Tuple) else [right]
        case _:
            pass


def _reduced_by_tensor(call: ast.Call, function: CodeFunction) -> tuple[TextEdit, ...]:
    """Edits that let a tensor compute what its NumPy array does, as in `x.detach().numpy().max()`."""
    called = {each.func for each in function.nodes() if isinstance(each, ast.Call) and not each.args + each.keywords}
    reductions = (each for each in called if isinstance(each, ast.Attribute) and each.value is call)
    if not any(each.attr in _REDUCTIONS for each in reductions) or not isinstance(call.func, ast.Attribute):
        return ()
    value = call.func.value
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVING:
        value = value.func.value
    return (TextEdit(end_of(value), end_of(call), ""),)


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


__all__ = ["default_device", "fixed_device", "printed_values", "training_step", "values_read"]
