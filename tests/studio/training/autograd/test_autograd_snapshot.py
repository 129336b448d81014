"""Autograd graphs of training steps: which canvas node, which copy, which batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import fit
from studio.document.files.project_templates import template
from studio.lowering import lower
from studio.lowering.check import check
from studio.lowering.program import Program
from studio.nodes.catalogue import catalogue
from studio.training import AutogradCaptured
from studio.training.autograd.autograd_snapshot import capture_autograd
from studio.training.autograd.graph_outline import GraphOutline
from tests.studio.training.test_session import wait_for


def program_of(name: str) -> Program:
    return lower(check(template(name).document, catalogue(), None))


def test_nodes_belong_to_the_copies_of_a_block() -> None:
    program = program_of("digits-vit")
    snapshot = capture_autograd(program.build(), program)
    nodes, owners = snapshot.graph.nodes, snapshot.nodes
    assert set(owners) == {node.id for node in nodes}
    for copy in range(4):
        inside = [nodes[id] for id in snapshot.ids(f"encoder.{copy}")]
        assert len(inside) == len(snapshot.ids("encoder")) / 4
        assert {node.leaf for node in inside if node.leaf} == {
            name for name, _ in _parameters(program) if name.startswith(f"encoder.{copy}.")
        }
        assert {owners[node.id] for node in inside} >= {f"encoder.{copy}.add1", f"encoder.{copy}.attention.q"}
    assert GraphOutline(snapshot.graph, owners).groups["encoder"].title == "encoder ×4"


def _parameters(program: Program) -> list[tuple[str, object]]:
    task = program.build()
    task.setup()
    return list(task.model.named_parameters())


def test_the_batch_of_the_last_step_is_shown(session) -> None:
    run = session(seed=1)
    run.step()
    wait_for(run, "paused")
    run.capture_autograd()
    [snapshot] = [event.snapshot for event in run.events(60) if isinstance(event, AutogradCaptured)]
    assert snapshot.step == 1 and snapshot.seconds > 0
    batch = run._training.last_batch
    first = capture_autograd(run._task, run.program, batch, 1)
    assert [node.spec for node in first.graph.nodes] == [node.spec for node in snapshot.graph.nodes]
    assert first.loss == snapshot.loss
    run.stop()
    wait_for(run, "stopped")
    run.capture_autograd()
    again = [event.snapshot for event in run.events(60) if isinstance(event, AutogradCaptured)]
    assert [each.loss for each in again] == [snapshot.loss], "a stopped run shows its last step"


def test_weights_are_the_same_with_captures(session) -> None:
    weights = []
    for captures in (False, True):
        run = session(seed=1)
        run.step()
        while not run.is_over:
            events = run.events(0.05)
            if captures and any(isinstance(event, fit.Step) for event in events):
                run.capture_autograd()
            run.resume()
        weights.append({name: value.numpy().tobytes() for name, value in run._task.model.state_dict().items()})
    assert weights[0] == weights[1]


@pytest.mark.parametrize("name", ["digits-gan"])
def test_several_losses_are_summed(name: str, tmp_path: Path) -> None:
    program = program_of(name)
    snapshot = capture_autograd(program.build(), program)
    assert snapshot.graph.nodes[0].name == "AddBackward0"
    assert {"discriminator_loss", "generator_loss"} <= set(snapshot.nodes.values())
