"""Artifacts compute what the model computes, without the model."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import Tensor, export, nn
from engine.export import ArtifactError
from engine.export.artifact_writing import Preprocessing, build_artifact
from engine.nn import functional as F
from engine.random import manual_seed
from engine.shape import Dim, Spec
from tests.engine.export.rewritten import artifact, content_of, members_of

ROOT = Path(__file__).resolve().parents[3]


class Residual(nn.Module):
    """Several inputs and outputs, sizes that depend on the batch, and a write to a slice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6, bias=False)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(6)
        self.scale = nn.Parameter(engine.ones(6))

    def forward(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        hidden = F.gelu(self.norm(self.first(x))) * self.scale
        pairs = engine.cat([hidden, self.second(x)]).reshape(-1, 3)
        out = engine.zeros_like(hidden)
        out[:, 1:4] = hidden[:, :3]
        return out[rows] / x.shape[0], pairs.softmax(-1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(11, 4), nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 11)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0]).permute(0, 2, 1)


class Resized(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, scale_factor=2.0, mode="bilinear")


def cases() -> list[tuple[nn.Module, tuple[Any, ...]]]:
    images = engine.randn(3, 2, 8, 8)
    attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return [
        (Residual(), (engine.randn(4, 6), engine.arange(4))),
        (Recurrent(), (engine.randint(0, 11, (3, 7)),)),
        (Resized(), (images,)),
        (attention, (engine.randn(3, 5, 8),)),
        (nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.AvgPool2d(2), nn.ConvTranspose2d(4, 2, 2, 2)), (images,)),
        (nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Dropout(0.5), nn.GroupNorm(1, 2)), (images,)),
    ]


@pytest.mark.parametrize("number", range(6))
def test_outputs_are_those_of_the_model_for_other_batch_sizes(number: int, tmp_path: Path) -> None:
    model, inputs = cases()[number]
    found = export.export(model, inputs, dynamic_shapes=[{0: "N"}] * len(inputs))
    export.save(found, tmp_path / "model.gwx")
    loaded = export.load(tmp_path / "model.gwx")
    assert loaded.verify().is_identical
    assert model.training
    model.eval()
    for size in (2, 5):
        given = [engine.cat([each] * 2)[:size] for each in inputs]
        expected, outputs = model(*given), loaded(*given)
        pairs = zip(expected, outputs, strict=True) if isinstance(expected, tuple) else [(expected, outputs)]
        for ours, theirs in pairs:
            np.testing.assert_array_equal(theirs.numpy(), ours.detach().numpy())


def test_a_function_is_an_artifact() -> None:
    weight = engine.randn(4, 2)
    found = export.export(lambda x: (x @ weight).tanh(), engine.randn(3, 4), dynamic_shapes={"x": {0: "rows"}})
    x = engine.randn(9, 4)
    np.testing.assert_array_equal(found(x).numpy(), (x @ weight).tanh().numpy())
    assert str(found.inputs[0]) == "x rows×4 float32"


def test_a_description_tells_inputs_outputs_and_labels() -> None:
    found = artifact()
    assert repr(found) == "Artifact('small': input N×1×8×8 float32 → output N×3 float32)"
    assert found.labels == ("a", "b", "c")
    assert set(found.weights) == {"0.weight", "0.bias", "4.weight", "4.bias"}
    assert found.libraries["gradwire"] == engine.__version__
    assert found.sample.inputs[0].shape == (2, 1, 8, 8)
    assert found.raw_input is None
    with pytest.raises(ArtifactError, match=r"small has no preprocessing\. Pass samples as in input"):
        found.preprocess(np.zeros((1, 8, 8)))


def test_equal_artifacts_are_equal_files() -> None:
    manual_seed(0)
    first = artifact()
    manual_seed(0)
    second = artifact()
    assert content_of(first) == content_of(second)
    assert first.sha256 == second.sha256 != artifact().sha256


def test_random_numbers_follow_the_seed() -> None:
    model = nn.Sequential(nn.Linear(4, 4))

    def noisy(x: Tensor) -> Tensor:
        return model(x) + engine.randn_like(x)

    found = build_artifact(noisy, {"x": Spec((Dim("N"), 4), engine.float32)}, [engine.randn(3, 4)], weights=model)
    assert found.verify().is_identical
    x = engine.randn(6, 4)
    manual_seed(3)
    expected = noisy(x)
    manual_seed(3)
    np.testing.assert_array_equal(found(x).numpy(), expected.detach().numpy())


