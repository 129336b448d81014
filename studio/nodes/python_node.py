"""The node with Python source of the user. Its ports and parameters are those of the function or class in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Set
from dataclasses import replace

from engine.registry import Parameter, docstring_help
from studio.nodes.python_source import SINGLE, Code, CodeError, read_code, source_problem
from studio.nodes.types import NodeType, Port, PortType, Role

PYTHON = "studio.Python"
SOURCE = "source"
"""The parameter with the source."""

DEFAULT_SOURCE = '''\
# Arguments without a default are inputs, the others are parameters.
def scaled(x, scale: float = 1.0):
    """Scaled input.

    Args:
        scale: factor of each element
    """
    return scale * x
'''
"""Source of a new node. Files do not store it, so it never changes."""

_MAX_TYPES = 256


class CodeTypes:
    """The type of a node for its source: equal sources give the same type."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, NodeType] = OrderedDict()

    def __call__(self, node_type: NodeType, params: Mapping[str, object], wired: Set[str]) -> NodeType:
        source = source_of(params)
        if source not in self._made:
            self._made[source] = _adapted(node_type, source)
            while len(self._made) > _MAX_TYPES:
                self._made.popitem(last=False)
        return self._made[source]


def source_of(params: Mapping[str, object]) -> str:
    """The source of a node with these parameters; empty for a value that is not a text."""
    source = params.get(SOURCE, DEFAULT_SOURCE)
    return source if isinstance(source, str) else ""


def code_of(params: Mapping[str, object]) -> Code | None:
    """What the source of a node declares; None if it cannot be used."""
    try:
        return read_code(source_of(params))
    except CodeError:
        return None


def python_types() -> list[NodeType]:
    plain = NodeType(
        key=PYTHON,
        title="Python",
        category="operation",
        group="Python",
        summary="A function or module class that you write in Python.",
        help=(
            "Write one function, or one class derived from nn.Module. Arguments without a default are inputs. "
            "Arguments with a literal default, and those of __init__, are parameters. engine, nn and F need no "
            "import. The code runs once you trust it."
        ),
        icon="code",
        inputs=(Port("x", PortType.TENSOR),),
        outputs=(Port(SINGLE, PortType.TENSOR),),
        params=(
            Parameter(
                SOURCE,
                "str",
                DEFAULT_SOURCE,
                is_preset=True,
                help="the function or class",
                grammar=source_problem,
                is_code=True,
            ),
        ),
        tags=("code", "custom", "own layer", "script", "function", "module", "lambda", "torch"),
        role=Role.OPERATION,
        structural=frozenset({SOURCE}),
        adapt=CodeTypes(),
    )
    return [replace(plain, params=(*plain.params, *_parameters(read_code(DEFAULT_SOURCE))))]


def _adapted(node_type: NodeType, source: str) -> NodeType:
    own = node_type.param(SOURCE)
    assert own is not None
    try:
        code = read_code(source)
    except CodeError:
        return replace(node_type, inputs=(), outputs=(), params=(own,), keeps_wired_ports=True)
    return replace(
        node_type,
        inputs=tuple(Port(each.name, PortType.TENSOR, optional=each.is_optional) for each in code.inputs),
        outputs=tuple(Port(name, PortType.TENSOR) for name in code.outputs),
        params=(own, *_parameters(code)),
        role=Role.LAYER if code.is_class else Role.OPERATION,
    )


def _parameters(code: Code) -> tuple[Parameter, ...]:
    descriptions = dict(docstring_help(code.help))
    return tuple(replace(each.parameter, help=descriptions.get(each.name, "")) for each in code.params)


__all__ = ["DEFAULT_SOURCE", "PYTHON", "SOURCE", "code_of", "python_types", "source_of"]
