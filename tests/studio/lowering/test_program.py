from __future__ import annotations

import gc
import linecache
import traceback

import pytest
from msgspec.structs import replace

import engine
from engine import fit, inspect
from engine.errors import ShapeError
from studio.document.model import TrainingSettings
from studio.lowering import Program, lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, mlp


def program() -> Program:
    return lower(check(mlp(), catalogue()), name="digits")


def test_shown_source_is_the_class_that_trains() -> None:
    task = program().build("cpu", seed=3)
    steps = [event for event in fit.fit(task, steps=3) if isinstance(event, fit.Step)]
    assert len(steps) == 3
    assert all(step.finite for step in steps)
    assert list(task.optimizers) == ["adam"]


def test_equal_seeds_give_equal_losses() -> None:
    first, second = (
        [event.loss for event in fit.fit(program().build(seed=s), steps=4) if isinstance(event, fit.Step)]
        for s in (1, 1)
    )
    assert first == second


def owners(made: Program) -> list[tuple[str, str]]:
    """The lines that are for a node, each with it."""
    text = made.source.splitlines()
    return [(text[line - 1], node) for line, node in sorted(made.lines.items())]


def test_step_settings_are_task_attributes() -> None:
    document = replace(
        mlp(), training=TrainingSettings(accumulate=2, clip_norm=0.5, mixed_precision="bfloat16", patience=3)
    )
    made = lower(check(document, catalogue()), name="digits")
    assert (
        "    accumulate = 2\n    clip_norm = 0.5\n    mixed_precision = 'bfloat16'\n\n    def data(self):"
        in made.source
    )
    task = made.build()
    assert (task.accumulate, task.clip_norm, task.clip_value, task.mixed_precision) == (2, 0.5, None, "bfloat16")
    assert "accumulate" not in program().source
    assert owners(made) == owners(program())


def test_ops_are_mapped_to_nodes() -> None:
    made = program()
    task = made.build()
    task.setup()
    with inspect.trace() as trace:
        task.model(engine.zeros(2, 1, 8, 8))
    found = [made.node_at(*call.where) for call in trace.calls if call.where is not None]
    assert list(dict.fromkeys(found)) == ["flatten", "hidden", "relu", "logits"]


def test_exception_names_its_node_and_line() -> None:
    made = program()
    task = made.build()
    task.setup()
    with pytest.raises(ShapeError) as caught:
        task.model(engine.zeros(2, 1, 8, 9))
    assert made.node_of(caught.value) == "hidden"
    assert "hidden = self.hidden(flatten)" in "".join(traceback.format_exception(caught.value))
    assert made.node_of(ValueError("from elsewhere")) is None


def test_frozen_layers_do_not_change() -> None:
    made = lower(check(changed(mlp(), "hidden", frozen=True), catalogue()))
    task = made.build()
    task.setup()
    before = {name: value.numpy().copy() for name, value in task.model.state_dict().items()}
    list(fit.fit(task, steps=2))
    after = {name: value.numpy() for name, value in task.model.state_dict().items()}
    assert (before["hidden.weight"] == after["hidden.weight"]).all()
    assert (before["logits.weight"] != after["logits.weight"]).any()


def test_traceback_lines_are_removed_with_the_program() -> None:
    made = program()
    filename = made.filename
    assert filename in linecache.cache
    del made
    gc.collect()
    assert filename not in linecache.cache
