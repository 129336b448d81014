"""The rewrite of a node of a project, and the time of a step before and after it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from engine import fit
from studio.document.edits import set_param
from studio.document.files.project_templates import template
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.lowering.report import Report
from studio.lowering.user_code.code_problems import changed_source
from studio.lowering.user_code.graph_breaks.mended_code import MendedCode, Unmended
from studio.nodes.catalogue import catalogue
from studio.training.graph_breaks.node_rewrite import find_rewrite
from studio.training.graph_breaks.step_gain import GainProgress, StepGain, measure_gain


@pytest.fixture(scope="module")
def report() -> Report:
    return check(template("digits-python").document, catalogue())


def test_template_is_mended_and_both_versions_are_timed(report: Report) -> None:
    found = find_rewrite(report, "balance")
    assert isinstance(found, MendedCode)
    assert "active = active + (x.sum(0) > 0).sum()" in found.source
    after = check(changed_source(report.document, name="balance", source=found.source), catalogue())
    assert not after.problems
    *progress, gain = measure_gain(lambda: report, lambda: after)
    assert isinstance(gain, StepGain)
    assert (gain.breaks_before, gain.breaks_after) == (60, 0)
    assert min(gain.before, gain.after) > 0 and gain.steps >= 9
    assert gain.ratio == gain.before / gain.after
    shares = [each.share for each in progress if isinstance(each, GainProgress)]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0


def test_mended_template_trains_to_the_same_losses(report: Report) -> None:
    """Compiled, with the islands between its breaks, as mended in one piece."""
    found = find_rewrite(report, "balance")
    assert isinstance(found, MendedCode)
    after = check(changed_source(report.document, name="balance", source=found.source), catalogue())

    def losses(version: Report) -> list[float]:
        task = lower(version).build(seed=3)
        return [event.loss for event in fit.fit(task, steps=6, compile=True) if isinstance(event, fit.Step)]

    np.testing.assert_allclose(losses(after), losses(report), rtol=1e-4)


def test_measurement_can_be_cancelled(report: Report) -> None:
    """Closing the generator ends it, also before the second version is built."""
    asked: list[str] = []

    def second() -> Report:
        asked.append("second")
        return report

    updates: Iterator[object] = measure_gain(lambda: report, second)
    assert isinstance(next(updates), GainProgress)
    assert isinstance(next(updates), GainProgress)
    updates.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert asked == []


def test_nodes_without_code_and_unknown_shapes_have_a_reason(report: Report) -> None:
    found = find_rewrite(report, "hidden")
    assert isinstance(found, Unmended)
    assert "no Python node" in found.reason
    source = "def balance(x, other):\n    if x.max() > 1:\n        x = x / 2\n    return x\n"
    unwired = check(changed_source(report.document, name="balance", source=source), catalogue())
    found = find_rewrite(unwired, "balance")
    assert isinstance(found, Unmended)
    assert "balance.other" in found.reason


def test_code_that_is_not_trusted_has_a_reason(report: Report) -> None:
    source = "def balance(x):\n    if x.max() > 1.25:\n        x = x / 2\n    return x\n"
    untrusted = check(set_param(report.document, "balance", "source", source), catalogue())
    found = find_rewrite(untrusted, "balance")
    assert isinstance(found, Unmended)
    assert "Trust it with File › Trust Python code." in found.reason
