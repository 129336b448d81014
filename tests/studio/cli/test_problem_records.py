from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

from studio.cli.assignments import assign
from studio.document import edits, files
from studio.document.model import End, Node, Wire
from studio.lowering import fixes
from studio.lowering.check import check
from studio.lowering.help import HELP
from studio.nodes.catalogue import catalogue

ROOT = Path(__file__).parents[3]
KEYS = {"event", "severity", "code", "message", "node", "port", "wire", "fix", "set", "help"}
CREATED = {"Problem": 1, "Diagnostic": 0, "Complaint": 0, "_with_remedy": 1, "_warn": 0}
"""Calls that make problems, with the place of the code among their arguments."""


def squashed(project: Path) -> None:
    """Puts softmax before the cross-entropy of the project, and a learning rate that is far too high."""
    document = files.load(project)
    wire = next(wire for wire in document.wires if str(wire.target) == "cross_entropy.input")
    added = edits.add(edits.disconnect(document, [wire]), "softmax", Node("nn.Softmax"))
    added = edits.connect(added, Wire(wire.source, End("softmax", "input")))
    added = edits.connect(added, Wire(End("softmax", "output"), wire.target))
    files.save(edits.set_param(added, "adam", "lr", 0.5), project)


def test_a_run_begins_with_the_warnings_of_the_check(gradwire, project: Path) -> None:
    squashed(project)
    *checked, _ = gradwire("check", project, "--json").lines
    by_code = {line["code"]: line for line in checked}
    assert by_code.keys() == {"squashed-scores", "learning-rate-high"}
    assert all(line.keys() == KEYS and line["help"] == HELP[line["code"]] for line in checked)
    assert by_code["squashed-scores"]["fix"] == "Remove softmax"
    assert by_code["squashed-scores"]["set"] == []
    rate = by_code["learning-rate-high"]
    assert (rate["fix"], rate["set"]) == ("Set lr to 0.001", ["adam.lr=0.001"])
    command = [sys.executable, str(ROOT / "main.py"), "run", str(project), "--steps", "1"]
    run = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=600, check=True)
    assert [json.loads(text) for text in run.stdout.splitlines()][:2] == checked
    shown = gradwire("run", project, "--steps", 1).err
    assert all(f"gradwire: warning: {project}: {line['message']}" in shown for line in checked)


def test_errors_are_the_same_records_in_check_and_run(gradwire, project: Path) -> None:
    wrong = ("--set", "hidden.in_features=3", "--json")
    *checked, _ = gradwire("check", project, *wrong).lines
    failed = gradwire("run", project, *wrong).lines
    assert failed == [{**line, "event": "failed"} for line in checked]
    assert failed[0]["fix"] == "Let in_features follow the wire"


def test_what_a_fix_says_to_set_is_what_it_does(project: Path) -> None:
    document = files.load(project)
    for fix in (
        fixes.assign("adam", "lr", 0.25),
        fixes.assign_all("adam", {"amsgrad": True, "betas": [0.5, 0.25]}, "Both"),
        fixes.retype("cross_entropy", "nn.NLLLoss"),
        fixes.follow("train_accuracy"),
    ):
        assert fix.settings
        assert fix.edit(document) == assign(document, catalogue(), fix.settings)


def test_every_code_has_help() -> None:
    used: set[str] = set()
    for path in (*(ROOT / "studio").rglob("*.py"), *(ROOT / "engine/data").glob("*diagnostics.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                place = CREATED.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
                code = None if place is None or len(node.args) <= place else node.args[place]
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    used.add(code.value)
    assert used == set(HELP)


def test_a_sound_project_has_no_problems(project: Path) -> None:
    assert not check(files.load(project), catalogue()).problems
