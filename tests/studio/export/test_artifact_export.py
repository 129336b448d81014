"""Projects export to artifacts that compute the numbers of the studio, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import export
from engine.export.artifact_writing import build_artifact
from studio.cli.command_line import main
from studio.document.files.project_templates import template, templates
from studio.document.model import Document
from studio.export.artifact_export import ArtifactExport, export_artifact
from studio.export.export_error import ExportError
from studio.export.transform_functions import FUNCTIONS
from studio.lowering.check import check
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from tests.studio.mistakes.healthy_graphs import FAMILIES, healthy_graph

VALUE_DEPENDENT = "digits-python"
"""The template whose code has an if on values, which the studio can rewrite."""


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.export.artifact_export.COMPARED_SAMPLES", 6)


def exported(document: Document, folder: Path) -> ArtifactExport:
    allow_code(document)
    return export_artifact(check(document, catalogue()), folder / "model.gwx", name="model")


@pytest.mark.parametrize("name", [each.key for each in templates() if each.key != VALUE_DEPENDENT])
def test_a_template_gives_identical_numbers(name: str, tmp_path: Path) -> None:
    found = exported(template(name).document, tmp_path)
    assert found.verification.is_identical
    assert found.verification.samples >= 6
    assert export.load(found.path).verify().is_identical


@pytest.mark.parametrize("seed", range(0, len(FAMILIES), 3))
def test_a_random_healthy_graph_gives_identical_numbers(seed: int, tmp_path: Path) -> None:
    _, document = healthy_graph(seed)
    assert exported(document, tmp_path).verification.is_identical


def test_values_of_tensors_in_code_are_refused_with_the_node(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"^balance: the code depends on values of tensors") as caught:
        exported(template(VALUE_DEPENDENT).document, tmp_path)
    assert caught.value.node == "balance"
    assert not (tmp_path / "model.gwx").exists()


def test_a_file_has_preprocessing_labels_and_names_of_the_canvas(tmp_path: Path) -> None:
    found = exported(template("digits-mlp").document, tmp_path)
    artifact = export.load(found.path)
    assert str(artifact.raw_input) == "images N×1×8×8 uint8"
    assert [str(each) for each in artifact.outputs] == ["logits N×10 float32"]
    assert artifact.labels == tuple("0123456789")
    assert {name.rpartition(".")[0] for name in artifact.weights} <= set(template("digits-mlp").document.nodes)
    raw = artifact.sample.raw
    np.testing.assert_array_equal(artifact(artifact.preprocess(raw)).numpy(), artifact.sample.outputs[0])
    assert exported(template("penguins-classification").document, tmp_path).artifact.labels[0] == "Adelie"
    assert exported(template("penguins-regression").document, tmp_path).artifact.labels == ()


def test_transforms_that_cannot_be_recorded_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.export.transform_functions.FUNCTIONS", dict[Any, Any]())
    assert FUNCTIONS
    found = exported(template("digits-mlp").document, tmp_path)
    assert found.without_preprocessing == "Normalize has no recorded form"
    assert found.artifact.raw_input is None


def test_a_file_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(model: Any, *args: Any, **options: Any) -> Any:
        return build_artifact(lambda *x: model(*x) * 1.01, *args, weights=model, **options)

    monkeypatch.setattr("studio.export.artifact_export.build_artifact", scaled)
    with pytest.raises(ExportError, match=r"differs from the network: logits by .* Nothing was written\."):
        exported(template("digits-mlp").document, tmp_path)
    assert not (tmp_path / "model.gwx").exists()


def test_data_without_samples_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.export.model_call.evaluation_batches", lambda task, samples: iter(()))
    with pytest.raises(ExportError, match="The data of the project has no samples"):
        exported(template("digits-mlp").document, tmp_path)
    assert not (tmp_path / "model.gwx").exists()


# -- the command


def project(folder: Path, name: str = "digits-mlp") -> Path:
    file = folder / "project.gradwire"
    assert main(["new", name, "-o", str(file)]) == 0
    return file


def test_the_command_writes_a_file_and_compares_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path)
    capsys.readouterr()
    assert main(["export", str(file), "--to", "artifact", "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert (record["event"], record["inputs"]) == ("exported", ["images N×1×8×8 float32"])
    assert record["comparison"]["absolute"] == 0
    assert "initial weights" in err
    assert record["sha256"] == export.load(tmp_path / "project.gwx").sha256
    assert main(["export", str(file), "--to", "artifact", "-o", str(tmp_path / "a.gwx")]) == 0
    assert "largest difference 0, relative 0" in capsys.readouterr().out
    assert (tmp_path / "a.gwx").read_bytes() == (tmp_path / "project.gwx").read_bytes()


def test_weights_of_a_run_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path)
    main(["export", str(file), "--to", "artifact", "-o", str(tmp_path / "initial.gwx")])
    assert main(["run", str(file), "--epochs", "1", "--no-compile", "--json"]) == 0
    capsys.readouterr()
    assert main(["export", str(file), "--to", "artifact", "--weights", "1"]) == 0
    assert "initial weights" not in capsys.readouterr().err
    weights = [export.load(tmp_path / name).weights["logits.weight"] for name in ("initial.gwx", "project.gwx")]
    assert not np.array_equal(*weights)


def test_options_and_nodes_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = project(tmp_path, VALUE_DEPENDENT)
    assert main(["export", str(file), "--to", "artifact", "-o", "model.onnx", "--trust"]) == 2
    assert "must end in .gwx" in capsys.readouterr().err
    assert main(["export", str(file), "--to", "artifact", "--opset", "20"]) == 2
    assert "--opset needs --to onnx" in capsys.readouterr().err
    assert main(["export", str(file), "--to", "artifact", "--trust", "--json"]) == 2
    failed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (failed["code"], failed["node"]) == ("not-exported", "balance")
