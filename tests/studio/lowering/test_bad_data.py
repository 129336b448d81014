"""Bad input through sources on the canvas: reported by the check or the run with location, values and next step."""

from __future__ import annotations

import gzip
import io
import re
import shutil
import struct
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image

from engine import fit
from engine.data.samples import validation_split
from engine.errors import EngineError
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.nodes import catalogue
from tests.studio.lowering.graphs import document, fixed

RANDOM = np.random.default_rng(0)
SMALL: list[str | Node] = [Node("transforms.Resize", {"size": [8, 8]}), "transforms.ToFloat"]


def trained(
    *data: str | Node, loss: str = "nn.CrossEntropyLoss", out: int = 3, batches: Node | None = None
) -> Document:
    """Data nodes a, b, … one after the other, and a linear network behind them."""
    nodes: dict[str, str | Node] = {chr(ord("a") + index): node for index, node in enumerate(data)}
    names = [*nodes, "batches"]
    nodes |= {
        "batches": batches or Node("data.Batches"),
        "flat": "nn.Flatten",
        "scores": Node("nn.Linear", {"out_features": out}),
        "loss": loss,
        "adam": "optim.Adam",
    }
    types = {name: node if isinstance(node, str) else node.type for name, node in nodes.items()}
    ports = {name: catalogue()[types[name]].inputs[0].name for name in names[1:]}
    wires = [f"{one}.samples -> {two}.{ports[two]}" for one, two in pairwise(names)]
    wires += ["batches.input -> flat.input", "flat.output -> scores.input", "scores.output -> loss.input"]
    return document(nodes, [*wires, "batches.target -> loss.target", "loss.loss -> adam.loss"])


def arrays(folder: Path, inputs: Any, targets: Any) -> Node:
    np.savez(folder / "arrays.npz", x=inputs, y=targets)
    return Node("data.NPY", {"path": "arrays.npz"})


def numbers(count: int = 40) -> np.ndarray:
    return RANDOM.random((count, 5)).astype(np.float32)


def with_nan() -> np.ndarray:
    """In one of the training samples."""
    values = numbers()
    values[validation_split(40, 0.2)[0][3], :2] = np.nan
    return values


def corpus(folder: Path, length: int) -> Node:
    (folder / "text.txt").write_text("ab " * (length // 3))
    return Node("data.Text", {"path": "text.txt"})


def pictures(folder: Path, sizes: tuple[int, ...] = (8,)) -> Node:
    for name in ("cats", "dogs"):
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            picture = Image.new("RGB", (sizes[number % len(sizes)], 8), (number, 80, 90))
            picture.save(folder / "pictures" / name / f"{number}.png")
    return Node("data.ImageFolder", {"folder": "pictures"})


def idx(folder: Path, labels: dict[str, np.ndarray], images: bytes | None = None) -> Node:
    for part, own in labels.items():
        pixels = RANDOM.integers(0, 255, (len(own), 8, 8), dtype=np.uint8)
        content = struct.pack(">4I", 0x803, *pixels.shape) + pixels.tobytes() if images is None else images
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, len(own)) + own.tobytes())
    return Node("data.IDX", {"folder": "."})


