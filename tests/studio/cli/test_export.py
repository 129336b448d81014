"""The command `export`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.io import load_file
from studio.document.files import project_files
from studio.document.model import Node
from studio.nodes.python_node import PYTHON
from tests.studio.code import SCALE
from tests.studio.lowering.graphs import digits, document, mlp


@pytest.mark.parametrize("target", ["pytorch", "engine"])
def test_a_package_is_written(gradwire, project: Path, target: str) -> None:
    out = project.parent / "package"
    result = gradwire("export", project, "--to", target, "-o", out, "--json")
    assert result.code == 0, result.err
    [line] = result.lines
    assert (line["event"], line["target"], line["out"]) == ("exported", target, str(out))
    assert set(line["files"]) == {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    again = gradwire("export", project, "--to", target, "-o", out)
    assert again.code == 2
    assert "is not empty. Choose another folder, or replace it with --force." in again.err
    assert gradwire("export", project, "--to", target, "-o", out, "--force").code == 0


def test_the_weights_of_a_run_are_exported(gradwire, project: Path) -> None:
    assert gradwire("run", project, "--steps", 3, "--seed", 1).code == 0
    out = project.parent / "package"
    result = gradwire("export", project, "--to", "pytorch", "-o", out, "--weights", 1)
    assert result.code == 0, result.err
    [weights] = project.parent.glob("*.runs/*/weights.safetensors")
    expected, found = load_file(weights), load_file(out / "weights.safetensors")
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name].numpy(), value.numpy())
    missing = gradwire("export", project, "--to", "pytorch", "-o", out, "--weights", "nothing")
    assert missing.code == 2
    assert "--weights: there is no run, checkpoint or weights file 'nothing'." in missing.err


def test_parameters_can_be_set(gradwire, tmp_path: Path) -> None:
    file = tmp_path / "digits.gradwire"
    project_files.save(mlp(), file)
    out = tmp_path / "package"
    assert gradwire("export", file, "--to", "pytorch", "-o", out, "--set", "hidden.out_features=24").code == 0
    assert "out_features=24" in (out / "model.py").read_text(encoding="utf-8")


def test_what_cannot_be_exported_is_one_error(gradwire, tmp_path: Path) -> None:
    file = tmp_path / "digits.gradwire"
    base = mlp()
    wires = [str(each) for each in base.wires if str(each) != "scale.samples -> batches.samples"]
    wires += ["scale.samples -> turned.samples", "turned.samples -> batches.samples"]
    project_files.save(document({**base.nodes, "turned": "transforms.RandomAffine"}, wires), file)
    result = gradwire("export", file, "--to", "pytorch", "-o", tmp_path / "package", "--json")
    assert result.code == 2
    [line] = result.lines
    assert (line["event"], line["code"], line["node"]) == ("failed", "not-exported", "turned")
    assert line["message"] in result.err
    assert not (tmp_path / "package").exists()


def test_code_needs_trust(gradwire, tmp_path: Path) -> None:
    file = tmp_path / "digits.gradwire"
    source = SCALE.replace("scale", "scaled_by_export")
    made = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        scaled=Node(PYTHON, {"source": source}),
    )
    wires = [str(each) for each in made.wires if str(each) != "flatten.output -> logits.input"]
    nodes = dict(made.nodes)
    project_files.save(document(nodes, [*wires, "flatten.output -> scaled.x", "scaled.output -> logits.input"]), file)
    out = tmp_path / "package"
    assert gradwire("export", file, "--to", "pytorch", "-o", out).code == 3
    assert not out.exists()
    assert gradwire("export", file, "--to", "pytorch", "-o", out, "--trust").code == 0
    assert "def scaled_by_export(x, factor: float = 2.0):" in (out / "model.py").read_text(encoding="utf-8")
