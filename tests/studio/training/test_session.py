from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import cuda_available, fit, nn
from engine.compiler.kernels import compile_process
from engine.data.images import idx_format
from engine.errors import DataError
from studio.document.model import Document
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training import AutogradCaptured, Failed, StateChanged, TrainingSession, training_session

ENDLESS = 10_000_000
"""Epochs that no machine trains while it does what a test asks for."""
SECONDS = 600


def wait_for(session: TrainingSession, *states: str) -> list[Any]:
    """All events until one of the states is reached."""
    events: list[Any] = []
    end = time.monotonic() + SECONDS
    while session.state not in states or not events:
        assert time.monotonic() < end, f"still {session.state}"
        events += session.events(timeout=0.05)
    return events + session.events()


def states(events: list[Any]) -> list[str]:
    return [event.state for event in events if isinstance(event, StateChanged)]


def steps(events: list[Any]) -> list[int]:
    return [event.step for event in events if isinstance(event, fit.Step)]


def test_a_run_from_beginning_to_end(session) -> None:
    run = session()
    assert run.state == "idle"
    run.start()
    events = wait_for(run, "done")
    assert states(events) == ["running", "done"]
    assert [type(event) for event in events[:2]] == [StateChanged, fit.Started]
    assert steps(events) == list(range(1, 25))
    assert isinstance(events[-2], fit.Done)
    epochs = [event for event in events if isinstance(event, fit.Epoch)]
    assert [event.epoch for event in epochs] == [1, 2]
    assert epochs[-1].val_metrics["accuracy"] > 0.8
    assert run.is_over
    run.start()
    run.step()
    assert run.events() == []


def test_the_same_seed_gives_the_same_figures(session) -> None:
    figures = []
    for seed in (3, 3, 4):
        run = session(seed=seed)
        run.start()
        figures.append([event.loss for event in wait_for(run, "done") if isinstance(event, fit.Step)])
    assert figures[0] == figures[1] != figures[2]


def test_pause_step_resume_stop(session, digits) -> None:
    run = session(digits(epochs=ENDLESS))
    run.step()
    events = wait_for(run, "paused")
    assert states(events) == ["running", "paused"]
    assert steps(events) == [1]
    run.step()
    assert steps(wait_for(run, "paused")) == [2]
    assert run.steps == 2
    assert run.join(0.05) is False
    assert run.state == "paused"
    run.resume()
    while not any(isinstance(event, fit.Epoch) for event in run.events(timeout=5)):
        pass
    run.pause()
    wait_for(run, "paused")
    assert run.events(timeout=0.05) == []
    run.resume()
    run.stop()
    events = wait_for(run, "stopped")
    assert states(events)[-1] == "stopped"
    done = next(event for event in events if isinstance(event, fit.Done))
    assert done.reason == "stopped"
    assert done.steps == run.steps >= 13
    assert run.join(SECONDS)


def test_a_paused_run_can_be_stopped(session, digits) -> None:
    run = session(digits(epochs=ENDLESS))
    run.step()
    wait_for(run, "paused")
    run.stop()
    assert states(wait_for(run, "stopped")) == ["stopped"]


def test_stop_before_the_start_does_nothing(session) -> None:
    run = session()
    run.stop()
    run.pause()
    assert run.state == "idle"
    assert run.join()


def test_step_while_running_halts(session, digits) -> None:
    run = session(digits(epochs=ENDLESS))
    run.start()
    wait_for(run, "running")
    run.step()
    wait_for(run, "paused")


def checked(session: Callable[..., TrainingSession], document: Document) -> TrainingSession:
    """A session of a document that was checked before a test breaks something."""
    report = check(document, catalogue())
    return session(document, get_report=lambda: report)


def test_an_exception_is_reported_with_its_node(session, digits, monkeypatch: pytest.MonkeyPatch) -> None:
    run = checked(session, digits())

    def broken(self: object, input: object) -> None:
        raise ZeroDivisionError("by nobody")

    monkeypatch.setattr(nn.Dropout, "forward", broken)
    run.start()
    events = wait_for(run, "failed")
    failed = next(event for event in events if isinstance(event, Failed))
    assert (failed.message, failed.node, failed.by_input) == (
        "ZeroDivisionError: by nobody. Program line: self.dropout = nn.Dropout(p=0.1)",
        "dropout",
        False,
    )
    assert "Traceback" in failed.detail
    assert "self.dropout(" in failed.detail, "the generated line is shown"
    assert states(events) == ["running", "failed"]


def test_bad_data_are_reported_at_their_source(session, digits, monkeypatch: pytest.MonkeyPatch) -> None:
    run = checked(session, digits())

    def broken(header: object) -> None:
        raise DataError("images.gz: damaged")

    monkeypatch.setattr(idx_format, "read", broken)
    run.start()
    failed = next(event for event in wait_for(run, "failed") if isinstance(event, Failed))
    assert (failed.message, failed.by_input, failed.refused) == ("images.gz: damaged", True, False)
    assert failed.node in ("digits", "loader")


def test_a_graph_with_errors_does_not_run(session, digits) -> None:
    run = session(digits(hidden={"out_features": -3}))
    run.start()
    failed = next(event for event in wait_for(run, "failed") if isinstance(event, Failed))
    assert failed.by_input
    assert failed.node == "hidden"