def shard(folder: Path, files: dict[str, bytes]) -> Node:
    with tarfile.open(folder / "a.tar", "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return Node("data.WebDataset", {"folder": "."})


def png() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    return content.getvalue()


def emptied(folder: Path) -> Node:
    node = pictures(folder)
    shutil.rmtree(folder / "pictures" / "dogs")
    (folder / "pictures" / "dogs").mkdir()
    return node


def text(folder: Path, content: str, **params: Any) -> Node:
    (folder / "table.csv").write_text(content)
    return Node("data.CSV", {"path": "table.csv", "target": "y", **params})


Made = Callable[[Path], Document]
LABELS = np.arange(40, dtype=np.uint8) % 3

FOUND_BY_CHECK: dict[str, tuple[Made, str, str]] = {
    "numbers for a loss of classes": (
        lambda folder: trained(arrays(folder, numbers(), RANDOM.random(40))),
        "loss",
        r"loss expects class targets but batches provides numeric targets, N×1 float64. Use .*MSELoss",
    ),
    "classes for a loss of numbers": (
        lambda folder: trained(arrays(folder, numbers(), np.arange(40) % 3), loss="nn.MSELoss"),
        "loss",
        r"loss expects numbers as targets but batches provides the numbers of 3 classes .* Use CrossEntropyLoss",
    ),
    "scores for a loss of probabilities": (
        lambda folder: trained(arrays(folder, numbers(), RANDOM.random(40)), loss="nn.BCELoss", out=1),
        "loss",
        r"loss expects probabilities between 0 and 1 but scores outputs unbounded scores.*Use BCEWithLogitsLoss",
    ),
    "bytes for a layer": (
        lambda folder: trained(idx(folder, {"train": LABELS})),
        "batches",
        r"scores expects float32 but gets N×64 uint8 from flat. Insert To float before batches",
    ),
    "float64 for a layer": (
        lambda folder: trained(arrays(folder, RANDOM.random((40, 5)), np.arange(40) % 3)),
        "batches",
        r"gets N×5 float64 from flat. Insert To float",
    ),
    "labels of validation beyond those of training": (
        lambda folder: trained(idx(folder, {"train": LABELS, "t10k": LABELS + 4}), "transforms.ToFloat"),
        "scores",
        r"The data has 7 classes but scores outputs scores for 3",
    ),
    "negative labels": (
        lambda folder: trained(arrays(folder, numbers(), np.arange(40) % 3 - 1)),
        "a",
        r"arrays.npz: y: contains label -1, but class numbers start at 0. If these are not classes",
    ),
    "a class number that no network has outputs for": (
        lambda folder: trained(shard(folder, {"1.png": png(), "1.cls": b"500000000"}), *SMALL),
        "a",
        r"a.tar: the label of 1.png is '500000000', not a class number. Write",
    ),
    "no rows": (
        lambda folder: trained(arrays(folder, numbers(0), np.zeros(0, np.int64))),
        "a",
        r"arrays.npz: x: has no rows. Save",
    ),
    "no rows below the names": (
        lambda folder: trained(text(folder, "a,y\n")),
        "a",
        r"table.csv: has no rows below the column names. Add",
    ),
    "every row has a missing value": (
        lambda folder: trained(text(folder, "a,b,y\n1,,0\n,2,1\n", missing="drop")),
        "a",
        r"every row has a missing value. Ignore",
    ),
    "an empty folder of a class": (
        lambda folder: trained(emptied(folder), *SMALL),
        "a",
        r"dogs: contains no images .*Add images, or remove this class",
    ),
    "sizes that differ": (
        lambda folder: trained(pictures(folder, (8, 9)), "transforms.ToFloat"),
        "batches",
        r"but H and W of the samples from b \(3×H×W float32\) may vary. Insert Resize or a crop before batches",
    ),
    "objects": (
        lambda folder: trained(arrays(folder, np.array([{}, 1], object), np.arange(2))),
        "a",
        r"contains Python objects, which are never loaded. Save an array of numbers",
    ),
    "a size beyond what gzip can hold": (
        lambda folder: trained(idx(folder, {"train": LABELS}, struct.pack(">4I", 0x803, 40, 2**20, 2**20))),
        "a",
        r"declares 40×1048576×1048576 numbers of 1 bytes, 40.0 TiB, but .* of gzip cannot hold them",
    ),
    "a path out of an archive": (
        lambda folder: trained(shard(folder, {"../1.png": png(), "../1.cls": b"1"}), *SMALL),
        "a",
        r"'../1.png' points outside the archive. Create the shard again without it",
    ),
    "a damaged number in a table": (
        lambda folder: trained(text(folder, "a,y\n1,0\nx,1\n")),
        "a",
        r"table.csv: line 3, column 1 \('a'\): 'x' is not a finite number. Correct it",
    ),
    "a table that is no Parquet": (
        lambda folder: trained(Node("data.Parquet", {**text(folder, "a,y\n1,0\n").params, "target": "y"})),
        "a",
        r"table.csv: cannot be read as Parquet: .*[^.]\. Check the file\.$",
    ),
    "a file that is not there": (
        lambda folder: trained(Node("data.CSV", {"path": "gone.csv", "target": "y"})),
        "a",
        r"gone.csv: file not found. Check the path",
    ),
    "batches larger than the data": (
        lambda folder: trained(
            arrays(folder, numbers(), np.arange(40) % 3),
            batches=Node("data.Batches", {"batch_size": 100, "drop_last": True}),
        ),
        "batches",
        r"smaller than 100 but there are only 32 samples to train on.*Set batch_size to 32 or less, or turn",
    ),
    "more folds than samples": (
        lambda folder: trained(arrays(folder, numbers(3), np.arange(3)), "data.KFold"),
        "b",
        r"3 samples do not fill 5 folds. Set folds to at most 3",
    ),
    "shares of classes where there are none": (
        lambda folder: trained(
            arrays(folder, numbers(), numbers()[:, 0]),
            Node("data.HoldOut", {"stratify": True}),
            loss="nn.MSELoss",
            out=1,
        ),
        "b",
        r"stratify needs classes, .* Turn stratify off",
    ),
    "one sample to divide": (
        lambda folder: trained(arrays(folder, numbers(1), np.zeros(1, np.int64)), "data.HoldOut", out=1),
        "b",
        r"1 sample cannot be split. Add samples, or set validation to 0",
    ),
    "a text that is shorter than its windows": (
        lambda folder: trained(corpus(folder, 300), "transforms.ToFloat"),
        "a",
        r"the validation part has 30 characters, but a window and its target need 65. Decrease length",
    ),
    "classes beyond one-hot vectors": (
        lambda folder: trained(
            arrays(folder, numbers(), np.arange(40) % 3),
            Node("transforms.OneHot", {"on": "targets", "size": 2}),
            loss="nn.MSELoss",
            out=2,
        ),
        "b",
        "b encodes 2 classes but the data has 3. Set size of b to 3.",
    ),
}


@pytest.mark.parametrize("case", FOUND_BY_CHECK)
def test_check_reports_bad_data(tmp_path: Path, case: str) -> None:
    make, node, words = FOUND_BY_CHECK[case]
    [problem, *_] = check(make(tmp_path), catalogue(), tmp_path).errors
    assert problem.node == node
    assert re.search(words, problem.message), problem.message


def test_fix_of_wrong_dtype(tmp_path: Path) -> None:
    made = trained(arrays(tmp_path, RANDOM.random((40, 5)), np.arange(40) % 3))
    [problem] = check(made, catalogue(), tmp_path).errors
    assert check(fixed(made, problem), catalogue(), tmp_path).errors == ()


def test_fix_of_class_targets_for_regression(tmp_path: Path) -> None:
    made = trained(arrays(tmp_path, numbers(), np.arange(40) * 1000), "transforms.ToFloat", loss="nn.MSELoss")
    [problem] = check(made, catalogue(), tmp_path).errors
    mended = fixed(made, problem)
    assert mended.nodes["a"].params["task"] == "numbers"
    scores = Node("nn.Linear", {"out_features": 1})
    narrow = Document({**mended.nodes, "scores": scores}, mended.wires, mended.training)
    assert check(narrow, catalogue(), tmp_path).errors == ()


def test_fix_of_scores_without_sigmoid(tmp_path: Path) -> None:
    made = trained(arrays(tmp_path, numbers(), RANDOM.random(40)), loss="nn.BCELoss", out=1)
    [problem] = check(made, catalogue(), tmp_path).problems
    assert check(fixed(made, problem), catalogue(), tmp_path).problems == ()


def test_single_class_is_reported(tmp_path: Path) -> None:
    made = trained(arrays(tmp_path, numbers(), np.zeros(40, np.int64)))
    [problem] = check(made, catalogue(), tmp_path).problems
    assert problem.severity == "warning"
    assert problem.message.startswith("All targets of a have the same class, so loss has nothing to learn.")


def test_fix_of_varying_sizes(tmp_path: Path) -> None:
    made = trained(pictures(tmp_path, (8, 9)), "transforms.ToFloat")
    [problem] = check(made, catalogue(), tmp_path).errors
    assert check(fixed(made, problem), catalogue(), tmp_path).errors == ()


def goes(folder: Path) -> None:
    shutil.rmtree(folder / "pictures")


def unchanged(folder: Path) -> None:
    """Nothing happens to the data."""


def damaged(folder: Path) -> None:
    (folder / "pictures" / "cats" / "3.png").write_bytes(b"no image")


FOUND_BY_RUN: dict[str, tuple[Made, Callable[[Path], None], str]] = {
    "a folder that disappears": (
        lambda folder: trained(pictures(folder), *SMALL),
        goes,
        r"pictures.*\.png: file not found. Check whether the folder was moved",
    ),
    "an image that cannot be decoded": (
        lambda folder: trained(pictures(folder), *SMALL),
        damaged,
        r"3.png: is not a readable image. Remove it, or set on_error to skip",
    ),
    "gzip data that end early": (
        lambda folder: trained(
            idx(folder, {"train": LABELS}, struct.pack(">4I", 0x803, 40, 8, 8) + bytes(100)), "transforms.ToFloat"
        ),
        unchanged,
        r"declares 40×8×8 numbers of 1 bytes, 2.5 KiB, but only 100 bytes follow. Download the file again",
    ),
    "gzip data without end": (
        lambda folder: trained(
            idx(folder, {"train": LABELS}, struct.pack(">4I", 0x803, 40, 8, 8) + bytes(30_000_000)),
            "transforms.ToFloat",
        ),
        unchanged,
        r"2.5 KiB, but more data follow",
    ),
    "NaN among the inputs": (
        lambda folder: trained(arrays(folder, with_nan(), np.arange(40) % 3)),
        unchanged,
        r"the inputs of 1 of 32 samples in a batch contain 2 values that are NaN or infinite.*Add Fill missing",
    ),
    "infinity among the targets": (
        lambda folder: trained(arrays(folder, numbers(), with_nan()[:, :1] * np.inf), loss="nn.MSELoss", out=1),
        unchanged,
        r"the targets of 32 of 32 samples in a batch contain 32 values that are NaN or infinite",
    ),
}


BLAMED = {
    "NaN among the inputs": "batches",
    "infinity among the targets": "batches",
}
"""The nodes that are to be mended; of all others it is the source."""


@pytest.mark.parametrize("case", FOUND_BY_RUN)
def test_run_fails_with_bad_data(tmp_path: Path, case: str) -> None:
    make, happens, words = FOUND_BY_RUN[case]
    made = make(tmp_path)
    assert check(made, catalogue(), tmp_path).errors == ()
    program = lower(check(made, catalogue(), base=tmp_path))
    training = fit.fit(program.build(), epochs=1)

    def run() -> None:
        for event in training:
            if isinstance(event, fit.Started):
                happens(tmp_path)

    with pytest.raises(EngineError, match=words) as raised:
        run()
    assert program.node_of(raised.value) == BLAMED.get(case, "a")


@pytest.mark.parametrize("workers", [0, 2])
def test_damaged_image_after_split_and_workers_names_its_source(tmp_path: Path, workers: int) -> None:
    batches = Node("data.Batches", {"workers": workers, "batch_size": 4})
    made = trained(pictures(tmp_path), SMALL[0], "data.KFold", SMALL[1], batches=batches)
    damaged(tmp_path)
    program = lower(check(made, catalogue(), base=tmp_path))
    with pytest.raises(EngineError, match=r"3\.png: is not a readable image") as raised:
        list(fit.fit(program.build(), epochs=1))
    assert program.node_of(raised.value) == "a"


def test_failing_transform_is_named(tmp_path: Path) -> None:
    labels = Node("transforms.LabelEncode", {"on": "targets", "labels": [0, 1]})
    data = arrays(tmp_path, numbers(), np.arange(40) % 3), "transforms.ToFloat", labels, "transforms.Normalize"
    program = lower(check(trained(*data, out=2), catalogue(), base=tmp_path))
    with pytest.raises(EngineError, match="LabelEncode: 2 is not among the 2 labels") as raised:
        list(fit.fit(program.build(), epochs=1))
    assert program.node_of(raised.value) == "c"


def test_undecodable_image_can_be_skipped(tmp_path: Path) -> None:
    node = pictures(tmp_path)
    damaged(tmp_path)
    made = trained(Node(node.type, {**node.params, "on_error": "skip"}), *SMALL)
    training = fit.fit(lower(check(made, catalogue(), base=tmp_path)).build(), epochs=1)
    with pytest.warns(UserWarning, match=r"3.png: is not a readable image.* The next image replaces it"):
        events = list(training)
    assert isinstance(events[-1], fit.Done)


def test_zip_bomb_is_rejected_before_allocation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "arrays.npz", x=np.zeros((50_000, 100), np.float32), y=np.arange(50_000) % 3)
    memory = psutil.virtual_memory()._replace(available=10_000_000)
    monkeypatch.setattr("engine.data.file_access.psutil.virtual_memory", lambda: memory)
    made = trained(Node("data.NPY", {"path": "arrays.npz"}))
    with pytest.raises(EngineError, match=r"needs 19.1 MiB of memory, but 9.5 MiB are free. Save it with np.savez"):
        list(fit.fit(lower(check(made, catalogue(), base=tmp_path)).build(), epochs=1))


