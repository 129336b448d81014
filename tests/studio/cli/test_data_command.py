"""`gradwire data` describes samples, and names what is wrong with its node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.studio.cli.conftest import Result


def test_counts_classes_and_ranges(gradwire: Callable[..., Result], project: Path) -> None:
    result = gradwire("data", project)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert "training: 1,438 samples" in lines
    assert "validation: 359 samples" in lines
    assert any(line.split() == ["0", "138", "40"] for line in lines)
    assert any(line.startswith("brightness") for line in lines)


def test_one_json_object(gradwire: Callable[..., Result], project: Path) -> None:
    [found] = gradwire("data", project, "digits", "--json").lines
    assert found["event"] == "described"
    assert found["spec"] == "1×8×8 uint8"
    assert sum(found["parts"][0]["classes"]) == found["parts"][0]["samples"] == 1438
    assert found["problems"] == []


def test_only_data_nodes_are_described(gradwire: Callable[..., Result], project: Path) -> None:
    result = gradwire("data", project, "nowhere")
    assert result.code == 2
    assert "no node 'nowhere'" in result.err and "digits" in result.err
    result = gradwire("data", project, "relu")
    assert result.code == 2
    assert "relu is not a data node" in result.err


def test_a_source_that_cannot_be_read_is_named(gradwire: Callable[..., Result], project: Path) -> None:
    result = gradwire("data", project, "--set", "digits.validation=2.0")
    assert result.code == 2
    project.write_text(project.read_text().replace('"data.Digits"', '"data.IDX"'))
    result = gradwire("data", project, "--set", 'digits.folder="gone"')
    assert result.code == 2
    assert "digits: " in result.err and "folder not found" in result.err
