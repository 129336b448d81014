"""Nodes for the engine's ops that join branches, such as `engine.add(a, b)`."""

from __future__ import annotations

from dataclasses import replace

from engine.ops.record import REGISTRY, Op
from engine.registry import documentation, parameters
from studio.nodes.derived_types import plain_help
from studio.nodes.types import NodeType, Port, PortType, Role

TITLES = {
    "add": "Add",
    "sub": "Subtract",
    "mul": "Multiply",
    "div": "Divide",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "matmul": "Matrix product",
    "cat": "Concatenate",
}
"""Ops that combine several inputs, with their titles."""

TAGS = {
    "add": ("sum", "plus", "residual", "skip connection", "+"),
    "sub": ("minus", "difference", "-"),
    "mul": ("times", "product", "gate", "*"),
    "div": ("quotient", "/"),
    "matmul": ("dot", "bmm", "@"),
    "cat": ("concat", "join", "merge"),
}

ICONS = {"add": "plus", "sub": "minus", "mul": "multiply", "cat": "concat"}

HELP = {"alpha": "factor of the second input", "dim": "dimension along which the inputs are joined"}
"""Help of parameters that the op does not document."""

LIST_PORTS = ("a", "b", "c", "d")
"""Inputs of an op that takes a list of tensors; the last two are optional."""


def operation_types() -> list[NodeType]:
    """A node type for each op of `TITLES`."""
    return [_operation(REGISTRY[name], title) for name, title in TITLES.items()]


def _operation(op: Op, title: str) -> NodeType:
    if op.variadic:
        inputs = tuple(Port(name, PortType.TENSOR, optional=index > 1) for index, name in enumerate(LIST_PORTS))
    else:
        inputs = tuple(Port(name, PortType.TENSOR) for name in op.inputs)
    return NodeType(
        key=f"ops.{op.name}",
        title=title,
        category="operation",
        group="Operation",
        summary=documentation(op.kernel).partition("\n")[0],
        help=plain_help(op.kernel),
        icon=ICONS.get(op.name, "operation"),
        inputs=inputs,
        outputs=(Port("output", PortType.TENSOR),),
        params=tuple(replace(each, help=each.help or HELP.get(each.name, "")) for each in parameters(op.kernel)),
        tags=(op.name, *TAGS.get(op.name, ())),
        role=Role.OPERATION,
        target=op.function,
    )
