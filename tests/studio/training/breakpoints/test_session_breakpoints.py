"""Breakpoints of a session: it pauses in the state before the step, and continues to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import engine
from studio.document.breakpoints.breakpoint_edits import set_breakpoint
from studio.document.model import Document, Node
from studio.nodes import catalogue
from studio.training import BreakpointsHit, Failed, SessionEvent, TrainingSession, Warned
from studio.training.breakpoints.breakpoint_hit import BreakpointHit, BreakpointRecord, hits_of, read_hit, write_hit
from tests.studio.code import with_code

DIVERGING = {"hidden": Node("nn.Linear", {"out_features": 16}), "relu": "nn.ReLU"}


def plain() -> Document:
    document = with_code(dict(DIVERGING))
    return replace(document, training=replace(document.training, validate_epochs=0))


def diverging() -> Document:
    """Weights explode within some steps, and the loss becomes NaN."""
    document = with_code({name: Node("nn.Linear", {"out_features": 16}) for name in ("hidden", "second", "third")})
    nodes = {**document.nodes, "adam": Node("optim.SGD", {"lr": 1e9})}
    return replace(document, nodes=nodes, training=plain().training)


def follow(
    session: TrainingSession, at_hit: Callable[[BreakpointsHit], None] | None = None, limit: int = 20
) -> tuple[list[BreakpointHit], list[SessionEvent]]:
    """Run a session to its end, continuing after each hit."""
    hits, events = list[BreakpointHit](), list[SessionEvent]()
    session.start()
    while not session.join(0.01) or not events:
        for event in session.events():
            events.append(event)
            if isinstance(event, BreakpointsHit):
                hits += event.hits
                while session.state == "running":
                    session.join(0.005)
                assert session.state == "paused"
                if at_hit is not None:
                    at_hit(event)
                session.stop() if len(hits) >= limit else session.start()
    events += session.events()
    assert not [event for event in events if isinstance(event, Failed)], events
    return hits, events


def run(document: Document, breakpoints: Mapping[str, bool] | None = None, steps: int = 30, **more: Any) -> Any:
    session = TrainingSession(
        document, catalogue(), steps=steps, breakpoints=breakpoints, inspects_data=False, compile=False, **more
    )
    found = follow(session)
    weights = {name: value.numpy().tobytes() for name, value in session._weights().items()}
    return (*found, weights)


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("step == 7", "step is 7, equal to 7"),
        ("loss < 2", "loss is "),
        ("loss < 0.99 * median(loss, 3)", "the median loss of 3 steps"),
        ("grad_norm(hidden) > 0", "gradient norm of hidden is "),
        ("grad_norm > 0.1 and step > 3", "gradient norm is "),
        ("norm(relu.output) > 1 and step >= 2", "norm of relu.output is "),
        ("dead(relu) < 0.9", "share of dead units of relu is "),
        ("update_norm(hidden.weight) / norm(hidden.weight) > 0.001", "update norm of hidden.weight / norm"),
    ],
)
def test_planted_conditions(condition: str, reason: str) -> None:
    hits, _, weights = run(plain(), {condition: True})
    assert hits, condition
    assert reason in hits[0].record.reason
    assert weights == run(plain(), {})[2]


def test_statistics_of_a_network_that_detaches_buffers() -> None:
    document = with_code({"hidden": Node("nn.Linear", {"out_features": 16}), "norm": "nn.BatchNorm1d"})
    hits, _, _ = run(document, {"dead(norm) < 0.5 and step == 3": True}, steps=4)
    assert [hit.step for hit in hits] == [3]


def test_disabled_breakpoints_do_nothing() -> None:
    assert run(plain(), {"step == 3": False})[0] == []


def test_a_hit_keeps_the_batch_and_the_state_before_the_step(tmp_path: Path) -> None:
    paused: dict[str, Any] = {}
    session = TrainingSession(
        plain(),
        catalogue(),
        steps=8,
        compile=False,
        out=tmp_path / "run",
        breakpoints={"step == 5": True, "step > 4": True},
        inspects_data=False,
    )

    def at_hit(event: BreakpointsHit) -> None:
        paused["weights"] = session.copy_weights(10)
        paused["message"] = event.message

    hits, _ = follow(session, at_hit)
    assert [hit.record.condition for hit in hits] == ["step == 5", "step > 4"]
    assert [hit.folder.name for hit in hits if hit.folder] == ["step-5-step-equal-5", "step-5-step-above-4"]
    assert paused["message"] == "Paused at step 5: step is 5, equal to 5. Also: step is 5, above 4."
    steps, weights = paused["weights"]
    assert steps == 4
    assert sorted(hit.folder.name for hit in hits_of(tmp_path / "run")) == sorted(hit.folder.name for hit in hits)
    assert [read_hit(hit.folder) for hit in hits] == hits
    kept = engine.load(hits[0].folder / "state.safetensors")
    assert kept["training"]["step"] == 4
    assert tuple(kept["batch"][0].shape) == (32, 1, 8, 8)
    for name, value in weights.items():
        assert (value == kept["training"]["task"]["modules"]["model"][name]).all()
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert [line for line in lines if '"step": 5,' in line and '"event": "step"' in line]


def test_two_runs_into_one_state_do_not_overwrite_hits(tmp_path: Path) -> None:
    record = BreakpointRecord("loss is NaN", "loss is NaN", 3, 1, 3)
    folders = [write_hit(tmp_path, record, {"batch": [engine.ones(2)]}) for _ in range(2)]
    assert [folder.name for folder in folders] == ["step-3-loss-is-nan", "step-3-loss-is-nan-2"]


def test_nan_anywhere_names_its_origin_and_hits_once() -> None:
    hits, events, _ = run(diverging(), {"NaN anywhere": True, "loss is not finite": True})
    assert [hit.record.condition for hit in hits].count("NaN anywhere") == 1
    first = next(hit for hit in hits if hit.record.condition == "NaN anywhere")
    assert first.origin is not None and first.origin.node is not None
    assert first.message.startswith(f"Paused at step {first.step}: NaN or infinity arose. ")
    assert first.origin.summary in first.message
    [problem] = [event.problem for event in events if isinstance(event, Warned) and event.problem.code == "diverged"]
    assert problem.node == "adam"


def test_nan_in_a_node_hits_only_where_it_arose() -> None:
    _, _, plain_weights = run(diverging(), {})
    [hit], *_ = run(diverging(), {"NaN anywhere": True})
    assert hit.origin is not None
    node = hit.origin.node
    other = "second" if node != "second" else "hidden"
    hits, _, weights = run(diverging(), {f"NaN in {other}": True, f"NaN in {node}": True})
    assert [each.record.condition for each in hits] == [f"NaN in {node}"]
    assert weights == plain_weights


def test_the_problem_names_the_origin_without_breakpoints() -> None:
    _, events, weights = run(diverging())
    problems = [event.problem for event in events if isinstance(event, Warned) and event.problem.code == "diverged"]
    document = with_code({"norm": "nn.LayerNorm", "log1": "ops.log"}, {"log1": "x"}.items())
    _, events, _ = run(replace(document, training=plain().training), steps=3)
    [problem] = [event.problem for event in events if isinstance(event, Warned) and event.problem.code == "diverged"]
    assert "The first loss of adam is NaN. NaN arose first in log1 (forward). log(" in problem.message
    assert problem.evidence["origin"] == "log1 (forward)"
    assert problems
    assert weights == run(diverging(), {"loss is NaN": True})[2]


def test_stopping_at_a_hit_keeps_the_weights_before_the_step(tmp_path: Path) -> None:
    session = TrainingSession(
        diverging(), catalogue(), steps=30, compile=False, out=tmp_path / "run", breakpoints={"NaN anywhere": True},
        inspects_data=False,
    )  # fmt: skip
    hits, _ = follow(session, limit=1)
    assert session.state == "stopped"
    weights = engine.load(tmp_path / "run" / "weights.safetensors")
    assert all(value.isfinite().all() for value in weights.values())
    assert session.steps == hits[0].step - 1


def test_compiled_steps_pause_and_continue_to_the_same_bits() -> None:
    def compiled(breakpoints: Mapping[str, bool]) -> Any:
        session = TrainingSession(plain(), catalogue(), steps=12, breakpoints=breakpoints, inspects_data=False)
        hits, _ = follow(session)
        return len(hits), {name: value.numpy().tobytes() for name, value in session._weights().items()}

    count, weights = compiled({"step == 4": True, "step == 9": True, "grad_norm(hidden) > 100": True})
    assert count == 2
    assert (0, weights) == compiled({})


def test_breakpoints_change_while_a_training_runs() -> None:
    session = TrainingSession(plain(), catalogue(), steps=12, breakpoints={"step == 2": True}, inspects_data=False)

    def at_hit(event: BreakpointsHit) -> None:
        session.set_breakpoints({"step == 6": True})

    hits, _ = follow(session, at_hit)
    assert [hit.step for hit in hits] == [2, 6]


def test_unknown_nodes_are_named() -> None:
    document = set_breakpoint(plain(), "norm(gone) > 2")
    _, events, _ = run(document, steps=2)
    [message] = [event.message for event in events if isinstance(event, Warned) and event.problem.code == "breakpoint"]
    assert message == 'Breakpoint "norm(gone) > 2": there is no node, output or parameter gone. Change or remove it.'
