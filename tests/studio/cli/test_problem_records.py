from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from engine.errors import ShapeError
from studio.cli.assignments import apply_assignments
from studio.cli.error_reporting import report_errors
from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_grouping import group
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.catalogue import catalogue

ROOT = Path(__file__).parents[3]
KEYS = {"event", "severity", "code", "message", "node", "port", "wire", "fix", "set", "edits"}
KEYS |= {"reason", "others", "evidence", "dismissed", "help"}
CREATED = {"Problem": 1, "Finding": 0, "Diagnostic": 0, "ArgumentProblem": 0, "_with_remedy": 1, "_warn": 0} | {
    "_rate_problem": 2,
    "_curve_problem": 2,
    "_out_of_range": 1,
}
"""Calls that make problems, with the place of the code among their arguments."""


def squashed(project: Path) -> None:
    """Puts softmax before the cross-entropy of the project, and a learning rate that is far too high."""
    document = project_files.load(project)
    wire = next(wire for wire in document.wires if str(wire.target) == "cross_entropy.input")
    added = edits.add(edits.disconnect(document, [wire]), "softmax", Node("nn.Softmax"))
    added = edits.connect(added, Wire(wire.source, Endpoint("softmax", "input")))
    added = edits.connect(added, Wire(Endpoint("softmax", "output"), wire.target))
    project_files.save(edits.set_param(added, "adam", "lr", 0.5), project)


def test_a_run_begins_with_the_warnings_of_the_check(gradwire, project: Path) -> None:
    squashed(project)
    *checked, _ = gradwire("check", project, "--json").lines
    by_code = {line["code"]: line for line in checked}
    assert by_code.keys() == {"squashed-scores", "learning-rate-too-high"}
    assert all(line.keys() == KEYS and line["help"] == DIAGNOSES[line["code"]].help for line in checked)
    assert by_code["squashed-scores"]["fix"] == "Remove softmax"
    assert by_code["squashed-scores"]["set"] == []
    source = str(
        next(wire.source for wire in project_files.load(project).wires if wire.target == Endpoint("softmax", "input"))
    )
    assert by_code["squashed-scores"]["edits"] == [
        {"remove": "softmax"},
        {"connect": [source, "cross_entropy.input"]},
    ]
    rate = by_code["learning-rate-too-high"]
    assert (rate["fix"], rate["set"]) == ("Set lr to 0.001", ["adam.lr=0.001"])
    assert rate["edits"] == [{"set": "adam", "param": "lr", "value": 0.001}]
    command = [sys.executable, str(ROOT / "main.py"), "run", str(project), "--steps", "1"]
    run = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=600, check=True)
    assert [json.loads(text) for text in run.stdout.splitlines()][:2] == checked
    shown = gradwire("run", project, "--steps", 1).err
    assert all(f"warning: {project}: {line['message']}" in shown for line in checked)


def test_errors_are_the_same_records_in_check_and_run(gradwire, project: Path) -> None:
    wrong = ("--set", "hidden.in_features=3", "--json")
    *checked, _ = gradwire("check", project, *wrong).lines
    failed = gradwire("run", project, *wrong).lines
    assert failed == [{**line, "event": "failed"} for line in checked]
    assert failed[0]["fix"] == "Infer in_features from the wire"


def test_what_a_fix_says_to_set_is_what_it_does(project: Path) -> None:
    document = project_files.load(project)
    for fix in (
        quick_fixes.assign("adam", "lr", 0.25),
        quick_fixes.assign_all({"adam": {"amsgrad": True, "betas": [0.5, 0.25]}}, "Both"),
        quick_fixes.retype("cross_entropy", "nn.NLLLoss"),
        quick_fixes.follow("train_accuracy"),
    ):
        assert fix.settings
        assert fix.edit(document) == apply_assignments(document, catalogue(), fix.settings)


