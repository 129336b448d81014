"""Formats of tables beyond plain CSV: dialects, dates, formatted numbers, indicators, category numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine import data
from engine.data.tables.date_format import DateFormat
from engine.data.tables.formatted_numbers import parse_formatted
from engine.data.tables.inference.dialect_guess import guess_dialect
from engine.data.tables.table_reader import TableSamples
from engine.data.tables.table_splits import TableSplits
from engine.errors import DataError

Write = Callable[[str | bytes], str]


@pytest.fixture
def table(tmp_path: Path) -> Write:
    def write(content: str | bytes) -> str:
        path = tmp_path / "table.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def whole(source: TableSplits) -> tuple[np.ndarray, np.ndarray]:
    """All rows in the order of the file."""
    samples = TableSamples(source._table, Path("t"))
    inputs, targets = samples.arrays(np.arange(len(samples)))
    return np.asarray(inputs), np.asarray(targets)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("a|b|y\n1.5|2|u\n3|4|v\n", {"separator": "pipe"}),
        ("  a   b  y\n 1.5   2   u\n\n3 \t4  v\n", {"separator": "space"}),
        ("a;b;y\n1,5;2;u\n3;4;v\n", {"separator": "semicolon", "decimal": "comma"}),
        ("Exported 2024\n2 rows\na,b,y\n1.5,2,u\n3,4,v\n", {"skip_lines": 2}),
        ("a,b,y\nmm,kg,-\n1.5,2,u\n3,4,v\n", {"skip_rows": 1}),
        ("# by a logger\n\na,b,y\n1.5,2,u\n# pause\n3,4,v\n", {"comment": "#"}),
        ("a,b,y\n1.5,2,u\n3\n3,4,v\n1,2,3,4\n", {"bad_lines": "skip"}),
        ("a,b,y\n1.5,2,u\n3,4,v\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("a,b,y\n1.5,2,u\n3,4,v\n".encode("utf-16-be"), {"encoding": "utf-16-be"}),
        ("a,b,y\n1.5,2,u\n3,4,v\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
        ("a,b,y\n1.5,2,ü\n3,4,é\n".encode("latin-1"), {"encoding": "windows-1252"}),
    ],
)
def test_formats(table: Write, content: str | bytes, options: dict[str, Any]) -> None:
    source = data.CSV(table(content), "y", validation=0, **options)
    inputs, targets = whole(source)
    assert inputs.tolist() == [[1.5, 2], [3, 4]]
    assert sorted(targets.tolist()) == [0, 1]
    assert source.feature_names == ("a", "b")


def test_quoted_texts_survive_comments_and_spaces(table: Write) -> None:
    path = table('a  name  y\n1  "big  #1\n# car"  u\n#  "\n2  x  v\n')
    source = data.CSV(path, "y", separator="space", comment="#", categorical="name", validation=0)
    assert source.feature_names == ("a", "name=big  #1\n# car", "name=x")


def test_line_numbers_count_skipped_lines(table: Write) -> None:
    path = table("about\n# note\na,y\n1,u\n# note\nx,v\n")
    with pytest.raises(DataError, match=r"table.csv: line 6, column 1 \('a'\): 'x' is not a finite number"):
        _ = data.CSV(path, "y", skip_lines=1, comment="#").train


@pytest.mark.parametrize(
    ("content", "encoding", "message"),
    [(b"\xff\xfea\0\n\xd8", "utf-16", "not valid UTF-16"), ("a,y\n1,é\n".encode("latin-1"), "utf-8", "set encoding")],
)
def test_wrong_encodings(table: Write, content: bytes, encoding: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _ = data.CSV(table(content), "y", encoding=encoding).train


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_guessed_with_and_without_a_mark(table: Write, encoding: str) -> None:
    content = "größe,y\n1.5,u\n3,v\n".encode(encoding)
    assert guess_dialect(Path(table(content))).dialect.encoding == encoding
    assert guess_dialect(Path(table(b"\xfe\xff" + "a,y\n1,u\n".encode("utf-16-be")))).dialect.encoding == "utf-16"


def test_repeated_and_blank_names(table: Write) -> None:
    source = data.CSV(table(",a,a,y\n0,1,2,u\n1,3,4,v\n"), "y", ignore="column 1", validation=0)
    assert source.feature_names == ("a", "a (2)")
    assert whole(source)[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("ISO", "2024-02-29", "2024-02-29T00:00:00"),
        ("ISO", "2023-02-29", None),
        ("ISO", "2024-05-31T14:30:00+02:00", "2024-05-31T12:30:00"),
        ("%d/%m/%Y", "1/12/1999", "1999-12-01T00:00:00"),
        ("%d/%m/%Y", "13/13/1999", None),
        ("%b %d, %Y", "February 6, 2021", "2021-02-06T00:00:00"),
        ("%d-%b-%y", "05-mar-69", "1969-03-05T00:00:00"),
        ("%m/%d/%Y %I:%M %p", "2/1/2020 12:30 AM", "2020-02-01T00:30:00"),
        ("unix", "86400", "1970-01-02T00:00:00"),
        ("unix ms", "86400000", "1970-01-02T00:00:00"),
        ("%Y%m%d", "20200131", "2020-01-31T00:00:00"),
        ("%Y", "", None),
        ("%H:%M", "25:00", None),
    ],
)
def test_date_formats(form: str, text: str, expected: str | None) -> None:
    (days,) = DateFormat(form).days(pa.array([text]))
    assert (str(np.datetime64(round(days * 86400), "s")) if np.isfinite(days) else None) == expected


def test_days_agree_with_the_calendar_of_python() -> None:
    dates = [dt.date(1900, 1, 1) + dt.timedelta(days) for days in range(0, 80_000, 37)]
    days = DateFormat("%d.%m.%Y").days(pa.array([date.strftime("%d.%m.%Y") for date in dates]))
    assert days.tolist() == [(date - dt.date(1970, 1, 1)).days for date in dates]
    year, _, cosine, weekday, _ = DateFormat("%Y").numbers(pa.array(dates))
    assert year.tolist() == [date.year for date in dates]
    np.testing.assert_allclose(cosine, [np.cos(np.pi * (date.month - 1) / 6) for date in dates], atol=1e-12)
    np.testing.assert_allclose(weekday, [np.sin(2 * np.pi * date.weekday() / 7) for date in dates], atol=1e-12)


@pytest.mark.parametrize("form", ["%d/%m", "%Y %q", "%Y %Y"])
def test_wrong_date_formats(table: Write, form: str) -> None:
    with pytest.raises(DataError, match="dates: column 'when'"):
        data.CSV(table("when,y\n1/2/2020,u\n"), "y", dates=f"when: {form}")


def test_date_columns(table: Write) -> None:
    path = table('n,when,"a, b",y\n1,31/12/1999,2000-01-01,u\n2,01/01/2000,2000-01-02,v\n')
    source = data.CSV(path, "y", dates='when: %d/%m/%Y, "a, b"', date_features="days", validation=0)
    assert source.feature_names == ("n", "when days", "a, b days")
    assert whole(source)[0].tolist() == [[1, -1, 0], [2, 0, 1]]
    calendar = data.CSV(path, "y", columns="when", dates="when: %d/%m/%Y", validation=0)
    assert calendar.feature_names == tuple(
        f"when {part}" for part in ("year", "month sin", "month cos", "weekday sin", "weekday cos")
    )
    with pytest.raises(DataError, match=r"line 2, column 2 \('when'\): '31/12/1999' is not a date in the format %m/%d"):
        _ = data.CSV(path, "y", columns="when", dates="when: %m/%d/%Y").train


def test_missing_dates(table: Write) -> None:
    path = table("when,y\n2000-01-02,u\n,v\nNA,u\n")
    with pytest.raises(DataError, match=r"line 3, column 1 \('when'\) is empty"):
        _ = data.CSV(path, "y", dates="when").train
    kept = data.CSV(path, "y", dates="when", date_features="days", missing="keep", indicators="when", validation=0)
    assert kept.feature_names == ("when days", "when missing")
    np.testing.assert_array_equal(whole(kept)[0], [[1, 0], [np.nan, 1], [np.nan, 1]])
    dropped = data.CSV(path, "y", dates="when", date_features="days", missing="drop", validation=0)
    assert whole(dropped)[0].tolist() == [[1]]


@pytest.mark.parametrize(
    ("texts", "point", "numbers"),
    [
        (["$1,200.50", "45 %", "(300)", "12 kg"], ".", [1200.5, 45, -300, 12]),
        (["-€3.5", "1 234", "USD 12", ".5"], ".", [-3.5, 1234, 12, 0.5]),
        (["1.200,50 €", "45%", "1,5", "1'000"], ",", [1200.5, 45, 1.5, 1000]),
        (["x", "", "1,2", "$", "1.2.3"], ".", [np.nan] * 5),
    ],
)
def test_formatted_numbers(texts: list[str], point: str, numbers: list[float]) -> None:
    np.testing.assert_array_equal(parse_formatted(pa.array(texts), point), numbers)


def test_formatted_columns_and_targets(table: Write) -> None:
    path = table('area,price\n"1,200 m²",$3.50\n80 m²,$4\n')
    source = data.CSV(path, "price", task="number", formatted="area, price", validation=0)
    inputs, targets = whole(source)
    assert (inputs.tolist(), targets.tolist()) == ([[1200], [80]], [[3.5], [4]])
    with pytest.raises(DataError, match=r"line 3, column 1 \('area'\): 'big' is not a number"):
        _ = data.CSV(table("area,price\n1,1\nbig,2\n"), "price", task="number", formatted="area").train


def test_category_numbers_have_0_for_unknown(table: Write) -> None:
    path = table("n,kind,y\n" + "".join(f"{row},{'ab'[row % 2]},u\n" for row in range(8)) + "9,,v\n")
    source = data.CSV(path, "y", categorical="kind", category_encoding="index", missing="keep", validation=0)
    assert source.feature_names == ("n", "kind")
    assert whole(source)[0][[0, 1, 8]].tolist() == [[0, 1], [1, 2], [9, 0]]
    new = Path(path).with_name("new.csv")
    new.write_text("n,kind\n1,zebra\n2,b\n")
    assert np.asarray(source.unlabeled(new).arrays(np.arange(2))[0]).tolist() == [[1, 0], [2, 2]]


def test_several_targets(table: Write) -> None:
    path = table("x,up,down\n1,0,1\n2,1,0\n")
    source = data.CSV(path, "up, down", task="number", validation=0)
    assert source.target.shape == (2,)
    assert whole(source)[1].tolist() == [[0, 1], [1, 0]]
    with pytest.raises(DataError, match="2 targets cannot be classes"):
        data.CSV(path, "up, down")


def test_dates_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    when = [dt.datetime(2000, 1, 1, 12, tzinfo=dt.UTC), None]
    parquet.write_table(pa.table({"when": when, "day": ["1/1/2000", "2/1/2000"], "y": [1.0, 2.0]}), path)
    source = data.Parquet(
        str(path), "y", "number", dates="when, day: %d/%m/%Y", date_features="days", missing="keep", validation=0
    )
    np.testing.assert_array_equal(whole(source)[0], [[0.5, 0], [np.nan, 1]])
    with pytest.raises(DataError, match="row 1, column 'day': '1/1/2000' is not a date in the format ISO"):
        _ = data.Parquet(str(path), "y", "number", columns="day", dates="day", validation=0).train


def test_penguins() -> None:
    source = data.Penguins()
    assert source.class_names == ("Adelie", "Chinstrap", "Gentoo")
    assert source.feature_names[-2:] == ("sex=female", "sex=male")
    assert len(source.train) + len(source.validation or ()) == 333
    assert source.diagnostics() == ()
    mass = data.Penguins("body_mass_g", missing="keep", category_encoding="index")
    assert (len(mass.feature_names), mass.target.shape) == (6, (1,))
