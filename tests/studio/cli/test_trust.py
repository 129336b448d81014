"""Trust of Python code in commands: without it, no command executes code of a project."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from studio.document.blocks.block_grouping import group
from studio.document.code_trust import TRUST
from studio.document.files.project_files import load, save
from tests.studio.code import GATE, SENTINEL, code, no_trust, with_code
from tests.studio.lowering.graphs import changed

__all__ = ["no_trust"]

Gradwire = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("no_trust")

COMMANDS = (
    ("check", "{file}"),
    ("check", "{file}", "--json"),
    ("check", "{file}", "--set", "own.width=7"),
    ("run", "{file}", "--epochs", "1"),
    ("explain", "{file}"),
    ("export-onnx", "{file}"),
    ("overfit", "{file}", "--steps", "2"),
    ("find-rate", "{file}", "--steps", "3"),
    ("diagnose", "{file}"),
    ("reproduce", "{file}"),
    ("sweep", "{file}", "-p", "adam.lr=0.1,0.2", "--epochs", "1"),
    ("data", "{file}", "normalize"),
    ("diff", "{file}", "{other}"),
    ("runs", "list", "{file}"),
    ("trust", "{file}"),
    ("trust", "{file}", "--list"),
    ("trust", "{file}", "--list", "--json"),
    ("trust", "{file}", "--revoke"),
    ("blocks", "export", "missing", "-o", "{other}"),
)


@pytest.fixture
def sentinel(tmp_path: Path) -> Path:
    return tmp_path / "executed"


@pytest.fixture(params=["canvas", "block"])
def file(request: pytest.FixtureRequest, tmp_path: Path, sentinel: Path) -> Path:
    """A project whose code writes the sentinel."""
    document = with_code({"own": code(SENTINEL.format(path=str(sentinel)))})
    if request.param == "block":
        document = group(document, ["own"], "Inner")[0]
    save(document, tmp_path / "net.gradwire")
    save(changed(document, "adam", params={"lr": 0.5}), tmp_path / "other.gradwire")
    return tmp_path / "net.gradwire"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_command_executes_untrusted_code(
    arguments: tuple[str, ...], file: Path, sentinel: Path, gradwire: Gradwire
) -> None:
    other = file.with_name("other.gradwire")
    result = gradwire(*(each.format(file=file, other=other) for each in arguments))
    assert not sentinel.exists()
    if arguments[0] in ("run", "explain", "overfit", "find-rate", "diagnose", "reproduce", "sweep", "export-onnx"):
        assert result.code == 3
        assert "own contains Python code that is not trusted, so it was not run." in result.err
        assert f"gradwire trust {file}" in result.err


def test_trust_for_one_command_executes_and_is_not_remembered(file: Path, sentinel: Path) -> None:
    command = [sys.executable, "-m", "main", "check", str(file)]
    root = Path(__file__).parents[3]
    assert subprocess.run([*command, "--trust"], cwd=root, check=False, capture_output=True).returncode == 0
    assert sentinel.exists()
    sentinel.unlink()
    done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    assert not sentinel.exists()
    assert done.stderr.count("that is not trusted") == 1


def test_trust_shows_the_code_and_is_revoked(tmp_path: Path, gradwire: Gradwire) -> None:
    file = tmp_path / "net.gradwire"
    save(with_code({"own": code(GATE), "again": code(GATE, width=64)}), file)
    refused = gradwire("trust", file)
    assert refused.code == 2
    assert "Pass --yes after reading the code" in refused.err
    assert "-- own, again: not trusted, SHA-256 " in refused.out
    assert "   1  class Gate(nn.Module):" in refused.out
    assert gradwire("trust", file, "--yes").out.endswith(f"{file}: trusted 1 source.\n")
    assert gradwire("trust", file, "--yes").out.endswith(f"{file} is trusted already.\n")
    assert "net.gradwire own" in gradwire("trust", "--list").out
    assert gradwire("run", file, "--steps", "2", "--quiet").code == 0
    assert [line["trusted"] for line in gradwire("trust", file, "--list", "--json").lines] == [True]
    assert gradwire("trust", file, "--revoke", "--json").lines == [{"event": "revoked", "sources": 1}]
    assert gradwire("run", file, "--steps", "2", "--quiet").code == 3


def test_edited_code_and_the_graph_of_a_run_need_trust(tmp_path: Path, gradwire: Gradwire) -> None:
    file = tmp_path / "net.gradwire"
    save(with_code({"own": code(GATE)}), file)
    assert gradwire("trust", file, "--yes").code == 0
    assert gradwire("run", file, "--epochs", "1", "--quiet").code == 0
    assert gradwire("evaluate", file, "--weights", "1").code == 0
    document = load(file)
    save(changed(document, "own", params={"source": GATE + " "}), file)
    assert gradwire("run", file, "--steps", "2").code == 3
    save(document, file)
    assert gradwire("trust", file, "--revoke").code == 0
    assert gradwire("run", file, "--resume", "1", "--epochs", "2").code == 3
    assert gradwire("evaluate", file, "--weights", "1").code == 3
    TRUST.allow([GATE])
    try:
        assert gradwire("run", file, "--resume", "1", "--epochs", "2", "--quiet").code == 0
    finally:
        TRUST.disallow([GATE])


def test_a_damaged_store_trusts_nothing(no_trust: Path, tmp_path: Path, gradwire: Gradwire) -> None:
    file = tmp_path / "net.gradwire"
    save(with_code({"own": code(GATE)}), file)
    assert gradwire("trust", file, "--yes").code == 0
    (no_trust / "trusted-code.json").write_text(json.dumps({"trusted": "all"}))
    assert gradwire("run", file, "--steps", "2").code == 3
    listed = gradwire("trust", "--list")
    assert listed.code == 2
    assert "is damaged, so no code is trusted. Delete it, and trust your projects again." in listed.err
    assert gradwire("trust", "--revoke", "--yes").code == 0
    assert gradwire("trust", "--list").code == 0


def test_a_document_without_code_needs_no_trust(tmp_path: Path, gradwire: Gradwire) -> None:
    file = tmp_path / "net.gradwire"
    save(replace(with_code({"own": "nn.ReLU"}), description="plain"), file)
    assert gradwire("trust", file).out == f"{file} has no Python code.\n"


def test_each_command_with_weights_needs_trust(tmp_path: Path, gradwire: Gradwire) -> None:
    """`predict` reads the training data first, which must not execute code either."""
    file = tmp_path / "net.gradwire"
    save(with_code({"own": code(GATE)}), file)
    np.save(tmp_path / "x.npy", np.zeros((3, 1, 8, 8), np.uint8))
    assert gradwire("run", file, "--steps", "2", "--quiet", "--trust").code == 0
    TRUST.disallow([GATE])
    predict = ("predict", file, tmp_path / "x.npy", "--weights", "1", "--out", tmp_path / "y.npy")
    refused = gradwire(*predict)
    assert refused.code == 3
    assert "own contains Python code that is not trusted" in refused.err
    TRUST.allow([GATE])
    try:
        assert gradwire(*predict).code == 0
    finally:
        TRUST.disallow([GATE])
    assert np.load(tmp_path / "y.npy").shape == (3, 10)


def test_the_workers_of_a_sweep_run_code_that_the_command_trusts(tmp_path: Path, gradwire: Gradwire) -> None:
    file = tmp_path / "net.gradwire"
    save(with_code({"own": code(GATE)}), file)
    sweep = ("sweep", file, "-p", "own.width=4,8", "--epochs", "1", "--jobs", "2", "--json")
    assert gradwire(*sweep).code == 3
    done = gradwire(*sweep, "--trust")
    TRUST.disallow([GATE])
    assert done.code == 0, done.err
    assert not TRUST.covers(GATE)
    states = [line["state"] for line in done.lines if line.get("event") == "trial" and "state" in line]
    assert states.count("done") == 2, done.lines
