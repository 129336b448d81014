"""`engine.onnx.export`: files, names, symbolic sizes, weights, modes, and errors."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.nn import functional as F
from engine.onnx import compare, export
from engine.onnx.errors import OnnxExportError
from engine.onnx.exporter import build_model
from engine.onnx.graph_builder import NODE_KEY
from engine.onnx.translators import TRANSLATORS, Translator
from engine.shape import Dim, Spec
from tests.engine.onnx.runtime import Runner, assert_close, check, spec_of

onnx = pytest.importorskip("onnx")
OPSETS = range(18, 24)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 3)

    def forward(self, image: engine.Tensor) -> engine.Tensor:
        features = F.relu(self.norm(self.conv(image))).mean((2, 3))
        return self.head(features)


def types_of(model: Any) -> list[str]:
    return [node.op_type for node in model.graph]


def array(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# -- files


def test_a_file_has_names_weights_and_nodes(tmp_path: Path) -> None:
    net = Net()
    path = tmp_path / "net.onnx"
    export(net, engine.zeros(2, 1, 8, 8), path, output_names=["scores"], dynamic_shapes={"image": {0: "N"}})
    model = onnx.load(path)
    assert net.training
    assert [each.name for each in model.graph.input] == ["image"]
    assert [each.name for each in model.graph.output] == ["scores"]
    sizes = [size.dim_param or size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    assert sizes == ["N", 1, 8, 8]
    assert {"conv.weight", "norm.running_mean", "head.bias"} <= {each.name for each in model.graph.initializer}
    assert [(each.domain, each.version) for each in model.opset_import] == [("", 20)]
    assert model.producer_name == "gradwire"
    nodes = {node.op_type: {p.key: p.value for p in node.metadata_props}.get(NODE_KEY) for node in model.graph.node}
    assert nodes == {"Conv": "conv", "BatchNormalization": "norm", "Relu": None, "ReduceMean": None, "Gemm": "head"}


def test_large_weights_are_in_a_second_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.onnx.exporter.EXTERNAL_DATA_BYTES", 1000)
    net = nn.Linear(40, 50)
    export(net, engine.zeros(2, 40), tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx.data").stat().st_size >= 8000
    assert (tmp_path / "net.onnx").stat().st_size < 2000
    model = build_model(net, {"input": Spec((2, 40), engine.float32)})
    assert compare(model, net, [(engine.tensor(array(2, 40)),)], path=tmp_path / "net.onnx").agrees


def test_inputs_can_be_named_like_in_pytorch(tmp_path: Path) -> None:
    def product(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
        return a @ b

    given = engine.zeros(5, 3), engine.zeros(3, 4)
    axes: Any = {"a": [0], "b": {1: "columns"}}
    model = export(product, given, tmp_path / "a.onnx", input_names=["a", "b"], dynamic_axes=axes)
    shapes = [(each.name, list(map(str, each.shape))) for each in (*model.graph.inputs, *model.graph.outputs)]
    assert shapes == [
        ("a", ["a_dim_0", "3"]),
        ("b", ["3", "columns"]),
        ("output", ["a_dim_0", "columns"]),
    ]
    with pytest.raises(ValueError, match="2 inputs need 2 input_names, not 1"):
        export(product, given, tmp_path / "a.onnx", input_names=["a"])
    with pytest.raises(ValueError, match=r"input a \(5×3\) has no dimension 2"):
        export(product, given, tmp_path / "a.onnx", dynamic_shapes={"a": {2: "N"}})


def test_tied_weights_are_written_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(7, 4)
            self.scores = nn.Linear(4, 7, bias=False)
            self.scores.weight = self.embedding.weight

        def forward(self, x: engine.Tensor) -> engine.Tensor:
            return self.scores(self.embedding(x))

    model = build_model(Tied(), {"x": Spec((2, 3), engine.int64)}).model
    assert [name for name in model.graph.initializers if "weight" in name] == ["embedding.weight"]


# -- symbolic sizes


def test_several_sizes_may_be_open() -> None:
    class Sequences(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(7, 8)
            self.places = nn.Embedding(20, 8)
            self.layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)

        def forward(self, tokens: engine.Tensor) -> engine.Tensor:
            places = self.places(engine.arange(tokens.shape[1], device=tokens.device))
            return self.layer(self.tokens(tokens) + places)

    net = Sequences()
    model = build_model(net, {"tokens": Spec((Dim("N"), Dim("T")), engine.int64)}).model
    assert [str(size) for size in model.graph.outputs[0].shape] == ["N", "T", "8"]
    runner = Runner(model)
    net.eval()
    for shape in ((1, 1), (2, 5), (3, 9)):
        tokens = np.random.default_rng(1).integers(0, 7, shape)
        assert_close(runner.run({"tokens": tokens})[0], net(engine.tensor(tokens)).detach().numpy())


def test_computed_sizes_have_readable_names() -> None:
    def halves(x: engine.Tensor) -> Any:
        return x[: x.shape[0] // 2], engine.cat([x, x, x.new_zeros(1, 3)])

    model = build_model(halves, {"x": Spec((Dim("N"), 3), engine.float32)}).model
    assert [str(each.shape[0]) for each in model.graph.outputs] == ["N//2", "2*N + 1"]
    x = array(5, 3)
    first, second = Runner(model).run({"x": x})
    np.testing.assert_array_equal(first, x[:2])
    assert second.shape == (11, 3)


# -- what the engine composes, and what changes tensors in place


def test_writes_and_views_are_translated() -> None:
    def writes(x: engine.Tensor) -> Any:
        base = x.clone()
        view, column = base[1:], base[:, 0]
        view.mul_(2)
        column += 10
        base[0, 1:3] = 7.0
        filled = x.new_empty(3, 2)
        filled[:, 0] = x[:3, 0]
        filled[:, 1] = 5
        return base, view, column, filled, base.transpose(0, 1).reshape(-1)

    check(writes, [array(3, 4)])


def test_constants_of_the_forward_pass_are_in_the_file() -> None:
    table = engine.tensor(array(4))

    def function(x: engine.Tensor) -> Any:
        mask = engine.tril(engine.ones(4, 4, device=x.device)) > 0
        weights = engine.tensor([1.0, 2.0, 3.0, 4.0], device=x.device)
        if weights.sum() > 5:  # constants have values
            x = x * weights + table
        return engine.where(mask, x, engine.full_like(x, -1.0)), engine.eye(3, device=x.device), engine.zeros_like(x)

    check(function, [array(4, 4)])


def test_random_numbers_are_inputs() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.noise = nn.Noise(4)

        def forward(self, x: engine.Tensor) -> engine.Tensor:
            return self.noise(x) + x

    net = Noisy()
    found = build_model(net, {"x": Spec((Dim("N"), 4), engine.float32)})
    assert [each.name for each in found.model.graph.inputs] == ["x", "noise"]
    assert compare(found, net, [(engine.tensor(array(3, 4)),), (engine.tensor(array(1, 4)),)]).agrees


LAYER = {
    "GroupNorm": (nn.GroupNorm(2, 4), (2, 4, 5), 21, "GroupNormalization"),
    "RMSNorm": (nn.RMSNorm(4), (2, 4), 23, "RMSNormalization"),
    "GELU": (nn.GELU(), (2, 4), 20, "Gelu"),
    "LayerNorm": (nn.LayerNorm(4), (2, 4), 18, "LayerNormalization"),
    "LSTM": (nn.LSTM(4, 3), (5, 2, 4), 18, "LSTM"),
    "GRU": (nn.GRU(4, 3), (5, 2, 4), 18, "GRU"),
    "RNN": (nn.RNN(4, 3), (5, 2, 4), 18, "RNN"),
    "Conv1d": (nn.Conv1d(4, 2, 3), (2, 4, 5), 18, "Conv"),
    "InstanceNorm1d": (nn.InstanceNorm1d(4), (2, 4, 5), 18, "InstanceNormalization"),
    "Upsample": (nn.Upsample(scale_factor=2), (2, 4, 5), 18, "Resize"),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (2, 2, 5, 4), 23, "Attention"),
}


@pytest.mark.parametrize("name", LAYER)
def test_a_layer_is_one_op_where_the_opset_has_it(name: str) -> None:
    layer, shape, since, op_type = LAYER[name]
    x = array(*shape)
    for opset in sorted({18, since - 1, since, 23} & set(OPSETS)):
        found = build_model(layer, {"x": spec_of(x)}, opset=opset)
        assert (op_type in types_of(found.model)) == (opset >= since)
        assert compare(found, layer, [(engine.tensor(x),)]).agrees


@pytest.mark.parametrize("opset", OPSETS)
def test_each_opset_gives_the_same_numbers(opset: int) -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.attention = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, activation="gelu", norm_first=True)
            self.group = nn.GroupNorm(2, 4)
            self.rms = nn.RMSNorm(8)
            self.gru = nn.GRU(8, 3, batch_first=True, bidirectional=True)

        def forward(self, image: engine.Tensor) -> Any:
            rows = self.group(self.net.conv(image)).flatten(2).transpose(1, 2)[..., :4].repeat(1, 1, 2)
            found, _ = self.gru(self.attention(self.rms(rows)))
            return self.net(image), found.amax(1), found.cumsum(1).argmax(1), engine.topk(found[:, 0], 2).values

    net = Block()
    found = build_model(net, {"image": Spec((Dim("N"), 1, 4, 4), engine.float32)}, opset=opset)
    batches = [(engine.tensor(array(size, 1, 4, 4)),) for size in (2, 1, 3)]
    comparison = compare(found, net, batches)
    assert comparison.agrees, comparison
    assert comparison.samples == 6


# -- errors


def test_the_first_differing_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(g: Any, x: Any, **_: Any) -> Any:
        return g.op("Mul", g.op("Relu", x), 1.01)

    build_model(Net(), {"image": Spec((1, 1, 4, 4), engine.float32)})
    monkeypatch.setitem(TRANSLATORS, "relu", Translator(wrong))
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    found = build_model(net, {"input": Spec((Dim("N"), 4), engine.float32)})
    comparison = compare(found, net, [(engine.tensor(array(3, 4)),)])
    assert (comparison.node, comparison.op, comparison.agrees) == ("1", "relu", False)
    assert 1e-3 < comparison.relative < 0.1


def test_an_unsupported_op_is_named_with_reason_and_remedy() -> None:
    class Inverse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.solve = nn.Sequential()

        def forward(self, x: engine.Tensor) -> engine.Tensor:
            return engine.inverse(x)

    net = nn.Sequential(nn.Identity(), Inverse())
    with pytest.raises(OnnxExportError) as caught:
        build_model(net, {"x": Spec((3, 3), engine.float32)})
    error = caught.value
    assert (error.node, error.op) == ("1", "inv")
    assert "inv cannot be exported to ONNX: ONNX has no matrix decompositions and no solvers." in str(error)
    assert str(error).endswith("Replace it, or export a part of the model without it.")
    assert error.location is not None
    assert error.location[0] == __file__


def test_an_unused_unsupported_op_does_not_matter() -> None:
    def function(x: engine.Tensor) -> engine.Tensor:
        engine.inverse(x)
        return x * 2

    check(function, [array(3, 3)])


def branch(x: engine.Tensor) -> engine.Tensor:
    return x if x.sum() > 0 else -x


def masked(x: engine.Tensor) -> engine.Tensor:
    return x[x > 0]


@pytest.mark.parametrize(
    ("function", "text"), [(branch, "depends on values of tensors"), (masked, "depends on the values of the mask")]
)
def test_code_that_depends_on_values_is_refused(function: Any, text: str) -> None:
    with pytest.raises(OnnxExportError, match=text) as caught:
        build_model(function, {"x": Spec((3, 3), engine.float32)})
    assert caught.value.location == (__file__, function.__code__.co_firstlineno + 1)


class Compares(nn.Module):
    """Decides by the number of rows."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: engine.Tensor) -> engine.Tensor:
        x = self.norm(x)
        return x * 2 if x.shape[0] == self.rows else x