def test_preprocessing_is_recorded_and_verified() -> None:
    raw = engine.arange(12, dtype=engine.uint8).reshape(3, 4)
    spec = Spec((Dim("N"), 4), engine.uint8)
    preprocessing = Preprocessing(lambda x: (x.float() - 5) / engine.tensor([1.0, 2.0, 3.0, 4.0]), spec, raw)
    model = nn.Linear(4, 2)
    sample = preprocessing.function(raw)
    found = build_artifact(model, {"x": Spec((Dim("N"), 4), engine.float32)}, [sample], preprocessing=preprocessing)
    assert found.verify().is_identical
    assert str(found.raw_input) == "x N×4 uint8"
    np.testing.assert_array_equal(found(found.preprocess(raw.numpy())).numpy(), model(sample).detach().numpy())


def test_a_changed_sample_does_not_agree() -> None:
    found = artifact()
    found.sample.outputs[0].flags.writeable = True
    found.sample.outputs[0][0, 1] += 1
    result = found.verify()
    assert not result.agrees
    assert (result.samples, result.output) == (2, "output")
    assert result.absolute == pytest.approx(1, rel=1e-5)


def test_outputs_share_no_memory_with_weights() -> None:
    weight = engine.ones(3, 2)
    found = export.export(lambda x: (x + 1, weight.T), engine.zeros(2))
    found(engine.zeros(2))[1].fill_(7)
    np.testing.assert_array_equal(found(engine.zeros(2))[1].numpy(), np.ones((2, 3)))


@pytest.mark.parametrize(("inputs", "message"), [
    ([np.zeros((2, 1, 8, 8))], "input 'input' is float64, but the graph takes float32. Convert it to float32."),
    ([np.zeros((2, 8, 8), np.float32)], "input 'input' is 2×8×8, but the graph takes N×1×8×8. Pass one row"),
    ([np.zeros((2, 1, 8, 9), np.float32)], "input 'input' is 2×1×8×9, but the graph takes N×1×8×8"),
    ([], "takes 1 inputs (input), not 0"),
    ([["a"]], "has values of dtype <U1. Pass float32 numbers."),
])  # fmt: skip
def test_inputs_that_do_not_fit_are_refused(inputs: list[Any], message: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        artifact()(*inputs)
    assert message in str(caught.value)


def test_symbols_have_one_value() -> None:
    found = export.export(lambda x, y: x + y, (engine.ones(3), engine.ones(3)), dynamic_shapes=({0: "N"}, {0: "N"}))
    with pytest.raises(ArtifactError, match="as many rows in all inputs"):
        found(engine.ones(3), engine.ones(4))


def test_inputs_that_need_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = artifact()
    free = type("Memory", (), {"available": 1000})
    monkeypatch.setattr("engine.export.graph_runner.psutil.virtual_memory", lambda: free)
    with pytest.raises(ArtifactError, match=r"needs [\d,]+ bytes of memory for these inputs, but 1,000 are free"):
        found(np.zeros((50, 1, 8, 8), np.float32))


def test_an_index_out_of_range_is_an_error_of_the_artifact() -> None:
    found = export.export(nn.Embedding(4, 2), engine.tensor([0, 1]), dynamic_shapes=({0: "N"},))
    with pytest.raises(ArtifactError, match=r"cannot be computed: .*9 is "):
        found(engine.tensor([9]))


def test_code_that_depends_on_values_is_refused() -> None:
    def function(x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x

    with pytest.raises(ArtifactError, match="the code depends on values of tensors"):
        export.export(function, engine.ones(3))


@pytest.mark.parametrize(("function", "reason"), [
    (lambda x: x.as_strided((2, 2), (1, 1)), "as_strided cannot be exported as an artifact: its result depends on"),
    (lambda x: F.dropout(x, 0.5, training=True), "dropout cannot be exported as an artifact: it draws random numbers"),
])  # fmt: skip
def test_ops_that_a_file_cannot_hold_are_refused(function: Callable[[Tensor], Tensor], reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason):
        export.export(function, engine.ones(4))


def test_an_artifact_runs_without_the_studio(tmp_path: Path) -> None:
    export.save(artifact(), tmp_path / "small.gwx")
    program = (
        "import sys\nfrom engine import export\n"
        "found = export.load('small.gwx')\nassert found.verify().is_identical\n"
        "print(sorted(name for name in sys.modules if name.partition('.')[0] in ('studio', 'PySide6', 'onnx')))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")


def test_a_binary_file_is_read() -> None:
    content = content_of(artifact())
    assert export.load(io.BytesIO(content)).verify().is_identical
    assert set(members_of(content)) == {"manifest.json", "network.json", "weights.safetensors", "sample.safetensors"}
