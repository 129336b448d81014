"""Artifacts compute what the model computes for no, one and two samples, or are not written."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import engine
from engine import Tensor, amp, export, nn
from engine.export import ArtifactError
from engine.export.artifact_writing import Preprocessing, build_artifact
from engine.shape import Dim, Spec

DYNAMIC = ({0: "N"},)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("model", [
    nn.Sequential(nn.Linear(4, 3), nn.GELU(), nn.LayerNorm(3)),
    nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 2, 3, padding=1), nn.MaxPool1d(2), nn.Flatten()),
    nn.Sequential(nn.Linear(4, 4), nn.Softmax(-1), nn.BatchNorm1d(4)),
])  # fmt: skip
def test_any_number_of_samples_is_computed(model: nn.Module, size: int) -> None:
    found = export.export(model, engine.randn(3, 4), dynamic_shapes=DYNAMIC)
    x = engine.randn(size, 4)
    np.testing.assert_array_equal(found(x).numpy(), model.eval()(x).numpy(force=True))


@pytest.mark.parametrize("size", [0, 1, 3])
def test_squeeze_keeps_the_samples(size: int) -> None:
    found = export.export(lambda x: x.unsqueeze(1).squeeze() * 2, engine.randn(3, 4), dynamic_shapes=DYNAMIC)
    x = engine.randn(size, 4)
    np.testing.assert_array_equal(found(x).numpy(), (x * 2).numpy())


def test_a_write_to_a_squeezed_view_keeps_the_samples() -> None:
    def function(x: Tensor) -> Tensor:
        out = engine.zeros_like(x.unsqueeze(1))
        out.squeeze().copy_(x)
        return out

    found = export.export(function, engine.randn(3, 4), dynamic_shapes=DYNAMIC)
    x = engine.randn(1, 4)
    np.testing.assert_array_equal(found(x).numpy(), x.numpy()[:, None])


@pytest.mark.parametrize(("function", "number"), [
    (lambda x: x * 2 if x.shape[0] == 1 else x, 1),
    (lambda x: x * 2 if x.shape[0] <= 2 else x, 1),
    (lambda x: x * 2 if x.shape[0] == 2 else x, 2),
])  # fmt: skip
def test_code_that_compares_sizes_is_refused(function: Callable[[Tensor], Tensor], number: int) -> None:
    with pytest.raises(
        ArtifactError, match=f"For N = {number}, output of the exported graph differs from that of the model"
    ):
        export.export(function, engine.ones(3, 2), dynamic_shapes=DYNAMIC)
    assert export.export(function, engine.ones(3, 2))(engine.ones(3, 2)).shape == (3, 2)


def test_preprocessing_that_compares_sizes_is_refused() -> None:
    spec = Spec((Dim("N"), 2), engine.float32)
    raw = engine.ones(3, 2)
    preprocessing = Preprocessing(lambda x: x + 1 if x.shape[0] == 1 else x, spec, raw)
    with pytest.raises(ArtifactError, match="For N = 1, the preprocessing of the exported graph differs"):
        build_artifact(nn.Linear(2, 2), {"x": spec}, [raw], preprocessing=preprocessing)


def test_sizes_that_the_artifact_refuses_are_named() -> None:
    found = export.export(lambda x: x[:3] + 1, engine.randn(5, 2), dynamic_shapes=DYNAMIC)
    assert found(engine.ones(4, 2)).shape == (3, 2)
    with pytest.raises(ArtifactError, match=r"N = 2.* Pass other sizes, or export the model with fixed sizes"):
        found(engine.ones(2, 2))


# -- state of the model and of the program


class Counting(nn.Module):
    """Writes to a buffer and to a parameter, and replaces a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(engine.ones(2))
        self.register_buffer("calls", engine.zeros(()))
        self.register_buffer("mean", engine.zeros(2))

    def forward(self, x: Tensor) -> Tensor:
        found = x * self.weight + self.calls
        self.calls.add_(1)
        self.weight.detach().mul_(2)
        self.mean = 0.9 * self.mean + x.mean(0)
        return found


def test_an_export_changes_nothing_of_the_model() -> None:
    model = Counting()
    before = {name: each.numpy(force=True).copy() for name, each in model.state_dict().items()}
    x = engine.ones(3, 2)
    found = export.export(model, x, dynamic_shapes=DYNAMIC)
    assert found.verify().is_identical
    np.testing.assert_array_equal(found(x).numpy(), x.numpy())
    for name, each in model.state_dict().items():
        np.testing.assert_array_equal(each.numpy(force=True), before[name])
    np.testing.assert_array_equal(found.weights["weight"], [1, 1])


def test_functions_that_call_modules_in_training_mode_are_refused() -> None:
    norm = nn.BatchNorm1d(2)

    def function(x: Tensor) -> Tensor:
        return norm(x) + 1

    with pytest.raises(ArtifactError, match=r"calls BatchNorm1d, which is in training mode. Call eval"):
        export.export(function, engine.randn(3, 2))
    np.testing.assert_array_equal(norm.running_mean.numpy(), [0, 0])
    norm.eval()
    assert export.export(function, engine.randn(3, 2)).verify().is_identical


def test_autocast_does_not_change_the_numbers() -> None:
    found = export.export(nn.Linear(4, 3), engine.randn(3, 4), dynamic_shapes=DYNAMIC)
    x = engine.randn(5, 4)
    expected = found(x)
    with amp.autocast("cpu", dtype=engine.bfloat16):
        outputs = found(x)
        assert found.verify().is_identical
    assert outputs.dtype is engine.float32
    np.testing.assert_array_equal(outputs.numpy(), expected.numpy())


def test_outputs_share_no_memory() -> None:
    weight = engine.ones(2)

    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = x * 2
        return x, x.reshape(-1), weight, weight.to(engine.float32), y, y.reshape(-1)

    x = engine.ones(3, 2)
    found = export.export(function, x)
    outputs = found(x)
    for each in outputs:
        each.fill_(7)
        assert sum(bool((other == 7).all()) for other in outputs) == 1
        each.fill_(1)
    np.testing.assert_array_equal(x.numpy(), np.ones((3, 2)))


# -- names of sizes


@pytest.mark.parametrize(("shapes", "message"), [
    ({"y": {0: "N"}}, "dynamic_shapes: the model has no input 'y'. Its inputs are x."),
    (({0: "N"}, {0: "N"}), "dynamic_shapes: the model has 1 inputs, not 2. Its inputs are x."),
])  # fmt: skip
def test_unknown_inputs_of_open_sizes_are_refused(shapes: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        export.export(lambda x: x + 1, engine.ones(2), dynamic_shapes=shapes)  # pyright: ignore[reportArgumentType]


def test_sizes_have_names() -> None:
    with pytest.raises(ArtifactError, match="'batch size' is not the name of a size"):
        export.export(lambda x: x + 1, engine.ones(2), dynamic_shapes=({0: "batch size"},))
