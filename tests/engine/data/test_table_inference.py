from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from engine import data
from engine.data.tables.inference.table_schema import TableSchema, infer_table, source_arguments
from engine.errors import DataError
from tests.engine.data.table_corpus import CORPUS, CorpusTable

SOURCES = {"CSV": data.CSV, "Parquet": data.Parquet, "JSONLines": data.JSONLines}


def inferred(table: CorpusTable, folder: Path) -> TableSchema:
    path = folder / table.file
    path.write_bytes(table.content)
    return infer_table(path)


def letters(schema: TableSchema) -> list[str]:
    """The use and type of each column, as in the corpus."""
    role = {"target": "t", "input": "i", "ignore": "x"}
    return [role[column.role] + ("-" if column.role == "ignore" else column.type[0]) for column in schema.columns]


def test_corpus_has_at_least_33_tables() -> None:
    assert len({table.file for table in CORPUS}) == len(CORPUS) >= 33


@pytest.mark.parametrize("table", CORPUS, ids=lambda table: table.file)
def test_default_import_loads_the_table(table: CorpusTable, tmp_path: Path) -> None:
    schema = inferred(table, tmp_path)
    source = SOURCES[schema.format](**source_arguments(schema))
    inputs, targets = source.train.arrays(np.arange(len(source.train)))
    assert np.shape(inputs) == (len(source.train), *source.input.shape)
    assert len(targets) > 80
    assert source.validation is not None
    assert np.isfinite(np.asarray(targets, np.float64)).all()


def test_at_least_90_percent_of_columns_are_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong: list[str] = []
    total = targets = tasks = 0
    for table in CORPUS:
        schema, expected = inferred(table, tmp_path), table.columns.split()
        found = letters(schema)
        assert len(found) == len(expected), table.file
        total += len(expected)
        targets += [each[0] == "t" for each in found] == [each[0] == "t" for each in expected]
        tasks += schema.task == table.task
        wrong += [
            f"{table.file}: {column.name}: {is_} instead of {wanted}"
            for column, is_, wanted in zip(schema.columns, found, expected, strict=True)
            if is_ != wanted
        ]
    right = f"{total - len(wrong)} of {total} columns, {targets} targets and {tasks} tasks"
    with capsys.disabled():
        sys.stdout.write(f"\nImport of {len(CORPUS)} tables: {right} are right.\n")
    assert len(wrong) <= 0.1 * total, wrong
    assert targets >= 0.9 * len(CORPUS)
    assert tasks >= 0.9 * len(CORPUS)


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_notes_say_what_was_found(tmp_path: Path) -> None:
    rows = "".join(f"{row},5;{row % 7},25;{'ab'[row % 2]}\n" for row in range(30))
    schema = infer_table(written(tmp_path, f"# made by hand\nx;w;z\n{rows}1;2\n".encode("utf-16")))
    assert schema.notes == (
        "Lines that start with # are skipped.",
        "The text encoding is UTF-16.",
        "Numbers have a decimal comma.",
        "1 line has too many or too few columns and is skipped.",
    )
    assert schema.bad_lines == 1
    assert source_arguments(schema) | {"path": ""} == {
        "path": "", "target": "z", "separator": "semicolon", "encoding": "utf-16", "decimal": "comma", "comment": "#",
        "bad_lines": "skip",
    }  # fmt: skip


def test_order_of_day_and_month_is_decided_by_other_rows_and_columns(tmp_path: Path) -> None:
    def formats(dates: str) -> list[str]:
        rows = "".join(f"{date},{index % 3}\n" for index, date in enumerate(dates.split()))
        return [column.date_format for column in infer_table(written(tmp_path, f"when,y\n{rows}")).columns[:1]]

    assert formats("01/02/2020 03/04/2020 13/04/2020") == ["%d/%m/%Y"]
    assert formats("01/02/2020 03/04/2020 04/13/2020") == ["%m/%d/%Y"]
    assert formats("01/02/2020 01/03/2020 01/04/2020 01/05/2020") == ["%m/%d/%Y"], "days in a row"
    both = "".join(f"{day:02}/02/2020,{day:02}/0{day % 9 + 1}/2020,{day % 3}\n" for day in range(1, 28))
    schema = infer_table(written(tmp_path, f"a,b,y\n{both}"))
    assert [column.date_format for column in schema.columns[:2]] == ["%d/%m/%Y", "%d/%m/%Y"]


