"""Random formulas: each is refused with a reason, or gives the shape and dtype that the check promises."""

from __future__ import annotations

import os
import warnings
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import engine
from engine.errors import EngineError
from studio.lowering.analysis.call_evaluation import evaluate_call
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.operation_calls import formula_tree
from studio.nodes.formula_functions import FUNCTIONS, formula_function
from studio.nodes.formula_text import Formula, formula_problem, parse_formula

EXAMPLES = int(os.environ.get("GRADWIRE_FORMULAS", "150"))
"""Set it to 20,000 for a long run."""

TENSORS = {
    "x": engine.linspace(-2.0, 3.0, 24).reshape(2, 12),
    "y": engine.linspace(0.1, 4.0, 12, dtype=engine.float64),
    "n": engine.arange(-12, 12).reshape(2, 12),
    "b": engine.arange(24).reshape(2, 12) % 3 == 0,
    "m": engine.eye(12),
}
NUMBERS = ("0", "1", "2", "-1", "0.5", "3", "1e-3", "1e20", "400", "-400", "True", "pi", "7.25", "12", "2.0e30")
BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=")
SETTINGS = (
    "dim",
    "axis",
    "keepdim",
    "decimals",
    "out",
    "dtype",
    "correction",
    "eps",
    "beta",
    "dim0",
    "y",
    "min",
    "max",
)
TOKENS = (
    *TENSORS, *NUMBERS, *BINARY, *SETTINGS, *sorted(FUNCTIONS), "(", ")", "(", ")", ",", ",", "=", "~", "[", "]", ":",
    ".", "lambda", "if", "else", "not", "and", "None", "'s'", "\\", ";", "eval", "__class__", "🙂", "0x1F", "1j", "#",
)  # fmt: skip


@st.composite
def calls(draw: st.DrawFn, parts: st.SearchStrategy[str]) -> str:
    """A call with arguments that the function has, mostly in the right number."""
    function = formula_function(draw(st.sampled_from(sorted(FUNCTIONS))))
    count = draw(st.sampled_from([len(function.required)] * 4 + [len(function.positional), 1, 3]))
    given = [
        draw(parts if each in function.tensors else st.sampled_from(NUMBERS)) for each in function.positional[:count]
    ]
    if draw(st.integers(0, 3)) == 0:
        setting = draw(st.sampled_from((*(function.settings or SETTINGS), *SETTINGS)))
        given.append(f"{setting}={draw(st.sampled_from((*NUMBERS, '(0, 1)', '(0, -1)')))}")
    return f"{function.name}({', '.join(given)})"


EXPRESSIONS = st.recursive(
    st.sampled_from((*TENSORS, *TENSORS, *NUMBERS)),
    lambda parts: st.one_of(
        st.tuples(parts, st.sampled_from(BINARY), parts).map(lambda each: f"({each[0]} {each[1]} {each[2]})"),
        st.tuples(st.sampled_from(("-", "~")), parts).map(lambda each: f"{each[0]}({each[1]})"),
        calls(parts),
    ),
    max_leaves=8,
)


def evaluate(formula: Formula, device: str) -> Any:
    tree = formula_tree(formula, {name: syntax_trees.name(name) for name in formula.inputs})
    return evaluate_call(tree, {name: TENSORS[name].to(device) for name in formula.inputs})


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=14).map(" ".join))
def test_random_tokens_are_refused_with_a_reason_or_parsed(text: str) -> None:
    problem = formula_problem(text)
    if problem is None:
        assert parse_formula(text).inputs
    else:
        assert problem.startswith("must ")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EXPRESSIONS)
def test_formulas_compute_what_the_check_promises(text: str) -> None:
    if formula_problem(text) is not None:
        event("refused")
        return
    formula = parse_formula(text)
    if not set(formula.inputs) <= set(TENSORS):
        return
    try:
        promised = evaluate(formula, "meta")
    except (EngineError, ValueError) as error:
        event("an error of the check")
        assert str(error)
        return
    event("computed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            computed = evaluate(formula, "cpu")
        except ZeroDivisionError:  # of integers, which depends on their values
            return
    assert tuple(promised.shape) == tuple(computed.shape)
    assert promised.dtype is computed.dtype
