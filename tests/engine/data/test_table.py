from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine import data, dtypes
from engine.data import transforms
from engine.data.samples import validation_split
from engine.data.tables.csv_dialect import Dialect
from engine.data.tables.csv_faults import find_csv_fault
from engine.data.tables.table_reader import TableSamples
from engine.data.tables.table_splits import TableSplits
from engine.errors import DataError
from engine.shape import Spec


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str | bytes], str]:
    def write(text: str | bytes) -> str:
        path = tmp_path / "table.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    return write


IRIS = "length,width,kind\n5.1,3.5,setosa\n7.0,3.2,versicolor\n6.3,3.3,virginica\n4.9,3.0,setosa\n"


def whole(source: TableSplits) -> tuple[np.ndarray, np.ndarray]:
    """All rows in the order of the file."""
    samples = TableSamples(source._table, Path("t"))
    inputs, targets = samples.arrays(np.arange(len(samples)))
    return np.asarray(inputs), np.asarray(targets)


def test_classes(table) -> None:
    source = data.CSV(table(IRIS), "kind", validation=0.25)
    assert source.input == Spec((2,), dtypes.float32)
    assert source.target == Spec((), dtypes.int64)
    assert source.classes == 3
    assert source.class_names == ("setosa", "versicolor", "virginica")
    assert source.feature_names == ("length", "width")
    assert (len(source.train), len(source.validation or ())) == (3, 1)
    inputs, targets = whole(source)
    np.testing.assert_allclose(inputs, [[5.1, 3.5], [7, 3.2], [6.3, 3.3], [4.9, 3]], rtol=1e-6)
    assert targets.tolist() == [0, 1, 2, 0]
    batch = source.train.batch(np.array([0, 1]))
    assert (batch[0].dtype, batch[1].dtype) == (dtypes.float32, dtypes.int64)


def test_classes_that_are_numbers_keep_their_order(table) -> None:
    source = data.CSV(table("x,y\n1,10\n2,9\n3,-1\n4,9\n"), "y", validation=0)
    assert source.class_names == ("-1", "9", "10")
    assert whole(source)[1].tolist() == [2, 1, 0, 1]


def test_regression_target_has_shape_1(table) -> None:
    source = data.CSV(table("a,y\n1,0.5\n2,1.5\n"), "y", task="number", validation=0)
    assert source.target == Spec((1,), dtypes.float32)
    assert source.classes is None
    assert source.validation is None
    assert whole(source)[1].tolist() == [[0.5], [1.5]]


def test_dialects(table) -> None:
    expected = [[1.0, 2.0]]
    for text, separator in (
        ("\ufeffa,b,y\n1,2,t\n", "comma"),
        ("a;b;y\r\n1;2;t\r\n", "semicolon"),
        ("a\tb\ty\n1\t 2\tt", "tab"),
        ('"a","b","y"\n"1","2","t, ""quoted""\nin two lines"\n\n', "comma"),
        ("id,b,y,a\nx7,2,t,1\n", "comma"),
    ):
        ignore = "id" if text.startswith("id") else ""
        source = data.CSV(table(text), "y", separator=separator, ignore=ignore, validation=0)
        inputs, _ = whole(source)
        order = [source.feature_names.index(name) for name in ("a", "b")]
        assert inputs[:, order].tolist() == expected


def test_only_the_first_line_is_read_for_specs(table) -> None:
    assert data.CSV(table("a,b,y\n" + "junk\n" * 10), "y").input == Spec((2,), dtypes.float32)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,u\n2\n3,v\n", "line 3 has 1 columns, but the first line has 2"),
        ("a,y\n1,u\n2,v,w\n", "line 3 has 3 columns, but the first line has 2"),
        ("a,b,y\n1,2,u\n1,two,v\n", r"line 3, column 2 \('b'\): 'two' is not a finite number.*ignore the column"),
        ('a,b,y\n1,2,"u\nu"\n1,two,v\n', r"line 4, column 2 \('b'\)"),
        ("a,y\n1,u\n,v\n", r"line 3, column 1 \('a'\) is empty"),
        ("a,y\n1,u\n2,\n", r"line 3, column 2 \('y'\) is empty"),
        ("a,y\n1,u\nnan,v\n", "'nan' is not a finite number"),
        ("a,y\n1,u\n1e999,v\n", "'1e999' is not a finite number"),
        ("a,y\n1,u\n1e39,v\n", "'1e39' is not a finite number"),
        ("a,y\n1,u\n-inf,v\n", "'-inf' is not a finite number"),
        ("a,y\n1,u\n1_000,v\n", "'1_000' is not a finite number"),
        ("a,y\n1,u\n٣,v\n", r"line 3, column 1 \('a'\): '٣' uses digits other than 0 to 9"),
        (b"a,y\n1,caf\xe9\n", r"line 2, column 2 \('y'\): contains byte e9, which is not valid UTF-8. Save the table"),
        ('a,y\n1,"u\n2,v\n', "unclosed quotation mark"),
        ("a,y\n", "has no rows below the column names"),
        (b"a,y\n1,u\n" + b"\0" * 20 + b",v\n", "line 3"),
    ],
)
def test_bad_rows(table, text: str | bytes, message: str) -> None:
    path = table(text)
    with pytest.raises(DataError, match=message) as caught:
        _ = data.CSV(path, "y").train
    assert str(caught.value).startswith(path)


