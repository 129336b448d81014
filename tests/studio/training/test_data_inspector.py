"""Inspections of samples: bounded, cached, cancellable, and silent about data that the check reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.data.tables.csv_table import CSV
from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.files import project_files
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession, Warned
from studio.training.data.data_inspector import DataInspector
from tests.studio.lowering.graphs import document, mlp

TEMPLATES = sorted((Path(__file__).parents[3] / "assets/templates").glob("*.gradwire"))


def with_missing_values(folder: Path) -> Document:
    """A sound network whose inputs have 3 NaN."""
    inputs = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    inputs[[3, 4, 150], 2] = np.nan
    np.savez(folder / "a.npz", x=inputs, y=(np.nan_to_num(inputs).sum(1) > 0).astype(np.int64))
    return document(
        {
            "arrays": Node("data.NPY", {"path": str(folder / "a.npz")}),
            "batches": "data.Batches",
            "logits": Node("nn.Linear", {"out_features": 2}),
            "cross_entropy": "nn.CrossEntropyLoss",
            "adam": Node("optim.Adam", {"lr": 0.01}),
        },
        [
            "arrays.samples -> batches.samples",
            "batches.input -> logits.input",
            "logits.output -> cross_entropy.input",
            "batches.target -> cross_entropy.target",
            "cross_entropy.loss -> adam.loss",
        ],
    )


def checked(made: Document) -> Any:
    return check(made, catalogue())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_templates_have_no_problems(path: Path) -> None:
    report = check(project_files.load(path), catalogue(), path.parent)
    found = DataInspector().inspect(report)
    assert (found.problems, report.problems) == ((), ())
    assert {part.part for part in found.looked_at} == {"training", "validation"}


def test_an_edit_elsewhere_does_not_read_again(tmp_path: Path) -> None:
    inspector, made = DataInspector(), with_missing_values(tmp_path)
    first = inspector.inspect(checked(made))
    assert [(each.code, each.node) for each in first.problems] == [("missing", "arrays")]
    again = inspector.inspect(checked(edits.set_param(made, "adam", "lr", 0.02)))
    assert (again.problems, inspector.readings) == (first.problems, 1)
    assert inspector.inspect(checked(edits.set_param(made, "arrays", "validation", 0.5))).problems
    assert inspector.readings == 2
    np.savez(tmp_path / "a.npz", x=np.zeros((30, 4), np.float32) + np.arange(30)[:, None] / 30, y=np.arange(30) % 2)
    assert "missing" not in {each.code for each in inspector.inspect(checked(made)).problems}
    assert inspector.readings == 3


def test_it_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    found = DataInspector().inspect(checked(with_missing_values(tmp_path)), is_cancelled=lambda: True)
    assert found.is_cancelled and not found.problems


def test_data_that_cannot_be_read_are_left_to_the_check(tmp_path: Path) -> None:
    made = edits.set_param(with_missing_values(tmp_path), "arrays", "path", str(tmp_path / "nowhere.npz"))
    report = checked(made)
    assert report.errors and DataInspector().inspect(report).problems == ()
    assert DataInspector().inspect(checked(Document())).problems == ()


def test_fixes_of_problems_in_blocks_change_the_definition(tmp_path: Path) -> None:
    made, _ = group(with_missing_values(tmp_path), ["arrays", "batches"], "data")
    [problem] = DataInspector().inspect(checked(made)).problems
    assert problem.node == "data.arrays" and problem.fix is not None
    assert problem.fix.title.endswith("in the block data")
    assert not DataInspector().inspect(checked(problem.fix.edit(made))).problems


def test_a_run_warns_of_samples_and_records_it(tmp_path: Path) -> None:
    session = TrainingSession(with_missing_values(tmp_path), catalogue(), out=tmp_path / "run", epochs=1, device="cpu")
    session.start()
    assert session.join(60)
    warned = [event.problem for event in session.events() if isinstance(event, Warned)]
    assert "missing" in {each.code for each in warned}
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())["inspection"]
    assert recorded["problems"][0]["code"] == "missing"
    assert recorded["looked_at"][0] == {"node": "batches", "part": "training", "looked_at": 160, "samples": 160}


def test_a_sound_graph_is_left_in_peace() -> None:
    assert DataInspector().inspect(checked(mlp())).problems == ()


def large_table(folder: Path, monkeypatch: pytest.MonkeyPatch, rows: int = 6000, **params: Any) -> Document:
    """A table that counts as large, with a column in thousands."""
    monkeypatch.setattr("engine.data.tables.table_splits.MAX_CHECKED_BYTES", 1000)
    monkeypatch.setattr("studio.training.data.data_chain.MAX_SAMPLED_ROWS", 800)
    values = np.random.default_rng(0).normal(size=(rows, 3)).round(4)
    lines = [f"{5000 + 100 * a:.1f},{b},{a + b + c:.4f}" for a, b, c in values.tolist()]
    (folder / "large.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    source = Node("data.CSV", {"path": str(folder / "large.csv"), "target": "y", "task": "number", **params})
    nodes: dict[str, str | Node] = {
        "table": source,
        "batches": "data.Batches",
        "line": Node("nn.Linear", {"out_features": 1}),
        "loss": "nn.MSELoss",
        "adam": "optim.Adam",
    }
    wires = [
        "table.samples -> batches.samples",
        "batches.input -> line.input",
        "line.output -> loss.input",
        "batches.target -> loss.target",
        "loss.loss -> adam.loss",
    ]
    return document(nodes, wires)


@pytest.mark.parametrize("comment", ["", "#"])
def test_large_tables_are_not_read_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comment: str) -> None:
    made = large_table(tmp_path, monkeypatch, comment=comment)
    found = DataInspector().inspect(checked(made))
    training, validation = found.looked_at
    assert [each.code for each in found.problems] == ["unscaled-inputs"]
    if not comment:  # a table that Arrow cannot read directly is read from the first row on, a block at least
        assert training.looked_at == pytest.approx(640, rel=0.1)
        assert training.samples + validation.samples == pytest.approx(6000, rel=0.05)
        [problem] = found.problems
        assert "of about " in problem.message
        mean = problem.fix.edit(made).nodes["normalize"].params["mean"]  # pyright: ignore[reportOptionalMemberAccess]
        assert isinstance(mean, list) and mean[0] == pytest.approx(5000, rel=0.01)


def test_a_table_that_was_read_is_looked_at_completely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = large_table(tmp_path, monkeypatch)
    CSV(path=str(tmp_path / "large.csv"), target="y", task="number").train.arrays(np.arange(2))
    assert sum(part.samples for part in DataInspector().inspect(checked(made)).looked_at) == 6000
