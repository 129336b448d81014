"""Projects export to ONNX files that agree with onnxruntime on the project's data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.data.transforms import (
    ChannelsFirst,
    Clip,
    Compose,
    FillMissing,
    LogScale,
    MinMaxScale,
    Normalize,
    RandomHorizontalFlip,
    ToFloat,
    Transform,
)
from engine.onnx.errors import OnnxExportError
from engine.onnx.translators import TRANSLATORS, Translator
from studio.cli.command_line import main
from studio.document.files.project_templates import template, templates
from studio.document.model import Document
from studio.export.onnx_export import OnnxExport, export_project
from studio.export.transform_functions import FUNCTIONS, apply_transform
from studio.lowering.check import check
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from tests.studio.mistakes.healthy_graphs import FAMILIES, healthy_graph

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

VALUE_DEPENDENT = "digits-python"
"""The template whose code has an if on values, which the studio can rewrite."""
SEEDS = range(0, len(FAMILIES), 3)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.export.onnx_export.COMPARED_SAMPLES", 6)


def exported(document: Document, folder: Path, **options: Any) -> OnnxExport:
    allow_code(document)
    return export_project(check(document, catalogue()), folder / "model.onnx", name="model", **options)


@pytest.mark.parametrize("name", [each.key for each in templates() if each.key != VALUE_DEPENDENT])
def test_a_template_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    found = exported(template(name).document, tmp_path)
    assert found.comparison.agrees
    assert found.comparison.relative < 1e-4
    assert found.comparison.samples >= 6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_healthy_graph_agrees_with_onnxruntime(seed: int, tmp_path: Path) -> None:
    _, document = healthy_graph(seed)
    assert exported(document, tmp_path).comparison.agrees


def test_values_of_tensors_in_code_are_refused_with_the_node(tmp_path: Path) -> None:
    with pytest.raises(OnnxExportError, match=r"^balance: the code depends on values of tensors") as caught:
        exported(template(VALUE_DEPENDENT).document, tmp_path)
    assert caught.value.node == "balance"
    assert not (tmp_path / "model.onnx").exists()


def test_names_in_a_file_are_those_of_the_canvas(tmp_path: Path) -> None:
    exported(template("digits-residual").document, tmp_path)
    model = onnx.load(tmp_path / "model.onnx")
    nodes = {p.value for node in model.graph.node for p in node.metadata_props if p.key == "gradwire.node"}
    assert nodes <= set(template("digits-residual").document.nodes)
    assert [each.name for each in model.graph.input] == ["images"]
    assert [each.name for each in model.graph.output] == ["logits"]
    weights = {each.name.rpartition(".")[0] for each in model.graph.initializer if "." in each.name}
    assert weights <= nodes


def test_nodes_of_blocks_have_the_path_of_their_instance(tmp_path: Path) -> None:
    exported(template("series-forecast").document, tmp_path)
    model = onnx.load(tmp_path / "model.onnx")
    nodes = {node.op_type: node.metadata_props[0].value for node in model.graph.node if node.metadata_props}
    assert nodes["LSTM"] == "lstm.lstm"
    assert nodes["Gemm"] == "lstm.scores"


def test_preprocessing_is_in_the_file_on_request(tmp_path: Path) -> None:
    found = exported(template("digits-mlp").document, tmp_path, preprocessing=True)
    assert found.inputs == ("images N×1×8×8 uint8",)
    assert found.comparison.agrees


def test_transforms_without_onnx_form_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FUNCTIONS, Normalize)
    with pytest.raises(OnnxExportError, match=r"Normalize has no ONNX form\. Export without --preprocessing"):
        exported(template("digits-mlp").document, tmp_path, preprocessing=True)


@pytest.mark.parametrize("transform", [
    ToFloat(), Normalize((1.0, 2.0, 3.0), 4.0), MinMaxScale(-1.0, 17.0), LogScale(2.0), Clip(3, 9.5), ChannelsFirst(),
    Compose([ToFloat(), Normalize(0.5)]), RandomHorizontalFlip(),
], ids=repr)  # fmt: skip
def test_transforms_of_tensors_are_those_of_arrays(transform: Transform) -> None:
    images = np.random.default_rng(0).integers(0, 17, (2, 3, 5, 3), dtype=np.uint8)
    found = apply_transform(transform, engine.tensor(images)).numpy()
    expected = transform(images)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_missing_numbers_are_filled_in_chosen_columns() -> None:
    rows = np.array([[np.nan, 1, np.nan], [2, np.nan, 3]], np.float32)
    transform = FillMissing((1.0, 2.0, 3.0), channels=(0, 1))
    np.testing.assert_array_equal(apply_transform(transform, engine.tensor(rows)).numpy(), transform(rows))


# -- the command


def project(folder: Path, name: str = "digits-mlp") -> Path:
    file = folder / "project.gradwire"
    assert main(["new", name, "-o", str(file)]) == 0
    return file


def test_the_command_writes_a_file_and_compares_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path)
    capsys.readouterr()
    assert main(["export", str(file), "--to", "onnx", "--json", "--opset", "18"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert (record["event"], record["opset"], record["inputs"]) == ("exported", 18, ["images N×1×8×8 float32"])
    assert record["comparison"]["relative"] < 1e-5
    assert "initial weights" in err
    assert (tmp_path / "project.onnx").exists()


def test_weights_of_a_run_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path)
    assert main(["run", str(file), "--epochs", "1", "--no-compile", "--json"]) == 0
    assert main(["export", str(file), "--to", "onnx", "--weights", "1", "-o", str(tmp_path / "a.onnx")]) == 0
    assert "initial weights" not in capsys.readouterr().err
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(tmp_path / "a.onnx").graph.initializer}
    assert main(["export", str(file), "--to", "onnx", "-o", str(tmp_path / "b.onnx")]) == 0
    initial = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(tmp_path / "b.onnx").graph.initializer}
    assert not np.array_equal(weights["logits.weight"], initial["logits.weight"])


def test_a_difference_fails_and_names_the_first_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project(tmp_path)
    main(["export", str(file), "--to", "onnx"])
    monkeypatch.setitem(TRANSLATORS, "relu", Translator(lambda g, x, **_: g.op("Mul", g.op("Relu", x), 1.01)))
    capsys.readouterr()
    assert main(["export", str(file), "--to", "onnx", "--json"]) == 1
    out, err = capsys.readouterr()
    assert "The first difference is in relu (relu)." in err
    failed = json.loads(out.splitlines()[-1])
    assert (failed["code"], failed["node"]) == ("onnx-differs", "relu")


def test_an_op_without_onnx_form_is_an_error_of_its_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path, VALUE_DEPENDENT)
    capsys.readouterr()
    assert main(["export", str(file), "--to", "onnx", "--trust", "--json"]) == 2
    failed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (failed["code"], failed["node"]) == ("onnx-unsupported", "balance")


def test_the_name_of_the_file_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(project(tmp_path)), "--to", "onnx", "-o", "model.pb"]) == 2
    assert "must end in .onnx" in capsys.readouterr().err
