from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import environment
from environment import SetupError, interpreter, prepare


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder whose pip only logs its arguments."""
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "install", lambda python, arguments: log(tmp_path, arguments[-1]))
    monkeypatch.setattr(environment, "_create", make_interpreter)
    monkeypatch.setattr(environment, "_has_pip", lambda python: python.exists())
    return tmp_path


def make_interpreter(folder: Path) -> None:
    interpreter(folder).parent.mkdir(parents=True)
    interpreter(folder).touch()


def log(folder: Path, line: str) -> None:
    with open(folder / "log", "a", encoding="utf-8") as file:
        file.write(line.replace(str(folder), "") + "\n")


def installs(folder: Path) -> list[str]:
    return (folder / "log").read_text(encoding="utf-8").splitlines()


def test_second_start_installs_nothing(checkout: Path) -> None:
    assert prepare(".venv") == prepare(".venv") == interpreter(checkout / ".venv")
    assert installs(checkout) == [""]


def test_extras_are_added_and_kept(checkout: Path) -> None:
    prepare(".venv")
    prepare(".venv", ["studio"])
    prepare(".venv", ["dev"])
    prepare(".venv", ["studio"])
    assert installs(checkout) == ["", "[studio]", "[dev,studio]"]


def test_a_changed_project_is_installed_again(checkout: Path) -> None:
    prepare(".venv")
    (checkout / "pyproject.toml").write_text("[project]\nversion = '2'\n")
    prepare(".venv")
    assert installs(checkout) == ["", ""]


@pytest.mark.parametrize("damage", ["", "{", "[]"])
def test_a_damaged_stamp_means_installing_again(checkout: Path, damage: str) -> None:
    prepare(".venv")
    (checkout / ".venv" / environment.STAMP).write_text(damage)
    prepare(".venv")
    assert installs(checkout) == ["", ""]


def test_without_network_an_older_installation_still_starts(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(".venv", ["studio"])
    (checkout / "pyproject.toml").write_text("[project]\nversion = '2'\n")
    monkeypatch.setattr(environment, "install", fail)
    assert prepare(".venv", ["studio"]).exists()
    assert "out of date" in capsys.readouterr().err
    with pytest.raises(SetupError, match="no network"):
        prepare(".venv", ["dev"])
    assert json.loads((checkout / ".venv" / environment.STAMP).read_text())["extras"] == ["studio"]


def fail(python: Path, arguments: list[str]) -> None:
    raise SetupError("no network")


@pytest.mark.skipif(os.name == "nt", reason="the search path works differently")
def test_an_old_python_looks_for_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 2))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"needs Python 3\.11 or newer; .* is Python 3\.9"):
        environment._base_python()
    newer = tmp_path / "python3.12"
    newer.write_text("#!/bin/sh\nexit 0\n")
    newer.chmod(0o755)
    assert environment._base_python() == str(newer)
