from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from engine.data import Digits
from studio.document.files import project_files
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire

ROOT = Path(__file__).parents[3]


@pytest.fixture
def trained(gradwire, project: Path) -> Path:
    """The folder of a run."""
    assert gradwire("run", project, "--epochs", 2, "--out", project.parent / "out", "--seed", 1).code == 0
    return project.parent / "out"


def digits(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw images and labels."""
    samples = Digits().train
    inputs, targets = samples.arrays(np.arange(count))
    return np.asarray(inputs), np.asarray(targets)


def table(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def test_evaluating_gives_the_figures_of_the_run(gradwire, project: Path, trained: Path) -> None:
    last = json.loads((trained / "run.json").read_text())["last"]
    newest = max((trained / "checkpoints").iterdir())  # a slow run leaves an earlier one, too
    for weights in (trained, trained / "weights.safetensors", newest):
        result = gradwire("evaluate", project, "--weights", weights, "--json")
        assert result.code == 0, result.err
        [line] = result.lines
        assert line["event"] == "evaluated"
        assert line["val_loss"] == last["val_loss"]
        assert line["val_accuracy"] == last["val_accuracy"]
    assert f"accuracy {last['val_accuracy']:.6g}" in gradwire("evaluate", project, "-w", trained).out


def test_predicting_from_arrays(gradwire, project: Path, trained: Path) -> None:
    images, labels = digits(100)
    first, second = project.parent / "first.npy", project.parent / "second.npz"
    np.save(first, images[:60])
    np.savez(second, input=images[60:], other=labels)
    out = project.parent / "answers.csv"
    result = gradwire("predict", project, first, second, "--weights", trained, "-o", out)
    assert (result.code, result.err) == (0, "")
    head, *rows = table(out)
    assert head == ["sample", "class", *map(str, range(10))]
    assert [row[0] for row in rows] == [str(number) for number in range(100)]
    assert np.mean([int(row[1]) == label for row, label in zip(rows, labels, strict=True)]) > 0.8
    scores = project.parent / "scores.npy"
    result = gradwire("predict", project, first, second, "-w", trained, "-o", scores, "--json")
    assert result.lines == [{"event": "predicted", "samples": 100, "out": str(scores)}]
    found = np.load(scores)
    assert found.shape == (100, 10)
    np.testing.assert_allclose(found, np.array([row[2:] for row in rows], np.float32), rtol=1e-6)
    assert gradwire("predict", project, first, "-w", trained).out.startswith("sample,class,0,1")


def test_arrays_of_other_numbers_are_taken_as_the_source_gives_them(gradwire, tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    np.savez(tmp_path / "known.npz", x=inputs, y=np.arange(40) % 2)
    nodes = {
        "arrays": Node("data.NPY", {"path": "known.npz"}),
        "loader": Node("data.Batches"),
        "scores": Node("nn.Linear", {"out_features": 2}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam"),
    }
    project = saved(tmp_path / "a.gradwire", nodes, ["arrays.samples loader.samples", *WIRES])
    assert gradwire("run", project, "--out", tmp_path / "run").code == 0

    def answered(array: np.ndarray):
        np.save(tmp_path / "new.npy", array)
        return gradwire("predict", project, tmp_path / "new.npy", "-w", tmp_path / "run")

    same = answered(inputs[:3])
    assert same.code == 0 and answered(inputs[:3].astype(np.float64)).out == same.out
    inputs[1, 2] = np.nan
    damaged = answered(inputs[:3])
    assert (
        "warning: 1 of 3 predictions are NaN or infinite, first for sample 1. Check the inputs of that sample."
        in damaged.err
    )
    assert damaged.out.splitlines()[2] == "1,,nan,nan"
    for array, problem in (
        (inputs[:0], "has no rows. Pass an array of shape N×…"),
        (inputs[:3].astype(np.complex64), "has dtype complex64, but numbers are needed"),
        (inputs[:3, :2], "contains samples of shape 2, but the network was trained on 3"),
    ):
        refused = answered(array)
        assert refused.code == 2 and problem in refused.err


def test_predicting_from_a_file_that_the_source_reads(gradwire, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(200, 2))
    names = np.where(points.sum(1) > 0, "high", "low")

    def write(name: str, rows: slice) -> Path:
        lines = [f"{a},{b},{label}" for (a, b), label in zip(points[rows], names[rows], strict=True)]
        (tmp_path / name).write_text("a,b,label\n" + "\n".join(lines) + "\n")
        return tmp_path / name

    nodes = {
        "table": Node("data.CSV", {"path": str(write("train.csv", slice(0, 150))), "target": "label"}),
        "loader": Node("data.Batches", {"batch_size": 32}),
        "scores": Node("nn.Linear", {"out_features": 2}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam", {"lr": 0.1}),
    }
    wires = ["table.samples loader.samples", "loader.input scores.input", "scores.output loss.input"]
    wires += ["loader.target loss.target", "loss.loss adam.loss"]
    ends = [[Endpoint(*end.split(".")) for end in wire.split()] for wire in wires]
    project = tmp_path / "points.gradwire"
    project_files.save(
        Document(nodes, tuple(sorted(Wire(*pair) for pair in ends)), TrainingSettings(epochs=10)), project
    )
    assert gradwire("run", project, "--out", tmp_path / "run").code == 0
    result = gradwire(
        "predict", project, write("new.csv", slice(150, 200)), "-w", tmp_path / "run", "-o", tmp_path / "x.csv"
    )
    assert result.code == 0, result.err
    head, *rows = table(tmp_path / "x.csv")
    assert head == ["sample", "class", "high", "low"]
    assert np.mean([row[1] == name for row, name in zip(rows, names[150:], strict=True)]) > 0.9


def saved(path: Path, nodes: dict[str, Node], wires: list[str], epochs: int = 1) -> Path:
    ends = [[Endpoint(*end.split(".")) for end in wire.split()] for wire in wires]
    project_files.save(
        Document(nodes, tuple(sorted(Wire(*pair) for pair in ends)), TrainingSettings(epochs=epochs)), path
    )
    return path


WIRES = ["loader.input scores.input", "scores.output loss.input", "loader.target loss.target", "loss.loss adam.loss"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_new_table_needs_no_target_and_keeps_the_categories_of_the_old_one(gradwire, tmp_path: Path, suffix) -> None:
    def write(name: str, columns: dict[str, list]) -> Path:
        path = tmp_path / f"{name}.{suffix}"
        table_of = pa.table(columns)
        arrow_csv.write_csv(table_of, path) if suffix == "csv" else parquet.write_table(table_of, path)
        return path

    colors, sizes = ["red", "green", "blue"] * 40, list(range(120))
    known = {"size": sizes, "colour": colors, "label": ["warm" if each == "red" else "cold" for each in colors]}
    kind = "data.CSV" if suffix == "csv" else "data.Parquet"
    source = {"path": str(write("known", known)), "target": "label", "categorical": "colour", "validation": 0.1}
    nodes = {
        "table": Node(kind, source),
        "scale": Node("transforms.Normalize", {"mean": [60.0, 0.0, 0.0, 0.0], "std": [60.0, 1.0, 1.0, 1.0]}),
        "loader": Node("data.Batches", {"batch_size": 16}),
        "scores": Node("nn.Linear", {"out_features": 2}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam", {"lr": 0.1}),
    }
    wires = ["table.samples scale.samples", "scale.samples loader.samples", *WIRES]
    project = saved(tmp_path / "colors.gradwire", nodes, wires, epochs=15)
    assert gradwire("run", project, "--out", tmp_path / "run").code == 0
    new = write(
        "new", {"colour": ["blue", "red", "purple", "red"], "more": ["a", "b", "c", "d"], "size": [3, 1, 2, 80]}
    )
    result = gradwire("predict", project, new, "-w", tmp_path / "run")
    assert result.code == 0
    [warning] = result.err.splitlines()
    assert (
        f"warning: new.{suffix}: 1 of 4 rows has a category in 'colour' that no training row has (purple: 1)" in warning
    )
    refused = gradwire("predict", project, new, "-w", tmp_path / "run", "--unseen", "refuse")
    assert refused.code == 2 and refused.out == ""
    assert "(purple: 1)" in refused.err and "--unseen zeros" in refused.err
    told = gradwire("predict", project, new, "-w", tmp_path / "run", "--json", "-o", tmp_path / "answers.npy")
    assert [line["event"] for line in told.lines] == ["warning", "predicted"]
    head, *rows = [line.split(",") for line in result.out.splitlines()]
    assert head == ["sample", "class", "cold", "warm"]
    assert [row[1] for row in rows if row[0] != "2"] == ["cold", "warm", "warm"]
    result = gradwire("predict", project, write("other", {"size": [1]}), "-w", tmp_path / "run")
    assert result.code == 2
    assert "has no column 'colour'. It has column 'size'" in result.err
    empty = write("empty", {"size": [1, None], "colour": ["red", "red"]})
    result = gradwire("predict", project, empty, "-w", tmp_path / "run", "--set", "table.missing=drop")
    assert result.code == 2, "an answer for each row, or none at all"
    assert "size" in result.err


def test_images_need_no_folders_of_classes_and_are_named(gradwire, tmp_path: Path) -> None:
    def paint(path: Path, level: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 6), level).save(path)

    for number in range(8):
        paint(tmp_path / "known" / "dark" / f"{number}.png", 5 * number)
        paint(tmp_path / "known" / "light" / f"{number}.png", 255 - 5 * number)
    nodes = {
        "photos": Node("data.ImageFolder", {"folder": str(tmp_path / "known"), "channels": "grey"}),
        "size": Node("transforms.Resize", {"size": [4, 4]}),
        "float": Node("transforms.ToFloat"),
        "loader": Node("data.Batches", {"batch_size": 4}),
        "flatten": Node("nn.Flatten"),
        "scores": Node("nn.Linear", {"out_features": 2}),
        "loss": Node("nn.CrossEntropyLoss"),
        "adam": Node("optim.Adam", {"lr": 0.1}),
    }
    wires = ["photos.samples size.samples", "size.samples float.samples", "float.samples loader.samples", *WIRES[1:]]
    wires += ["loader.input flatten.input", "flatten.output scores.input"]
    project = saved(tmp_path / "photos.gradwire", nodes, wires, epochs=15)
    assert gradwire("run", project, "--out", tmp_path / "run").code == 0
    paint(tmp_path / "new" / "b.png", 250)
    paint(tmp_path / "new" / "a" / "c.png", 3)
    result = gradwire("predict", project, tmp_path / "new", tmp_path / "new" / "b.png", "-w", tmp_path / "run")
    assert (result.code, result.err) == (0, "")
    rows = [line.split(",")[:2] for line in result.out.splitlines()[1:]]
    light, dark = str(tmp_path / "new" / "b.png"), str(tmp_path / "new" / "a" / "c.png")
    assert rows == [[dark, "dark"], [light, "light"], [light, "light"]]
    (tmp_path / "nothing").mkdir()
    result = gradwire("predict", project, tmp_path / "nothing", "-w", tmp_path / "run")
    assert result.code == 2
    assert "contains no images" in result.err


def test_what_cannot_be_predicted(gradwire, project: Path, trained: Path) -> None:
    folder = project.parent
    np.save(folder / "flat.npy", np.zeros((3, 5), np.uint8))
    np.save(folder / "objects.npy", np.array([{}, None], dtype=object), allow_pickle=True)
    (folder / "text.npy").write_text("not an array")
    np.savez(folder / "two.npz", a=np.zeros(3), b=np.zeros(3))
    (folder / "damaged.npz").write_bytes((folder / "two.npz").read_bytes()[:-9])
    (folder / "new.csv").write_text("a,b\n1,2\n")
    for name, said in {
        "flat.npy": "contains samples of shape 5, but the network was trained on 1×8×8",
        "objects.npy": "contains Python objects, which are never loaded",
        "text.npy": "is not a .npy or .npz file",
        "damaged.npz": "is damaged",
        "two.npz": "Name the array of samples `input`",
        "nothing.npy": "does not exist. Check the path.",
        "new.csv": "the project does not have exactly one data source with a path to replace",
    }.items():
        result = gradwire("predict", project, folder / name, "-w", trained)
        assert result.code == 2, name
        assert said in result.err, name
        assert result.out == ""
    images, _ = digits(2)
    np.save(folder / "images.npy", images)
    assert ".csv or .npy" in gradwire("predict", project, folder / "images.npy", "-w", trained, "-o", "x.txt").err
    other = gradwire("evaluate", project, "-w", trained, "--set", "hidden.out_features=3")
    assert other.code == 2
    assert "weights of another graph" in other.err
    nowhere = gradwire("evaluate", project, "-w", folder / "nowhere")
    assert (nowhere.code, nowhere.err) == (
        2,
        f"error: {folder / 'nowhere'} is not a run, checkpoint or weights file. Check the path.\n",
    )


def test_the_commands_before_a_training(gradwire, project: Path) -> None:
    result = gradwire("find-rate", project, "--json", "--steps", 60)
    assert [line["event"] for line in result.lines][-1] == "found"
    assert 1e-5 < result.lines[-1]["rate"] < 10
    assert "Suggested learning rate: " in gradwire("find-rate", project, "--steps", 60).out
    assert gradwire("find-rate", project, "--low", 1, "--high", 0.1).code == 2
    assert "The network learns" in gradwire("overfit", project).out
    result = gradwire("overfit", project, "--set", "adam.lr=1e-9", "--steps", 5, "--json")
    assert result.code == 1
    overfitted, failed = result.lines
    assert overfitted["learns"] is False and failed["code"] == "not-learning"
    assert "the loss is still" in result.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("command", ["find-rate", "overfit"])
def test_ctrl_c_ends_a_trial_without_a_word(project: Path, command: str) -> None:
    code = (
        "import signal, sys, main\n"
        "from engine import fit\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def interrupted(*_, **__):\n"
        "    yield signal.raise_signal(signal.SIGINT)\n"
        "fit.find_rate = fit.overfit_one_batch = interrupted\n"
        "sys.exit(main.main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, command, str(project)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_settings_of_the_training_for_one_run(gradwire, project: Path) -> None:
    options = ("--epochs", 1, "--json", "--set")
    assert gradwire("run", project, *options, "training.validate_steps=4").code == 0
    for wrong, said in {
        "training.accumulate=0": "training.accumulate must be a whole number ≥ 1 and ≤ 2,147,483,647, not '0'",
        "training.acumulate=2": "Did you mean 'accumulate'?",
        "training.clip_norm=often": "training.clip_norm must be a number > 0 and ≤ 1e+30 or none, not 'often'",
        "training.clip_norm=inf": "training.clip_norm must be a number > 0 and ≤ 1e+30 or none, not 'inf'",
        "training.min_change=nan": "training.min_change must be a number ≥ 0 and ≤ 1e+30, not 'nan'",
        "training.seed=9223372036854775808": "training.seed must be a whole number ≥ 0 and ≤ 9,223,372,036,854,775,807",
        "training.epochs=4611686018427387904": "training.epochs must be a whole number ≥ 1 and ≤ 2,147,483,647",
        "adam.betas=0.9": "betas must be 2 numbers, not 1",
        "adam.betas=0.9,0.9,0.9": "betas must be 2 numbers, not 3",
        "hidden.out_features=9223372036854775808": "out_features must be ≥ 1 and ≤ 2,147,483,647",
        "training.follow=val_f1": "The best weights are selected by val_f1, but the project has no such metric",
    }.items():
        result = gradwire("run", project, *options, wrong)
        assert result.code == 2, wrong
        assert said in result.err, wrong


@pytest.mark.parametrize("seed", [-1, 2**63, "x"])
def test_a_seed_that_cannot_be_says_the_range(gradwire, project: Path, seed: int | str) -> None:
    result = gradwire("run", project, f"--seed={seed}")
    assert result.code == 2
    assert "--seed" in result.err
    assert {-1: "at least 0, not -1", 2**63: "at most 9,223,372,036,854,775,807", "x": "a whole number, not 'x'"}[
        seed
    ] in " ".join(result.err.split())
