from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio import cli
from studio.document.files import project_files

TABLE = "rooms,area,district,price\n" + "".join(
    f"{row % 5 + 1},{30 + 7 * row % 90},{'north' if row % 3 else 'south'},{100 + 2 * row}.5\n" for row in range(60)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "houses.csv").write_text(TABLE)
    return tmp_path


def test_import_creates_a_project_that_checks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", "houses.csv", "-o", "houses.gradwire"]) == 0
    shown = capsys.readouterr().out
    assert "price     target  number" in shown
    assert "4 float32 -> 1 float32, 48 training and 12 validation samples" in shown
    document = project_files.load(folder / "houses.gradwire")
    assert list(document.nodes) == ["houses", "scale", "scale_target", "batches"]
    assert document.nodes["houses"].params["path"] == "houses.csv"
    assert cli.main(["data", "houses.gradwire"]) == 0


def test_import_extends_a_project(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", "houses.csv", "-o", "p.gradwire"]) == 0
    assert cli.main(["import", "houses.csv", "-o", "p.gradwire", "--target", "district", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["nodes"] == ["houses_2", "scale_2"]
    assert record["target"] == "2 classes"
    assert [column["role"] for column in record["columns"]] == ["input", "input", "target", "input"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "-o", "p.gradwire"], "file not found"),
        (["houses.csv", "-o", "p.txt"], "project files end in .gradwire"),
        (["houses.csv", "-o", "p.gradwire", "--target", "cost"], "no such column. It has rooms, area, district, price"),
    ],
)
def test_wrong_arguments(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert cli.main(["import", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "p.gradwire").exists()
