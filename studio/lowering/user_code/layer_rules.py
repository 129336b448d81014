"""Mistakes with layers in the source of Python nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, layer_names, owner_name
from studio.lowering.user_code.module_conversion import as_module
from studio.lowering.user_code.source_edits import (
    TextEdit,
    added_argument,
    end_of,
    replaced,
    start_of,
    without_statement,
)

DROPOUTS = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"})
_TRAINING_POSITION = 2
"""Position of the argument `training` of functions that drop values."""


def direct_forward(function: CodeFunction) -> Iterator[Finding]:
    calls = {node.func: node for node in function.nodes() if isinstance(node, ast.Call)}
    for node in function.nodes():
        match node:
            case ast.Attribute(value=value, attr="forward", ctx=ast.Load()) if _owner_of_call(value) != "super":
                layer, edits = _called_directly(node, calls.get(node), function)
                message = f"{shown(node)}(…) skips the hooks of {layer}, which the inspection needs. Call {layer}(…)"
                yield Finding("code-forward", node, message, "Call the layers themselves", edits)
            case _:
                pass


def _called_directly(
    node: ast.Attribute, call: ast.Call | None, function: CodeFunction
) -> tuple[str, tuple[TextEdit, ...]]:
    """The layer whose `forward` is used, and edits that call it itself."""
    if call is None or not call.args or not _is_class(node.value, function):
        return shown(node.value), (TextEdit(end_of(node.value), end_of(node), ""),)
    layer, *others = call.args
    rest = start_of(others[0]) if others else end_of(layer)
    return shown(layer), (TextEdit(start_of(call), start_of(layer), ""), TextEdit(end_of(layer), rest, "("))


def _is_class(value: ast.expr, function: CodeFunction) -> bool:
    """Whether it is a class, as in `nn.Linear.forward(self.fc, x)`."""
    match value:
        case ast.Attribute(attr="__class__") | ast.Call(func=ast.Name(id="type")):
            return True
        case ast.Name(id=name):
            return name in function.modules or name in layer_names()
        case _:
            return owner_name(value) in NAMESPACES


def _owner_of_call(value: ast.expr) -> str:
    return owner_name(value.func) if isinstance(value, ast.Call) else ""


def fixed_mode(function: CodeFunction) -> Iterator[Finding]:
    if function.makes_layers:
        return
    for body in function.bodies():
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="train" | "eval" as method))) if (
                    owner_name(owner) == "self"
                ):
                    mode = "training" if method == "train" else "evaluation"
                    message = (
                        f"{shown(owner)}.{method}() sets {mode} mode in each call. Remove it: a run sets training "
                        "mode for training and evaluation mode for validation"
                    )
                    edit = without_statement(statement, body)
                    yield Finding("code-training-mode", statement, message, f"Remove {method}()", (edit,))
                case ast.Assign(targets=[ast.Attribute(attr="training")], value=ast.Constant()):
                    message = (
                        f"{shown(statement)} sets the mode in each call. Remove it: a run sets "
                        "training mode for training and evaluation mode for validation"
                    )
                    edit = without_statement(statement, body)
                    yield Finding("code-training-mode", statement, message, "Remove the assignment", (edit,))
                case _:
                    pass
    yield from _overridden_mode(function)
    yield from _masks_of_each_call(function)
    yield from _constant_training(function)


def _constant_training(function: CodeFunction) -> Iterator[Finding]:
    """Functions that always act as in training."""
    calls = {call: edit for call in _dropping_calls(function) if (edit := _training_argument(call)) is not None}
    remedy, title = "Pass training=self.training", "Pass training=self.training"
    conversion: tuple[TextEdit, ...] = ()
    if function.owner is None:
        conversion = as_module(function, tuple(calls.values()))
        remedy, title = "Write a class, and pass training=self.training", "Write a class that knows its mode"
    for call, edit in calls.items():
        message = f"{shown(call.func)}(…) acts as in training during validation, too. {remedy}"
        edits = conversion if function.owner is None else (edit,)
        yield Finding("code-training-mode", call, message, title, edits)


def _dropping_calls(function: CodeFunction) -> Iterator[ast.Call]:
    """Calls of functions that act differently in training."""
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in DROPOUTS:
                pass
            case ast.Call(func=ast.Attribute(attr=name)) if name in DROPOUTS and owner_name(node.func) in NAMESPACES:
                pass
            case ast.Call(func=ast.Attribute(attr="batch_norm")) if owner_name(node.func) in NAMESPACES:
                if all(keyword.arg != "training" for keyword in node.keywords):
                    continue
            case _:
                continue
        yield node


def _overridden_mode(function: CodeFunction) -> Iterator[Finding]:
    """A method `train` or `eval` of a module that passes on a constant mode."""
    if function.owner is None or function.tree.name not in ("train", "eval"):
        return
    names = [each.arg for each in function.tree.args.args[1:]]
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="train"), args=[given]):
                if not isinstance(given, ast.Constant) or not names:
                    continue
                message = (
                    f"{function.tree.name} always sets {'training' if given.value else 'evaluation'} mode, also in "
                    f"{'validation' if given.value else 'training'}. Pass {names[0]}"
                )
                yield Finding("code-training-mode", node, message, f"Pass {names[0]}", (replaced(given, names[0]),))
            case _:
                pass


def _masks_of_each_call(function: CodeFunction) -> Iterator[Finding]:
    """A random mask that is the same in training and validation, as in `engine.rand_like(x) > 0.5`."""
    if any(isinstance(each, ast.Attribute) and each.attr == "training" for each in function.nodes()):
        return
    for node in function.nodes():
        match node:
            case ast.Compare(left=ast.Call(func=ast.Attribute(attr="rand" | "rand_like") as made)):
                if owner_name(made) not in NAMESPACES:
                    continue
                message = (
                    f"{shown(node)} drops values in validation, too. Use F.dropout with training=self.training, or a "
                    "Dropout node"
                )
                yield Finding("code-training-mode", node, message, "")
            case _:
                pass


def _training_argument(call: ast.Call) -> TextEdit | None:
    """An edit that passes the mode; None if the call does not fix it."""
    given = next((each.value for each in call.keywords if each.arg == "training"), None)
    if given is None and len(call.args) > _TRAINING_POSITION:
        given = call.args[_TRAINING_POSITION]
    if given is None:
        return added_argument(call, "training=self.training")
    is_constant = isinstance(given, ast.Constant) and given.value is True
    return replaced(given, "self.training") if is_constant else None


__all__ = ["direct_forward", "fixed_mode"]
