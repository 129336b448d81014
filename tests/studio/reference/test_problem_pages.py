"""Each diagnosis has a help section, and each example has its message and fix in it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from site_pages import problems
from studio.lowering.problems.diagnoses import AREAS, DIAGNOSES
from studio.reference.graph_columns import in_columns
from studio.reference.mistakes import MISTAKES
from studio.reference.mistakes.projects import digits
from studio.reference.problem_pages import TITLES, example_of, problem_section, recorded_examples
from studio.reference.shown_problems import recorded_problems


def test_each_diagnosis_has_a_section() -> None:
    [(_, text)] = problems.pages()
    assert list(TITLES) == list(AREAS)
    assert [code for code in DIAGNOSES if text.count(f"{{ #{code} }}") != 1] == []
    for drawing in text.split("<figure")[1:]:
        assert ET.fromstring(drawing.partition(">")[2].partition("</figure>")[0].strip()).tag == "svg"


@pytest.mark.parametrize("code", sorted({mistake.code for mistake in MISTAKES}))
def test_an_example_shows_message_and_fix(code: str) -> None:
    example = example_of(code)
    assert example is not None and example.problem is not None
    text = problem_section(DIAGNOSES[code])
    assert f"> {example.problem.severity}: " in text
    assert ("**Fix: " in text) is example.mistake.has_fix


def test_exactly_the_examples_that_need_samples_or_training_are_recorded() -> None:
    assert sorted(recorded_problems()) == sorted(mistake.name for mistake in recorded_examples())


def test_nodes_without_positions_are_put_into_columns() -> None:
    placed = in_columns(digits({"flatten": "nn.Flatten", "logits": "nn.Linear"}))
    assert len({node.at for node in placed.nodes.values()}) == len(placed.nodes)
    assert all(placed.nodes[wire.source.node].at[0] < placed.nodes[wire.target.node].at[0] for wire in placed.wires)
    assert in_columns(placed) is placed
