"""Tables that do not fit in memory: the same samples, from a temporary file that is removed afterwards."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine import data
from engine.data import row_buffer
from engine.data.row_buffer import RowBuffer
from engine.data.tables import table_reader
from engine.data.tables.table_splits import TableSplits
from engine.errors import DataError


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of rows are; only few bytes stay in memory."""
    monkeypatch.setenv("GRADWIRE_TABLES", str(tmp_path / "rows"))
    monkeypatch.setattr(row_buffer, "IN_MEMORY", 1000)
    table_reader.tables.clear()
    return tmp_path / "rows"


def written(folder: Path, rows: int = 3000) -> tuple[Path, Path]:
    """The same table as CSV and as Parquet."""
    draw = np.random.default_rng(0)
    columns = {
        "a": draw.random(rows).round(4),
        "b": draw.integers(0, 9, rows),
        "kind": [("red", "green", "blue", "")[number] for number in draw.integers(0, 4, rows)],
        "y": [("no", "yes", "10", "9")[number] for number in draw.integers(0, 4, rows)],
    }
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (folder / "t.csv").write_text("\n".join([",".join(columns), *lines]))
    parquet.write_table(pa.table(columns), folder / "t.parquet", row_group_size=500)
    return folder / "t.csv", folder / "t.parquet"


def everything(splits: TableSplits) -> list[np.ndarray]:
    held = splits.validation
    assert held is not None
    return [np.asarray(part) for samples in (splits.train, held) for part in samples.arrays(np.arange(len(samples)))]


def test_rows_in_files_equal_rows_in_memory(
    tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, kind in zip(written(tmp_path), (data.CSV, data.Parquet), strict=True):
        filed = kind(str(path), "y", categorical="kind", missing="keep")
        from_file = everything(filed)
        assert list(cache_folder.iterdir())
        names = filed.class_names
        monkeypatch.setattr(row_buffer, "IN_MEMORY", 2**30)
        table_reader.tables.clear()
        held = kind(str(path), "y", categorical="kind", missing="keep")
        assert isinstance(filed._table.numbers.base, np.memmap) or isinstance(filed._table.numbers, np.memmap)
        assert not isinstance(held._table.numbers, np.memmap)
        for one, other in zip(from_file, everything(held), strict=True):
            np.testing.assert_array_equal(one, other)
        assert names == held.class_names == ("10", "9", "no", "yes")
        assert filed.feature_names == ("a", "b", "kind=blue", "kind=green", "kind=red")
        monkeypatch.setattr(row_buffer, "IN_MEMORY", 1000)
        table_reader.tables.clear()


def test_files_are_deleted_with_the_table(tmp_path: Path, cache_folder: Path) -> None:
    source = data.CSV(str(written(tmp_path)[0]), "y", ignore="kind")
    train = source.train
    assert len(list(cache_folder.iterdir())) == 2
    del source
    table_reader.tables.clear()
    gc.collect()
    assert len(train.arrays(np.arange(3))[0]) == 3, "samples keep them"
    del train
    gc.collect()
    assert list(cache_folder.iterdir()) == []


def test_files_of_killed_processes_are_removed(tmp_path: Path, cache_folder: Path) -> None:
    cache_folder.mkdir()
    orphaned, foreign = cache_folder / "rows-999999999-abc.bin", cache_folder / f"rows-{os.getpid()}-abc.bin"
    for path in (orphaned, foreign):
        path.write_bytes(b"1")
    _ = data.CSV(str(written(tmp_path)[0]), "y", ignore="kind").train
    assert not orphaned.exists()
    assert foreign.exists()


def test_workers_map_the_same_file(tmp_path: Path) -> None:
    source = data.CSV(str(written(tmp_path)[0]), "y", categorical="kind", missing="keep")
    order = np.random.default_rng(1).permutation(len(source.train)).tolist()
    alone, helped = (
        [
            [part.numpy().copy() for part in batch]
            for batch in data.DataLoader(source.train, batch_sampler=[order[:700], order[700:]], num_workers=workers)
        ]
        for workers in (0, 1)
    )
    for one, other in zip(alone, helped, strict=True):
        for orphaned, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(orphaned, right)


def test_a_table_is_read_once_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, 50)[0]
    one, other = (data.CSV(str(path), "y", ignore="kind") for _ in range(2))
    assert one._table is other._table
    assert data.CSV(str(path), "y", columns="a")._table is not one._table
    path.write_text("a,b,kind,y\n1,2,red,no\n2,3,red,yes\n")
    assert len(data.CSV(str(path), "y", ignore="kind", validation=0).train) == 2


