"""Hostile data files: the import ends soon, in a plan or an error that names the file, and runs nothing from them."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.data.tables.inference.table_schema import infer_table
from engine.errors import DataError
from studio import cli
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.data.imports.file_import import is_table, plan_file
from studio.training.data.imports.import_plan import ImportPlan, apply_plan
from studio.training.data.imports.table_import import plan_table

ODD_NAMES = [
    'quote"d', "comma, name", "line\nbreak", " spaces ", "colon: %d", "__class__", "<b>bold</b>", "\x1b[31mred", "😀",
    "=cmd|' /C calc'!A0", "x" * 3000, "a.b", "-", "'; import os",
]  # fmt: skip


class Bomb:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("pwned",))


def imported(path: Path) -> ImportPlan:
    return plan_table(infer_table(path)) if is_table(path) else plan_file(path)


def csv_of(*columns: list[str]) -> str:
    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    return "".join(",".join(map(quoted, row)) + "\n" for row in zip(*columns, strict=True))


def array_header(shape: tuple[int, ...]) -> bytes:
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def pickled() -> bytes:
    content = io.BytesIO()
    np.save(content, np.array([Bomb()], object), allow_pickle=True)
    return content.getvalue()


def nested_parquet() -> bytes:
    content = io.BytesIO()
    columns = {"list": [[1, 2]] * 30, "map": [{"a": 1}] * 30, "raw": [b"\xff"] * 30, "y": list(range(30))}
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


NUMBERS = [str(row % 7) for row in range(40)]
HOSTILE: dict[str, tuple[str, bytes]] = {
    "a long line": ("t.csv", b"a,b\n" + b"x" * 3_000_000 + b",1\n2,3\n"),
    "many columns": ("t.csv", b",".join(b"c%d" % index for index in range(100_000)) + b"\n" + b"1," * 99_999 + b"1\n"),
    "a quotation mark that is not closed": ("t.csv", b'a,b\n"1,2\n' + b"3,4\n" * 100_000),
    "huge numbers": ("t.csv", csv_of(["n", *["9" * 400] * 40], ["y", *NUMBERS]).encode()),
    "numbers like 1e999": ("t.csv", csv_of(["n", *["1e999", "-inf"] * 20], ["y", *NUMBERS]).encode()),
    "dates beyond the calendar": ("t.csv", csv_of(["d", *["9999-12-31", "0000-00-00"] * 20], ["y", *NUMBERS]).encode()),
    "only separators": ("t.csv", b",,,\n" * 1000),
    "only quotation marks": ("t.csv", b'"' * 100_001),
    "comments only": ("t.csv", b"# x\n" * 1000),
    "bytes after a table": ("t.csv", b"a,b\n" + b"1,2\n" * 100_000 + bytes(range(256)) * 10),
    "UTF-16 of odd length": ("t.csv", "a,b\n1,2\n".encode("utf-16") + b"\0"),
    "deep JSON": ("t.jsonl", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
    "huge JSON integers": ("t.jsonl", b'{"a": %s, "y": 1}\n' % (b"9" * 5000) * 20),
    "many JSON keys": ("t.jsonl", json.dumps({f"k{index}": index for index in range(20_000)}).encode()),
    "JSON of one string": ("t.json", b'["x"]'),
    "nested Parquet": ("t.parquet", nested_parquet()),
    "pickled objects": ("t.npy", pickled()),
    "an array larger than its file": ("t.npy", array_header((10**12, 10**6)) + bytes(64)),
    "an array of negative size": ("t.npy", array_header((-4, 5)) + bytes(80)),
    "text of zero bytes": ("t.txt", bytes(100_000)),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file_ends_in_a_plan_or_an_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, content = HOSTILE[name]
    path = tmp_path / file
    path.write_bytes(content)
    try:
        assert imported(path).nodes
    except DataError as error:
        assert file in str(error)
        assert len(str(error)) < 3000
    assert not (tmp_path / "pwned").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no FIFOs and no /dev/zero")
def test_what_is_not_a_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo, loop, folder = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.csv"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    folder.mkdir()
    for path in (fifo, loop, folder, Path("/dev/zero"), tmp_path / "none.csv"):
        with pytest.raises(DataError, match=path.name):
            infer_table(path)


def test_odd_column_names_survive_import_save_and_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(0)
    columns = [[name, *(f"{value:.3f}" for value in random.random(40))] for name in ODD_NAMES]
    path = tmp_path / "odd.csv"
    path.write_text(csv_of(*columns, ["y", *NUMBERS]), encoding="utf-8")
    plan = imported(path)
    document, names = apply_plan(plan, Document())
    again = loads(dumps(document))
    assert again == document
    problems = [problem for problem in check(again, catalogue(), tmp_path).errors if problem.node in names]
    assert [problem.message for problem in problems] == []
    assert cli.main(["import", str(path), "-o", str(tmp_path / "odd.gradwire")]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_odd_names_in_every_role(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    categories = ["ab"[row % 2] for row in range(40)]
    dates = [f"{row % 28 + 1}/12/2020" for row in range(40)]
    for name in ODD_NAMES:
        path.write_text(csv_of([name, *dates], [f"{name}2", *categories], ["y", *NUMBERS]), encoding="utf-8")
        assert imported(path).preview.training == 32
        path.write_text(csv_of(["x", *NUMBERS], [name, *categories]), encoding="utf-8")
        plan = plan_table(infer_table(path).with_column(1, role="target"))
        assert plan.preview.target == "2 classes"
