"""What is shipped can be opened and is written as it would be saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.document.document_errors import FileError
from studio.document.files.project_format import SUFFIX, dumps, loads
from studio.document.files.project_templates import SECTIONS, Template, template, templates
from studio.document.model import Document, Node

ROOT = Path(__file__).parents[3]
SHIPPED = sorted([*ROOT.glob(f"assets/templates/*{SUFFIX}"), *ROOT.glob(f"examples/*{SUFFIX}")])


def test_templates_are_listed_in_sections_with_titles() -> None:
    found = templates()
    assert all(each.title and each.summary for each in found)
    assert [each.key for each in found] == [key for keys in SECTIONS.values() for key in keys]
    assert {each.key for each in found} == {path.stem for path in ROOT.glob(f"assets/templates/*{SUFFIX}")}
    assert Template("own", Document()).section == "Tables and pairs"


def test_one_by_its_key() -> None:
    first = templates()[0]
    assert template(first.key) == first
    with pytest.raises(FileError, match=f"is not a template. Choose one of: .*{first.key}"):
        template("ghost")


def test_title_and_summary_come_from_the_description() -> None:
    document = Document({"a": Node("nn.ReLU")}, description="A title\n\nWhat it is.\nAnd more.\n")
    assert (Template("key", document).title, Template("key", document).summary) == ("A title", "What it is.\nAnd more.")
    assert Template("first_network", Document()).title == "First network"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_shipped_projects_are_canonical(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert dumps(loads(text, path.name)) == text