def test_the_number_of_steps_overrules_the_documents_epochs(session) -> None:
    run = session(steps=30)
    run.start()
    assert steps(wait_for(run, "done"))[-1] == 30
    assert run.settings.epochs is None


@pytest.mark.parametrize("when", ["before", "paused", "running", "after"])
def test_a_look_at_the_autograd_graph(session, digits, when: str) -> None:
    run = session(digits(epochs=1 if when == "after" else ENDLESS))
    if when == "paused":
        run.step()
        wait_for(run, "paused")
    if when == "running":
        run.start()
    if when == "after":
        run.start()
        wait_for(run, "done")
    run.capture_autograd()
    snapshot, end = None, time.monotonic() + SECONDS
    while snapshot is None and time.monotonic() < end:
        snapshot = next((event.snapshot for event in run.events(0.1) if isinstance(event, AutogradCaptured)), None)
    assert snapshot is not None
    assert {"hidden", "relu", "dropout", "logits", "loss"} <= set(snapshot.nodes.values())
    assert snapshot.loss > 0
    by_id = {node.id: node for node in snapshot.graph.nodes}
    leaves = {by_id[number].leaf for number in snapshot.ids("hidden") if by_id[number].leaf}
    assert leaves == {"hidden.weight", "hidden.bias"}
    assert all(by_id[number].gradient_norm for number in snapshot.ids("logits"))


def test_a_paused_run_answers_what_is_asked_during_an_answer(session, digits, monkeypatch: pytest.MonkeyPatch) -> None:
    run: TrainingSession = session(digits(epochs=ENDLESS))
    run.step()
    wait_for(run, "paused")
    copy, found = training_session._copy, list[object]()

    def copy_while_another_thread_asks(weights: Any) -> Any:
        monkeypatch.setattr(training_session, "_copy", copy)
        threading.Thread(target=lambda: found.append(run.copy_weights(SECONDS))).start()
        while not run._requests:
            pass
        run.capture_autograd()
        return copy(weights)

    monkeypatch.setattr(training_session, "_copy", copy_while_another_thread_asks)
    assert run.copy_weights(SECONDS) is not None
    events: list[object] = []
    end = time.monotonic() + SECONDS
    while not (found and any(isinstance(event, AutogradCaptured) for event in events)) and time.monotonic() < end:
        events += run.events(0.1)
    assert found and found[0] is not None
    assert run.state == "paused"


def test_a_look_does_not_change_the_run(session) -> None:
    figures = []
    for looks in (False, True):
        run = session(seed=1)
        run.step()
        wait_for(run, "paused")
        if looks:
            run.capture_autograd()
            while not any(isinstance(event, AutogradCaptured) for event in run.events(1)):
                pass
        run.resume()
        figures.append([event.loss for event in wait_for(run, "done") if isinstance(event, fit.Step)])
    assert figures[0] == figures[1]


def test_threads_end(session, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    run = session(out=tmp_path)
    run.step()
    wait_for(run, "paused")
    during = {thread.name for thread in set(threading.enumerate()) - before}
    assert "gradwire-training" in during
    run.start()
    wait_for(run, "done")
    assert run.join(SECONDS)
    for thread in set(threading.enumerate()) - before:
        # The compile process, and the thread that waits for its end, serve all sessions.
        if thread.name.startswith("gradwire") and thread.name != compile_process.WATCHER_THREAD_NAME:
            thread.join(SECONDS)
            assert not thread.is_alive(), thread.name


def test_slow_watchers_get_thinned_out_steps(session, digits) -> None:
    run = session(digits(epochs=200), out=None)
    run.start()
    assert run.join(SECONDS)
    events = run.events()
    assert len(steps(events)) <= 1000
    assert steps(events)[-1] == 2400
    assert len([event for event in events if isinstance(event, fit.Epoch)]) == 200


def test_a_device_that_is_not_there(session, monkeypatch: pytest.MonkeyPatch) -> None:
    if cuda_available():
        pytest.skip("there is one")
    run = session(device="cuda")
    run.start()
    failed = next(event for event in wait_for(run, "failed") if isinstance(event, Failed))
    assert failed.by_input
    assert "cuda" in failed.message.lower()


def test_without_a_place_nothing_is_written(session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = session()
    run.start()
    wait_for(run, "done")
    assert not list(tmp_path.iterdir())


def test_the_execution_mode_of_steps_is_shown(session) -> None:
    run = session()
    assert run.explanation() is None
    run.start()
    events = wait_for(run, "done")
    assert next(event for event in events if isinstance(event, fit.Started)).compiled
    told = [event for event in events if isinstance(event, fit.CompileState)]
    assert (told[0].step, told[0].tier) == (1, "recording")
    assert {event.tier for event in told[1:]} <= {"recording", "interpreted", "compiled", "replayed"}
    assert told[-1].breaks == 0
    assert told[-1].kernels > 0
    explanation = run.explanation()
    assert explanation is not None
    assert {line.node for one in explanation.segments[0].operations if (line := one.line)} <= set(run.document.nodes)
    assert "Segment 1" in explanation.text()


def test_without_compiling(session) -> None:
    run = session(compile=False)
    run.start()
    events = wait_for(run, "done")
    assert not next(event for event in events if isinstance(event, fit.Started)).compiled
    assert not any(isinstance(event, fit.CompileState) for event in events)
    assert run.explanation() is None