@pytest.mark.parametrize("rows", [1, 2])
def test_code_that_compares_symbolic_sizes_is_refused(rows: int, tmp_path: Path) -> None:
    model, path = Compares(rows).train(), tmp_path / "model.onnx"
    with pytest.raises(OnnxExportError, match=f"For N = {rows}, output of the exported graph differs"):
        export(model, engine.ones(4, 3), path, dynamic_shapes={"x": {0: "N"}})
    assert not path.exists() and model.training
    assert model.norm.num_batches_tracked.item() == 0
    export(model, engine.ones(4, 3), path)  # all sizes are fixed
    assert path.exists()


def test_an_opset_out_of_range_is_refused() -> None:
    with pytest.raises(OnnxExportError, match=r"opset 17 is not supported\. Use 18 to 23\."):
        build_model(nn.ReLU(), {"x": Spec((3,), engine.float32)}, opset=17)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import_module = importlib.import_module

    def missing(name: str, *args: Any) -> Any:
        if name == "onnx_ir":
            raise ImportError("No module named 'onnx_ir'")
        return import_module(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"needs the package onnx_ir .* pip install \"gradwire\[onnx\]\""):
        export(nn.ReLU(), engine.zeros(3), tmp_path / "x.onnx")


def test_modes_and_weights_are_restored_after_an_error() -> None:
    net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 3).eval())
    with pytest.raises(OnnxExportError):
        build_model(lambda x: engine.inverse(net(x)), {"x": Spec((3, 3), engine.float32)}, weights=net)
    assert [each.training for each in net.modules()] == [True, True, False]
    assert not engine.onnx.is_in_onnx_export()
    assert not net[1].weight.is_meta
