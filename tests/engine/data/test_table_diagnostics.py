"""Lost and misread values of a table are reported with counts and values, and can be avoided."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine import data
from engine.data.diagnostics import Diagnostic
from engine.data.tables import column_survey
from engine.data.tables.csv_columns import format_names, parse_names
from engine.errors import DataError
from tests.engine.data.passengers import as_csv, passengers


def written(folder: Path, text: str) -> str:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def labeled(folder: Path, counts: dict[str, int]) -> str:
    """A table with a number, and these texts as the target."""
    random = np.random.default_rng(0)
    targets = [text for text, count in counts.items() for _ in range(count)]
    return written(folder, "a,target\n" + "".join(f"{random.random():.3f},{text}\n" for text in targets))


def by_code(splits: data.Splits) -> dict[str, Diagnostic]:
    return {found.code: found for found in splits.diagnostics()}


def mended(source: Any, arguments: dict[str, Any], found: Diagnostic) -> Any:
    """With the changes of a diagnostic."""
    return source(**{**arguments, **dict(found.changes)})


def count(splits: data.Splits) -> int:
    return len(splits.train) + len(splits.validation or ())


# -- rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["keep", "drop"])
def test_skipped_rows_are_counted_by_value(tmp_path: Path, missing: str) -> None:
    counts = {"None": 720, "NA": 150, "": 24, "low": 60, "high": 46}
    arguments = {"path": labeled(tmp_path, counts), "target": "target", "missing": missing}
    source = data.CSV(**arguments)
    assert count(source) == 106
    found = by_code(source)["rows-left-out"]
    assert found.message.startswith(
        "table.csv: 894 of 1,000 rows are skipped: no value in 'target' (None: 720, NA: 150, empty: 24)."
    )
    kept = mended(data.CSV, arguments, found)
    assert count(kept) == 976
    assert kept.class_names == ("NA", "None", "high", "low")
    assert by_code(kept)["rows-left-out"].message.startswith("table.csv: 24 of 1,000 rows")
    assert found.remedy == "Keep None, NA"


def test_no_row_is_skipped_by_default(tmp_path: Path) -> None:
    source = data.CSV(labeled(tmp_path, {"None": 7, "NA": 1, "low": 2}), "target")
    assert count(source) == 10
    assert by_code(source) == {}


def test_missing_texts_can_be_changed(tmp_path: Path) -> None:
    path = written(tmp_path, "a,b,y\n1,x,u\n-999,x,v\n3,unknown,u\n4,x,unknown\n5,NA,v\n")
    source = data.CSV(path, "y", categorical="b", missing="keep", missing_texts="unknown, -999", validation=0)
    assert source.feature_names == ("a", "b=NA", "b=x")
    inputs, _ = source.train.arrays(np.arange(4))
    np.testing.assert_array_equal(inputs, [[1, 0, 1], [np.nan, 0, 1], [3, 0, 0], [5, 1, 0]])
    found = by_code(source)
    assert "1 of 5 rows is skipped: no value in 'y' (unknown: 1)" in found["rows-left-out"].message
    assert "1 of 5 rows has no category in 'b' (unknown: 1)" in found["missing-category"].message


def test_column_with_most_missing_values_can_be_ignored(tmp_path: Path) -> None:
    arguments = {"path": written(tmp_path, as_csv(passengers())), "target": "Survived", "missing": "drop"}
    arguments["ignore"] = "Name, Sex, Ticket"
    found = by_code(data.CSV(**arguments))["rows-left-out"]
    assert "of 200 rows are skipped: no value in 'Age' (no number: " in found.message
    assert count(mended(data.CSV, arguments, found)) == 200


def test_parquet_counts_rows_without_a_target(tmp_path: Path) -> None:
    table = pa.table({"a": [1.5, 2.5, 3.5, None], "y": ["None", None, "u", "v"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    source = data.Parquet(str(tmp_path / "t.parquet"), "y", missing="keep", validation=0)
    assert source.class_names == ("None", "u", "v")
    assert "t.parquet: 1 of 4 rows is skipped: no value in 'y' (null: 1)" in by_code(source)["rows-left-out"].message


# -- identifiers -------------------------------------------------------------------------------


def test_identifier_columns_can_be_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, as_csv(passengers()))
    arguments: dict[str, Any] = {
        "path": path,
        "target": "Survived",
        "missing": "keep",
        "categorical": "Name, Sex",
        "ignore": "Ticket",
    }
    source = data.CSV(**arguments)
    assert source.feature_names[0] == "column 1"
    found = [each for each in source.diagnostics() if each.code == "identifier"]
    assert [each.message.partition(", so it identifies rows")[0] for each in found] == [
        "table.csv: 'column 1' counts from 0 to 199 in 200 rows",
        "table.csv: 'PassengerId' has a different integer in each of 200 rows",
        "table.csv: 'Name' has 200 distinct texts in 200 rows",
    ]
    assert dict(found[0].changes) == {"ignore": "Ticket, column 1"}
    for _ in range(3):
        found = [each for each in source.diagnostics() if each.code == "identifier"]
        arguments |= dict(found[0].changes)
        source = data.CSV(**arguments)
    assert source.feature_names == ("Age", "Fare", "Sex=female", "Sex=male")
    assert not [each for each in source.diagnostics() if each.code == "identifier"]


def test_distinct_integers_are_identifiers_by_range_or_name(tmp_path: Path) -> None:
    prices = [(row * 7919) % 100_003 for row in range(2000)]
    order = [(row * 7) % 2000 + 5 for row in range(2000)]
    pairs = enumerate(zip(prices, order, strict=True))
    rows = "".join(f"{price},{price},{rank},{row % 2}\n" for row, (price, rank) in pairs)
    path = written(tmp_path, f"price,order_id,rank,y\n{rows}")
    found = [each.message for each in data.CSV(path, "y").diagnostics() if each.code == "identifier"]
    assert [message.split("'")[1] for message in found] == ["order_id", "rank"]


def test_identifiers_of_parquet(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    columns = {
        "": np.arange(50),
        "uid": random.integers(2**60, 2**62, 50),
        "x": random.random(50),
        "y": random.integers(0, 2, 50),
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    arguments = {"path": path, "target": "y"}
    first, *_ = data.Parquet(**arguments).diagnostics()
    assert (first.code, dict(first.changes)) == ("identifier", {"ignore": '""'})
    assert data.Parquet(path, "y", ignore='"", uid').diagnostics() == ()


def test_descriptive_columns_are_not_identifiers(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    price = random.permutation(np.arange(0, 100 * 977, 977))
    rows = zip(range(1900, 2000), random.integers(0, 50, 100), random.random(100), price, strict=True)
    text = "year,rooms,area,price,y\n" + "".join(
        f"{year},{rooms},{area},{cost},{year % 2}\n" for year, rooms, area, cost in rows
    )
    assert data.CSV(written(tmp_path, text), "y").diagnostics() == ()
    alone = "x,y\n" + "".join(f"{x},{x % 3}\n" for x in range(100))
    assert data.CSV(written(tmp_path, alone), "y").diagnostics() == (), "nothing else is there to learn from"


def test_unnamed_columns_are_named_by_number(tmp_path: Path) -> None:
    path = written(tmp_path, ",a,,y\n0,5,8,u\n1,6,9,v\n")
    source = data.CSV(path, "y", ignore="column 1", validation=0)
    assert source.feature_names == ("a", "column 3")
    np.testing.assert_array_equal(source.train.arrays(np.arange(2))[0], [[5, 8], [6, 9]])
    broken = written(tmp_path, ",a,y\n0,5,u\n1,x,v\n")
    with pytest.raises(DataError, match=r"line 3, column 2 \('a'\): 'x' is not a finite number"):
        _ = data.CSV(broken, "y").train


@pytest.mark.parametrize("names", [["a", "b c"], ["Last, First", " padded ", 'say "x"'], ["", "1"]])
def test_format_names_round_trip(names: list[str]) -> None:
    assert parse_names(format_names(names)) == names


def test_a_name_with_a_comma_can_be_ignored(tmp_path: Path) -> None:
    path = written(tmp_path, '"Last, First",a,y\n1,2,u\n3,4,v\n')
    assert data.CSV(path, "y", ignore='"Last, First"').feature_names == ("a",)


# -- digits, header ----------------------------------------------------------------------------


def test_integers_merged_by_float32_are_counted(tmp_path: Path) -> None:
    numbers = [2**53 + step for step in (0, 1, 2, 3)] * 10
    rows = "".join(f"{number},{row % 7},{row % 2}\n" for row, number in enumerate(numbers))
    arguments = {"path": written(tmp_path, f"account,b,y\n{rows}"), "target": "y"}
    found = by_code(data.CSV(**arguments))["merged-numbers"]
    assert (
        "'account' has 4 different integers in 40 rows, but only 1 as float32, which is exact up to "
        "16,777,216: 9007199254740992 and 9007199254740993 become equal." in found.message
    )
    kept = mended(data.CSV, arguments, found)
    assert kept.feature_names == ("b", *(f"account={2**53 + step}" for step in range(4)))
    assert kept.diagnostics() == ()
    columns = {"account": numbers, "b": [row % 7 for row in range(40)], "y": [0, 1] * 20}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert "become equal" in by_code(data.Parquet(str(tmp_path / "t.parquet"), "y"))["merged-numbers"].message


def test_large_distinct_numbers_are_not_reported(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    cents = np.append(random.integers(2**24, 2**34, 900), [2**24, 2**24 + 1])
    rows = "".join(f"{2**60 * (row % 5)},{cent},{row % 2}\n" for row, cent in enumerate(np.repeat(cents, 2)))
    assert data.CSV(written(tmp_path, f"bytes,b,y\n{rows}"), "y").diagnostics() == ()


def test_leading_zeros_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{('007', '7', '0.5', '0', '-03')[row % 5]},{row % 3},{row % 2}\n" for row in range(50))
    arguments = {"path": written(tmp_path, f"zip,b,y\n{rows}"), "target": "y"}
    found = by_code(data.CSV(**arguments))["leading-zeros"]
    assert "'zip' has leading zeros in 20 of 50 rows, such as 007, which is read as 7." in found.message
    kept = mended(data.CSV, arguments, found)
    assert kept.feature_names == ("b", "zip=-03", "zip=0", "zip=0.5", "zip=007", "zip=7")


def test_header_that_looks_like_data(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        {"a": f"{x:.1f}", "b": f"{y:.1f}", "kind": "uv"[row % 2]} for row, (x, y) in enumerate(random.random((30, 2)))
    ]
    rows[0] |= {"a": "5.1", "b": "3.5"}
    arguments: dict[str, Any] = {
        "path": written(tmp_path, as_csv(rows, header=False)),
        "target": "u",
        "validation": 0,
        "columns": "3.5, 5.1",
    }
    eaten = data.CSV(**arguments)
    assert count(eaten) == 29
    found = by_code(eaten)["header-values"]
    assert "the first line, '5.1', '3.5', 'u', looks like data" in found.message
    whole = mended(data.CSV, arguments, found)
    assert count(whole) == 30
    assert whole.feature_names == ("column 2", "column 1")
    np.testing.assert_allclose(whole.train.arrays(np.array([0]))[0], [[3.5, 5.1]], rtol=1e-6)
    with pytest.raises(DataError, match=r"has no column 'kind'.*Turn header off"):
        data.CSV(**{**arguments, "target": "kind"})
    new = tmp_path / "new.csv"
    new.write_text("7,8\n")
    np.testing.assert_array_equal(whole.unlabeled(new).arrays(np.array([0]))[0], [[8, 7]])
    first = data.CSV(written(tmp_path, "1,2,u\n2,3,v\n"), "column 1", ignore="column 3", header=False)
    with pytest.raises(DataError, match=r"new.csv: has 2 columns, but table.csv has 3. Without a header"):
        first.unlabeled(new)
    twice = written(tmp_path, "1,1,u\n2,3,v\n")
    repeated = data.CSV(twice, "u")
    assert repeated.feature_names == ("1", "1 (2)")
    assert "header-values" in by_code(repeated)
    assert count(data.CSV(twice, "column 3", header=False)) == 2
    with pytest.raises(DataError, match=r"line 1, column 1 \('column 1'\): 'x' is not a finite"):
        _ = data.CSV(written(tmp_path, "x,1\n2,3\n"), "column 2", header=False).train


@pytest.mark.parametrize("names", ["0,1,2,3", "country,1990,1991,1992", "a,b,2,d"])
def test_numbers_can_be_column_names(tmp_path: Path, names: str) -> None:
    last = names.rpartition(",")[2]
    source = data.CSV(written(tmp_path, f"{names}\n1.5,2,7,u\n3.5,5,8,v\n"), last)
    assert source.diagnostics() == ()


# -- categories --------------------------------------------------------------------------------


def test_unseen_categories_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{row / 7},{'red' if row % 2 else 'blue'},{row % 3}\n" for row in range(40))
    source = data.CSV(written(tmp_path, f"a,color,y\n{rows}"), "y", categorical="color")
    assert source.diagnostics() == ()
    new = tmp_path / "new.csv"
    new.write_text("a,color\n1,red\n2,mauve\n3,mauve\n4,teal\n")
    for missing in ("stop", "drop"):
        strict = data.CSV(str(tmp_path / "table.csv"), "y", categorical="color", missing=missing)
        (tmp_path / "na.csv").write_text("a,color\n1,NA\n")
        assert "(NA: 1)" in strict.unlabeled(tmp_path / "na.csv").diagnostics[0].message
    [found] = source.unlabeled(new).diagnostics
    assert found.code == "unseen-category"
    assert found.message.startswith(
        "new.csv: 3 of 4 rows have a category in 'color' that no training row has (mauve: 2, teal: 1), "
    )


def test_category_only_in_validation_is_counted(tmp_path: Path) -> None:
    held = 3
    rows = "".join(f"{row / 7},{'rare' if row in (held, 5) else 'usual'},{row % 2}\n" for row in range(10))
    for share in (0.2, 0.3, 0.5, 0.6, 0.7):
        source = data.CSV(written(tmp_path, f"a,kind,y\n{rows}"), "y", categorical="kind", validation=share)
        unseen = by_code(source).get("unseen-category")
        assert (unseen is None) == ("kind=rare" in source.feature_names)
        if unseen is not None:
            assert "2 of 10 rows have a category in 'kind' that no training row has (rare: 2)" in unseen.message
            return
    pytest.fail("no share kept both rows for validation")


# -- bounds ------------------------------------------------------------------------------------


def test_large_tables_are_surveyed_partly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.data.tables.table_splits.MAX_ROWS", 1000)
    rows = "".join(f"{row},{row % 7},{f'{row % 5}.5' if row % 4 else 'NA'}\n" for row in range(200_000))
    source = data.CSV(written(tmp_path, f",b,y\n{rows}"), "y", task="number", missing="keep")
    monkeypatch.setattr("engine.data.tables.table_splits.MAX_CHECKED_BYTES", 1000)
    monkeypatch.setattr(data.CSV, "_read", lambda self: pytest.fail("all rows were read"))
    lost, found = source.diagnostics()
    assert "at least 250 of the first 1,000 rows are skipped: no value in 'y'. All rows are counted" in lost.message
    assert "'column 1' counts from 0 to 999 in the first 1,000 rows" in found.message
    monkeypatch.undo()
    assert "50,000 of 200,000 rows are skipped" in source.diagnostics(read_all=True)[0].message
    column_survey.surveys.clear()


WORDS = ("", "NA", "None", "?", "é", '"a,b"', '""', "<b>&", "x")
CELLS = (*WORDS, "0", "1", "-1", "007", "+3", "2.5", " 4 ", "nan", "inf", "1e400", "9" * 400, "0" * 5000 + "7")
TABLES = int(os.environ.get("TABLES", "120"))


@pytest.mark.parametrize("seed", range(3))
def test_diagnostics_of_any_table_do_not_fail(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)

    def cells(count: int) -> list[str]:
        return [CELLS[index] for index in random.integers(0, len(CELLS), count)]

    said: set[str] = set()
    for _ in range(TABLES // 3):
        pools = [cells(int(random.integers(1, 4))) for _ in range(3)]
        rows = [",".join(pool[random.integers(0, len(pool))] for pool in pools) for _ in range(random.integers(1, 60))]
        path = written(tmp_path, "\n".join([",".join([*cells(2), "y"]), *rows, ""]))
        header = bool(random.integers(0, 2))
        arguments: dict[str, Any] = {
            "target": "y" if header else "column 3",
            "task": str(random.choice(["classes", "number"])),
            "missing": str(random.choice(["stop", "drop", "keep"])),
            "header": header,
        }
        try:
            names = data.CSV(path, **arguments)._names
            arguments["categorical"] = format_names(names[: random.integers(0, 3)])
            source = data.CSV(path, **arguments)
        except DataError:
            continue
        for found in source.diagnostics(read_all=True):
            said.add(found.code)
            assert len(found.message) < 1000 and "\n" not in found.remedy
            mended(data.CSV, {"path": path, **arguments}, found)
    assert len(said) >= 2


def test_unreadable_tables_have_no_diagnostics(tmp_path: Path) -> None:
    rows = "".join(f"{row},{row % 7},u\n" for row in range(50))
    source = data.CSV(written(tmp_path, f",b,y\n{rows}50,x,u\n"), "y")
    assert [found.code for found in source.diagnostics()] == ["identifier"]
    assert data.CSV(written(tmp_path, "a,b,y\n1,2,u\n1,u\n"), "y").diagnostics() == ()
