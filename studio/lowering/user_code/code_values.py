"""What expressions in the source of a Python node stand for: tensors or modules. The source is read, never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from engine.registry import LAYERS, LOSSES

NAMESPACES = frozenset({"engine", "torch", "nn", "F", "functional", "linalg"})
"""Names of modules that source may use."""
NOT_TENSORS = frozenset(
    {"shape", "ndim", "dtype", "device", "requires_grad", "is_cuda", "size", "dim", "numel", "item", "tolist", "numpy"}
)
"""Attributes and methods of a tensor whose result is not a tensor."""
_STATELESS_GROUPS = frozenset({"Activation", "Pooling", "Shape", "Distance"})
_WITH_STATE = frozenset({"PReLU", "RReLU"})
_CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})


@cache
def layer_names() -> frozenset[str]:
    """Names of layers that have weights or act differently in training, such as "Linear" and "Dropout"."""
    found = {
        entry.key.rpartition(".")[2]
        for entry in LAYERS
        if entry.category not in _STATELESS_GROUPS or entry.key.rpartition(".")[2] in _WITH_STATE
    }
    return frozenset({*found, *_CONTAINERS, "Module"} - {entry.key.rpartition(".")[2] for entry in LOSSES})


def called_layer(node: ast.AST, own: frozenset[str]) -> str | None:
    """The name of the layer that a call constructs: one with state, or a module class of the source.

    Args:
        own: names of the module classes of the source
    """
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in layer_names() and owner_name(node.func) in NAMESPACES:
            return name
        case ast.Call(func=ast.Name(id=name)) if name in own or (name in layer_names() and name != "Module"):
            return name
        case _:
            return None


def owner_name(function: ast.AST) -> str:
    """The first name of a dotted expression: "torch" of `torch.nn.Linear`; empty for another expression."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


class TensorNames:
    """The names of a function that hold tensors.

    Args:
        function: the function or method
        inputs: its arguments that are tensors
    """

    def __init__(self, function: ast.FunctionDef, inputs: frozenset[str]) -> None:
        self._names = set(inputs)
        count = -1
        while count != len(self._names):  # a loop may use a name before the line that assigns it
            count = len(self._names)
            for node in ast.walk(function):
                for target in _assigned(node, self):
                    self._names.update(each.id for each in ast.walk(target) if isinstance(each, ast.Name))

    def holds_name(self, name: str) -> bool:
        """Whether a variable is surely a tensor."""
        return name in self._names

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is surely a tensor."""
        match node:
            case ast.Name(id=name):
                return self.holds_name(name)
            case ast.Attribute(value=value, attr=name):
                return name not in NOT_TENSORS and self.holds(value)
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
                return self.holds(value)
            case ast.BinOp(left=left, right=right):
                return self.holds(left) or self.holds(right)
            case ast.Compare(left=left, comparators=others):
                return self.holds(left) or any(map(self.holds, others))
            case ast.IfExp(body=body, orelse=other):
                return self.holds(body) or self.holds(other)
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if self.holds(value):
                return name not in NOT_TENSORS
            case ast.Call(func=ast.Attribute() as function, args=arguments):
                is_known = owner_name(function) in NAMESPACES or owner_name(function) == "self"
                return is_known and function.attr not in NOT_TENSORS and any(map(self.holds, arguments))
            case _:
                return False


def _assigned(node: ast.AST, tensors: TensorNames) -> Iterator[ast.expr]:
    """The targets that get a tensor in a statement."""
    match node:
        case ast.Assign(targets=targets, value=value) if tensors.holds(value):
            yield from (each for each in targets if isinstance(each, (ast.Name, ast.Tuple)))
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value) if tensors.holds(value):
            yield target
        case ast.AugAssign(target=ast.Name() as target, value=value) if tensors.holds(value):
            yield target
        case ast.For(target=ast.Name() as target, iter=value) if tensors.holds(value):
            yield target
        case _:
            return


__all__ = ["TensorNames", "called_layer", "layer_names", "owner_name"]