def test_full_disk_raises_data_error(tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)[0]
    monkeypatch.setattr(row_buffer, "_SPARE", 2**62)
    with pytest.raises(DataError, match=r"t\.csv: too large for memory.* cannot be written to .*GRADWIRE_TABLES"):
        _ = data.CSV(str(path), "y", ignore="kind").train
    assert list(cache_folder.iterdir()) == []


def test_error_in_a_late_row_leaves_no_file(tmp_path: Path, cache_folder: Path) -> None:
    rows = [f"{number},{number % 3}" for number in range(200_000)]
    rows[190_000] = "x,1"
    (tmp_path / "bad.csv").write_text("a,y\n" + "\n".join(rows))
    with pytest.raises(DataError, match="line 190002"):
        _ = data.CSV(str(tmp_path / "bad.csv"), "y").train
    assert list(cache_folder.iterdir()) == []


def test_too_many_distinct_texts_stop_early(tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text("id,y\n" + "\n".join(f"name{number},{number % 2}" for number in range(20_000)))
    with pytest.raises(DataError, match="column 'id' has more than 10000 different texts"):
        _ = data.CSV(str(tmp_path / "ids.csv"), "y", categorical="id").train


def test_row_buffer_keeps_the_order() -> None:
    store = RowBuffer(3, np.float32, "test")
    whole = np.arange(3000, dtype=np.float32).reshape(-1, 3)
    for start in range(0, 1000, 7):
        store.append(whole[start : start + 7])
    np.testing.assert_array_equal(store.finish(), whole)


_SHUFFLED = """
import resource, sys
from engine import data
_ = data.CSV(sys.argv[3], "y", task="number").train  # begins threads and what else there is only once
def held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
limit = held() + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
source = data.CSV(sys.argv[1], "y", task="number")
loader = data.DataLoader(source.train, batch_size=1024, shuffle=True)
print(sum(float(batch[0].sum()) for batch in loader))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory with RLIMIT_DATA as Linux counts it")
def test_training_order_of_a_table_larger_than_memory(tmp_path: Path) -> None:
    rows, columns = 800_000, 64
    path = tmp_path / "large.csv"
    digits = np.full((rows, 2 * columns), ord(","), np.uint8)
    digits[:, ::2] = np.random.default_rng(0).integers(ord("0"), ord("9") + 1, (rows, columns))
    digits[:, -1] = ord("\n")
    names = ",".join([*(f"x{index}" for index in range(columns - 1)), "y"])
    with path.open("wb") as file:
        file.write(f"{names}\n".encode())
        digits.tofile(file)
    expected = float((digits[:, :-2:2] - ord("0")).sum(dtype=np.float64))
    in_memory = rows * columns * 4
    del digits
    environment = {**os.environ, "GRADWIRE_TABLES": str(tmp_path / "rows"), "OMP_NUM_THREADS": "1"}
    (tmp_path / "small.csv").write_text("a,y\n" + "1,2\n" * 1000)
    limit = str(in_memory * 6 // 10)
    command = [sys.executable, "-c", _SHUFFLED, str(path), limit, str(tmp_path / "small.csv")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 0.75 * expected < float(done.stdout) < 0.85 * expected
    assert list((tmp_path / "rows").iterdir()) == []
