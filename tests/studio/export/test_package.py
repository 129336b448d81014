"""The folder of an exported package: files, style, names, and what is refused."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from engine import fit
from engine.io import load_file, save_file
from studio.document.document_errors import FileError
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.export import STAGES, ExportError, ExportRequest, export_package, export_steps
from studio.export.torch_names import exists
from studio.export.torch_translation import translated
from studio.lowering import LoweringError, check, lower
from studio.nodes import catalogue
from studio.nodes.python_node import PYTHON
from studio.nodes.types import Role
from tests.studio.code import SCALE
from tests.studio.export.exported import export
from tests.studio.lowering.graphs import changed, digits, document, mlp

TEMPLATES = sorted((Path(__file__).resolve().parents[3] / "assets" / "templates").glob("*.gradwire"))
RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")
IMPORT = re.compile(r"^\s*(?:import|from)\s+(?:engine|studio|gradwire)\b", re.MULTILINE)


def request(document: Document, **options: Any) -> ExportRequest:
    return ExportRequest(document, check(document, catalogue()), "project", **options)


def names_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_packages_have_no_lint_and_need_no_gradwire(template: Path, tmp_path: Path) -> None:
    folder = export(project_files.load(template), tmp_path / "package", base=template.parent)
    for path in folder.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not IMPORT.search(text), path
        assert max(map(len, text.splitlines())) <= 88 or "# noqa: E501" in text, path
        assert "HAS_" not in text
        compile(text, path, "exec", dont_inherit=True)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE))
    assert listed | {"README.md"} == names_of(folder)
    if RUFF is not None:
        command = [RUFF, "check", "--isolated", "--select", "E,F", "--no-cache", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_a_package_for_the_engine_trains_to_the_numbers_of_the_project(tmp_path: Path) -> None:
    document = replace(mlp(), training=TrainingSettings(epochs=1, steps=3, patience=2, compile=False))
    folder = export(document, tmp_path / "package", "engine")
    command = [sys.executable, "train.py", "--device", "cpu"]
    root = str(Path(__file__).resolve().parents[3])
    environment = {"PYTHONPATH": root, "OMP_NUM_THREADS": "1", "PATH": "", "SYSTEMROOT": "C:\\Windows"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    from_package = load_file(folder / "checkpoints" / "last.safetensors")
    task = lower(check(document, catalogue())).build()
    list(train(task, 3))
    for name, value in task.model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), from_package[name].numpy())


def train(task: Any, steps: int) -> Any:
    return fit.fit(task, epochs=1, steps=steps, compile=False)


def test_a_folder_with_files_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="is not empty"):
        export_package(request(mlp()), folder)
    with pytest.raises(ExportError, match="is not an exported package, so --force does not replace it"):
        export_package(request(mlp()), folder, force=True)
    assert names_of(tmp_path) == {"package/mine.txt"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ExportError, match="is a file"):
        export_package(request(mlp()), tmp_path / "file", force=True)


def test_an_earlier_package_is_replaced_with_force(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    files = export_package(request(mlp()), folder)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ExportError):
        export_package(request(mlp()), folder)
    assert (folder / "notes.txt").exists()
    assert export_package(request(mlp()), folder, force=True) == files
    assert names_of(tmp_path) == {f"package/{name}" for name in files}


def test_an_export_that_fails_or_is_canceled_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = export_steps(request(mlp()), tmp_path / "package")
    assert [next(steps) for _ in STAGES] == list(STAGES)
    steps.close()
    assert not list(tmp_path.iterdir())
    original = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if path.name == "train.py":
            raise OSError(28, "No space left on device")
        return original(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ExportError, match="No space left on device"):
        export_package(request(mlp()), tmp_path / "package")
    assert not list(tmp_path.iterdir())


def test_weights_of_a_file_are_exported(tmp_path: Path) -> None:
    task = lower(check(mlp(), catalogue())).build(seed=7)
    task.setup()
    save_file(task.model.state_dict(), tmp_path / "other.safetensors")
    export_package(request(mlp(), weights=tmp_path / "other.safetensors"), tmp_path / "package")
    found = load_file(tmp_path / "package" / "weights.safetensors")
    for name, value in task.model.state_dict().items():
        np.testing.assert_array_equal(found[name].numpy(), value.numpy())
    assert "those of other.safetensors" in (tmp_path / "package" / "README.md").read_text()
    other = changed(mlp(), "hidden", params={"out_features": 8})
    with pytest.raises(FileError, match="contains weights of another graph"):
        export_package(request(other, weights=tmp_path / "other.safetensors"), tmp_path / "second")


# -- what cannot be exported


def message(document: Document, tmp_path: Path) -> ExportError:
    with pytest.raises(ExportError) as found:
        export(document, tmp_path / "package")
    assert not (tmp_path / "package").exists()
    return found.value


def augmented(*kinds: str | Node) -> Document:
    """Digits with more transforms behind the first."""
    names = [f"step{index}" for index in range(len(kinds))]
    chain = ["scale", *names, "batches"]
    wires = [f"{before}.samples -> {after}.samples" for before, after in pairwise(chain)]
    base = digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})})
    kept = [str(each) for each in base.wires if str(each) != "scale.samples -> batches.samples"]
    return document({**base.nodes, **dict(zip(names, kinds, strict=True))}, [*kept, *wires])


def test_an_augmentation_without_code_is_an_error(tmp_path: Path) -> None:
    error = message(augmented("transforms.RandomAffine"), tmp_path)
    assert error.node == "step0"
    assert str(error).startswith("step0: RandomAffine draws random numbers")
    assert "export with --to engine" in str(error)
    error = message(augmented("transforms.RandomHorizontalFlip", Node("transforms.Resize", {"size": 8})), tmp_path)
    assert error.node == "step0"
    assert "in front of step1, which is stored" in str(error)


def test_a_transform_without_code_is_applied_to_the_stored_samples(tmp_path: Path) -> None:
    made = augmented(Node("transforms.Resize", {"size": 4}), "transforms.RandomHorizontalFlip")
    folder = export(made, tmp_path / "package")
    with np.load(folder / "data" / "digits.npz") as stored:
        assert stored["train_inputs"].shape == (1438, 1, 4, 4)
    text = (folder / "data.py").read_text(encoding="utf-8")
    assert "step1 = RandomHorizontalFlip()" in text
    assert "train.training = True" in text
    assert "Normalize" not in text
    assert "`data/digits.npz` has the samples after scale, step0." in (folder / "README.md").read_text(encoding="utf-8")


def coded(body: str) -> Document:
    """Digits that a Python node flattens."""
    made = digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})})
    made = changed(made, "flatten", type=PYTHON, params={"source": f"def flat(x):\n    return {body}\n"})
    wires = [
        Wire(each.source, Endpoint("flatten", "x")) if each.target.node == "flatten" else each for each in made.wires
    ]
    return replace(made, wires=tuple(wires))


def test_code_of_python_nodes_gets_the_names_of_pytorch(tmp_path: Path) -> None:
    folder = export(coded("engine.nn.functional.relu(engine.Tensor.flatten(x, 1))"), tmp_path / "package")
    text = (folder / "model.py").read_text(encoding="utf-8")
    assert "return torch.nn.functional.relu(torch.Tensor.flatten(x, 1))" in text
    assert "# Python node flatten" in text


def test_code_of_the_engine_only_is_an_error(tmp_path: Path) -> None:
    error = message(coded("x.flatten(1) if engine.inspect is not None else x"), tmp_path)
    assert error.node == "flatten"
    assert str(error).startswith("flatten uses engine.inspect, and PyTorch has no torch.inspect")


def test_untrusted_code_is_not_exported(tmp_path: Path) -> None:
    code = SCALE.replace("factor", "untrusted_factor")
    made = changed(mlp(), "relu", type=PYTHON, params={"source": code})
    with pytest.raises(LoweringError):
        export_package(request(made), tmp_path / "package")


def test_every_layer_operation_and_optimizer_exists_in_pytorch_or_in_the_package() -> None:
    """A new type without a counterpart needs a definition in `assets/export/pytorch`."""
    roles = {Role.LAYER, Role.LOSS, Role.OPTIMIZER, Role.SCHEDULER, Role.METRIC, Role.OPERATION}
    missing: list[str] = []
    for each in catalogue():
        prefix, _, title = each.key.partition(".")
        if each.role not in roles or prefix == "studio":
            continue
        if prefix == "Tensor":
            missing += [] if exists(f"torch.Tensor.{title}") else [each.key]
        elif isinstance(translated(("engine" if prefix == "ops" else prefix, title)), str):
            missing.append(each.key)
    assert missing == []


def test_names_of_pytorch_and_of_files_do_not_collide(tmp_path: Path) -> None:
    """Nodes with the names of modules, helpers and builtins of a package."""
    made = digits(
        {
            "torch": "nn.Flatten",
            "layers": Node("nn.Linear", {"out_features": 8}),
            "F": "nn.ReLU",
            "metrics": Node("nn.Linear", {"out_features": 10}),
            "Trainer": "nn.Identity",
        }
    )
    folder = export(made, tmp_path / "package")
    tree = ast.parse((folder / "model.py").read_text(encoding="utf-8"))
    assigned = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    assert not assigned & {"torch", "layers", "F", "metrics", "nn"}
