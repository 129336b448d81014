"""Damaged and hostile weights and runs: one sentence, exit code 2."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.data import numpy_files
from studio.training.runs import run_resuming
from studio.training.runs.run_history import RunFolder, run_from_stored
from tests.studio.cli.conftest import Result


@pytest.fixture
def trained(gradwire, project: Path) -> Path:
    """The folder of a run that was stopped after a step."""
    assert gradwire("run", project, "--epochs", 5, "--steps", 3, "--no-compile", "--quiet").code == 0
    [folder] = project.with_suffix(".runs").iterdir()
    return folder


def refused(result: Result, *names: str) -> None:
    assert result.code == 2, result
    assert result.err.startswith("error: ") and result.err.count("\n") == 1, result.err
    for name in names:
        assert name in result.err


def hostile(path: Path, structure: Any) -> Path:
    """A file with a checksum that fits, of one tensor and a description."""
    text = structure if isinstance(structure, str) else json.dumps(structure)
    metadata = {"gradwire.sha256": "0" * 64, "gradwire.structure": text}
    header = {"__metadata__": metadata, "a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    content = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack("<Q", len(content)) + content + bytes(4)
    place = content.index(b'"gradwire.sha256":"') + len(b'"gradwire.sha256":"')
    path.write_bytes(content[:place] + hashlib.sha256(content).hexdigest().encode() + content[place + 64 :])
    return path


@pytest.mark.parametrize(
    "structure",
    [
        {"tensor": "nope"},
        {"dict": [[{"list": []}, 1]]},
        {"set": [{"dict": []}]},
        {"list": {}},
        {"dict": [[1]]},
        {"dict": 3},
        {},
        {"nope": 1},
        {"tensor": "a", "list": []},
        {"tensor": ["a"]},
        {"Device": "nowhere"},
        {"DType": "complex"},
        [],
        "",
        "{",
        "[" * 50_000,
        '{"list":[' * 20_000 + "]}" * 20_000,
        {"dict": [["training", 1], ["metrics", 2]]},
        {"dict": [["training", {"dict": []}], ["metrics", {"dict": []}]]},
        {"dict": [["training", {"tensor": "a"}], ["metrics", {"tensor": "a"}]]},
        {"dict": [["x", 1]]},
        3,
    ],
)
def test_descriptions_that_make_no_sense(gradwire, project: Path, structure: Any) -> None:
    path = hostile(project.parent / "hostile.safetensors", structure)
    refused(gradwire("evaluate", project, "--weights", path), str(path))
    refused(gradwire("run", project, "--steps", 1, "--quiet", "--start-from", path), str(path))


def test_a_checksum_that_is_not_where_it_should_be(gradwire, project: Path) -> None:
    path = project.parent / "a.safetensors"
    engine.save({"a": 1}, path)
    path.write_bytes(path.read_bytes().replace(b'"gradwire.sha256":"', b'"gradwire.sha256" :"'))
    refused(gradwire("evaluate", project, "--weights", path), "damaged")


@pytest.mark.parametrize(
    "about",
    [
        "[]",
        "3",
        "{",
        "",
        "\ufeff{}",
        "[" * 50_000,
        '{"number": "one"}',
        '{"settings": []}',
        '{"settings": {"epochs": "many"}}',
        '{"versions": [1]}',
        '{"last": {"epoch": []}}',
        '{"number": NaN}',
        '{"data": [1]}',
    ],
)
def test_a_run_json_of_nonsense(gradwire, project: Path, about: str) -> None:
    folder = project.with_suffix(".runs") / "a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(about, encoding="utf-8")
    refused(gradwire("run", project, "--resume"), "run.json is damaged")
    refused(gradwire("run", project, "--resume", "a"), "run.json is damaged")
    listed = gradwire("runs", "list", project)
    assert listed.code == 0 and "run.json is damaged" in listed.err and "failed" in listed.out


def test_a_damaged_newest_run_is_not_passed_over(gradwire, project: Path, trained: Path) -> None:
    """It may be the one to go on with: what to do is said instead."""
    about = json.loads((trained / "run.json").read_text())
    (trained / "run.json").write_text(json.dumps({**about, "state": "stopped"}))
    newer = trained.with_name("9999-01-01_00-00-00-2")
    newer.mkdir()
    (newer / "run.json").write_text("{")
    remedy = f"Restore the file, or resume the newest undamaged run: --resume {trained.name}."
    refused(gradwire("run", project, "--resume"), f"{newer / 'run.json'} is damaged", remedy)
    assert gradwire("run", project, "--resume", trained.name, "--steps", 4, "--quiet").code == 0


def test_optimizer_state_that_lacks_an_entry(gradwire, project: Path, trained: Path) -> None:
    [*_, path] = sorted((trained / "checkpoints").iterdir())
    content = engine.load(path)
    [name] = content["training"]["task"]["optimizers"]
    del content["training"]["task"]["optimizers"][name]["state"][1]["exp_avg_sq"]
    path.unlink()
    engine.save(content, path)
    result = gradwire("run", project, "--resume", trained.name, "--epochs", 2, "--steps", 9, "--quiet")
    refused(result, str(path), "state of parameter 1 lacks the entry 'exp_avg_sq'")


def test_a_run_whose_last_step_is_unknown_and_no_arguments_at_all(gradwire, project: Path) -> None:
    folder = project.with_suffix(".runs") / "a"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"state": "done", "last": {"step": null}}', encoding="utf-8")
    [found] = RunFolder(folder.parent).scan()
    assert run_from_stored(found, []).step == 0
    assert gradwire("runs", "list", project).code == 0
    assert gradwire().code == 2


def test_lines_of_nonsense_are_counted(gradwire, project: Path, trained: Path) -> None:
    metrics = trained / "metrics.jsonl"
    sound = len(gradwire("runs", "export", project).out.splitlines())
    huge = f'{{"event":"done","epochs":{10**400},"steps":1,"seconds":1,"reason":""}}'
    with metrics.open("a", encoding="utf-8") as file:
        file.write(f'3\n{{"event":"step"}}\n{"[" * 50_000}\n{huge}\nnonsense\n')
    result = gradwire("runs", "export", project)
    assert result.code == 0 and len(result.out.splitlines()) == sound
    assert "5 lines of metrics.jsonl cannot be read" in result.err


def test_a_graph_that_took_the_place_of_a_runs_own(gradwire, project: Path, trained: Path) -> None:
    graph = trained / "graph.gradwire"
    text = graph.read_text(encoding="utf-8")
    moved = json.loads(text)
    moved["nodes"]["hidden"]["at"] = [3, 4]
    graph.write_text(json.dumps(moved), encoding="utf-8")
    assert gradwire("run", project, "--resume", "1", "--steps", 4, "--quiet").code == 0
    other = json.loads(text)
    other["nodes"]["hidden"]["params"]["out_features"] = 7
    graph.write_text(json.dumps(other), encoding="utf-8")
    refused(gradwire("run", project, "--resume", "1"), "graph.gradwire differs from the graph in the run's checkpoint")


def test_a_checkpoint_of_values_that_do_not_fit(gradwire, project: Path, trained: Path) -> None:
    checkpoint = max((trained / "checkpoints").iterdir())
    for path in (trained / "checkpoints").iterdir():
        if path != checkpoint:
            path.unlink()
    sound = engine.load(checkpoint)

    def resumed(change: Any) -> Result:
        content = engine.load(checkpoint)
        change(content["training"])
        engine.save(content, checkpoint)
        result = gradwire("run", project, "--resume", "1", "--steps", 5, "--quiet")
        engine.save(sound, checkpoint)
        return result

    refused(
        resumed(lambda training: training.update(mean=[{}, {}, {}, {}])), "does not fit the graph of the run (TypeError"
    )
    refused(resumed(lambda training: training.update(random=[1])), "does not fit the graph of the run (ValueError")
    engine.save({**sound, "metrics": {**sound["metrics"], "metrics": 2**70}}, checkpoint)
    assert "metrics.metrics" in run_resuming.load_run(trained).warnings[0]
    engine.save(sound, checkpoint)
    [name] = sound["training"]["task"]["optimizers"]
    refused(
        resumed(lambda training: training["task"]["optimizers"][name]["groups"][0].update(lr="high")),
        "its lr is a str, not a float",
    )
    refused(
        resumed(lambda training: training["task"]["optimizers"][name]["groups"][0].update(step=3)),
        "has an unknown field 'step'",
    )
    damaged = resumed(lambda training: training["task"]["modules"].pop("model"))
    assert damaged.code == 0 and 'is a damaged checkpoint (training.task.modules: has no field "model"' in damaged.err


def test_a_flipped_bit_in_an_archive(gradwire, project: Path, trained: Path) -> None:
    """Members that are not packed are mapped, not read by the library that checks them."""
    path = project.parent / "samples.npz"
    np.savez(path, input=np.ones((4000, 1, 8, 8), np.uint8))
    content = bytearray(path.read_bytes())
    content[-100_000] ^= 4
    path.write_bytes(content)
    refused(gradwire("predict", project, path, "--weights", trained), "input: is damaged (its CRC-32 does not match)")


def test_an_archive_that_unpacks_to_gigabytes(gradwire, project: Path, trained: Path, monkeypatch) -> None:
    """What does not fit the network is refused by its header."""
    path = project.parent / "bomb.npz"
    np.savez_compressed(path, input=np.zeros((2**24,), np.uint8))
    monkeypatch.setattr(numpy_files.StoredArray, "read", lambda array: pytest.fail("it was unpacked"))
    refused(gradwire("predict", project, path, "--weights", trained), "contains samples of")


def test_a_header_that_declares_more_than_a_header_can_have(gradwire, project: Path, trained: Path) -> None:
    """NumPy reads four gigabytes of it before it looks at the length."""
    path = project.parent / "bomb.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff")
    with path.open("r+b") as file:
        file.truncate(2**32 + 64)  # takes no room on the disk
    refused(gradwire("predict", project, path, "--weights", trained), "declares 4,294,967,295 bytes")
