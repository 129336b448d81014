"""Figures of data are right, bounded, and what is wrong is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine.data.samples import validation_split
from engine.dtypes import float32
from engine.shape import Spec
from studio.document.model import Node
from studio.training.data import data_statistics
from studio.training.data.data_statistics import Progress, ReadingLimits, collect_statistics, compute_statistics
from studio.training.data.histogram import BINS, Histogram
from studio.training.data.statistics_records import Statistics
from tests.studio.training.data_documents import arrays, chained, described, previewed


def of_arrays(folder: Path, inputs: np.ndarray, targets: np.ndarray, *more: Node | str) -> Statistics:
    return described(previewed(chained(arrays(folder, inputs, targets), *more)))


def codes(found: Statistics) -> list[str]:
    return [problem.code for problem in found.problems]


def test_figures_are_those_of_numpy(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(3, 2, (500, 4)).astype(np.float32)
    inputs[::50, 1] = np.nan
    inputs[3, 2] = np.inf
    found = of_arrays(tmp_path, inputs, np.arange(500) % 5, Node("data.HoldOut", {"validation": 0.0}))
    [part] = found.parts
    assert found.overlap is None
    assert part.samples == part.looked_at == 500
    assert part.classes == (100,) * 5
    for place, channel in enumerate(part.channels):
        column = inputs[:, place].astype(np.float64)
        there = column[np.isfinite(column)]
        assert channel.numbers == len(there)
        assert channel.missing == np.isnan(column).sum()
        assert channel.infinite == np.isinf(column).sum()
        figures = (channel.low, channel.high, channel.mean, channel.std)
        np.testing.assert_allclose(figures, (there.min(), there.max(), there.mean(), there.std()), rtol=1e-9)
        assert sum(channel.histogram.counts) == len(there)


def test_channels_of_images_and_features_of_series(tmp_path: Path) -> None:
    images = np.zeros((20, 3, 9, 9), np.uint8)
    images[:, 1] = 7
    found = of_arrays(tmp_path, images, np.arange(20) % 2)
    assert [(channel.name, channel.mean) for channel in found.parts[0].channels] == [
        ("red", 0),
        ("green", 7),
        ("blue", 0),
    ]
    series = np.zeros((20, 30, 2), np.float32)
    series[:, :, 1] = 5
    found = of_arrays(tmp_path, series, np.arange(20) % 2)
    assert [channel.mean for channel in found.parts[0].channels] == [0, 5]


def test_samples_in_both_parts_are_found(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).random((100, 3))
    inputs[50:] = inputs[:50]
    targets = np.arange(100) % 2
    targets[50:] = 1 - targets[:50]
    found = of_arrays(tmp_path, inputs, targets)
    preview = previewed(chained(Node("data.NPY", {"path": str(tmp_path / "arrays.npz")})))
    train, held = preview.after.train, preview.after.validation
    assert held is not None
    left, right = (samples.arrays(np.arange(len(samples)))[0] for samples in (train, held))
    twins = [row for row, value in enumerate(right) if (left == value).all(1).any()]
    assert found.overlap is not None
    assert found.overlap.count == len(twins) == found.overlap.contradictions
    row, other = found.overlap.examples[0]
    np.testing.assert_array_equal(left[row], right[other])
    [problem] = [problem for problem in found.problems if problem.code == "overlap"]
    assert f"{len(twins)} of {len(held)} validation samples have the same input as a training sample" in problem.message
    assert "Remove the duplicates" in problem.message
    assert problem.evidence["examples"][:2] == [["validation", other], ["training", row]]


def test_overlap_counts_samples_where_rows_are_repeated(tmp_path: Path) -> None:
    """As of a table of passengers that has their class, age group and sex only: 12 different inputs."""
    inputs = np.random.default_rng(0).integers(0, [3, 2, 2], (1316, 3)).astype(np.float32)
    targets = (inputs.sum(1) > 2).astype(np.int64)
    held = validation_split(1316, 0.2)[1]
    targets[held[0]] = 2
    found = of_arrays(tmp_path, inputs, targets)
    assert found.overlap is not None
    assert (found.overlap.count, found.overlap.inputs, found.overlap.contradictions) == (263, 12, 1)
    [problem] = [problem for problem in found.problems if problem.code == "overlap"]
    assert problem.message.startswith(
        "263 of 263 validation samples have the same input as a training sample (12 different inputs), for example"
    )
    assert "1 of them has a different target there." in problem.message
    assert "The 1,053 training samples have only 12 different inputs." in problem.message


def test_samples_without_numbers_are_led_to(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).random((40, 3)).astype(np.float32)
    inputs[:, 0] = np.arange(40)
    inputs[7, 1:], inputs[8, 2], inputs[31, 2] = np.nan, np.inf, np.nan
    preview = previewed(chained(Node("data.NPY", {"path": arrays(tmp_path, inputs, np.arange(40) % 2).params["path"]})))
    found = {problem.code: problem for problem in described(preview).problems}
    parts = {"training": preview.after.train, "validation": preview.after.validation}

    def at(code: str) -> set[int]:
        places = found[code].evidence["examples"]
        return {int(parts[part].arrays(np.array([row]))[0][0][0]) for part, row in places}

    assert at("missing") == {7, 31} and at("infinite") == {8}
    part, row = found["infinite"].evidence["examples"][0]
    assert f"first in {part} sample {row}. The loss" in found["infinite"].message


def test_what_looks_wrong_is_said_with_numbers(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).random((400, 3)).astype(np.float32)
    inputs[:, 1] = 4
    inputs[7, 0] = np.nan
    inputs[8, 2] = np.inf
    targets = np.zeros(400, np.int64)
    targets[:30] = 2
    found = of_arrays(tmp_path, inputs, targets, Node("data.HoldOut", {"validation": 0.5, "stratify": True}))
    said = {problem.code: problem.message for problem in found.problems}
    assert "1 number of " in said["missing"] and "is missing (NaN), in number 0, first in " in said["missing"]
    assert "Add Fill missing" in said["missing"]
    assert "infinite" in said["infinite"]
    assert "number 1 is constant in the training data" in said["constant"]
    assert "Class 1 has no" in said["missing-class"]
    assert "12 times" in said["imbalance"]


def test_clean_data_are_left_in_peace() -> None:
    assert codes(described(previewed(chained("data.Digits")))) == []


def test_numbers_that_are_nearly_equal_are_found() -> None:
    made = described(previewed(chained("data.Digits", "transforms.ToFloat")))
    [narrow] = [problem for problem in made.problems if problem.code == "narrow"]
    assert narrow.message.startswith("All training inputs lie between 0 and 0.0627 after b, ")
    assert codes(described(previewed(chained("data.Digits", Node("transforms.Normalize", {"std": 16.0}))))) == []


def test_labels_beyond_the_classes_are_named(tmp_path: Path) -> None:
    (tmp_path / "i").mkdir()
    record = np.zeros((40, 3073), np.uint8)
    record[:, 0] = np.arange(40) % 10
    record.tofile(tmp_path / "i" / "data_batch_1.bin")
    preview = previewed(chained(Node("data.CIFAR", {"folder": str(tmp_path / "i")})))
    preview.__dict__["class_names"] = tuple(map(str, range(5)))
    found = described(preview)
    [problem] = [problem for problem in found.problems if problem.code == "stray-class"]
    assert problem.severity == "error"
    assert "Training sample 5 has class index 5 but valid indices are 0 to 4" in problem.message


def test_images_that_do_not_decode_are_left_out_and_named(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(6):
            Image.new("L", (8, 8), 40 * number).save(tmp_path / name / f"{number}.png")
    (tmp_path / "cat" / "1.png").write_bytes(b"no image")
    found = described(previewed(chained(Node("data.ImageFolder", {"folder": str(tmp_path), "validation": 0.0}))))
    [problem] = [problem for problem in found.problems if problem.code == "unreadable"]
    assert problem.message.startswith("1 sample of training cannot be read, for example ")
    assert "1.png" in problem.message
    assert found.parts[0].channels[0].numbers == 11 * 64
    skipping = Node("data.ImageFolder", {"folder": str(tmp_path), "validation": 0.0, "on_error": "skip"})
    [problem] = [problem for problem in described(previewed(chained(skipping))).problems if problem.code == "skipped"]
    assert problem.message.startswith("1 image is skipped: ")
    assert problem.message.endswith("is not a readable image. Remove it. The next image replaces it.")


def test_large_data_are_sampled_and_that_is_said(tmp_path: Path) -> None:
    made = arrays(tmp_path, np.random.default_rng(0).random((1000, 2)), np.arange(1000) % 10)
    [*_, found] = collect_statistics(previewed(chained(made)), ReadingLimits(samples=50))
    assert isinstance(found, Statistics)
    training = found.parts[0]
    assert (training.samples, training.looked_at) == (800, 50)
    assert sum(training.classes) == 800, "classes are counted of all"
    [*_, fewer] = collect_statistics(previewed(chained(made)), ReadingLimits(bytes=160))
    assert isinstance(fewer, Statistics) and fewer.parts[0].looked_at == 10
    [*_, late] = collect_statistics(previewed(chained(made)), ReadingLimits(deadline=0.0))
    assert isinstance(late, Statistics) and late.parts[0].looked_at == 800, "at least one block is read"


def test_it_shows_progress_and_can_be_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_statistics, "_CHUNK_SAMPLES", 10)
    source = arrays(tmp_path, np.zeros((100, 2)), np.zeros(100, np.int64))
    items = compute_statistics(previewed(chained(source)))
    steps = [item for item in items if isinstance(item, Progress)]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == 100
    ended = compute_statistics(previewed(chained(source)))
    next(ended)
    ended.close()


def test_points_of_a_plane_are_drawn_with_their_classes() -> None:
    preview = previewed(chained("data.Moons"))
    training, validation = described(preview).parts
    assert (len(training.points), len(validation.points)) == (800, 200)
    inputs, targets = preview.after.train.arrays(np.arange(5))
    np.testing.assert_allclose([point[:2] for point in training.points[:5]], inputs)
    assert [point[2] for point in training.points[:5]] == list(targets)
    assert described(previewed(chained("data.Regression"))).parts[0].points == ()


def test_regression_has_figures_of_its_target() -> None:
    found = described(previewed(chained("data.Regression")))
    assert found.parts[0].classes == ()
    assert len(found.parts[0].targets) == 1
    assert found.parts[0].targets[0].numbers == 800


@pytest.mark.parametrize("columns", [1, 3])
def test_columns_of_targets_have_separate_metrics(tmp_path: Path, columns: int) -> None:
    targets = np.arange(40 * columns, dtype=np.float64).reshape(40, columns)
    targets[5, -1] = np.nan
    source = arrays(tmp_path, np.random.default_rng(0).random((40, 4)), targets)
    found = described(previewed(chained(source)))
    names = ["target"] if columns == 1 else ["target 0", "target 1", "target 2"]
    assert [each.name for each in found.parts[0].targets] == names
    both = [
        sum(part.targets[-1].numbers for part in found.parts),
        sum(part.targets[-1].missing for part in found.parts),
    ]
    assert both == [39, 1]
    lows = [min(part.targets[place].low for part in found.parts) for place in range(columns)]
    assert lows == list(range(columns))
    assert any(f"in {names[-1]}" in problem.message for problem in found.problems)


def test_targets_that_are_pictures_have_figures_together(tmp_path: Path) -> None:
    source = arrays(tmp_path, np.random.default_rng(0).random((20, 4)), np.ones((20, 3, 5), np.float32))
    [figures] = described(previewed(chained(source))).parts[0].targets
    assert (figures.name, figures.numbers, figures.mean) == ("all targets", 16 * 15, 1.0)


@pytest.mark.parametrize("highest", [400, 90_000])
def test_prices_that_count_as_classes_are_reported(tmp_path: Path, highest: int) -> None:
    prices = np.linspace(10, highest, 60).astype(np.int64)
    source = arrays(tmp_path, np.random.default_rng(0).random((60, 4)), prices)
    found = described(previewed(chained(source)))
    [problem] = found.problems
    assert problem.code == "numbers-as-classes"
    assert f"read as {highest + 1:,} classes for 48 training samples" in problem.message
    assert bool(found.class_names) is (highest < 10_000)
    learned = Node(source.type, {**source.params, "task": "numbers"})
    again = described(previewed(chained(learned)))
    assert (again.problems, again.target) == ((), Spec((1,), float32))
    assert again.parts[0].targets[0].high + again.parts[1].targets[0].high >= highest


@given(
    st.lists(st.lists(st.floats(-1e12, 1e12, allow_subnormal=False), min_size=1, max_size=30), min_size=1, max_size=5)
)
def test_a_histogram_counts_all_whatever_the_order(batches: list[list[float]]) -> None:
    histogram = Histogram(is_integer=False)
    for batch in batches:
        histogram.add(np.array(batch))
    found = histogram.result
    values = np.concatenate([np.array(batch) for batch in batches])
    assert len(found.counts) <= BINS
    edges = found.low + found.width * np.arange(len(found.counts) + 1)
    np.testing.assert_array_equal(found.counts, np.histogram(values, edges)[0])


def test_integers_have_separate_bins() -> None:
    histogram = Histogram(is_integer=True)
    histogram.add(np.array([0, 3, 3, 9]))
    assert histogram.result.width == 1
    assert histogram.result.counts == (1, 0, 0, 2, 0, 0, 0, 0, 0, 1)
