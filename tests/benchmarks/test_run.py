"""Tables of benchmarks, and their sections in docs/explanation/performance.md."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import run  # noqa: PLC0415  (benchmarks are scripts, found by their folder)

    yield run
    sys.modules.pop("run", None)


def test_every_suite_is_a_script_and_has_a_section(run) -> None:
    text = run.DOCUMENT.read_text(encoding="utf-8")
    for name in (*run.SUITES, "machine"):
        assert name in run.replaced(text, name, "") or name == "machine"
        assert "\0" in run.replaced(text, name, "\0")
    assert [name for name in run.SUITES if not (FOLDER / f"{name}.py").exists()] == []
    assert [name for name, suite in run.SUITES.items() if run.heading(suite) not in text] == []


def test_table(run) -> None:
    rows = [
        {"benchmark": "mlp-64", "threads": 2, "ratio": 0.5, "engine_ms": 1.23456, "torch_ms": 2.5},
        {"call": "add", "ratio": None, "engine_us": 0.75},
        {"benchmark": "long", "ratio": 2.0, "engine_ms": 12345.0, "torch_ms": 999.7},
        {"benchmark": "without a figure", "ratio": None, "other_us": 1.0},
    ]
    lines = run.table_of(run.Suite("Steps", "less"), rows).splitlines()
    assert lines[-4:] == [
        "| mlp-64 | 1.23 ms | 2.5 ms | 0.50 |",
        "| add | 0.75 µs |  |  |",
        "| long | 12.3 s | 1 s | 2.00 |",
        "",
    ]


def test_writing_is_idempotent(run) -> None:
    text = run.DOCUMENT.read_text(encoding="utf-8")
    once = run.replaced(text, "memory", "\nx\n\n")
    assert run.replaced(once, "memory", "\nx\n\n") == once
    with pytest.raises(SystemExit, match="no markers for 'nothing'"):
        run.replaced(text, "nothing", "")
