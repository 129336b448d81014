"""Texts from files reach the terminal as texts: nothing in them moves the cursor, sets a title or spoils a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.cli.error_output import escape_control
from studio.cli.progress_display import ProgressDisplay
from studio.cli.sweep.trial_table import TrialRow, TrialTable
from tests.studio.cli.conftest import Result

TITLE = "\x1b]0;pwned\x07"
"""Sets the title of a terminal."""


def test_control_characters_are_written_out() -> None:
    assert escape_control(f"{TITLE}\r\t\x9b2J\u202eé\n日本 🙂") == "\\x1b]0;pwned\\x07\\r\\t\\x9b2J\\u202eé\n日本 🙂"


def test_names_in_tables(gradwire: Callable[..., Result], project: Path) -> None:
    long, split = "x" * 10_000, "two\nlines"
    lines = [f'{number},{number % 7},"{(TITLE, split)[number % 2]}"' for number in range(20)]
    (project.parent / "t.csv").write_text("\n".join([f'"{long}",{TITLE},y', *lines]) + "\n")
    document = json.loads(project.read_text())
    document["nodes"]["digits"] = {"type": "data.CSV", "params": {"path": "t.csv", "target": "y"}}
    project.write_text(json.dumps(document))
    result = gradwire("data", project, "digits")
    assert result.code == 0, result.err
    shown = result.out.splitlines()
    assert all(line.isprintable() for line in shown)
    assert max(map(len, shown)) < 500
    assert any(line.startswith("two lines ") for line in shown)
    assert "\\x1b]0;pwned\\x07" in result.out
    assert TITLE not in gradwire("check", project, "--set", f"digits.target={TITLE}").err


def test_names_of_runs(gradwire: Callable[..., Result], project: Path) -> None:
    folder = project.with_suffix(".runs") / "one"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"number": 1, "name": f"{TITLE}\nRun 2", "note": TITLE}))
    result = gradwire("runs", "list", project)
    assert TITLE not in result.out + result.err
    assert "\\x1b]0;pwned\\x07 Run 2" in result.out


def test_values_of_trials_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    board = TrialTable(
        {1: TrialRow(1, {"table.columns": f"[/red]{TITLE}"})}, "val_loss", higher_is_better=False, quiet=True
    )
    board.print()
    assert "[/red]\\x1b]0;pwned\\x07" in capsys.readouterr().out


def test_warnings_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressDisplay(quiet=True).print_message(TITLE, always=True)
    assert capsys.readouterr().err == "\\x1b]0;pwned\\x07\n"