def test_target_named_by_column_number(table) -> None:
    path = table("0.5,1.7,u\n2.5,3,v\n")
    with pytest.raises(DataError, match=r"Unnamed columns are named by number: write 'column 3'\."):
        data.CSV(path, "3", header=False)
    with pytest.raises(DataError, match=r"Turn header off .*\. Without a header, the column is named 'column 3'\."):
        data.CSV(path, "3")
    with pytest.raises(DataError, match=r"It has columns 'column 1', 'column 2', 'column 3'\.$"):
        data.CSV(path, "4", header=False)


def test_fault_in_a_late_row(table) -> None:
    rows = [f"{row},{row % 3}" for row in range(100_000)]
    rows[90_000] = "x,1"
    with pytest.raises(DataError, match=r"line 90002, column 1 \('a'\): 'x' is not a finite number"):
        _ = data.CSV(table("a,y\n" + "\n".join(rows)), "y").train


def test_bad_targets_of_a_regression(table) -> None:
    with pytest.raises(DataError, match=r"line 2, column 2 \('y'\): 'high' is not a finite number"):
        _ = data.CSV(table("a,y\n1,high\n"), "y", task="number").train


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("", "y", "is empty"),
        (b"\xff\xff\x01", "y", "first line is not valid UTF-8 CSV"),
        ("a,y\n1,2\n".encode("utf-16"), "y", "is UTF-16, not UTF-8"),
        ("a,y\n1,2\n".encode("utf-16-le"), "y", "zero bytes in its first line, as in UTF-16, not UTF-8"),
        ("цена,y\n1,2\n".encode("utf-16-be"), "y", "zero bytes in its first line, as in UTF-16, not UTF-8"),
        ("a,b\n1,2\n", "y", "has no column 'y'. It has columns 'a', 'b'"),
        ("y\n1\n", "y", "no columns besides the target 'y'. Add columns"),
    ],
)
def test_bad_headers(table, text: str | bytes, target: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        data.CSV(table(text), target)


@pytest.mark.parametrize("target", ["y", "a;b;y"])
def test_wrong_separator_is_suggested(table, target: str) -> None:
    with pytest.raises(DataError, match="Set separator to semicolon"):
        data.CSV(table("a;b;y\n1;2;3\n"), target)


def test_bad_paths(tmp_path: Path) -> None:
    for path, message in (
        ("", "no file selected"),
        (tmp_path / "no.csv", "file not found"),
        (tmp_path, "cannot be read"),
    ):
        with pytest.raises(DataError, match=message):
            data.CSV(str(path), "y")


def test_valid_file_has_no_fault(table) -> None:
    names = ["length", "width", "kind"]
    assert find_csv_fault(Path(table(IRIS)), Dialect(), names[:2], names[2:], (), names) is None


# -- choice of columns, categories, missing values ---------------------------------------------

PETS = "age,kind,weight,home\n1,cat,4.5,inside\n,dog,20,outside\n3,cat,NA,inside\n4,bird,0.1,inside\n"


def test_columns_and_ignore(table) -> None:
    source = data.CSV(table(IRIS), "kind", columns="width", validation=0)
    assert source.feature_names == ("width",)
    with pytest.raises(DataError, match="has no column 'height'"):
        data.CSV(table(IRIS), "kind", columns="height, width")
    with pytest.raises(DataError, match="has no column 'colour'"):
        data.CSV(table(IRIS), "kind", categorical="colour")


def test_categories_are_one_hot_encoded(table) -> None:
    path = table("a,kind,y\n1,cat,0\n2,dog,1\n3,cat,0\n")
    source = data.CSV(path, "y", categorical="kind", validation=0)
    assert source.input == Spec((3,), dtypes.float32)
    assert source.feature_names == ("a", "kind=cat", "kind=dog")
    assert whole(source)[0].tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]


def test_categories_come_from_the_training_rows(table) -> None:
    rows = [f"{row},{'rare' if row == 7 else 'common'},{row % 2}" for row in range(20)]
    path = table("a,kind,y\n" + "\n".join(rows))
    held = [share for share in (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9) if 7 in validation_split(20, share)[1]]
    source = data.CSV(path, "y", categorical="kind", validation=held[0])
    assert source.feature_names == ("a", "kind=common")
    assert whole(source)[0][7].tolist() == [7, 0]


def test_missing_values_stop_by_default(table) -> None:
    with pytest.raises(DataError, match=r"line 3, column 1 \('age'\) is empty"):
        _ = data.CSV(table(PETS), "home", categorical="kind").train
    with pytest.raises(DataError, match=r"line 2, column 2 \('kind'\) is empty"):
        _ = data.CSV(table("a,kind,y\n1,,0\n"), "y", categorical="kind").train


