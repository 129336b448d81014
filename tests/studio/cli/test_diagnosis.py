"""Experiments that find out why a loss does not fall."""

from __future__ import annotations

import json
import os
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from studio.document import edits
from studio.document.files import project_files
from studio.document.files.project_templates import template, templates
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import digits, wire
from studio.training.experiments.diagnosis_run import EXPERIMENTS, Conclusion, DiagnosisEvent, diagnose
from studio.training.experiments.experiment import Curves, ExperimentProgress, ExperimentStarted, Series
from studio.training.experiments.report_files import html_report, markdown_report
from studio.training.experiments.report_pictures import svg
from studio.training.session_events import Failed

ALL = os.environ.get("GRADWIRE_ALL_TEMPLATES") == "1"
QUICK = ("penguins-classification", "digits-autoencoder", "digits-gan")


def network(rate: float = 0.005) -> Document:
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}
    return digits(layers, adam=Node("optim.Adam", {"lr": rate}))


def events(document: Document) -> list[DiagnosisEvent]:
    return list(diagnose(lambda: check(document, catalogue()), clock=time.monotonic))


def concluded(document: Document) -> Conclusion:
    conclusion = events(document)[-1]
    assert isinstance(conclusion, Conclusion)
    return conclusion


@pytest.mark.parametrize("key", [each.key for each in templates()] if ALL else QUICK)
def test_a_template_has_no_problem(key: str) -> None:
    conclusion = concluded(template(key).document)
    assert [each for each in conclusion.results if each.outcome.verdict == "problem"] == []
    assert not [each for each in conclusion.results if "failed" in each.outcome.summary]
    assert conclusion.cause is None
    assert conclusion.seconds < 60 or not ALL


def test_events_are_in_order_and_nothing_changes() -> None:
    document = network()
    found = events(document)
    started = [event for event in found if isinstance(event, ExperimentStarted)]
    assert [each.experiment for each in started] == list(EXPERIMENTS)
    assert [each.number for each in started] == list(range(1, len(EXPERIMENTS) + 1))
    shares = [event.share for event in found if isinstance(event, ExperimentProgress)]
    assert shares and all(0 <= share <= 1 for share in shares)
    first, again = concluded(document), concluded(document)
    assert [each.outcome.evidence for each in first.results] == [each.outcome.evidence for each in again.results]


def test_a_low_learning_rate_gets_a_fix_that_was_tried() -> None:
    document = network(3e-5)
    cause = concluded(document).cause
    assert cause is not None and (cause.code, cause.node) == ("learning-rate-too-low", "adam")
    assert cause.fix is not None and "fell to" in cause.fix.reason
    assert concluded(cause.fix.edit(document)).cause is None


def test_targets_that_a_graph_makes_equal_are_named() -> None:
    document = edits.add(network(), "same", Node("ops.mul", {"y": 0}))
    document = edits.disconnect(document, [wire("batches.target -> cross_entropy.target")])
    for text in ("batches.target -> same.x", "same.output -> cross_entropy.target"):
        document = edits.connect(document, wire(text))
    cause = concluded(document).cause
    assert cause is not None and (cause.code, cause.node) == ("unfit-targets", "cross_entropy")
    assert "all 512 targets have the value 0" in cause.message


def test_one_experiment_runs_with_those_that_it_continues() -> None:
    found = list(diagnose(lambda: check(network(3e-5), catalogue()), only=("rate",), clock=time.monotonic))
    started = [event.experiment.key for event in found if isinstance(event, ExperimentStarted)]
    assert started == ["overfit", "rate"]
    conclusion = found[-1]
    assert isinstance(conclusion, Conclusion) and conclusion.cause is not None
    assert conclusion.cause.code == "learning-rate-too-low"


def test_a_sweep_suggests_a_rate_that_trained_better_also_for_schedules() -> None:
    document = edits.add(network(3e-3), "cycle", Node("lr_scheduler.OneCycleLR", {"max_lr": 3e-3}))
    document = edits.connect(document, wire("adam.optimizer -> cycle.optimizer"))
    *_, conclusion = diagnose(lambda: check(document, catalogue()), only=("rate",), clock=time.monotonic)
    assert isinstance(conclusion, Conclusion) and conclusion.cause is None
    outcome = conclusion.results[-1].outcome
    assert outcome.verdict == "passed" and outcome.suggestion is not None
    nodes = outcome.suggestion.edit(document).nodes
    assert nodes["cycle"].params["max_lr"] == nodes["adam"].params["lr"] == outcome.evidence["suggested"]
    first, second = outcome.evidence["share of the first loss"].values()
    assert second < first


def test_closing_cancels() -> None:
    running = diagnose(lambda: check(network(), catalogue()), clock=time.monotonic)
    assert isinstance(next(running), ExperimentStarted)
    running.close()
    assert list(running) == []


def test_a_graph_with_errors_cannot_be_diagnosed() -> None:
    [failed] = events(edits.remove(network(), ["cross_entropy"]))
    assert isinstance(failed, Failed) and failed.by_input


def test_reports_contain_all_results_and_load_nothing() -> None:
    conclusion = concluded(network())
    page, text = html_report(conclusion, "a<b"), markdown_report(conclusion, "net")
    assert "a&lt;b" in page and "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    for result in conclusion.results:
        assert result.experiment.title in page and f"## {result.experiment.title}" in text
    pictures = [each.outcome.picture for each in conclusion.results if each.outcome.picture is not None]
    assert page.count("<svg") == text.count("<svg") == len(pictures)
    for drawing in page.split("<figure>\n")[1:]:
        assert ET.fromstring(drawing.partition("</figure>")[0]).tag.endswith("svg")


def test_pictures_of_values_that_are_not_finite() -> None:
    nan = float("nan")
    assert "No finite values" in svg(Curves("x", "y", (Series("a", (1.0, 2.0), (nan, nan)),)), "None")
    drawn = svg(Curves("x", "y", (Series("a", (1.0, 2.0, 3.0), (1.0, float("inf"), 2.0)),)), "Some")
    assert "inf" not in drawn and "nan" not in drawn


def test_the_command(gradwire, tmp_path: Path) -> None:
    file, report = tmp_path / "net.gradwire", tmp_path / "why.html"
    project_files.save(network(3e-5), file)
    result = gradwire("diagnose", file, "--json", "--report", report)
    *records, last = (json.loads(line) for line in result.out.splitlines())
    assert result.code == 1 and [each["key"] for each in records] == [each.key for each in EXPERIMENTS]
    assert last["event"] == "diagnosed" and last["cause"]["code"] == "learning-rate-too-low"
    assert report.read_text("utf-8").count("<svg") > 4
    assert gradwire("diagnose", file, "--report", tmp_path / "why.pdf").code == 2
    one = gradwire("diagnose", file, "--only", "overfit", "--json")
    assert [json.loads(line).get("key") for line in one.out.splitlines()] == ["overfit", None]
    unknown = gradwire("diagnose", file, "--only", "x")
    assert unknown.code == 2 and "x is not an experiment" in unknown.err
