"""The generated stubs are those of the ops as they are now."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import stubs
from engine.ops import COMPOSITES, REGISTRY

ENGINE = Path(stubs.__file__).resolve().parent.parent / "engine"


def test_the_stubs_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stubs.py", "--check"])
    assert stubs.main() == 0, capsys.readouterr().err


def test_check_names_stale_stubs_and_does_not_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    methods = tmp_path / "tensors" / "methods.pyi"
    methods.parent.mkdir()
    methods.write_text("stale", encoding="utf-8")
    monkeypatch.setattr(stubs, "ENGINE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["stubs.py", "--check"])
    assert stubs.main() == 1
    assert (
        capsys.readouterr().err
        == "out of date: __init__.pyi, methods.pyi, functions.pyi. Run: python scripts/stubs.py\n"
    )
    assert methods.read_text(encoding="utf-8") == "stale"
    monkeypatch.setattr(sys, "argv", ["stubs.py"])
    assert stubs.main() == 0
    assert (tmp_path / "functions.pyi").read_text(encoding="utf-8") == stubs.functions()


def test_the_stubs_declare_every_public_op_once() -> None:
    functions = [node.name for node in ast.parse(stubs.functions()).body if isinstance(node, ast.FunctionDef)]
    records = [record for record in (*REGISTRY.values(), *COMPOSITES.values()) if record.public]
    public = [name for record in records for name in (record.name, *record.aliases)]
    assert sorted(functions) == sorted(public)
    assert len(set(functions)) == len(functions)
