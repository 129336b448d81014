"""`gradwire diff` compares two projects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studio.document import edits
from studio.document.files import project_files
from tests.studio.cli.conftest import Result


def test_differences_are_listed(gradwire: Callable[..., Result], project: Path, tmp_path: Path) -> None:
    document = project_files.load(project)
    name = next(name for name, node in document.nodes.items() if "out_features" in node.params)
    other = tmp_path / "other.gradwire"
    changed = edits.set_training(edits.set_param(document, name, "out_features", 7), epochs=99)
    project_files.save(edits.move(changed, {name: (8.0, 800.0)}), other)
    result = gradwire("diff", project, other)
    assert result.code == 1
    assert f"{name}: changed" in result.out
    assert f"training.epochs: {document.training.epochs} → 99" in result.out
    node, training, compared = gradwire("diff", project, other, "--json").lines
    assert (node["new"], node["values"][0]["new"], training["new"], compared["differences"]) == (name, 7, 99, 2)


def test_equal_projects(gradwire: Callable[..., Result], project: Path) -> None:
    result = gradwire("diff", project, project)
    assert (result.code, result.out) == (0, "The graphs and settings are equal.\n")
    assert gradwire("diff", project, project.with_name("missing.gradwire")).code == 2
