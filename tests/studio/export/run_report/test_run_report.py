"""Reports of runs have the numbers of the run, and of the network on its validation data."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from engine import no_grad
from studio.cli import main
from studio.document import edits
from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.files.project_templates import template
from studio.document.model import Document, Node
from studio.export.run_report import run_report, write_run_report
from studio.export.run_report.class_results import ClassResults, class_results
from studio.lowering import check
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.prediction import task_with_weights
from studio.training.runs.run_export import run_reader
from studio.training.runs.run_history import Run
from studio.training.runs.run_metadata import read_metadata
from tests.compiled import bitwise


class Page(HTMLParser):
    """The tags and texts of a page. Unclosed elements are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.addresses: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def trained(document: Document, folder: Path, **options: int) -> Run:
    with bitwise():
        session = TrainingSession(document, catalogue(), out=folder, device="cpu", **options)
        session.start()
        assert session.join(120)
    run = Run(1, folder, read_metadata(folder / "run.json"))
    run.describe(run.metadata, str(run.metadata["state"]))
    return run


def written(run: Run, path: Path) -> tuple[Page, list[float]]:
    shares = list(write_run_report(run, run_reader(run), catalogue(), path, project="digits", base=None))
    return Page(path.read_text("utf-8")), shares


def digits() -> Document:
    return template("digits-mlp").document


def results_of(run: Run) -> ClassResults | None:
    assert run.folder is not None
    task = task_with_weights(check(run.read_document(), catalogue()), run.folder, name="network", device="cpu")
    steps = class_results(task)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def test_report_has_results_curves_graph_and_settings(tmp_path: Path) -> None:
    run = trained(digits(), tmp_path / "run", epochs=2)
    page, shares = written(run, tmp_path / "run.html")
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(shares) > 4
    assert "Run 1 of digits" in page.texts
    for title in ("Curves", "Graph", "Results by class", "Settings", "Data", "Versions", "Machine"):
        assert title in page.texts
    assert f"{run.best['val_accuracy']:.4g}" in page.texts
    assert set(digits().nodes) <= set(page.texts)
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert page.addresses and all(each.startswith("data:image/png;base64,") for each in page.addresses)


def test_confusion_matrix_is_that_of_the_weights(tmp_path: Path) -> None:
    run = trained(digits(), tmp_path / "run", epochs=1)
    results = results_of(run)
    assert results is not None and results.part == "validation"
    assert results.accuracy == pytest.approx(run.last["val_accuracy"], abs=1e-9)
    task = task_with_weights(check(digits(), catalogue()), tmp_path / "run", name="network", device="cpu")
    task.model.eval()
    expected = np.zeros((10, 10), np.int64)
    with no_grad():
        for inputs, targets in task.setup().validation:
            for target, found in zip(targets.tolist(), task.model(inputs).argmax(1).tolist(), strict=True):
                expected[target, found] += 1
    assert results.confusion.tolist() == expected.tolist()
    probabilities = [each.probability for each in results.wrong]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(each.target != each.predicted for each in results.wrong)
    assert len(results.wrong) == min(24, int(expected.sum() - np.trace(expected)))


def test_networks_without_classes_have_none(tmp_path: Path) -> None:
    run = trained(template("shakespeare-lstm").document, tmp_path / "run", steps=2)
    page, _ = written(run, tmp_path / "run.html")
    assert any("does not give one score per class" in text for text in page.texts)


def test_untrusted_code_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(digits(), tmp_path / "run", steps=2)
    code = "open('ran', 'w')\ndef f(x):\n    return x\n"
    document = edits.add(digits(), "code", Node("studio.Python", {"source": code}))
    monkeypatch.chdir(tmp_path)
    project_files.save(document, tmp_path / "run" / "graph.gradwire")
    page, _ = written(run, tmp_path / "run.html")
    assert not (tmp_path / "ran").exists()
    assert any(text.startswith("There are none: ") for text in page.texts)


def test_names_and_notes_are_text(tmp_path: Path) -> None:
    run = trained(digits(), tmp_path / "run", steps=2)
    hostile = '<script>alert("1")</script>'
    run.metadata = {
        **run.metadata,
        "name": hostile,
        "note": hostile,
        "message": hostile,
        "versions": {hostile: hostile},
    }
    run.document = replace(digits(), description=hostile)
    page, _ = written(run, tmp_path / "run.html")
    assert "script" not in page.tags and page.texts.count(hostile) >= 4


def test_missing_weights_are_said(tmp_path: Path) -> None:
    run = trained(digits(), tmp_path / "run", steps=2)
    for path in (tmp_path / "run").rglob("*.safetensors"):
        path.unlink()
    page, _ = written(run, tmp_path / "run.html")
    assert any(text.startswith("There are none: ") and "weights" in text for text in page.texts)


def test_damaged_runs_and_full_disks_are_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained(digits(), tmp_path / "run", steps=2)
    with pytest.raises(FileError, match="cannot be written"):
        written(run, tmp_path / "nowhere" / "run.html")
    path = tmp_path / "run.html"
    path.write_text("before")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run_report.atomic_file, "write", fail)
        with pytest.raises(FileError, match="the disk is full"):
            written(run, path)
    assert path.read_text() == "before"
    (tmp_path / "run" / "graph.gradwire").write_text("{")
    with pytest.raises(FileError):
        written(Run(1, tmp_path / "run", run.metadata), path)


def test_report_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "digits.gradwire"
    project_files.save(digits(), project)
    assert main(["run", str(project), "--steps", "2", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["runs", "report", str(project), "1", "--json"]) == 0
    target = tmp_path / "digits-run-1.html"
    assert json.loads(capsys.readouterr().out) == {"event": "reported", "run": 1, "out": str(target)}
    assert re.search("<h1>Run 1 of digits</h1>", target.read_text("utf-8"))
    assert main(["runs", "report", str(project), "7"]) == 2
    assert "there is no run '7'" in capsys.readouterr().err
