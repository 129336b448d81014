"""Texts of the project use plain technical English."""

from __future__ import annotations

from pathlib import Path

import pytest

import wording

SOURCE = '''"""What nobody uses."""

NAME = "conv2d"
# It is drawn
# anew.
MESSAGE = f"The file is told {NAME!r} of which"
'''


def test_every_kind_of_text_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(SOURCE, encoding="utf-8")
    assert [(text.line, text.kind, text.text) for text in wording.texts(path)] == [
        (1, "docstring", "What nobody uses."),
        (4, "comment", "It is drawn anew."),
        (6, "string", "The file is told {NAME} of which"),
    ]


def test_pages_are_listed_without_code(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "# Title\n\nOne\nparagraph.\n\n```sh\ngradwire told\n```\n\n- item\n- item `told`\n", encoding="utf-8"
    )
    listed = list(wording.texts(path))
    assert [(text.line, text.text) for text in listed] == [
        (1, "# Title"),
        (3, "One paragraph."),
        (10, "- item"),
        (11, "- item `told`"),
    ]
    assert [found for text in listed for found in wording.banned(text.text)] == []


@pytest.mark.parametrize("text", ["It is told so.", "Nobody uses it.", "drawn anew", "a folder of its own"])
def test_banned_constructions_are_found(text: str) -> None:
    assert list(wording.banned(text))


def test_no_text_has_a_banned_construction() -> None:
    paths = wording.files([*wording.FOLDERS, *wording.PAGES])
    listed = [text for path in paths for text in wording.texts(path)]
    assert len(listed) > 10_000
    assert [f"{text}: {words!r}" for text in listed for words, _ in wording.banned(text.text)] == []
