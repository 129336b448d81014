"""What the documents say is true: their code runs, their commands work and their links lead somewhere."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path

import pytest

from site_pages import pages
from studio.cli.command_line import main
from studio.nodes.catalogue import catalogue
from tests.compiled import bitwise

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "assets").rglob("*.md")]
PROGRAM = re.compile(r'^```(python|sh|json)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"\*\*([^*]+)\*\*")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
LONGEST = 5
"""Lines of a paragraph."""
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
GUIDES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]


SLOW = {"sweep"}
"""Commands that start a process for each trial: their options are parsed and nothing else."""


@functools.cache
def generated() -> frozenset[Path]:
    return frozenset((ROOT / "docs" / path).resolve() for path, _ in pages())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(document: Path) -> None:
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    targets = [(document.parent / link).resolve() for link in LINK.findall(text)]
    assert [path for path in targets if not path.exists() and path not in generated()] == []


@pytest.mark.parametrize("document", GUIDES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_and_commands_of_guides_work(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, in an empty folder, with NumPy in place of kernels. Other programs, such as pip, are not run."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with bitwise():
        for kind, title, text in programs(document):
            if kind == "python":
                exec(compile(text, document.name, "exec"), namespace)
            elif kind == "sh":
                commands(text)
            elif title:
                Path(title).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("document", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_have_an_example_and_short_paragraphs(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert "```" in text or "![" in text
    paragraphs = [paragraph.strip().splitlines() for paragraph in BLOCK.sub("", text).split("\n\n")]
    assert [lines for lines in paragraphs if len(lines) > LONGEST and not lines[0].startswith(("|", "- ", "1. "))] == []


@pytest.mark.parametrize("document", GUIDES[1:], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_guides_name_what_the_window_shows(document: Path) -> None:
    """Bold text is a label of the window, a node or a parameter; "Run › Stop" is a command in its menu."""
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    named = {part for label in LABEL.findall(text) for part in " ".join(label.split()).split(" › ")}
    assert sorted(label for label in named if label not in labels() and label not in sources()) == []


@functools.cache
def labels() -> frozenset[str]:
    parameters = {parameter.name.replace("_", " ") for kind in catalogue() for parameter in kind.params}
    return frozenset(parameters | {kind.title for kind in catalogue()})


@functools.cache
def sources() -> str:
    """The text of the studio and its templates, which holds the strings of the window."""
    files = [*(ROOT / "studio").rglob("*.py"), *(ROOT / "assets" / "templates").glob("*.gradwire")]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


def programs(document: Path) -> list[tuple[str, str, str]]:
    return PROGRAM.findall(document.read_text(encoding="utf-8"))


def commands(text: str) -> None:
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gradwire"]:
            only_parsed = ["--help"] if words[1] in SLOW else []
            assert main([*words[1:], *only_parsed]) == 0, line