FIXES: dict[str, Fix] = {
    "assign": quick_fixes.assign("adam", "lr", 0.25),
    "assign_all": quick_fixes.assign_all({"adam": {"amsgrad": True, "betas": [0.5, 0.25]}}, "Both"),
    "clear": quick_fixes.clear("hidden", "out_features"),
    "rename": quick_fixes.rename("hidden", "first"),
    "unmute": quick_fixes.unmute("muted"),
    "mute": quick_fixes.mute("relu"),
    "unfreeze": quick_fixes.unfreeze(["frozen"]),
    "freeze": quick_fixes.freeze("hidden"),
    "separate_weights": quick_fixes.separate_weights("sharing"),
    "trains": quick_fixes.trains("adam", ["hidden"], "Train it"),
    "follow": quick_fixes.follow("train_accuracy"),
    "order_loaders": quick_fixes.order_loaders("paired", "Pair them"),
    "wire_up": quick_fixes.wire_up(Endpoint("hidden", "output"), Endpoint("muted", "input")),
    "swap": quick_fixes.swap("cross_entropy", "input", "target"),
    "unwire": quick_fixes.unwire(Wire(Endpoint("adam", "loss"), Endpoint("nowhere", "input"))),
    "retype": quick_fixes.retype("cross_entropy", "nn.NLLLoss"),
    "add_loss": quick_fixes.add_loss(Endpoint("other", "loss"), "adam", Endpoint("cross_entropy", "loss"), None),
    "bypass": quick_fixes.bypass("relu", "input"),
    "insert": quick_fixes.insert(
        Endpoint("hidden", "input"), Node("nn.Flatten", {"start_dim": 2}), title="Insert Flatten"
    ),
    "insert_behind": quick_fixes.insert_behind(Endpoint("hidden", "output"), Node("nn.Tanh"), title="Insert Tanh"),
    "feed": quick_fixes.feed(
        Endpoint("hidden", "output"), Node("nn.Tanh"), Endpoint("frozen", "input"), title="Add Tanh"
    ),
    "replace_type": quick_fixes.replace_type("relu", Node("nn.Softmax", {"dim": 1})),
    "remove": quick_fixes.remove(["other"], "Remove other"),
    "all_of": quick_fixes.all_of(
        [quick_fixes.assign("adam", "lr", 0.25), quick_fixes.clear("hidden", "out_features")], "Both"
    ),
    "append": quick_fixes.append(Endpoint("other", "loss"), Node("optim.Adam"), "loss", title="Add Adam"),
    "append_loss": quick_fixes.append_loss(
        Endpoint("relu", "output"), Endpoint("batches", "target"), Node("nn.CrossEntropyLoss")
    ),
}


def follow_edits(document: Document, changes: Iterable[Mapping[str, Any]]) -> Document:
    """What a program does that reads the records."""

    def wire(ends: Sequence[str]) -> Wire:
        return Wire(*(Endpoint(*end.split(".")) for end in ends))

    for change in json.loads(json.dumps(list(changes))):
        match change:
            case {"remove": name}:
                document = edits.remove(document, [name])
            case {"rename": old, "name": name}:
                document = edits.rename(document, old, name)
            case {"insert": key, "name": name, "params": params, "wire": ends, "ports": [input_port, output_port]}:
                old = wire(ends)
                document = edits.add(edits.disconnect(document, [old]), name, Node(key, params))
                document = edits.connect(document, Wire(old.source, Endpoint(name, input_port)))
                document = edits.connect(document, Wire(Endpoint(name, output_port), old.target))
            case {"add": key, "name": name, "params": params}:
                document = edits.add(document, name, Node(key, params))
            case {"disconnect": ends}:
                document = edits.disconnect(document, [wire(ends)])
            case {"connect": ends}:
                document = edits.connect(document, wire(ends))
            case {"set": name, "param": param, "value": value}:
                document = edits.set_param(document, name, param, value)
            case {"clear": name, "param": param}:
                document = edits.clear_param(document, name, param)
            case {"change": name, **values}:
                node = msgspec.convert({**msgspec.to_builtins(document.nodes[name]), **values}, Node)
                document = msgspec.structs.replace(document, nodes={**document.nodes, name: node})
            case {"training": settings}:
                document = edits.set_training(document, **settings)
            case {"block": name, "edits": inner}:
                document = edit_block(document, name, partial(follow_edits, changes=inner))
            case _:
                raise AssertionError(change)
    return document


def unplaced(document: Document) -> Document:
    nodes = {name: msgspec.structs.replace(node, at=(0.0, 0.0)) for name, node in sorted(document.nodes.items())}
    return msgspec.structs.replace(document, nodes=nodes)


