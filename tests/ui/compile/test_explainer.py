"""What the explainer keeps of several explanations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytestqt.qtbot import QtBot

from engine.compiler import Explanation
from studio.ui.project.project import Project


def deliver(qtbot: QtBot, project: Project, found: Explanation) -> None:
    """A run tells this of its steps."""
    explainer = project.explainer
    explainer._requested_document = project.store.document
    explainer._show(found)


def test_smaller_batch_does_not_replace_the_explanation(
    qtbot: QtBot, project: Project, whole: Explanation, tell: Callable[..., None]
) -> None:
    tell(whole)
    explainer = project.explainer
    explainer.explain()
    qtbot.waitUntil(lambda: explainer.state == "ready")
    [segment] = whole.segments
    deliver(qtbot, project, replace(whole, segments=(replace(segment, held=segment.held - 1),)))
    assert explainer.explanation == whole
    assert explainer.is_live
    deliver(qtbot, project, replace(whole, segments=(replace(segment, how="recorded", kernels=()),)))
    assert explainer.explanation == whole
    other = replace(whole, segments=(replace(segment, operations=segment.operations[1:]),), eager_seconds=0.0)
    deliver(qtbot, project, other)
    assert explainer.explanation is not None
    assert len(explainer.explanation.segments[0].operations) == len(segment.operations) - 1
    assert explainer.explanation.eager_seconds == whole.eager_seconds, "of the same graph"


def test_nothing_is_explained_without_an_observer(
    qtbot: QtBot, project: Project, whole: Explanation, tell: Callable[..., None]
) -> None:
    explainer = project.explainer
    assert not explainer._watchers, "neither panel nor overlay is in sight"
    explainer._follow([object()])
    assert explainer._thread is None
    assert not explainer.map.regions
