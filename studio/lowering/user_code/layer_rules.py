"""Mistakes with layers in the source of Python nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, called_layer, owner_name
from studio.lowering.user_code.source_edits import (
    TextEdit,
    added_argument,
    end_of,
    replaced,
    start_of,
    without_statement,
    wrapped,
)

DROPOUTS = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"})
_TRAINING_POSITION = 2
"""Position of the argument `training` of functions that drop values."""


def direct_forward(function: CodeFunction) -> Iterator[Finding]:
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="forward") as called):
                if isinstance(value, ast.Call) and owner_name(value.func) == "super":
                    continue
                text = shown(value)
                message = f"{shown(called)}(…) skips the hooks of {text}, which the inspection needs. Call {text}(…)"
                edit = TextEdit(end_of(value), end_of(called), "")
                yield Finding("code-forward", called, message, "Call the layers themselves", (edit,))
            case _:
                pass


def fixed_mode(function: CodeFunction) -> Iterator[Finding]:
    if function.makes_layers:
        return
    is_module = function.owner is not None
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
                case _:
                    pass
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in DROPOUTS and owner_name(node.func) in NAMESPACES:
                pass
            case ast.Call(func=ast.Attribute(attr="batch_norm")) if owner_name(node.func) in NAMESPACES:
                if all(keyword.arg != "training" for keyword in node.keywords):
                    continue
            case _:
                continue
        if found := _constant_training(node, is_module=is_module):
            yield found


def _constant_training(call: ast.Call, *, is_module: bool) -> Finding | None:
    """A function that always acts as in training."""
    given = next((each.value for each in call.keywords if each.arg == "training"), None)
    if given is None and len(call.args) > _TRAINING_POSITION:
        given = call.args[_TRAINING_POSITION]
    if given is not None and not (isinstance(given, ast.Constant) and given.value is True):
        return None
    remedy = "Pass training=self.training" if is_module else "Use a node such as Dropout after this one"
    message = f"{shown(call.func)}(…) acts as in training during validation, too. {remedy}"
    if not is_module:
        return Finding("code-training-mode", call, message, "")
    edit = added_argument(call, "training=self.training") if given is None else replaced(given, "self.training")
    return Finding("code-training-mode", call, message, "Pass training=self.training", (edit,))


def unregistered(function: CodeFunction) -> Iterator[Finding]:
    if function.owner is None or not function.makes_layers:
        yield from _layers_of_each_call(function)
        return
    for node in function.nodes():
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                yield from _unregistered_value(function, name, value)
            case _:
                pass


def _unregistered_value(function: CodeFunction, name: str, value: ast.expr) -> Iterator[Finding]:
    """A list of layers, or a tensor with a gradient, that the module does not know."""
    is_list = isinstance(value, (ast.List, ast.Tuple, ast.ListComp))
    if is_list or isinstance(value, (ast.Dict, ast.DictComp)):
        layers = [called_layer(each, function.modules) for each in ast.walk(value)]
        layer = next((each for each in layers if each is not None), None) or _appended(function, name)
        if layer is not None:
            container = "ModuleList" if is_list else "ModuleDict"
            message = (
                f"self.{name} holds {layer} layers in a plain {'list' if is_list else 'dict'}, so they are not "
                f"trained, saved or moved to a GPU. Use nn.{container}"
            )
            yield Finding(
                "code-unregistered", value, message, f"Use {container}", wrapped(value, f"nn.{container}(", ")")
            )
    elif isinstance(value, ast.Call) and _requires_gradient(value):
        message = f"self.{name} is a tensor, not a parameter, so it is not trained or saved. Use nn.Parameter"
        yield Finding("code-unregistered", value, message, "Use nn.Parameter", wrapped(value, "nn.Parameter(", ")"))


def _appended(function: CodeFunction, name: str) -> str | None:
    """The layer that a constructor appends to a list."""
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=target), attr="append"), args=[value]):
                if target == name and (layer := called_layer(value, function.modules)) is not None:
                    return layer
            case _:
                pass
    return None


def _requires_gradient(call: ast.Call) -> bool:
    """Whether it is `engine.randn(4, requires_grad=True)` or `engine.zeros(4).requires_grad_()`."""
    if owner_name(call.func) in NAMESPACES:
        return any(
            each.arg == "requires_grad" and isinstance(each.value, ast.Constant) and each.value.value is True
            for each in call.keywords
        )
    return isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_" and not call.args


def _layers_of_each_call(function: CodeFunction) -> Iterator[Finding]:
    if function.tree.name != "forward" and function.owner is not None:
        return  # a method that the constructor may call
    taken: set[str] = set()
    for node in function.nodes():
        layer = called_layer(node, function.modules)
        if layer is None or not isinstance(node, ast.Call):
            continue
        is_module = function.owner is not None
        remedy = "Make it in __init__" if is_module else "Use a node, or write a class that makes it in __init__"
        message = f"each call makes {shown(node)} with new weights, which are not trained. {remedy}"
        edits = _moved_to_constructor(function, node, layer.lower(), taken)
        yield Finding("code-unregistered", node, message, "Make the layers in __init__", edits)


def _moved_to_constructor(function: CodeFunction, call: ast.Call, name: str, taken: set[str]) -> tuple[TextEdit, ...]:
    """Edits that make a layer in the constructor; empty if its arguments are known in the call only."""
    arguments = [*call.args, *(each.value for each in call.keywords)]
    own = function.owner
    text = ast.get_source_segment(function.source, call)
    if own is None or text is None or not all(isinstance(each, ast.Constant) for each in arguments):
        return ()
    made = next((each for each in own.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
    used = {each.attr for each in ast.walk(own) if isinstance(each, ast.Attribute)} | taken
    attribute = next(each for index in range(len(used) + 1) if (each := f"{name}{index or ''}") not in used)
    taken.add(attribute)
    called = replaced(call, f"self.{attribute}")
    if made is None:
        line, column = start_of(function.tree)
        indent = " " * column
        head = "" if len(taken) > 1 else f"def __init__(self):\n{indent}    super().__init__()\n"
        tail = f"{indent}    self.{attribute} = {text}\n\n{indent}"
        return (called, TextEdit((line, column), (line, column), head + tail)) if len(taken) == 1 else ()
    last = made.body[-1]
    indent = " " * last.col_offset
    return called, TextEdit(end_of(last), end_of(last), f"\n{indent}self.{attribute} = {text}")


__all__ = ["direct_forward", "fixed_mode", "unregistered"]