def test_rows_with_missing_values_are_dropped_or_kept(table) -> None:
    path = table(PETS)
    dropped = data.CSV(path, "home", categorical="kind", missing="drop", validation=0)
    np.testing.assert_allclose(whole(dropped)[0], [[1, 4.5, 0, 1], [4, 0.1, 1, 0]], rtol=1e-6)
    kept = data.CSV(path, "home", categorical="kind", missing="keep", validation=0)
    assert np.isnan(whole(kept)[0]).tolist() == [
        [False] * 5,
        [True, *[False] * 4],
        [False, True, *[False] * 3],
        [False] * 5,
    ]
    filled = kept.map(transforms.FillMissing(**kept.fitted(transforms.FillMissing)))
    assert filled.train.batch(np.array([1]))[0].tolist()[0][0] == pytest.approx(8 / 3)
    targets = data.CSV(table("a,y\n1,0\n2,\n3,1\n"), "y", missing="keep", validation=0)
    assert whole(targets)[0].tolist() == [[1], [3]]  # without a target there is nothing to learn
    with pytest.raises(DataError, match="every row has a missing value"):
        _ = data.CSV(table("a,y\n,0\n"), "y", missing="drop").train
    with pytest.raises(DataError, match=r"line 3, column 1 \('a'\): 'x' is not a finite number"):
        _ = data.CSV(table("a,y\nNA,0\nx,1\n"), "y", missing="keep").train


def test_too_many_categories(table) -> None:
    rows = "\n".join(f"{row},n{row},0" for row in range(1100))
    with pytest.raises(DataError, match="column 'id' has 1100 different texts"):
        _ = data.CSV(table(f"a,id,y\n{rows}\n"), "y", categorical="id", validation=0).train


# -- Parquet ------------------------------------------------------------------------------------


@pytest.fixture
def parquet_file(tmp_path: Path) -> Callable[[dict[str, Any]], str]:
    def write(columns: dict[str, Any]) -> str:
        path = tmp_path / "table.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=3)
        return str(path)

    return write


def test_parquet_equals_csv(table, parquet_file) -> None:
    columns = {
        "length": [5.1, 7.0, 6.3, 4.9],
        "n": [1, 2, 3, 4],
        "kind": ["a", "b", "c", "a"],
        "sure": [True, False] * 2,
    }
    path = parquet_file({**columns, "size": ["s", "m", "s", "m"]})
    source = data.Parquet(path, "kind", categorical="size", validation=0.25)
    assert (source.input, source.target, source.classes) == (Spec((5,), dtypes.float32), Spec((), dtypes.int64), 3)
    assert source.feature_names == ("length", "n", "sure", "size=m", "size=s")
    np.testing.assert_allclose(whole(source)[0][:2], [[5.1, 1, 1, 0, 1], [7, 2, 0, 1, 0]], rtol=1e-6)
    text = "length,n,kind\n5.1,1,a\n7.0,2,b\n6.3,3,c\n4.9,4,a\n"
    other, chosen = data.CSV(table(text), "kind"), data.Parquet(path, "kind", columns="length, n")
    np.testing.assert_array_equal(other.train.arrays(np.arange(3))[0], chosen.train.arrays(np.arange(3))[0])
    assert other.class_names == chosen.class_names
    number = data.Parquet(path, "length", task="number", columns="n", validation=0)
    assert whole(number)[1].shape == (4, 1)


def test_parquet_reads_only_the_header_for_specs(parquet_file, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet_file({"a": [1.0, 2.0], "y": [0, 1]})
    monkeypatch.setattr(data.Parquet, "_blocks", lambda self: pytest.fail("rows were read"))
    assert data.Parquet(path, "y").input == Spec((1,), dtypes.float32)


def test_bad_parquet(tmp_path: Path, parquet_file) -> None:
    path = parquet_file({"a": [1.0, None, 3.0, 4.0], "b": ["x", "y", "x", "y"], "y": [0, 1, 0, 1]})
    with pytest.raises(DataError, match=r"column 'b' has type string, not numbers. Add it to categorical"):
        data.Parquet(path, "y")
    with pytest.raises(DataError, match="row 2, column 'a': missing value"):
        _ = data.Parquet(path, "y", columns="a").train
    assert len(data.Parquet(path, "y", columns="a", missing="drop", validation=0).train) == 3
    assert np.isnan(whole(data.Parquet(path, "y", columns="a", missing="keep"))[0]).sum() == 1
    endless = parquet_file({"a": [1.0, float("inf")], "y": [0, 1]})
    with pytest.raises(DataError, match="row 2, column 'a': inf is not a finite number"):
        _ = data.Parquet(endless, "y").train
    (tmp_path / "no.parquet").write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        data.Parquet(str(tmp_path / "no.parquet"), "y")
    cut = Path(endless).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(cut[: len(cut) // 2])
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        data.Parquet(str(tmp_path / "cut.parquet"), "y")
    with pytest.raises(DataError, match="no file selected"):
        data.Parquet("", "y")
