"""Nodes for functions of tensors, such as `engine.add(a, b)`, derived from their signatures."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

import engine
from engine import linalg
from engine.nn import functional
from engine.ops.record import REGISTRY, Op
from engine.registry import Parameter, argument_help, documentation, parameters
from studio.nodes.adapted_ports import CountedOutputs, NamedInputs
from studio.nodes.derived_types import plain_help
from studio.nodes.growing_inputs import LIST_NAMES, OPERAND_NAMES, GrowingInputs
from studio.nodes.operation_table import OPERATIONS, Operation
from studio.nodes.types import NodeType, Port, PortType, Role

OWNERS: Mapping[str, ModuleType | type] = {
    "ops": engine,
    "functional": functional,
    "linalg": linalg,
    "Tensor": engine.Tensor,
}
"""Where the function of a key is found, by the first part of the key."""

ICONS = {
    "Arithmetic": "operation",
    "Exponential": "exponential",
    "Trigonometry": "sine",
    "Comparison": "comparison",
    "Reduction": "reduce",
    "Shape": "shape",
    "Indexing": "indexing",
    "Linear algebra": "matrix",
    "Gradient and dtype": "autograd",
    "Creation": "creation",
}
"""Icon by group."""

HELP = {
    "alpha": "factor of the second input",
    "atol": "largest absolute difference",
    "correction": "subtracted from the number of elements that the sum of squares is divided by (default: 1)",
    "decimals": "number of decimal places",
    "descending": "from the largest to the smallest",
    "dim": "dimension, or dimensions; negative ones count from the last",
    "dim0": "first dimension",
    "dim1": "second dimension",
    "dim2": "second dimension",
    "dims": "dimensions; negative ones count from the last",
    "eps": "smallest denominator",
    "equal_nan": "whether NaN equals NaN",
    "index": "position along dim; negative ones count from the end, -1 is the last",
    "keepdim": "keep reduced dimensions with size 1",
    "length": "number of positions",
    "offset": "diagonal above (positive) or below (negative) the main one",
    "diagonal": "diagonal above (positive) or below (negative) the main one",
    "ord": "exponent of the norm",
    "p": "exponent of the norm",
    "rtol": "largest difference relative to the second input",
    "start": "first position",
    "upper": "return the upper triangle",
    "value": "the value to fill in",
}
"""Help of parameters that the function does not document."""


BATCH_SIZE = "N"
"""Stands for the size of the batch in parameters that are shapes."""

BATCH_PORT = "batch"
"""Input of a node with such a parameter."""


def operation_types() -> list[NodeType]:
    """A node type for each function of `OPERATIONS`."""
    return [
        _node_type(key, group, declared) for group, members in OPERATIONS.items() for key, declared in members.items()
    ]


def function_of(key: str) -> Callable[..., Any]:
    """The function of a key: `engine.add` for "ops.add"."""
    owner, _, name = key.partition(".")
    return getattr(OWNERS[owner], name)


def _node_type(key: str, group: str, declared: Operation) -> NodeType:
    function = function_of(key)
    documented = _documented(function)
    adapt = _adaptation(function, declared)
    inputs = tuple(_inputs(function, declared))
    outputs = tuple(Port(name, PortType.TENSOR) for name in declared.outputs)
    port_params = {adapt.param} if isinstance(adapt, (CountedOutputs, NamedInputs)) else set[str]()
    return NodeType(
        key=key,
        title=declared.title,
        category="operation",
        group=group,
        summary=documentation(documented).partition("\n")[0],
        help=plain_help(documented),
        icon=declared.icon or ICONS[group],
        inputs=adapt.ports() if isinstance(adapt, (GrowingInputs, NamedInputs)) else inputs,
        outputs=adapt.ports() if isinstance(adapt, CountedOutputs) else outputs,
        params=tuple(_params(function, declared)),
        tags=(key.partition(".")[2], *declared.tags),
        role=Role.OPERATION,
        structural=frozenset({*_either(function, declared), *port_params}),
        adapt=adapt,
        target=function,
    )


def parameters_of(key: str) -> tuple[Parameter, ...]:
    """The parameters that a node of a function of the engine has, or would have: "ops.relu" is a layer instead."""
    return tuple(_params(function_of(key), _declared(key)))


def tensors_of(key: str, *, with_numbers: bool = False) -> tuple[str, ...]:
    """The arguments of a function that are tensors, or may be; with those that are numbers in the parameters."""
    declared = _declared(key)
    declared = replace(declared, numbers=()) if with_numbers else declared
    return tuple(argument.name for argument in _tensors(function_of(key), declared))


def _declared(key: str) -> Operation:
    return next((members[key] for members in OPERATIONS.values() if key in members), Operation(key))


@functools.cache
def declared_arguments(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The arguments of a function by name. Cached, because every check of a node asks for them."""
    return inspect.signature(function).parameters


