"""Imports: a data file becomes nodes that check clean and give samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine.data.tables.inference.table_schema import infer_table
from engine.errors import DataError
from studio.document.model import Document, Node
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener, chain_to
from studio.training.data.imports.file_import import image_column, is_table, plan_file, plan_image_list
from studio.training.data.imports.import_plan import ImportPlan, apply_plan
from studio.training.data.imports.table_import import ImportOptions, plan_table
from tests.engine.data.table_corpus import CORPUS, CorpusTable

VARIED = ImportOptions(
    fill="most frequent", indicators=True, category_encoding="index", date_features="both", validation=0.25
)


def batch(document: Document, name: str, base: Path) -> tuple[np.ndarray, np.ndarray]:
    """The first training samples that reach a node."""
    splits = ChainOpener().open(chain_to(name, document, NodeGraph(document, catalogue()), base))[-1]
    inputs, targets = splits.train.arrays(np.arange(min(40, len(splits.train))))
    return np.asarray(inputs), np.asarray(targets)


def imported(plan: ImportPlan, base: Path) -> tuple[Document, list[str]]:
    """The document with the network of the import, which is sound, and the names of the data nodes."""
    document, names = apply_plan(plan, Document())
    assert plan.network is not None
    assert [problem.message for problem in check(document, catalogue(), base).errors] == []
    return document, names[: len(plan.nodes) + 1]


@pytest.mark.parametrize("options", [ImportOptions(), VARIED], ids=["default", "varied"])
@pytest.mark.parametrize("table", CORPUS, ids=lambda table: table.file)
def test_imported_table_has_finite_scaled_samples(table: CorpusTable, options: ImportOptions, tmp_path: Path) -> None:
    path = tmp_path / table.file
    path.write_bytes(table.content)
    plan = plan_table(infer_table(path), options, tmp_path)
    assert plan.nodes[0].params["path"] == table.file
    document, names = imported(plan, tmp_path)
    inputs, targets = batch(document, names[-1], tmp_path)
    assert np.isfinite(inputs).all() and np.isfinite(targets).all()
    assert inputs.shape[1] == len(plan.preview.columns) - 1
    assert np.abs(inputs).max() < 40
    assert sum(count for _, count in plan.preview.classes) in (0, plan.preview.training)


def written(folder: Path, content: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


PEOPLE = "age,sex,survived\n" + "".join(
    f"{row % 50 if row % 9 else ''},{'fm'[row % 2]},{row % 3 == 0:d}\n" for row in range(90)
)


@pytest.mark.parametrize(("fill", "value"), [("median", 24), ("mean", 22.75), ("most frequent", 1)])
def test_missing_numbers_are_filled_from_the_training_rows(tmp_path: Path, fill, value: float) -> None:
    plan = plan_table(infer_table(written(tmp_path, PEOPLE)), ImportOptions(fill=fill))
    node = next(node for node in plan.nodes if node.type == "transforms.FillMissing")
    assert node.params["strategy"] == fill
    filled = node.params["value"]
    assert isinstance(filled, list) and filled[0] == pytest.approx(value, abs=3)
    name = "most frequent number" if fill == "most frequent" else fill
    assert plan.warnings == (f"10 of 90 values of age are missing; filled with the {name} of the training rows.",)


def test_columns_are_filled_in_different_ways(tmp_path: Path) -> None:
    rows = [f"{row},{row % 2 or ''},{row % 5 or ''},{row % 7 or ''},{'uv'[row % 2]}" for row in range(1, 91)]
    schema = infer_table(written(tmp_path, "\n".join(["a,b,c,d,y", *rows])))
    for column, fill in ((1, "zero"), (2, "mean"), (3, "zero")):
        schema = schema.with_column(column, role="input", type="number", fill=fill)
    plan = plan_table(schema, ImportOptions(scale=False))
    fills = [node.params for node in plan.nodes if node.type == "transforms.FillMissing"]
    assert [params.get("channels") for params in fills] == [[0, 2], [1], None]
    assert "values of b are missing; filled with 0." in plan.warnings[0]
    document, names = imported(plan, tmp_path)
    inputs, _ = batch(document, names[-1], tmp_path)
    assert not np.isnan(inputs).any()
    assert set(inputs[:, 0]) == {0, 1} and 0 in inputs[:, 2]
    assert any(value == pytest.approx(2.5, abs=0.2) for value in inputs[:, 1])


def test_rows_with_missing_values_can_be_left_out(tmp_path: Path) -> None:
    plan = plan_table(infer_table(written(tmp_path, PEOPLE)), ImportOptions(fill="drop"))
    assert [node.type for node in plan.nodes] == ["data.CSV", "transforms.Normalize"]
    assert plan.preview.training + plan.preview.validation == 80
    assert plan.warnings == ("10 of 90 values of age are missing; these rows are left out.",)


def test_table_without_target_or_inputs_is_refused(tmp_path: Path) -> None:
    schema = infer_table(written(tmp_path, PEOPLE))
    with pytest.raises(DataError, match=r"t.csv: no column is the target\. Set the role"):
        plan_table(schema.with_column(2, role="ignore"))
    with pytest.raises(DataError, match=r"t.csv: no column is an input"):
        plan_table(schema.with_column(0, role="ignore").with_column(1, role="ignore"))


def test_loader_is_added_only_if_there_is_none(tmp_path: Path) -> None:
    plan = plan_table(infer_table(written(tmp_path, PEOPLE)))
    _, names = apply_plan(plan, Document({"old": Node("data.Batches")}))
    assert names == ["t", "fill", "scale"]


def picture(path: Path, size: tuple[int, int] = (40, 36), color: int = 90) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (color, 20, 70)).save(path)
    return path


def test_folder_of_images(tmp_path: Path) -> None:
    for name in ("cats", "dogs"):
        for number in range(6):
            picture(tmp_path / "pets" / name / f"{number}.png", (40 + number, 36))
    plan = plan_file(tmp_path / "pets", tmp_path)
    assert [node.type.rpartition(".")[2] for node in plan.nodes] == ["ImageFolder", "Resize", "CenterCrop", "ToFloat"]
    assert (plan.preview.input, plan.preview.target) == ("3×32×32 float32", "2 classes")
    document, names = imported(plan, tmp_path)
    assert batch(document, names[-1], tmp_path)[0].max() <= 1
    assert plan_file(tmp_path / "pets" / "cats" / "0.png", tmp_path).nodes == plan.nodes, "an image means its folder"


def test_table_that_lists_images(tmp_path: Path) -> None:
    lines = ["file;label"]
    for number in range(12):
        picture(tmp_path / "img" / f"{number}.png")
        lines.append(f"img/{number}.png;{'uv'[number % 2]}")
    schema = infer_table(written(tmp_path, "\n".join(lines)))
    assert image_column(schema) == "file"
    document, names = imported(plan_image_list(schema, "file", tmp_path), tmp_path)
    assert batch(document, names[-1], tmp_path)[0].shape[1:] == (3, 32, 32)


def test_arrays_and_texts(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(50, 30, (60, 5)).astype(np.float32), np.arange(60) % 3
    np.savez(tmp_path / "both.npz", x=x, y=y)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    for name in ("both.npz", "x.npy"):
        plan = plan_file(tmp_path / name, tmp_path)
        assert [node.type for node in plan.nodes] == ["data.NPY", "transforms.Normalize"]
        assert (
            plan.preview.classes == (("0", 16), ("1", 16), ("2", 16)) or sum(n for _, n in plan.preview.classes) == 48
        )
        imported(plan, tmp_path)
    text = written(tmp_path, "It was a bright, cold day.\nThe clocks were striking thirteen.\n\n" * 50, "book.txt")
    assert not is_table(text)
    assert [node.type for node in plan_file(text).nodes] == ["data.Text"]
    assert is_table(written(tmp_path, "a\tb\n1\t2\n3\t4\n", "numbers.txt"))


@pytest.mark.parametrize(
    ("names", "params"),
    [
        (("x_train", "y_train", "x_test", "y_test"), {"input_name": "x_train", "target_name": "y_train"}),
        (("X", "y"), {"input_name": "X"}),
        (("train_images", "train_labels"), {"input_name": "train_images", "target_name": "train_labels"}),
        (("data", "target", "names"), {"input_name": "data", "target_name": "target"}),
    ],
)
def test_names_of_the_arrays_in_an_archive_are_guessed(
    names: tuple[str, ...], params: dict[str, str], tmp_path: Path
) -> None:
    arrays = {
        name: np.arange(60).reshape(30, 2) / 9 if i % 2 == 0 else np.arange(30) % 2 for i, name in enumerate(names)
    }
    np.savez(tmp_path / "a.npz", **arrays)
    plan = plan_file(tmp_path / "a.npz", tmp_path)
    assert {name: value for name, value in plan.nodes[0].params.items() if name != "path"} == params
    assert plan.preview.target == "2 classes"
    assert [name for name in names[2:] if name not in "".join(plan.warnings)] == []


def test_missing_values_of_many_columns_are_one_note(tmp_path: Path) -> None:
    head = ",".join(f"c{i}" for i in range(20))
    rows = [
        ",".join("" if row == i else f"{row * i % 17 + 0.5}" for i in range(20)) + f",{'uv'[row % 2]}"
        for row in range(60)
    ]
    plan = plan_table(infer_table(written(tmp_path, "\n".join([f"{head},y", *rows]))))
    assert plan.warnings == ("20 columns have 1 missing values of 60: filled with the median of the training rows.",)


def test_what_no_source_reads_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", written(tmp_path, "x", "a.docx")):
        with pytest.raises(DataError, match="no data source reads this f"):
            plan_file(path)
