"""Where the paths in parameters begin, and how messages tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.document.model import Document, Node
from studio.lowering import check
from studio.lowering.analysis.node_arguments import resolve_paths
from studio.nodes import catalogue


def folder_of(path: str, base: Path | None) -> str:
    return str(resolve_paths(catalogue()["data.IDX"], {"folder": path, "validation": 0.1}, base)["folder"])


def test_relative_paths_start_at_the_project_folder(tmp_path: Path) -> None:
    assert folder_of("data", tmp_path) == str(tmp_path / "data")
    assert folder_of("../data", tmp_path / "work") == str(tmp_path / "data")
    assert folder_of(str(tmp_path / "data"), tmp_path / "work") == str(tmp_path / "data")
    assert folder_of("data", None) == "data"


def test_message_names_the_resolved_path(tmp_path: Path) -> None:
    document = Document({"idx": Node("data.IDX", {"folder": "../../gone"})})
    [problem] = [each for each in check(document, catalogue(), tmp_path / "a" / "b").problems if "gone" in each.message]
    assert f"{tmp_path / 'gone'}: folder not found" in problem.message


def test_paths_through_symbolic_links(tmp_path: Path) -> None:
    """There `link/../data` is not `data` beside the link."""
    (tmp_path / "far" / "away").mkdir(parents=True)
    try:
        (tmp_path / "link").symlink_to(tmp_path / "far" / "away", target_is_directory=True)
    except OSError:
        pytest.skip("this system does not allow links")
    (tmp_path / "far" / "data").mkdir()
    assert Path(folder_of("link/../data", tmp_path)).resolve() == (tmp_path / "far" / "data").resolve()


@pytest.mark.parametrize("path", ["../\0", "../" * 3000, "../~nobody/x", "..", "con/../nul"])
def test_invalid_path_is_a_problem(tmp_path: Path, path: str) -> None:
    document = Document({"idx": Node("data.IDX", {"folder": path})})
    assert check(document, catalogue(), tmp_path).errors
