"""`gradwire check --fix` applies fixes to the project file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from studio.document.edits import add, set_param
from studio.document.files import project_files
from studio.document.model import Document, Frame, Node
from studio.lowering.check import check
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import digits
from studio.training.fixes import fix_measurement, fix_trials
from studio.training.fixes.fix_trials import TrialFigure
from tests.studio.cli.conftest import ROOT


def network(adam: Node, batches: Node) -> Document:
    return digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 16}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        },
        adam=adam,
        batches=batches,
    )


def wrong() -> Document:
    """Two mistakes, a comment and a note."""
    document = network(
        adam=Node("optim.Adam", {"lr": 10.0}, at=(300.0, 40.0), note="slow"),
        batches=Node("data.Batches", {"shuffle": False}),
    )
    return replace(document, frames={"why": Frame(text="Keep me")})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.gradwire"
    project_files.save(wrong(), path)
    return path


def test_all_fixes_are_saved_and_nothing_else_changes(gradwire, file: Path) -> None:
    before = project_files.load(file)
    result = gradwire("check", file, "--fix", "--no-trials")
    assert result.code == 0 and result.err == ""
    assert "lr of adam: 10.0 → 0.001" in result.out and result.out.endswith("2 fixed, 0 left, saved\n")
    after = project_files.load(file)
    assert after.nodes["adam"].params == {"lr": 0.001} and after.nodes["batches"].params["shuffle"] is True
    assert after.frames == before.frames and after.nodes["adam"].note == "slow"
    assert after.nodes["adam"].at == before.nodes["adam"].at
    assert gradwire("check", file).code == 0


def test_a_second_time_leaves_the_file_untouched(gradwire, file: Path) -> None:
    assert gradwire("check", file, "--fix", "all", "--no-trials").code == 0
    content, stamp = file.read_bytes(), file.stat().st_mtime_ns
    result = gradwire("check", file, "--fix", "all")
    assert result.code == 0 and result.out.endswith("0 fixed, 0 left, unchanged\n")
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (content, stamp)


def test_only_chosen_problems_are_fixed(gradwire, file: Path) -> None:
    assert gradwire("check", file, "--fix", "not-shuffled").out.endswith("1 fixed, 1 left, saved\n")
    assert project_files.load(file).nodes["adam"].params["lr"] == 10.0
    assert gradwire("check", file, "--fix", "sgd:learning-rate-too-high").out.endswith("0 fixed, 1 left, unchanged\n")
    assert gradwire("check", file, "--fix", "adam:learning-rate-too-high", "--no-trials").code == 0
    assert project_files.load(file).nodes["adam"].params["lr"] == 0.001


def test_a_dry_run_shows_the_changes_only(gradwire, file: Path) -> None:
    content = file.read_bytes()
    result = gradwire("check", "--fix", file, "--dry-run", "--no-trials")
    assert result.code == 0 and result.out.endswith("2 fixed, 0 left, not saved\n")
    assert file.read_bytes() == content


def test_a_trial_measures_the_fix_and_chooses_among_several(gradwire, file: Path) -> None:
    result = gradwire("check", file, "--fix", "learning-rate-too-high", "--json")
    applied, last = result.lines
    assert applied["event"] == "fixed" and applied["code"] == "learning-rate-too-high"
    assert applied["reason"].startswith("200 batches: val_loss ")
    assert applied["others"] and applied["changes"] == [f"lr of adam: 10.0 → {applied['edits'][0]['value']:g}"]
    assert last == {"event": "fixes", "fixed": 1, "refused": 0, "left": 1, "errors": 0, "written": True}


def test_a_fix_with_which_the_project_trains_worse_is_refused(
    gradwire, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(report: Report, steps: int = 200, **_: object) -> TrialFigure:
        rate = report.document.nodes["adam"].params["lr"]
        return TrialFigure("val_loss", 0.5 if rate == 10.0 else 0.6, is_higher_better=False, steps=steps)

    monkeypatch.setattr(fix_measurement, "run_first_trial", trained)
    monkeypatch.setattr(fix_measurement, "run_trial", trained)
    content = file.read_bytes()
    result = gradwire("check", file, "--fix", "learning-rate-too-high")
    assert result.code == 1 and "trains worse (200 batches: val_loss 0.5 → 0.6)" in result.err
    assert file.read_bytes() == content


def test_a_slow_network_is_tried_with_fewer_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    report = check(wrong(), catalogue())
    monkeypatch.setattr(fix_trials, "_estimate", lambda begun, step, steps: 9.0 if steps <= 50 else 11.0)
    figure = fix_trials.run_first_trial(report)
    assert figure is not None and figure.steps == 50
    with pytest.raises(fix_trials.TrialCancelledError):
        fix_trials.run_trial(report, 50, advance=_cancel)


def _cancel(share: float) -> None:
    raise fix_trials.TrialCancelledError


def test_a_problem_without_a_fix_is_refused(gradwire, tmp_path: Path) -> None:
    path = tmp_path / "net.gradwire"
    sound = network(Node("optim.Adam"), Node("data.Batches"))
    project_files.save(add(sound, "extra", Node("nn.NoSuchLayer")), path)
    result = gradwire("check", path, "--fix", "--no-trials")
    assert result.code == 1 and "Not fixed: It has no fix." in result.err
    assert result.out.endswith("unchanged\n")


def test_errors_that_stay_are_told_by_the_exit_code(gradwire, file: Path) -> None:
    project_files.save(set_param(wrong(), "digits", "validation", 2.0), file)
    result = gradwire("check", file, "--fix", "not-shuffled")
    assert result.code == 2 and "error: " in result.err and "1 fixed" in result.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--fix", "learning-rate"), "Did you mean 'learning-rate-"),
        (("--fix", ","), "expected all, CODE or NODE:CODE"),
        (("--fix", "all", "--set", "adam.lr=0.1"), "cannot be combined with --set"),
        (("--dry-run",), "--dry-run needs --fix"),
    ],
)
def test_wrong_options_are_refused(gradwire, file: Path, arguments: tuple[str, ...], text: str) -> None:
    result = gradwire("check", file, *arguments)
    assert result.code == 2 and text in result.err


def test_the_real_command_line(file: Path) -> None:
    command = [sys.executable, str(ROOT / "main.py"), "check", str(file), "--fix", "--no-trials", "--json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line)["event"] for line in ran.stdout.splitlines()] == ["fixed", "fixed", "fixes"]
