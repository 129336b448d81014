"""The origin of NaN: the first node whose NaN or infinity reaches the loss or a gradient."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import engine
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.nodes import catalogue
from studio.training.breakpoints.find_origin import find_origin
from studio.training.breakpoints.origin import Origin, origin_from
from tests.studio.code import code, trusting, with_code
from tests.studio.training.breakpoints.nan_hunt import CHOSEN, MASKED, document, hunts


def origin_in(found: Document, change: Any = None) -> Origin | None:
    report = check(found, catalogue())
    program = lower(report)
    task = program.build(seed=1)
    batch = next(iter(task.setup().train))
    if change is not None:
        batch = change(task, batch) or batch
    state = {name: value.clone() for name, value in task.model.state_dict().items()}
    numbers = task.stream.get_state()
    origin = find_origin(task, program, report.checked.graph, batch)
    for name, value in task.model.state_dict().items():
        assert value.numpy().tobytes() == state[name].numpy().tobytes(), name
    assert task.stream.get_state() == numbers
    assert all(parameter.grad is None for parameter in task.model.parameters())
    return origin


def test_the_hunt_finds_the_planted_node() -> None:
    wrong = [each for each in hunts(12) if not each.is_right]
    assert not wrong, wrong


def test_graphs_without_nan_have_no_origin() -> None:
    with trusting(MASKED, CHOSEN):
        for seed in range(6):
            assert origin_in(document(seed, None, in_block=False)) is None


LAYERS = {"norm": "nn.LayerNorm", "log1": "ops.log"}


def test_an_activation() -> None:
    found = origin_in(with_code(LAYERS, {"log1": "x"}.items()))
    assert found is not None
    assert (found.node, found.port, found.kind, found.op, found.is_forward) == (
        "log1",
        "output",
        "activation",
        "log",
        True,
    )
    assert found.summary == "NaN arose first in log1 (forward)."
    operand, result = found.elements
    assert float(operand) < 0 and result == "nan"
    assert found.detail == f"log({operand}) = nan."
    assert origin_from(found.as_dict()) == found


def test_a_gradient() -> None:
    layers = {"first": Node("nn.Linear", {"out_features": 4}), "zero": code(ZERO), "root": "ops.sqrt"}
    with trusting(ZERO):
        found = origin_in(with_code(layers, {"root": "x"}.items()))
    assert found is not None
    assert (found.node, found.port, found.kind) == ("root", "x", "gradient")
    assert found.summary == "Infinity arose first in root (backward) and became NaN in zero."


ZERO = """\
def zero(x):
    return x * 0
"""


def test_the_gradient_of_a_parameter() -> None:
    layers = {"scale": code(SCALE)}
    with trusting(SCALE):
        found = origin_in(with_code(layers))
    assert found is not None
    assert (found.node, found.kind, found.tensor) == ("scale", "gradient", "scale.factor")
    assert (found.line, found.code) == (7, "return x * self.factor.sqrt()")


SCALE = """\
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(engine.zeros(()))

    def forward(self, x):
        return x * self.factor.sqrt()
"""


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_parameter_that_was_not_finite_before_the_step(value: float) -> None:
    def change(task: Any, batch: Any) -> None:
        with engine.no_grad():
            task.model.hidden.weight[1, 2] = value

    found = origin_in(with_code({"hidden": Node("nn.Linear", {"out_features": 4})}), change)
    assert found is not None
    assert (found.node, found.kind, found.tensor) == ("hidden", "parameter", "hidden.weight")
    word = "NaN" if value != value else "infinity"
    assert found.summary == f"Parameter hidden.weight contained {word} before the step."


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_input_that_is_not_finite(value: float) -> None:
    def change(task: Any, batch: Any) -> Any:
        inputs = batch[0].clone()
        inputs[3] = value
        return [inputs, *batch[1:]]

    found = origin_in(with_code({"relu": "nn.ReLU"}), change)
    assert found is not None
    assert (found.node, found.kind, found.port) == ("batches", "input", "input")


IN_PLACE = """\
def shift(x):
    y = x * 1
    y.sub_(100.0)
    y.log_()
    y.mul_(2.0)
    return y
"""


def test_an_in_place_op_of_a_python_node() -> None:
    with trusting(IN_PLACE):
        found = origin_in(with_code({"shift": code(IN_PLACE)}))
    assert found is not None
    assert (found.node, found.op, found.line, found.code) == ("shift", "log", 4, "y.log_()")


HEALED = """\
def healed(x):
    y = (x - 100).log()
    y.masked_fill_(y.isnan(), 0.0)
    return y + (x - x - 1).sqrt()
"""


def test_nan_that_is_overwritten_is_not_the_origin() -> None:
    with trusting(HEALED):
        found = origin_in(with_code({"healed": code(HEALED)}))
    assert found is not None
    assert (found.op, found.line) == ("sqrt", 4)


ATTEND = """\
def attend(x):
    scores = x.unsqueeze(-1) * x.unsqueeze(-2)
    scores = scores.masked_fill(engine.ones(64, 64).triu(1) > 0, float("-inf"))
    return (scores.softmax(-1).log() * 0).sum(-1)
"""


def test_infinity_of_a_mask_is_blamed_where_it_becomes_nan() -> None:
    """The mask wrote infinity on purpose; its logarithm times 0 is NaN."""
    with trusting(ATTEND):
        found = origin_in(with_code({"attend": code(ATTEND)}))
    assert found is not None
    assert (found.op, found.line, found.value) == ("log", 4, "infinity")
    assert "became NaN" not in found.summary


def test_recomputed_layers() -> None:
    layers = {name: replace(Node(kind), recomputed=True) for name, kind in LAYERS.items()}
    hidden = Node("nn.Linear", {"out_features": 8})
    found = origin_in(with_code({"hidden": hidden, **layers}, {"log1": "x"}.items()))
    assert found is not None
    assert (found.node, found.is_forward) == ("log1", True)


def test_mixed_precision() -> None:
    made = with_code(LAYERS, {"log1": "x"}.items())
    made = replace(made, training=replace(made.training, mixed_precision="bfloat16"))
    found = origin_in(made)
    assert found is not None and found.node == "log1"
