"""Parameters of every node type, within and beyond their bounds: what the check accepts builds and takes two steps.

`PARAMETER_MUTATIONS=50000 pytest tests/studio/lowering/test_mutations.py` tries as many, of some 45,000 that there are.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine import fit
from engine.registry import Parameter
from studio.document.model import Document, Node
from studio.lowering import LoweringError, check, lower
from studio.nodes import NodeType, catalogue
from studio.training.failures import failure_event
from tests.studio.lowering import test_every_type
from tests.studio.lowering.graphs import coded, document
from tests.studio.lowering.test_every_type import placed

COUNT = int(os.environ.get("PARAMETER_MUTATIONS", "400"))
MOST_PARAMETERS, MOST_MACS = 2_000_000, 20_000_000
"""Of networks that are also trained for two steps; of one sample."""

WHOLE: list[Any] = [0, -1, 1, 2, 3, 5, 64, 1000, 1025, 100_000, 2**31 - 1, 2**62, 2**63, -(2**40), 10**30, 10**400]
REAL: list[Any] = [0.5, -0.5, 1.0, 0.999999, 1e-30, 1e-300, 1e30, 1e38, 1e300, math.nan, math.inf, -math.inf]
OTHER: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "input",
    "3 * input",
    "input / 64",
    "10000 * input",
    "1",
    "nan",
    {"a": 1},
    "é" * 300,
    "a/" * 3000,
    "a\0b",
]
LISTS: list[Any] = [
    *([], [1], [1, 1], [2, 3], [1, 2, 3], [0, 0], [0.9], [0.9, 0.999], [0.9, 0.9, 0.9], [1.0, 1.0], [-1, -1], [3] * 7),
    *([1] * 100, [2**31 - 1] * 2, [2**62] * 2, ["a"], [None], [[1, 2]], [math.nan, 0.5]),
]

files = test_every_type.files


def values(parameter: Parameter) -> list[Any]:
    bounds = [] if parameter.range is None else [parameter.range.ge, parameter.range.gt, parameter.range.le]
    near = [value for bound in bounds if bound is not None for value in (bound, bound + 1, bound - 1, bound * 0.999999)]
    return [*WHOLE, *REAL, *OTHER, *LISTS, *parameter.choices, *near]


def mutations() -> Iterator[tuple[NodeType, Parameter, Any]]:
    for node_type in catalogue():
        for parameter in node_type.params:
            for value in values(parameter):
                yield node_type, parameter, value


def mutated(node_type: NodeType, parameter: Parameter, value: Any) -> tuple[str, Document]:
    base = placed(node_type)
    name = next((name for name, node in base.nodes.items() if node.type == node_type.key), "")
    if not name:  # a sum of losses has a separate document
        name = "total"
    node = base.nodes[name]
    changed = replace(node, params={**node.params, parameter.name: value})
    return name, replace(base, nodes={**base.nodes, name: changed})


def outcome(node_type: NodeType, parameter: Parameter, value: Any, files: Path) -> str:
    """ "problem", "ran", "large" or "refused"; any other text is a defect."""
    name, changed = mutated(node_type, parameter, value)
    report = check(changed, catalogue(), files)
    if report.errors:
        wrong = [problem for problem in report.errors if problem.code == "bad-parameter"]
        complete = all(problem.node == name and parameter.name in problem.message for problem in wrong)
        return "problem" if complete else f"incomplete: {wrong}"
    program = None
    try:
        program = lower(check(changed, catalogue(), base=files))
        if report.parameters > MOST_PARAMETERS or report.macs > MOST_MACS:
            return "large"
        steps = [event for event in fit.fit(program.build(), steps=2, compile=False) if isinstance(event, fit.Step)]
        return "ran" if len(steps) == 2 else f"only {len(steps)} steps"
    except LoweringError as error:
        return f"check and lower disagree: {error}"
    except Exception as error:  # noqa: BLE001 - any failure is reported
        failure = failure_event(error, program)
        named = failure.node is not None and (parameter.name in failure.message or failure.by_input)
        return "refused" if named else f"{failure.node}: {failure.message}"


@pytest.mark.timeout(36_000)
def test_accepted_documents_train_or_name_the_parameter(files: Path) -> None:
    every = list(mutations())
    chosen = random.Random(0).sample(every, min(COUNT, len(every)))
    found: dict[str, int] = {}
    wrong: list[str] = []
    for node_type, parameter, value in chosen:
        result = outcome(node_type, parameter, value, files)
        found[result] = found.get(result, 0) + 1
        if result not in ("problem", "ran", "large", "refused"):
            wrong.append(f"{node_type.key}.{parameter.name} = {value!r:.40}: {result}")
    assert not wrong, "\n".join(wrong)
    assert found["problem"] > found["ran"] > 0


@pytest.mark.parametrize(
    ("key", "param", "value", "said"),
    [
        ("optim.Adam", "betas", 0.9, "betas must be 2 numbers, not 1"),
        ("optim.Adam", "betas", [0.9, 0.9, 0.9], "betas must be 2 numbers, not 3"),
        ("lr_scheduler.OneCycleLR", "max_momentum", 1, "max_momentum must be ≥ 0 and < 1, not 1"),
        ("nn.Conv2d", "kernel_size", 0, "kernel_size must be ≥ 1, not 0"),
        ("nn.Linear", "out_features", 2**62, "out_features must be ≥ 1 and ≤ 2,147,483,647, not"),
        ("nn.RNN", "num_layers", 2**40, "num_layers must be ≥ 1 and ≤ 1,000, not"),
        ("data.CSV", "path", "a/" * 3000, "path must be a path of at most 4,096 characters, not 6,000"),
        ("optim.ASGD", "alpha", 1e20, "OverflowError"),
    ],
)
def test_the_problem_names_the_parameter(key: str, param: str, value: Any, said: str, files: Path) -> None:
    node_type = catalogue()[key]
    parameter = node_type.param(param)
    assert parameter is not None
    name, changed = mutated(node_type, parameter, value)
    [problem] = [problem for problem in check(changed, catalogue(), files).errors if problem.node == name]
    assert said in problem.message and param in problem.message


def test_network_larger_than_memory_is_an_error() -> None:
    linear = catalogue()["nn.Linear"]
    parameter = linear.param("out_features")
    assert parameter is not None
    name, changed = mutated(linear, parameter, 2**31 - 1)
    problem = coded(changed, "too-large")
    assert problem.node == name
    assert problem.message.startswith(f"The outputs of {name} take ")
    assert problem.message.endswith("of memory. Reduce out_features.")


def test_data_larger_than_memory_is_an_error() -> None:
    source = Node("data.Sequences", {"samples": 2**31 - 1, "length": 2**20})
    problem = coded(document({"data": source}), "bad-data")
    assert "Sequences: needs " in problem.message
    assert "Decrease samples" in problem.message
