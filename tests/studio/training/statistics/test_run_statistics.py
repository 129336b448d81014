"""The file of statistics: written and read, after crashes, damaged, thinned and resumed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.document.document_errors import FileError
from studio.training.statistics.run_statistics import RunStatistics
from studio.training.statistics.statistics_file import StatisticsFile, truncate_statistics
from studio.training.statistics.statistics_format import STATISTICS_FILE
from studio.training.statistics.step_statistics import StatisticsLayout

LAYOUT = StatisticsLayout(
    {"relu.output": ("mean", "gradient", "dead"), "encoder.3.fc.output": ("mean", "gradient")},
    {"encoder.3.fc.weight": ("norm", "gradient", "update")},
)
WIDTH = len(LAYOUT.columns)


def numbers_of(step: int) -> np.ndarray:
    return np.arange(WIDTH, dtype=np.float32) + step


def write(folder: Path, steps: range | list[int], *, max_bytes: int = 2**20, gradients: int = 5) -> StatisticsFile:
    file = StatisticsFile(folder, LAYOUT, max_bytes=max_bytes)
    for index, step in enumerate(steps):
        file.append(step, numbers_of(step), has_gradients=index % gradients == 0)
        if index % 7 == 0:
            file.write()
    file.write()
    return file


def test_figures_are_read_by_step(tmp_path: Path) -> None:
    write(tmp_path, [1, 20, 40, 60, 80, 100, 120])
    read = RunStatistics(tmp_path)
    assert read.steps().tolist() == [1, 20, 40, 60, 80, 100, 120]
    assert read.at(0) is None
    found = read.at(79)
    assert found is not None
    assert found.step == 60
    assert found.gradient_step == 1
    assert found.outputs["relu.output"] == {"mean": 60.0, "gradient": 2.0, "dead": 62.0}
    assert found.parameters["encoder.3.fc.weight"] == {"norm": 65.0, "gradient": 7.0, "update": 67.0}
    assert list(found.outputs) == ["relu.output", "encoder.3.fc.output"]
    last = read.at(10**9)
    assert last is not None
    assert (last.step, last.gradient_step) == (120, 100)


def test_without_gradients_there_is_no_such_figure(tmp_path: Path) -> None:
    file = StatisticsFile(tmp_path, LAYOUT)
    file.append(1, numbers_of(1), has_gradients=False)
    file.write()
    found = RunStatistics(tmp_path).at(1)
    assert found is not None
    assert found.outputs["relu.output"] == {"mean": 1.0, "dead": 3.0}
    assert found.gradient_step is None


def test_series_has_the_measured_steps_and_continues_while_the_run_is_written(tmp_path: Path) -> None:
    write(tmp_path, range(10))
    read = RunStatistics(tmp_path)
    steps, values = read.series("parameter", "encoder.3.fc.weight", "update")
    assert steps.tolist() == list(range(10))
    assert values.tolist() == [step + 7.0 for step in range(10)]
    assert read.series("output", "relu.output", "gradient")[0].tolist() == [0, 5]
    assert read.series("output", "relu.output", "median")[0].tolist() == []
    assert read.series("output", "other.output", "mean")[1].tolist() == []
    write(tmp_path, range(10, 30))
    assert read.series("parameter", "encoder.3.fc.weight", "update")[0].tolist() == list(range(30))
    assert read.steps().tolist() == list(range(30))


def test_a_run_without_statistics_has_no_steps(tmp_path: Path) -> None:
    read = RunStatistics(tmp_path)
    assert read.steps().tolist() == []
    assert read.at(5) is None
    assert read.layout() is None
    assert read.series("output", "relu.output", "mean")[0].tolist() == []
    (tmp_path / STATISTICS_FILE).touch()
    assert read.at(5) is None


def test_a_resumed_run_continues_after_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, range(50))
    read = RunStatistics(tmp_path)
    assert len(read.series("output", "relu.output", "mean")[0]) == 50
    truncate_statistics(tmp_path, 29)
    file = StatisticsFile(tmp_path, LAYOUT)
    for step in range(30, 60):
        file.append(step, numbers_of(step) + 1000, has_gradients=False)
    file.write()
    steps, values = read.series("output", "relu.output", "mean")
    assert steps.tolist() == list(range(60))
    assert values.tolist() == [*range(30), *(1000 + step for step in range(30, 60))]


def test_other_columns_replace_the_file(tmp_path: Path) -> None:
    write(tmp_path, range(5))
    other = StatisticsLayout({"relu.output": ("mean",)}, {})
    file = StatisticsFile(tmp_path, other)
    file.append(7, np.ones(1, np.float32), has_gradients=False)
    file.write()
    read = RunStatistics(tmp_path)
    assert read.steps().tolist() == [7]
    assert read.layout() == other


def test_a_full_file_is_thinned(tmp_path: Path) -> None:
    limit = 4000
    write(tmp_path, [1, *range(20, 20_000, 20)], max_bytes=limit)
    assert (tmp_path / STATISTICS_FILE).stat().st_size <= limit
    read = RunStatistics(tmp_path)
    steps = read.steps()
    assert steps[0] == 1
    assert len(steps) >= 30
    intervals = set(np.diff(steps[1:]).tolist())
    assert len(intervals) == 1, "the rest is evenly spaced"
    assert min(intervals) % 40 == 0
    assert steps[-1] > 20_000 - 2 * max(intervals)
    for step in steps.tolist():
        found = read.at(step)
        assert found is not None
        assert found.outputs["relu.output"]["mean"] == step
    assert read.series("output", "relu.output", "gradient")[0].size


def test_thinning_goes_on_after_a_resume(tmp_path: Path) -> None:
    write(tmp_path, range(1000), max_bytes=4000)
    interval = np.diff(RunStatistics(tmp_path).steps())[-1]
    assert interval > 1
    truncate_statistics(tmp_path, 499)
    write(tmp_path, range(500, 1000), max_bytes=4000)
    steps = RunStatistics(tmp_path).steps()
    assert (tmp_path / STATISTICS_FILE).stat().st_size <= 4000
    assert set(np.diff(steps).tolist()) <= {interval, 2 * interval}


def test_a_record_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    def unreadable() -> np.ndarray:
        raise MemoryError

    file = StatisticsFile(tmp_path, LAYOUT)
    file.append(20, numbers_of(20), has_gradients=True)
    file.append_deferred(40, unreadable, has_gradients=False)
    file.append(60, numbers_of(60), has_gradients=False)
    file.write()
    assert RunStatistics(tmp_path).steps().tolist() == [20, 60]
    assert file.dropped == 1


def test_records_are_kept_while_the_disk_refuses_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    file = StatisticsFile(folder, LAYOUT)
    file.append(1, numbers_of(1), has_gradients=True)
    with pytest.raises(OSError):
        file.write()
    folder.mkdir()
    file.append(2, numbers_of(2), has_gradients=False)
    file.write()
    assert RunStatistics(folder).steps().tolist() == [1, 2]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_file_cut_at_any_byte_is_read_and_continued(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, range(12))
        path = folder / STATISTICS_FILE
        content = path.read_bytes()
        size = (len(content) - 12 * (16 + 4 * WIDTH), 16 + 4 * WIDTH)
        length = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:length])
        complete = max(length - size[0], 0) // size[1]
        read = RunStatistics(folder)
        if 0 < length < size[0]:
            with pytest.raises(FileError, match=r"statistics\.bin is damaged.*Delete this file"):
                read.at(100)
        else:
            assert read.steps().tolist() == list(range(complete))
            found = read.at(100)
            assert (None if found is None else found.step) == (complete - 1 if complete else None)
        write(folder, range(12, 15))
        expected = [*(range(complete) if length >= size[0] else ()), 12, 13, 14]
        assert RunStatistics(folder).steps().tolist() == expected


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_bytes_give_an_error_or_correct_figures(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, range(12))
        path = folder / STATISTICS_FILE
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        read = RunStatistics(folder)
        for step in range(12):
            try:
                found = read.at(step)
            except FileError as error:
                assert STATISTICS_FILE in str(error)
                continue
            if found is not None and found.gradient_step == step // 5 * 5 and found.step == step:
                assert found.outputs["relu.output"] == {
                    "mean": step,
                    "gradient": step // 5 * 5 + 1.0,
                    "dead": step + 2.0,
                }
        try:
            read.steps()
            read.series("output", "relu.output", "gradient")
        except FileError as error:
            assert STATISTICS_FILE in str(error)
        truncate_statistics(folder, 5)
        write(folder, range(20, 22))
        try:
            assert RunStatistics(folder).steps()[-2:].tolist() == [20, 21]
        except FileError as error:
            assert STATISTICS_FILE in str(error)