def _documented(function: Callable[..., Any]) -> Callable[..., Any]:
    """The declaration of a function, which has its types and its docstring."""
    record = _record(function)
    return inspect.unwrap(function) if record is None else record.kernel


def _record(function: Callable[..., Any]) -> Op | None:
    record = REGISTRY.get(function.__name__)
    return record if record is not None and record.function is function else None


def is_elementwise(node_type: NodeType) -> bool:
    """Whether a node computes each element of its result from elements of inputs that broadcast."""
    return node_type.target is not None and takes_numbers(node_type.target)


def takes_numbers(function: Callable[..., Any]) -> bool:
    """Whether a function computes each element from elements of tensors that broadcast, or from numbers."""
    record = _record(function)
    return record is not None and record.takes_numbers


def _inputs(function: Callable[..., Any], declared: Operation) -> Iterator[Port]:
    yield from (Port(name, PortType.TENSOR) for name in declared.inputs)
    descriptions = argument_help(_documented(function))
    for argument in () if declared.inputs else _tensors(function, declared):
        name, has_default = argument.name, argument.default is not argument.empty
        is_optional = has_default and name not in declared.required and name not in _either(function, declared)
        yield Port(name, PortType.TENSOR, descriptions.get(name, ""), is_optional)
    if declared.sizes:
        yield Port(
            BATCH_PORT, PortType.TENSOR, "tensor whose first dimension has the size N (default: x)", optional=True
        )


def _adaptation(
    function: Callable[..., Any], declared: Operation
) -> GrowingInputs | CountedOutputs | NamedInputs | None:
    if declared.counted:
        return CountedOutputs(declared.counted)
    if declared.names is not None:
        return NamedInputs(declared.params[0].name, declared.names, declared.params[0].default)
    if takes_list(function):
        return GrowingInputs(LIST_NAMES)
    return GrowingInputs(OPERAND_NAMES) if declared.grows else None


def takes_list(function: Callable[..., Any]) -> bool:
    """Whether the first argument of a function is a list of tensors."""
    first = next(iter(declared_arguments(function).values()))
    return first.name == "tensors"


def _tensors(function: Callable[..., Any], declared: Operation) -> Iterator[inspect.Parameter]:
    """The arguments that are tensors: those without a type, or with the type Tensor."""
    left_out = {*declared.numbers, *declared.hidden, *(each.name for each in declared.params), "out", "owner"}
    for argument in declared_arguments(function).values():
        has_no_type = argument.annotation in (argument.empty, "Any", Any)
        if argument.name not in left_out and (has_no_type or "Tensor" in str(argument.annotation)):
            yield argument


def _either(function: Callable[..., Any], declared: Operation) -> tuple[str, ...]:
    """The inputs that may be a number instead."""
    record = _record(function)
    takes_number = record is not None and record.takes_numbers and record.arity == 2
    return (record.inputs[1], *declared.either) if record is not None and takes_number else declared.either


def _params(function: Callable[..., Any], declared: Operation) -> Iterator[Parameter]:
    documented = _documented(function)
    signature = () if declared.inputs else parameters(documented)
    derived = {each.name: each for each in signature} | {each.name: each for each in declared.params}
    descriptions = argument_help(documented)
    either = _either(function, declared)
    arguments = declared_arguments(function)
    yield from (each for each in declared.params if each.name not in arguments)
    for name, argument in arguments.items():
        if name in declared.hidden:
            continue
        if name in either:
            text = descriptions.get(name, "") or "the number to use if the input has no wire"
            yield Parameter(name, "float", None, optional=True, keeps_integers=True, help=text)
        elif name in declared.numbers:
            yield _number(argument, descriptions.get(name, ""))
        elif name in derived:
            parameter = replace(derived[name], help=derived[name].help or HELP.get(name, ""))
            if name in declared.presets:
                parameter = replace(parameter, default=declared.presets[name], is_preset=True)
            yield _with_batch_size(parameter) if name == declared.sizes else parameter


def _with_batch_size(parameter: Parameter) -> Parameter:
    return replace(parameter, words=(BATCH_SIZE,), help=f"{parameter.help}; N is the size of the batch")


def _number(argument: inspect.Parameter, help: str) -> Parameter:
    is_optional = argument.default is None
    default: Any = Parameter("", "float").default if argument.default is argument.empty else argument.default
    return Parameter(
        argument.name,
        "float",
        default,
        optional=is_optional,
        keeps_integers=True,
        help=help or HELP.get(argument.name, ""),
    )
