"""docs/reference/graph-breaks.md has a section for each reason of a graph break, and its examples do what it says."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.compiler.break_reasons import REASONS
from tests.engine import fake_cupy

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "reference" / "graph-breaks.md"
SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(DOCUMENT.read_text(encoding="utf-8")))


def test_every_reason_has_a_section() -> None:
    assert set(SECTIONS) == set(REASONS)


@pytest.mark.parametrize("reason", REASONS)
def test_the_first_example_breaks_and_the_second_does_not(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy.module(devices=1))
    breaks, instead = CODE.findall(SECTIONS[reason])
    assert reason in reasons_of(defined(breaks))
    assert reasons_of(defined(instead)) == set()


def defined(source: str) -> Callable[[engine.Tensor], Any]:
    namespace: dict[str, Any] = {"engine": engine, "np": np, "copy": copy}
    exec(compile(source, "<graph-breaks.md>", "exec"), namespace)
    return namespace["f"]


def reasons_of(function: Callable[[engine.Tensor], Any]) -> set[str]:
    compiled = engine.compile(function)
    x = engine.tensor([1.0, 2.0, 3.0])
    for _ in range(70):
        compiled(x)
    return {one.reason.id for one in compiled.report.breaks.values()}


def test_ids_are_stable() -> None:
    """Programs and help pages refer to them: add to this list, and take nothing away."""
    assert set(REASONS) == {
        "bool", "number", "list", "iteration", "array", "print", "shape", "device", "opaque", "observed", "limit",
        "exposed", "memory", "disabled", "explicit",
    }  # fmt: skip
