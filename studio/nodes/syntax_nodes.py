"""Nodes that generate syntax instead of a call: a slice and a formula."""

from __future__ import annotations

from engine.registry import Parameter
from studio.nodes.adapted_ports import NamedInputs
from studio.nodes.formula_functions import FUNCTIONS
from studio.nodes.formula_text import formula_problem, parse_formula
from studio.nodes.slice_text import slice_problem
from studio.nodes.types import NodeType, Port, PortType, Role

SLICE = "studio.Slice"
FORMULA = "studio.Formula"
EXPRESSION = "2 * x"
"""Expression of a new formula."""

_FORMULA_INPUTS = NamedInputs("expression", lambda text: parse_formula(text).inputs, EXPRESSION)


def syntax_types() -> list[NodeType]:
    return [
        NodeType(
            key=SLICE,
            title="Slice",
            category="operation",
            group="Indexing",
            summary="Part of a tensor, as in x[:, -1] or x[:, :, 2:-2]; a view.",
            help=(
                'Write what stands between the brackets in Python. The first entry is the batch dimension: ":, -1" '
                'is the last step of a sequence N×T×C, ":, 0" its first token, and "..., 2:-2, 2:-2" crops two '
                "pixels from each side of images N×C×H×W."
            ),
            icon="indexing",
            inputs=(Port("x", PortType.TENSOR),),
            outputs=(Port("output", PortType.TENSOR),),
            params=(
                Parameter("index", "str", help="entries by dimension, separated by commas", grammar=slice_problem),
            ),
            tags=("index", "crop", "last step", "last time step", "class token", "[]", "getitem", "subset"),
            role=Role.OPERATION,
        ),
        NodeType(
            key=FORMULA,
            title="Formula",
            category="operation",
            group="Arithmetic",
            summary="A formula of its inputs, as in a * x + sin(y).",
            help=(
                "Each name in the formula is an input. Operators are those of Python: + - * / // % ** @, comparisons "
                f"and & | ^ ~. Functions: {', '.join(sorted(FUNCTIONS))}. Their arguments are numbers, as in "
                "mean(x, dim=-1, keepdim=True). pi is a number."
            ),
            icon="formula",
            inputs=_FORMULA_INPUTS.ports(),
            outputs=(Port("output", PortType.TENSOR),),
            params=(
                Parameter(
                    "expression",
                    "str",
                    EXPRESSION,
                    is_preset=True,
                    help="the formula, whose names are the inputs",
                    grammar=formula_problem,
                ),
            ),
            tags=("expression", "equation", "math", "calculate", "lambda", "="),
            role=Role.OPERATION,
            structural=frozenset({"expression"}),
            adapt=_FORMULA_INPUTS,
        ),
    ]
