"""A failing project is reduced to the smallest part that fails the same way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from studio.document.files.project_files import load
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.user_code.document_code import allow_code
from studio.nodes.catalogue import catalogue
from studio.training import TrainingSession
from studio.training.reproduction.failing_step import ReproductionError
from studio.training.reproduction.reproduce import Found, Reproduction, reproduce
from studio.training.reproduction.run_source import load_failed_run
from tests.studio.training.reproduction.planted_failures import reproduced, script_error
from tests.studio.training.stepping.test_recording import network


def _reproduce(document: Document, folder: Path, **options: int) -> Reproduction:
    *_, result = reproduce(document, catalogue(), folder, **options)
    assert isinstance(result, Reproduction)
    return result


@pytest.mark.parametrize("seed", [4, 5, 6, 16])
def test_planted_failures_are_reduced_to_their_node(seed: int, tmp_path: Path) -> None:
    _, bad, found = reproduced(seed, tmp_path)
    assert bad in ("", found.sign.node)
    assert found.is_complete and len(found.kept) <= 2 and found.samples == 1
    report = check(load(found.project), catalogue(), tmp_path)
    assert not report.errors
    error = script_error(found.script)
    assert error.startswith("FloatingPointError") or found.sign.kind == "error"
    assert error


def test_the_script_needs_only_engine_and_numpy(tmp_path: Path) -> None:
    found = _reproduce(
        network(("hidden", Node("nn.Linear", {"out_features": 6})), ("root", Node("ops.sqrt"))), tmp_path
    )
    text = found.script.read_text()
    imports = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert {line.split()[1].partition(".")[0] for line in imports} == {"os", "numpy", "engine"}
    assert "pickle" not in text and str(tmp_path) not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "reproduction.gradwire", "reproduction.npz", "reproduction.py",
    ]  # fmt: skip
    with np.load(tmp_path / "reproduction.npz", allow_pickle=False) as arrays:
        assert [name for name in arrays if len(arrays[name]) != 1] == []
    elsewhere = subprocess.run(
        [sys.executable, str(found.script)], cwd="/", capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert elsewhere.returncode == 1 and "the loss contains NaN or infinity" in elsewhere.stderr


def test_an_exception_of_a_python_node_is_reproduced_with_the_samples_that_raise_it(tmp_path: Path) -> None:
    code = (
        "def strict(input):\n    if float(input[:, 20].max()) > 0.9:\n"
        "        raise ValueError('a pixel is too bright')\n    return input\n"
    )
    document = network(("strict", Node("studio.Python", {"source": code})), ("hidden", Node("nn.Tanh")))
    allow_code(document)
    found = _reproduce(document, tmp_path)
    assert (found.sign.kind, found.sign.node, found.sign.error) == ("error", "strict", "ValueError")
    assert found.kept == ("strict",) and found.samples == 1 < found.of_samples
    assert script_error(found.script) == "ValueError: a pixel is too bright"


def test_weights_are_kept_if_the_failure_depends_on_them(tmp_path: Path) -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 6})), ("act", Node("nn.Softplus")))
    document = replace(document, nodes={**document.nodes, "sgd": Node("optim.SGD", {"lr": 1e30})})
    found = _reproduce(document, tmp_path)
    assert found.step > 1
    assert found.has_weights and (tmp_path / "reproduction.safetensors").exists()
    assert script_error(found.script)


def test_a_project_that_does_not_fail_gives_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReproductionError, match="No training step fails within 3 steps"):
        _reproduce(network(("relu", Node("nn.ReLU"))), tmp_path / "result", max_steps=3)
    assert not (tmp_path / "result").exists()


def test_a_cancelled_reduction_writes_nothing(tmp_path: Path) -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 6})), ("root", Node("ops.sqrt")))
    events = reproduce(document, catalogue(), tmp_path / "result")
    assert any(isinstance(event, Found) for event in events)
    events.close()
    assert not (tmp_path / "result").exists()


def test_the_limit_of_tries_ends_the_reduction_with_what_was_found(tmp_path: Path) -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 6})), ("root", Node("ops.sqrt")))
    found = _reproduce(document, tmp_path, max_tries=1)
    assert not found.is_complete and found.tries == 1 and found.kept == ("root",) and found.samples == 8


def test_a_failed_run_is_reproduced_from_its_folder(tmp_path: Path) -> None:
    document = network(("hidden", Node("nn.Linear", {"out_features": 6})), ("root", Node("ops.sqrt")))
    session = TrainingSession(document, catalogue(), out=tmp_path / "p.runs" / "1", steps=2, seed=3, device="cpu")
    session.start()
    assert session.join(60)
    run = load_failed_run(tmp_path / "p.runs" / "1")
    assert run.seed == 3 and run.project == tmp_path / "p.gradwire"
    *_, found = reproduce(run.document, catalogue(), tmp_path / "result", seed=run.seed, run=run.folder)
    assert isinstance(found, Reproduction) and found.kept == ("root",)