def test_the_edits_of_a_record_do_what_its_fix_does(project: Path) -> None:
    kinds = {
        name for name, made in vars(quick_fixes).items() if getattr(made, "__annotations__", {}).get("return") == "Fix"
    }
    assert FIXES.keys() == kinds
    document = project_files.load(project)
    others = {
        "muted": Node("nn.ReLU", muted=True),
        "sharing": Node("nn.Linear", shares="hidden"),
        "frozen": Node("nn.Linear", frozen=True),
        "other": Node("nn.MSELoss"),
    }
    document = edits.add_all(document, others)
    stray = Wire(Endpoint("adam", "loss"), Endpoint("nowhere", "input"))
    document = msgspec.structs.replace(document, wires=tuple(sorted((*document.wires, stray))))
    for name, fix in FIXES.items():
        after = fix.edit(document)
        record = Problem("error", "bad-name", "", fix=fix).within(document).as_dict()
        assert record["edits"] and unplaced(after) != unplaced(document), name
        assert unplaced(follow_edits(document, record["edits"])) == unplaced(after), (name, record["edits"])


def test_the_edits_of_a_block_are_in_a_record_of_it(project: Path) -> None:
    document, _ = group(project_files.load(project), ["hidden", "relu"], "dense")
    fix = Fix("Set out_features", partial(edit_block, name="dense", edit=FIXES["clear"].edit))
    record = Problem("error", "bad-name", "", fix=fix).within(document).as_dict()
    assert record["edits"] == [{"block": "dense", "edits": [{"clear": "hidden", "param": "out_features"}]}]
    assert follow_edits(document, record["edits"]) == fix.edit(document)


def test_what_is_refused_is_a_whole_record(gradwire, project: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.gradwire").write_text("{")
    for arguments, code in (
        (["check", tmp_path / "broken.gradwire"], "bad-file"),
        (["run", project, "--resume", "7"], "bad-file"),
        (["check", project, "--set", "nowhere.lr=1"], "bad-usage"),
        (["data", project, "adam"], "bad-usage"),
        (["overfit", project, "--set", "hidden.in_features=3"], "shape-mismatch"),
        (["overfit", project, "--steps", "2"], "not-learning"),
    ):
        [*_, line] = gradwire(*arguments, "--json").lines
        assert line.keys() == KEYS and (line["event"], line["code"], line["severity"]) == ("failed", code, "error"), (
            line
        )
        assert line["help"] == DIAGNOSES[code].help


def test_an_error_of_the_engine_is_a_record(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), report_errors(as_json=True):
        raise ShapeError("the weights do not fit")
    line = json.loads(capsys.readouterr().out)
    assert (line["code"], line["message"]) == ("bad-input", "the weights do not fit")


def test_problems_of_data_are_the_same_records(gradwire, tmp_path: Path) -> None:
    rows = "".join(f"{row},7,{row / 3:.3f},{'ab'[row % 2]}\n" for row in range(60))
    (tmp_path / "a.csv").write_text(f"id,b,c,y\n{rows}")
    table = Node("data.CSV", {"path": "a.csv", "target": "y"})
    project_files.save(Document({"table": table}), tmp_path / "a.gradwire")
    [line] = gradwire("data", tmp_path / "a.gradwire", "--json").lines
    by_code = {found["code"]: found for found in line["problems"]}
    assert by_code["identifier"]["edits"] == [{"set": "table", "param": "ignore", "value": "id"}]
    assert by_code["identifier"]["set"] == ["table.ignore=id"] and "constant" in by_code
    assert all(found.keys() == KEYS - {"event"} for found in line["problems"])
    assert all(found["help"] == DIAGNOSES[found["code"]].help and found["node"] for found in line["problems"])


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """Values by the name that a module assigns them to."""
    found: dict[str, ast.expr] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name):
            found[target.id] = statement.value
    return found


def test_every_code_has_help_and_every_diagnosis_is_used() -> None:
    created: set[str] = set()
    texts: set[str] = set()
    for path in (*(ROOT / "studio").rglob("*.py"), *(ROOT / "engine/data").rglob("*diagnostics.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = _constants(tree)
        if not {"diagnoses", "mistakes"} & set(path.relative_to(ROOT).parts):
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
            texts |= {node.value for node in nodes if isinstance(node.value, str)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                place = CREATED.get(getattr(node.func, "id", getattr(node.func, "attr", "")))
                code = None if place is None or len(node.args) <= place else node.args[place]
                code = constants.get(code.id) if isinstance(code, ast.Name) else code
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    created.add(code.value)
    assert created <= set(DIAGNOSES) <= texts


def test_a_sound_project_has_no_problems(project: Path) -> None:
    assert not check(project_files.load(project), catalogue()).problems
