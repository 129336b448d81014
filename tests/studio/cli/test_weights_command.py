"""`gradwire weights`, and trainings that start from imported weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.io import load_file
from studio.document.files import project_files
from studio.document.model import ImportedWeights, RenameRule
from tests.engine.io.torch_bytes import dictionary, pickled, storage, tensor, zip_file
from tests.studio.cli.conftest import Result

Run = Callable[..., Result]
RNG = np.random.default_rng(1)


@pytest.fixture
def arrays(gradwire: Run, project: Path) -> dict[str, np.ndarray]:
    """Values for all weights of the project."""
    assert gradwire("run", project, "--steps", 0, "--out", project.parent / "out").code == 0
    found = load_file(project.parent / "out" / "weights.safetensors")
    return {name: RNG.normal(size=value.shape).astype(np.float32) for name, value in found.items()}


def write_torch(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    """A checkpoint of PyTorch, {"model": …, "epoch": …}, written without PyTorch."""
    items: dict[str, bytes] = {}
    for number, (name, array) in enumerate(arrays.items()):
        strides = tuple(step // array.itemsize for step in array.strides)
        items[name] = tensor(storage(array.size, str(number)), array.shape, strides)
    content = pickled(dictionary({"model": dictionary(items), "epoch": b"K\x03"}))
    path.write_bytes(zip_file(content, {str(number): array.tobytes() for number, array in enumerate(arrays.values())}))
    return path


def test_a_checkpoint_with_a_prefix(gradwire: Run, project: Path, arrays: dict[str, np.ndarray]) -> None:
    path = write_torch(project.parent / "model.pt", {f"module.{name}": value for name, value in arrays.items()})
    none = gradwire("weights", path, project)
    assert none.code == 2
    assert f"With these rules, {len(arrays)} match. Add them with --suggest:" in none.out
    assert "--rename '^module\\.='" in none.out
    assert "has no weights for this network" in none.err
    found = gradwire("weights", path, project, "--rename", r"^module\.=", "--json")
    assert found.code == 0
    assert [line["status"] for line in found.lines[:-1]] == ["matched"] * len(arrays)
    assert found.lines[-1] == {
        "event": "weights",
        "matched": len(arrays),
        "misshapen": 0,
        "missing": 0,
        "unexpected": 0,
        "tied": 0,
    }
    assert project_files.load(project).weights is None


def test_saved_weights_repeat_without_options(gradwire: Run, project: Path, arrays: dict[str, np.ndarray]) -> None:
    path = write_torch(project.parent / "model.pt", {f"module.{name}": value for name, value in arrays.items()})
    assert gradwire("weights", path, project, "--suggest", "--save", "--freeze", "hid*").code == 0
    document = project_files.load(project)
    assert document.weights == ImportedWeights("model.pt", rename=(RenameRule(r"^module\."),))
    assert [name for name, node in document.nodes.items() if node.frozen] == ["hidden"]
    out = project.parent / "trained"
    assert gradwire("run", project, "--steps", 2, "--out", out).code == 0
    trained = load_file(out / "weights.safetensors")
    np.testing.assert_array_equal(trained["hidden.weight"].numpy(), arrays["hidden.weight"])
    assert not np.array_equal(trained["logits.weight"].numpy(), arrays["logits.weight"])
    assert np.abs(trained["logits.weight"].numpy() - arrays["logits.weight"]).max() < 0.1
    assert gradwire("weights", path, project).out.endswith(f"{len(arrays)} matched\n")
    assert gradwire("evaluate", project, "--weights", path).code == 0


def test_part_and_transposition(gradwire: Run, project: Path, arrays: dict[str, np.ndarray]) -> None:
    values = {name: np.ascontiguousarray(value.T) for name, value in arrays.items()}
    path = project.parent / "a.npz"
    np.savez(path, allow_pickle=False, **values)
    found = gradwire("weights", path, project)
    assert found.code == 0
    assert "misshapen  hidden.weight" in found.out
    assert "--transpose '(^|\\.)hidden\\.weight$'" in found.out
    assert f"{len(arrays)} matched" in gradwire("weights", path, project, "--transpose", "weight$").out
    torch_file = write_torch(project.parent / "model.pt", arrays)
    wrong = gradwire("weights", torch_file, project, "--part", "ema")
    assert wrong.code == 2
    assert "has no weights at 'ema'. Choose a part: model" in wrong.err


def test_start_from_replaces_the_weights_of_the_project(
    gradwire: Run, project: Path, arrays: dict[str, np.ndarray]
) -> None:
    path = write_torch(project.parent / "model.pt", arrays)
    assert gradwire("weights", path, project, "--save").code == 0
    other = {name: engine.zeros(*value.shape) for name, value in arrays.items()}
    engine.save(other, project.parent / "zeros.safetensors")
    out = project.parent / "zero"
    arguments = ("--steps", 0, "--out", out, "--start-from", project.parent / "zeros.safetensors")
    assert gradwire("run", project, *arguments).code == 0
    assert not load_file(out / "weights.safetensors")["hidden.weight"].numpy().any()


def test_a_missing_file_of_the_project(gradwire: Run, project: Path, arrays: dict[str, np.ndarray]) -> None:
    path = write_torch(project.parent / "model.pt", arrays)
    assert gradwire("weights", path, project, "--save").code == 0
    path.unlink()
    failed = gradwire("run", project, "--steps", 1)
    assert failed.code == 2
    assert "model.pt is not a run, checkpoint or weights file" in failed.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--rename", "abc"), "write it as REGEX=TEXT"),
        (("--rename", "(a+)+=b"), "repeats a group"),
        (("--rename", r"a=\1"), "does not fit its pattern"),
        (("--transpose", "("), "is not a regular expression"),
        (("--freeze", "*"), "--freeze changes the project. Add --save."),
        (("--save", "--set", "adam.lr=1"), "--save cannot be combined with --set"),
        (("--save", "--freeze", "nothing*"), "no node with this name has loaded weights. It has hidden, logits"),
    ],
)
def test_wrong_options(
    gradwire: Run, project: Path, arrays: dict[str, np.ndarray], options: tuple[str, ...], message: str
) -> None:
    before = project.read_bytes()
    found = gradwire("weights", write_torch(project.parent / "model.pt", arrays), project, *options)
    assert found.code == 2
    assert message in found.err
    assert project.read_bytes() == before


def test_runs_are_weights_too(gradwire: Run, project: Path) -> None:
    assert gradwire("run", project, "--steps", 1).code == 0
    found = gradwire("weights", "1", project, "--json")
    assert found.code == 0
    assert found.lines[-1]["missing"] == 0
