"""Warnings and hints that a project does not report at a node."""

from __future__ import annotations

import json
from pathlib import Path

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.files import project_files
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.lowering.problems.dismissal import dismiss, dismissed_codes, restore, restore_all
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.projects import digits


def squashed() -> Document:
    layers = {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10}), "softmax": "nn.Softmax"}
    return digits(layers)


def test_a_dismissed_warning_is_kept_apart_and_can_be_restored() -> None:
    document = squashed()
    [problem] = check(document, catalogue()).problems
    after = dismiss(document, problem)
    report = check(after, catalogue())
    assert report.problems == () and [each.code for each in report.dismissed] == [problem.code]
    assert loads(dumps(after)) == after and '"dismissed": ["squashed-scores"]' in dumps(after)
    assert dismissed_codes(after) == [("softmax", "squashed-scores")]
    assert restore(after, "softmax", "squashed-scores") == restore_all(after) == document
    assert dismissed_codes(edits.rename(after, "softmax", "last")) == [("last", "squashed-scores")]


def test_errors_are_never_dismissed() -> None:
    document = edits.set_param(squashed(), "logits", "in_features", 3)
    [error] = check(document, catalogue()).errors
    assert error.node is not None
    assert check(edits.set_dismissed(document, error.node, [error.code]), catalogue()).errors == (error,)


def test_a_problem_in_a_block_is_dismissed_in_the_definition() -> None:
    document = group(squashed(), ["logits", "softmax"], "head")[0]
    [problem] = check(document, catalogue()).problems
    assert problem.node == "head.softmax"
    after = dismiss(document, problem)
    assert after.blocks["head"].nodes["softmax"].dismissed == (problem.code,)
    assert check(after, catalogue()).problems == ()
    assert restore_all(after) == document


def test_the_command_marks_dismissed_problems(gradwire, tmp_path: Path) -> None:
    document = squashed()
    [problem] = check(document, catalogue()).problems
    file = tmp_path / "quiet.gradwire"
    project_files.save(dismiss(document, problem), file)
    record, summary = (json.loads(line) for line in gradwire("check", file, "--json").out.splitlines())
    assert record["dismissed"] is True and record["code"] == problem.code
    assert (summary["warnings"], summary["dismissed"]) == (0, 1)
    shown = gradwire("check", file)
    assert "softmax" not in shown.err and "no errors, no warnings, 1 dismissed" in shown.out


def test_a_code_of_an_earlier_version_still_dismisses_its_problem() -> None:
    document = edits.set_param(
        digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}), "adam", "lr", 0.5
    )
    [problem] = check(document, catalogue()).problems
    after = edits.set_dismissed(document, "adam", ["learning-rate-high"])
    assert problem.code == "learning-rate-too-high" and check(after, catalogue()).problems == ()
    assert dismissed_codes(after) == [("adam", "learning-rate-too-high")]
    assert restore(after, "adam", "learning-rate-too-high") == restore_all(after) == document
