"""Layers, parameters and buffers in the source of Python nodes that their module does not register."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, called_layer, owner_name
from studio.lowering.user_code.source_edits import TextEdit, end_of, replaced, start_of, without_statement, wrapped
from studio.nodes.python_source import code_tree

_RANDOM = frozenset({"rand", "randn", "normal"})
CREATORS = frozenset({*_RANDOM, "zeros", "ones", "full", "tensor", "arange", "linspace", "eye", "empty"})
"""Functions that create a tensor."""


def unregistered(function: CodeFunction) -> Iterator[Finding]:
    if function.owner is None or not function.makes_layers:
        yield from _layers_of_each_call(function)
        yield from _shared_layers(function)
        return
    for node in function.nodes():
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                yield from _unregistered_value(function, name, value)
                yield from _plain_tensor(function, node, name, value)
            case _:
                pass


def _unregistered_value(function: CodeFunction, name: str, value: ast.expr) -> Iterator[Finding]:
    """A list of layers, or a tensor with a gradient, that the module does not know."""
    made = _value_of(function, value)
    kind = _container(made)
    layers = [called_layer(each, function.modules) for each in ast.walk(made)]
    if kind is not None:
        local = value.id if isinstance(value, ast.Name) else name
        layer = next((each for each in layers if each is not None), None) or _appended(function, local)
        if layer is not None:
            container = "ModuleDict" if kind == "dict" else "ModuleList"
            message = (
                f"self.{name} holds {layer} layers in a plain {kind}, so they are not "
                f"trained, saved or moved to a GPU. Use nn.{container}"
            )
            yield Finding(
                "code-unregistered", value, message, f"Use {container}", wrapped(value, f"nn.{container}(", ")")
            )
    elif isinstance(value, ast.Call) and _requires_gradient(value):
        message = f"self.{name} is a tensor, not a parameter, so it is not trained or saved. Use nn.Parameter"
        yield Finding("code-unregistered", value, message, "Use nn.Parameter", wrapped(value, "nn.Parameter(", ")"))


def _appended(function: CodeFunction, name: str) -> str | None:
    """The layer that a constructor appends to a list, an attribute or a local name, or stores in a dict."""
    for node in function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=target, attr="append" | "insert" | "extend"), args=[*_, value]):
                pass
            case (
                ast.AugAssign(target=target, value=value)
                | ast.Assign(targets=[ast.Subscript(value=target)], value=value)
            ):
                pass
            case _:
                continue
        called = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        layers = (called_layer(each, function.modules) for each in ast.walk(value))
        if called == name and (layer := next((each for each in layers if each is not None), None)) is not None:
            return layer
    return None


def _container(value: ast.expr) -> str | None:
    """The kind of a plain container: "list", "tuple", "set" or "dict"."""
    match value:
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Tuple():
            return "tuple"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Call(func=ast.Name(id="list" | "tuple" | "set" | "dict" as name)):
            return name
        case _:
            return None


def _value_of(function: CodeFunction, value: ast.expr) -> ast.expr:
    """What a local name stands for, if it is a container; or else the value itself."""
    if isinstance(value, ast.Name):
        for node in function.nodes():
            match node:
                case ast.Assign(targets=[ast.Name(id=target)], value=made) if target == value.id and _container(made):
                    return made
                case _:
                    pass
    return value


def _plain_tensor(function: CodeFunction, node: ast.Assign, name: str, value: ast.expr) -> Iterator[Finding]:
    """A tensor that the network computes with, and that is neither a parameter nor a buffer."""
    creator = _created(value)
    if creator is None or _requires_gradient_of(value) or not _is_used(function, name):
        return
    attribute = f"self.{name}"
    switch, body = next(_gradient_switches(function, attribute), (None, None))
    if creator in _RANDOM or switch is not None:
        message = f"{attribute} is a tensor, not a parameter, so it is not trained or saved. Use nn.Parameter"
        edits = wrapped(value, "nn.Parameter(", ")")
        if switch is not None and body is not None:
            edits = (*edits, without_statement(switch, body))
        yield Finding("code-unregistered", value, message, "Use nn.Parameter", edits)
        return
    message = (
        f"{attribute} is a plain tensor, so it stays on its device when the network moves to another one. "
        f'Use self.register_buffer("{name}", …)'
    )
    target = node.targets[0]
    edits = (TextEdit(start_of(target), start_of(value), f'self.register_buffer("{name}", '),)
    edits = (*edits, TextEdit(end_of(value), end_of(value), ")"))
    yield Finding("code-device", value, message, "Register a buffer", edits)


def _created(value: ast.expr) -> str | None:
    """The function that creates a tensor, as in `engine.randn(4, 4) * 0.1`."""
    match value:
        case ast.BinOp(left=left, right=right):
            return _created(left) or _created(right)
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[ast.Constant() | ast.UnaryOp()]):
            return None  # a number combines with tensors of each device
        case ast.Call(func=ast.Attribute(attr=name) as made) if name in CREATORS and owner_name(made) in NAMESPACES:
            return name
        case _:
            return None


def _requires_gradient_of(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and _requires_gradient(value)


def _is_used(function: CodeFunction, name: str) -> bool:
    """Whether other methods read an attribute, which the constructor does not register."""
    owner = function.owner
    if owner is None:
        return False
    others = (each for each in owner.body if each is not function.tree)
    reads = (node for each in others for node in ast.walk(each) if isinstance(node, ast.Attribute))
    return any(node.attr == name and owner_name(node) == "self" for node in reads)


def _gradient_switches(function: CodeFunction, attribute: str) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """Statements such as `self.weight.requires_grad = True`."""
    for body in function.bodies():
        for statement in body:
            match statement:
                case (
                    ast.Assign(
                        targets=[ast.Attribute(value=owner, attr="requires_grad")], value=ast.Constant(value=True)
                    )
                    | ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="requires_grad_"), args=[]))
                ):
                    if ast.unparse(owner) == attribute:
                        yield statement, body
                case _:
                    pass


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
        is_module = function.owner is not None
        if isinstance(node, ast.Call) and layer is None and _requires_gradient(node):
            remedy = "Use nn.Parameter in __init__" if is_module else "Write a class with nn.Parameter in __init__"
            message = f"each call makes another {shown(node)}, which is not trained. {remedy}"
            yield Finding("code-unregistered", node, message, "")
        if layer is None or not isinstance(node, ast.Call):
            continue
        remedy = "Make it in __init__" if is_module else "Use a node, or write a class that makes it in __init__"
        message = f"each call makes {shown(node)} with new weights, which are not trained. {remedy}"
        edits = _moved_to_constructor(function, node, layer.lower(), taken)
        yield Finding("code-unregistered", node, message, "Make the layers in __init__", edits)


def _shared_layers(function: CodeFunction) -> Iterator[Finding]:
    """Layers that the source makes at its top level, outside of a module."""
    made: dict[str, ast.expr] = {}
    for statement in code_tree(function.source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if called_layer(value, function.modules):
                made[name] = value
            case _:
                pass
    for node in function.nodes():
        if isinstance(node, ast.Name) and node.id in made and isinstance(node.ctx, ast.Load):
            message = (
                f"{node.id} is {shown(made[node.id])} outside of a module, so it is not trained, saved or moved to a "
                "GPU. Write a class that makes it in __init__"
            )
            yield Finding("code-unregistered", node, message, "")


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


__all__ = ["CREATORS", "unregistered"]
