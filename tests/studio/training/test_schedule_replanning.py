"""Schedules follow how long a run is asked to be, not only what the project says."""

from __future__ import annotations

from engine import fit
from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document, Endpoint, Node, Wire
from studio.nodes import catalogue
from studio.training.training_session import TrainingSession


def with_cosine() -> Document:
    document = edits.set_training(template("digits-mlp").document, epochs=30, compile=False)
    document = edits.add(document, "cosine", Node("lr_scheduler.CosineAnnealingLR"))
    return edits.connect(document, Wire(Endpoint("adam", "optimizer"), Endpoint("cosine", "optimizer")))


def rates(session: TrainingSession) -> list[float]:
    session.start()
    events: list[object] = []
    while not session.is_over:
        events += session.events(0.1)
    events += session.events()
    return [event.learning_rate for event in events if isinstance(event, fit.Epoch)]


def test_a_shorter_run_has_a_shorter_plan() -> None:
    session = TrainingSession(with_cosine(), catalogue(), epochs=2)
    assert rates(session) == [0.005, 0.0025]
    assert session.program is not None and "T_max=2" in session.program.source
    assert session.document.training.epochs == 30


def test_a_run_of_some_steps_is_the_beginning_of_the_whole_plan() -> None:
    session = TrainingSession(with_cosine(), catalogue(), steps=3)
    assert rates(session) == [0.005]
    assert session.program is not None and "T_max=30" in session.program.source