# -- divisions that leave something empty -----------------------------------------------------


def divided(folder: Path, counts: tuple[int, ...], division: Node) -> Document:
    """Class labels with N samples per class, split again."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return trained(arrays(folder, numbers(len(labels)), labels), division, out=len(counts))


def messages(folder: Path, counts: tuple[int, ...], kind: str, **params: Any) -> list[str]:
    problems = check(divided(folder, counts, Node(f"data.{kind}", params)), catalogue(), folder).problems
    found = [problem for problem in problems if problem.code != "no-validation"]
    assert {problem.severity for problem in found} <= {"warning"}
    assert {problem.node for problem in found} <= {"b"}
    return [problem.message for problem in found]


def test_classes_with_fewer_samples_than_folds(tmp_path: Path) -> None:
    assert messages(tmp_path, (20, 9, 5), "KFold") == []
    [message] = messages(tmp_path, (20, 3, 4), "KFold")
    assert message == (
        "b makes 5 folds but class 1 has 3 samples, and 1 more class is like it, so some folds cannot measure "
        "its accuracy. Add samples, or use fewer folds."
    )


def test_classes_only_in_training_or_validation(tmp_path: Path) -> None:
    [message] = messages(tmp_path, (40, 2), "HoldOut", validation=0.05)
    assert "b puts none of the 2 samples of class 1 into validation, so its accuracy is not measured" in message
    found = messages(tmp_path, (20, 2), "HoldOut", validation=0.95)
    assert any(
        "puts all 2 samples of class 1 into validation, so the network cannot learn it" in each for each in found
    )
    for stratify in (False, True):
        [message] = messages(tmp_path, (40, 20, 1), "HoldOut", stratify=stratify)
        assert message == ("Class 2 has 1 sample, which b puts into either training or validation. Add samples.")
    assert messages(tmp_path, (40, 2), "HoldOut", validation=0.05, stratify=True) == []
    assert messages(tmp_path, (40, 2), "HoldOut", validation=0.0) == []


@pytest.mark.parametrize(
    ("counts", "division"),
    [
        ((1, 1, 1), Node("data.KFold")),
        ((20, 3, 4), Node("data.KFold")),
        ((40, 2), Node("data.HoldOut", {"validation": 0.05})),
    ],
)
def test_fixes_of_splits(tmp_path: Path, counts: tuple[int, ...], division: Node) -> None:
    made = divided(tmp_path, counts, division)
    problem = check(made, catalogue(), tmp_path).problems[0]
    again = check(fixed(made, problem), catalogue(), tmp_path)
    assert [each for each in again.problems if each.code == problem.code and each.severity == problem.severity] == []


def test_a_split_is_checked_again_when_its_file_changes(tmp_path: Path) -> None:
    made = divided(tmp_path, (1, 1, 1), Node("data.KFold"))
    assert check(made, catalogue(), tmp_path).errors != ()
    divided(tmp_path, (9, 9, 9), Node("data.KFold"))
    assert check(made, catalogue(), tmp_path).errors == ()


def test_classes_of_a_transform_are_counted(tmp_path: Path) -> None:
    """Divided after Label encode, targets have the classes that it makes of them."""
    labels = np.array([10] * 20 + [30] * 3)
    encode = Node("transforms.LabelEncode", {"on": "targets", "labels": [10, 30]})
    made = trained(arrays(tmp_path, numbers(23), labels), encode, "data.KFold", out=2)
    [problem] = check(made, catalogue(), tmp_path).problems
    assert (problem.node, problem.code) == ("c", "rare-class")
    assert "class 30 has 3 samples" in problem.message


def test_muted_splits_are_not_checked(tmp_path: Path) -> None:
    made = divided(tmp_path, (1, 1, 1), Node("data.KFold", muted=True))
    assert check(made, catalogue(), tmp_path).errors == ()
