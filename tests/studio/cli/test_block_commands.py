"""`gradwire blocks`: list, show, export and import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from studio.document.blocks.block_library import UserLibrary, shipped_blocks
from studio.document.files.project_files import load, save
from studio.document.model import Document, Node
from tests.studio.cli.conftest import Result

Gradwire = Callable[..., Result]


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserLibrary:
    monkeypatch.setenv("GRADWIRE_LIBRARY", str(tmp_path / "blocks"))
    return UserLibrary()


def test_shipped_blocks_are_listed(gradwire: Gradwire) -> None:
    result = gradwire("blocks", "list")
    assert result.code == 0
    lines = result.out.splitlines()
    assert [line.split()[:2] for line in lines] == [[each.name, "shipped"] for each in shipped_blocks()]
    assert [each["name"] for each in gradwire("blocks", "list", "--json").lines] == [line.split()[0] for line in lines]


def test_a_block_is_shown(gradwire: Gradwire) -> None:
    result = gradwire("blocks", "show", "conv_bn_relu")
    assert result.out.startswith("A convolution")
    assert "\n  kernel_size  " in result.out
    [record] = gradwire("blocks", "show", "conv_bn_relu", "--json").lines
    assert [each["name"] for each in record["inputs"]] == ["input"]
    assert {"out_channels", "repeat"} <= {each["name"] for each in record["params"]}


def test_an_unknown_block_has_a_suggestion(gradwire: Gradwire) -> None:
    result = gradwire("blocks", "show", "conv_bn_rleu")
    assert (result.code, "Did you mean conv_bn_relu?" in result.err) == (2, True)


def test_a_block_is_exported_and_imported(gradwire: Gradwire, library: UserLibrary, tmp_path: Path) -> None:
    path = tmp_path / "mine.gradwire"
    assert gradwire("blocks", "export", "residual", "-o", path).code == 0
    assert "residual" in load(path).blocks
    assert "already exists" in gradwire("blocks", "export", "residual", "-o", path).err
    assert "end in .gradwire" in gradwire("blocks", "export", "residual", "-o", tmp_path / "mine.json").err
    assert gradwire("blocks", "import", path).code == 0
    assert [each.name for each in library.blocks()] == ["residual"]
    assert "already has a block residual" in gradwire("blocks", "import", path).err
    assert gradwire("blocks", "import", path, "--force").code == 0
    listed = gradwire("blocks", "list").out
    assert listed.startswith("residual")
    assert listed.split()[1] == "user"


def test_a_file_without_a_block_is_refused_and_skipped(
    gradwire: Gradwire, library: UserLibrary, tmp_path: Path
) -> None:
    path = tmp_path / "plain.gradwire"
    save(Document({"a": Node("nn.ReLU")}), path)
    result = gradwire("blocks", "import", path)
    assert (result.code, "has no block" in result.err) == (2, True)
    library.folder.mkdir()
    library.path("broken").write_bytes(b"{")
    result = gradwire("blocks", "list")
    assert result.code == 0
    assert "warning: skipped" in result.err
    assert "broken.gradwire" in result.err
