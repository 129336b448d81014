"""Inputs and parameters of the node that computes a call such as `engine.mul(x, 2)` or `F.relu(x)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from studio.lowering.codegen.operation_calls import signature_of
from studio.lowering.source_import.reading.callables import FunctionTarget, is_default
from studio.lowering.source_import.reading.module_source import Tensor, Value
from studio.lowering.source_import.reading.source_errors import refuse, shown
from studio.nodes.adapted_ports import NamedInputs
from studio.nodes.growing_inputs import GrowingInputs
from studio.nodes.operation_nodes import BATCH_PORT, BATCH_SIZE, takes_list
from studio.nodes.types import NodeType

Arguments: TypeAlias = tuple[dict[str, Tensor], dict[str, Value]]
"""Tensors by input, and values by parameter."""


class CallArguments:
    """The arguments of one call.

    Args:
        node: the call or the expression with an operator
        tensor: reads an expression that is a tensor
        setting: reads an expression that is a value
    """

    def __init__(
        self,
        node: ast.expr,
        positional: Sequence[ast.expr],
        keywords: Sequence[ast.keyword],
        tensor: Callable[[ast.expr], Tensor],
        setting: Callable[[ast.expr], Value],
    ) -> None:
        self._node, self._positional, self._keywords = node, list(positional), keywords
        self._tensor, self._setting = tensor, setting
        if any(keyword.arg is None for keyword in keywords):
            refuse(node, f"{shown(node)} passes arguments with **. Write them by name.")

    def of_operation(self, node_type: NodeType) -> Arguments:
        """The arguments of an operation."""
        target = node_type.target
        assert target is not None
        if isinstance(node_type.adapt, NamedInputs):
            return self._of_named(node_type, node_type.adapt)
        inputs: dict[str, Tensor] = {}
        names = [name for name, _ in signature_of(node_type, target)]
        positional = self._positional
        if takes_list(target):
            listed = positional[0] if positional else None
            ports = growing_ports(node_type)
            if not isinstance(listed, (ast.List, ast.Tuple)):
                refuse(self._node, f"{shown(self._node)} needs a list of tensors: [a, b].")
            if len(listed.elts) > len(ports):
                refuse(self._node, f"{node_type.title} joins at most {len(ports)} tensors. Use a second one.")
            inputs = {port: self._tensor(each) for port, each in zip(ports, listed.elts, strict=False)}
            names = names[1:]
            positional = positional[1:]
        elif len(positional) > 2 and node_type.adapt is not None:
            inputs = dict(zip(growing_ports(node_type), map(self._tensor, positional), strict=False))
            return inputs, {}
        values: dict[str, Value] = {}
        for name, expression in self._bound(node_type, names, positional).items():
            if isinstance(expression, ast.Constant) and expression.value is None:
                continue
            if node_type.input(name) is not None and not (node_type.param(name) and is_number(expression)):
                inputs[name] = self._tensor(expression)
            elif (parameter := node_type.param(name)) is not None:
                values[name] = self._sizes(expression, inputs) if parameter.words else self._setting(expression)
            else:
                refuse(expression, f"{node_type.title} has no parameter {name}. Leave it out.")
        order = growing_ports(node_type) or [port.name for port in node_type.inputs]
        return dict(sorted(inputs.items(), key=lambda item: order.index(item[0]))), values

    def _of_named(self, node_type: NodeType, adapt: NamedInputs) -> Arguments:
        """The arguments of `engine.einsum("ni,ij->nj", x, y)`, whose text names the inputs."""
        text = self._setting(self._positional[0]) if self._positional else None
        if not isinstance(text, str):
            refuse(self._node, f"{shown(self._node)} needs the {adapt.param} as its first argument.")
        names = [port.name for port in adapt(node_type, {adapt.param: text}, set()).inputs]
        if len(names) != len(self._positional) - 1:
            refuse(self._node, f"{shown(self._node)} needs {len(names)} tensors, not {len(self._positional) - 1}.")
        tensors = dict(zip(names, map(self._tensor, self._positional[1:]), strict=True))
        return tensors, {adapt.param: text}

    def _sizes(self, expression: ast.expr, inputs: dict[str, Tensor]) -> Value:
        """A shape. `x.shape[0]` is N, and x the input that N is taken from, unless it is the first one."""
        if not isinstance(expression, (ast.Tuple, ast.List)):
            return self._setting(expression)
        sizes: list[Value] = []
        for part in expression.elts:
            match part:
                case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=ast.Constant(value=0)):
                    source = self._tensor(tensor)
                    if source != next(iter(inputs.values()), None):
                        inputs[BATCH_PORT] = source
                    sizes.append(BATCH_SIZE)
                case _:
                    sizes.append(self._setting(part))
        return tuple(sizes)

    def _bound(self, node_type: NodeType, names: list[str], positional: list[ast.expr]) -> dict[str, ast.expr]:
        """Expressions by argument."""
        last = node_type.param(names[-1]) if names else None
        if names and len(positional) > len(names) - 1 and last is not None and last.kind == "ints":
            rest = positional[len(names) - 1 :]
            if len(rest) > 1 or not isinstance(rest[0], (ast.Tuple, ast.List)):  # x.reshape(2, 3)
                single = len(rest) == 1 and last.single
                positional = [*positional[: len(names) - 1], rest[0] if single else ast.Tuple(rest, ast.Load())]
        if len(positional) > len(names):
            refuse(self._node, f"{shown(self._node)} has more than {len(names)} arguments.")
        given = dict(zip(names, positional, strict=False))
        for keyword in self._keywords:
            name = keyword.arg or ""
            if name not in names or name in given:
                refuse(keyword, f"{node_type.title} has no free parameter {name}; it has {', '.join(names)}.")
            given[name] = keyword.value
        return given

    def of_layer(self, target: FunctionTarget) -> Arguments:
        """The arguments of the layer that computes a function such as `F.relu`."""
        assert target.signature is not None
        node, node_type, declared = self._node, target.type, target.signature.parameters
        named = {keyword.arg or "": keyword.value for keyword in self._keywords}
        try:
            bound = target.signature.bind(*self._positional, **named)
        except TypeError as error:
            refuse(node, f"{shown(node)} cannot be called like this: {error}.")
        inputs: dict[str, Tensor] = {}
        values: dict[str, Value] = {}
        for index, (name, parameter) in enumerate(declared.items()):
            given = bound.arguments.get(name)
            param = node_type.param(name)
            if index < len(node_type.inputs) and given is not None:
                inputs[node_type.inputs[index].name] = self._tensor(given)
            elif name in ("training", "train"):
                if not isinstance(given, ast.Attribute) or shown(given) != "self.training":
                    refuse(node, f"A node is random in training only. Write {name}=self.training.")
            elif param is None:
                if given is not None and not is_default(parameter, self._setting(given)):
                    refuse(given, f"{node_type.title} has no parameter {name}. Leave it out.")
            else:
                value = parameter.default if given is None else self._setting(given)
                if given is not None or not is_default(param, value):
                    values[name] = value
        return inputs, values


def growing_ports(node_type: NodeType) -> list[str]:
    """All inputs that a node that combines any number of tensors can have; empty for other types."""
    return list(node_type.adapt.names) if isinstance(node_type.adapt, GrowingInputs) else []


def folded(
    node_type: NodeType, operands: list[ast.expr], inner: Callable[[ast.expr], list[ast.expr]]
) -> list[ast.expr]:
    """The operands of `a + b + c`, which is one node that combines three tensors.

    Args:
        inner: the operands of an expression that is another call of the operation; empty for other expressions
    """
    if not growing_ports(node_type) or len(operands) != 2 or any(map(is_number, operands)):
        return operands
    rest: list[ast.expr] = []
    while len(operands) == 2 and not any(map(is_number, operands)):
        first, last = operands
        rest = [last, *rest]
        operands = inner(first)
        if len(operands) != 2 or any(map(is_number, operands)):
            return [first, *rest]
    return rest


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a constant, or an attribute of `self` that holds one."""
    match node:
        case ast.Constant() | ast.Attribute(value=ast.Name(id="self")):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return isinstance(operand, ast.Constant)
        case _:
            return False


__all__ = ["Arguments", "CallArguments", "folded", "growing_ports"]
