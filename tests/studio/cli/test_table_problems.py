"""What a table loses is said by `check`, `data` and `run` alike, and each remedy avoids it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.lowering import check
from studio.lowering.problems.problem import Problem
from studio.nodes import catalogue
from tests.engine.data.passengers import as_csv, passengers
from tests.studio.cli.conftest import Result

Gradwire = Callable[..., Result]

WIRES = (
    "table.samples -> fill.samples",
    "fill.samples -> loader.samples",
    "loader.input -> scores.input",
    "scores.output -> loss.input",
    "loader.target -> loss.target",
    "loss.loss -> adam.loss",
)


def learning(folder: Path, text: str, outputs: int = 3, **params: Any) -> Path:
    """A project that learns the classes of a table."""
    (folder / "table.csv").write_text(text, encoding="utf-8")
    nodes = {
        "table": Node("data.CSV", {"path": "table.csv", **params}),
        "fill": Node("transforms.FillMissing"),
        "loader": Node("data.Batches", {"batch_size": 16}),
        "scores": Node("nn.Linear", {"out_features": outputs}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam"),
    }
    ends = [[Endpoint(*end.split(".")) for end in wire.split(" -> ")] for wire in WIRES]
    wires = tuple(sorted(Wire(*pair) for pair in ends))
    project_files.save(Document(nodes, wires, TrainingSettings(epochs=1)), folder / "project.gradwire")
    return folder / "project.gradwire"


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """Of 200 rows 30 have the class None or NA, and the first two columns count the rows."""
    rows = passengers()
    for place, row in enumerate(rows):
        row["Survived"] = "None" if place < 20 else "NA" if place < 30 else row["Survived"]
    params = {"target": "Survived", "categorical": "Sex", "ignore": "Name, Ticket", "missing": "keep"}
    return learning(tmp_path, as_csv(rows), outputs=2, **params)


LOST = "table.csv: 30 of 200 rows are skipped: no value in 'Survived' (None: 20, NA: 10)."
INDEX = "table.csv: 'column 1' counts from 0 to 199 in 200 rows, so it identifies rows"


def test_losses_and_identifiers_are_said_by_every_command(gradwire: Gradwire, lossy: Path) -> None:
    checked = gradwire("check", lossy, "--json").lines
    problems = [line for line in checked if line["event"] == "problem"]
    assert [(each["code"], each["node"], each["severity"]) for each in problems] == [
        ("rows-left-out", "table", "warning"),
        ("identifier", "table", "warning"),
        ("identifier", "table", "warning"),
    ]
    assert problems[0]["message"].startswith(LOST)
    assert problems[1]["message"].startswith(INDEX)
    messages = [each["message"] for each in problems]
    [described] = gradwire("data", lossy, "--json").lines
    assert [each["message"] for each in described["problems"]][:3] == messages
    assert [each["fix"] for each in described["problems"]][:3] == [
        "Keep None, NA",
        "Ignore column 1",
        "Ignore PassengerId",
    ]
    assert sum(line in gradwire("data", lossy).out for line in messages) == 3
    run = gradwire("run", lossy, "--json")
    assert run.code == 0
    warned = [line for line in run.lines if line["event"] in ("problem", "warning")]
    assert warned[:3] == problems, "each is reported once"
    assert [each["code"] for each in warned[3:]] == ["unscaled-inputs"]
    shown = gradwire("run", lossy, "--quiet")
    assert f"warning: {lossy}: {LOST}" in shown.err


def test_identifiers_can_be_ignored_one_after_the_other_without_a_new_check(lossy: Path) -> None:
    document = project_files.load(lossy)
    problems = check(document, catalogue(), base=lossy.parent).problems
    column, passenger = (each.fix for each in problems if each.code == "identifier")
    assert column is not None and passenger is not None
    assert passenger.settings == ("table.ignore=Name, Ticket, PassengerId",)
    for fix in (passenger, column, passenger, column):
        document = fix.edit(document)
    assert document.nodes["table"].params["ignore"] == "Name, Ticket, PassengerId, column 1"


def test_contradicting_remedies_are_reported_alike(gradwire: Gradwire, tmp_path: Path) -> None:
    rows = "".join(f"{row / 7:.2f},{row % 5 + 0.5},{row},{'uvw'[row % 3]}\n" for row in range(60))
    project = learning(tmp_path, "5.25,3.5,70,u\n" + rows, target="u", ignore="3.5")
    checked = [line for line in gradwire("check", project, "--json").lines if line["event"] == "problem"]
    assert [(each["code"], each["fix"]) for each in checked] == [
        ("header-values", "Read the first line as a row"),
        ("identifier", None),
    ]
    assert checked[1]["message"].endswith('Do either this or "Read the first line as a row", not both.')
    [described] = gradwire("data", project, "--json").lines
    findings = described["problems"][: len(checked)]
    for each, finding in zip(checked, findings, strict=True):
        assert [finding[key] for key in ("message", "fix", "set", "edits")] == [
            each[key] for key in ("message", "fix", "set", "edits")
        ]


def test_each_remedy_mends_what_it_is_for(lossy: Path) -> None:
    def found(document: Document) -> list[Problem]:
        return [each for each in check(document, catalogue(), base=lossy.parent).problems if each.node == "table"]

    document = project_files.load(lossy)
    for left in (2, 1, 0):
        fix = found(document)[0].fix
        assert fix is not None
        document = fix.edit(document)
        assert len(found(document)) == left
    params = document.nodes["table"].params
    assert params["ignore"] == "Name, Ticket, column 1, PassengerId"
    assert params["missing_texts"] == "N/A, NaN, nan, null, NULL, ?"
    [problem] = check(document, catalogue(), base=lossy.parent).errors
    assert problem.message.startswith("The data has 4 classes but scores outputs scores for 2")


def test_a_first_line_that_is_a_row_is_read_as_one_after_the_remedy(tmp_path: Path) -> None:
    rows = "".join(f"{row / 7:.2f},{row % 5 + 0.5},{'uvw'[row % 3]}\n" for row in range(60))
    project = learning(tmp_path, "5.25,3.5,u\n" + rows, target="u", columns="5.25, 3.5")
    document = project_files.load(project)
    [problem] = check(document, catalogue(), base=tmp_path).problems
    assert (problem.code, problem.node) == ("header-values", "table")
    assert problem.fix is not None
    mended = problem.fix.edit(document)
    assert check(mended, catalogue(), base=tmp_path).problems == ()
    assert mended.nodes["table"].params["target"] == "column 3"
    assert mended.nodes["table"].params["header"] is False


def test_a_clean_table_is_left_in_peace(gradwire: Gradwire, tmp_path: Path) -> None:
    rows = "".join(f"{row / 7:.2f},{row % 5 + 0.5},{'uvw'[row % 3]}\n" for row in range(60))
    project = learning(tmp_path, "a,b,kind\n" + rows, target="kind")
    assert gradwire("check", project).err == ""
    assert not [line for line in gradwire("run", project, "--json").lines if line["event"] == "warning"]