def test_times_are_found(tmp_path: Path) -> None:
    rows = "".join(f"2020-01-{row % 28 + 1:02} {row % 24:02}:30,{row % 3}\n" for row in range(40))
    arguments = source_arguments(infer_table(written(tmp_path, f"when,y\n{rows}")))
    assert arguments["dates"] == "when: %Y-%m-%d %H:%M"
    assert data.CSV(**arguments).feature_names[-2:] == ("when hour sin", "when hour cos")


def test_y_beside_x_and_z_is_a_coordinate(tmp_path: Path) -> None:
    rows = "".join(
        f"{row * 7 % 40 / 9},{row * 3 % 40 / 9},{row * 11 % 40 / 9},{row * 13 % 40}.5\n" for row in range(40)
    )
    assert infer_table(written(tmp_path, f"x,y,z,price\n{rows}")).targets == ("price",)


def test_changed_columns(tmp_path: Path) -> None:
    rows = "".join(f"{row},{row % 5},{'ab'[row % 2]},{row / 7}\n" for row in range(40))
    schema = infer_table(written(tmp_path, f"x,rooms,kind,price\n{rows}"))
    assert (schema.targets, schema.task) == (("price",), "number")
    other = schema.with_column(2, role="target")
    assert (other.targets, other.task) == (("kind",), "classes")
    arguments = source_arguments(other.with_column(1, type="category").with_column(3, role="ignore"))
    assert (arguments["categorical"], arguments["ignore"]) == ("rooms", "x, price")


def test_likely_missing_number_is_suggested(tmp_path: Path) -> None:
    rows = "".join(f"{-999 if row % 9 == 0 else row % 30 + 0.5},{'ab'[row % 2]}\n" for row in range(90))
    column = infer_table(written(tmp_path, f"depth,site\n{rows}")).columns[0]
    assert column.guess.suggestion.startswith("-999 occurs 10 times and may mark missing values.")


def test_progress_is_reported_and_can_end_the_reading(tmp_path: Path) -> None:
    path = written(tmp_path, "x,y\n" + "".join(f"{row},{row % 2}\n" for row in range(300_000)))
    shares: list[float] = []
    assert infer_table(path, report_progress=shares.append).rows == 300_000
    assert shares[0] == 0 and shares[-1] == 1 and len(shares) > 3 and shares == sorted(shares)

    def stop(share: float) -> None:
        if share:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        infer_table(path, report_progress=stop)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not text"),
        ("t.csv", (",".join(f"c{index}" for index in range(6000)) + "\n1\n").encode(), "has 6,000 columns"),
        ("t.parquet", b"PAR1" + b"\xff" * 40 + b"PAR1", "cannot be read as Parquet"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not valid JSON"),
        ("t.jsonl", b"[" * 100_000, "line 1 is not valid JSON"),
        ("t.jsonl", b"1\n", "line 1 is not an object"),
        ("t.json", b"{}\n", "has no objects with keys"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        infer_table(written(tmp_path, content, name))


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_end_in_a_schema_or_an_error(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    letters = np.frombuffer(b"ab01.,;|\t \"'#-/\n\n\r\xe9", np.uint8)
    content = random.choice(letters, 400).tobytes() if seed % 2 else random.bytes(300)
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        try:
            assert infer_table(written(tmp_path, content, name)).columns
        except DataError as error:
            assert name in str(error)


def test_json_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"a": {"b": 1}, "k": "u", "ok": true}\n\n{"a": {"b": "2"}, "k": null, "ok": false}\n', "t.jsonl"
    )
    source = data.JSONLines(str(path), "ok", ignore="k", validation=0)
    assert source.feature_names == ("a.b",)
    assert np.asarray(source.train.arrays(np.arange(2))[0]).tolist() == [[1], [2]]
    assert source.class_names == ("false", "true")
    with pytest.raises(DataError, match="line 3, column 'k' is empty"):
        _ = data.JSONLines(str(path), "ok", categorical="k").train
    with pytest.raises(DataError, match="line 1, column 'k': 'u' is not a finite number"):
        _ = data.JSONLines(str(path), "ok", missing="keep").train
