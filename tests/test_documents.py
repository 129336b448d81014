"""What the documents say is true: their code runs, their commands work and their links lead somewhere."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import shlex
from pathlib import Path

import pytest

from engine.system.syntax import parse_source
from site_pages import pages
from studio.cli.command_line import main
from studio.document.files.project_templates import templates
from studio.lowering.analysis.block_types import PORT_TYPES
from studio.nodes.catalogue import catalogue
from studio.nodes.types import TITLES
from studio.training.statistics.canvas_figures import FIGURES
from tests.compiled import bitwise

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "assets").rglob("*.md")]
PROGRAM = re.compile(r'^```(python|sh|json)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"\*\*([^*]+)\*\*")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
LONGEST = 5
"""Lines of a paragraph."""
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
NAME = re.compile(r"((?:engine|studio)(?:\.\w+)+)(?:\(.*\))?")
FOLDERS = ("engine", "studio", "tests", "scripts", "benchmarks", "examples", "assets", "docs")
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "decisions"]
TUTORIALS, HOW_TO, REFERENCE = (
    sorted((ROOT / "docs" / part).glob("*.md")) for part in ("tutorials", "how-to", "reference")
)

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


@pytest.mark.parametrize("document", [ROOT / "README.md", *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_programs_and_commands_work(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    "document", [*TUTORIALS, *HOW_TO, *REFERENCE], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_bold_text_is_a_label_of_the_window(document: Path) -> None:
    """The title of a command, button, panel, node, parameter or template; "Run › Stop" is a command in its menu."""
    text = BLOCK.sub("", document.read_text(encoding="utf-8"))
    named = {part for label in LABEL.findall(text) for part in " ".join(label.split()).split(" › ")}
    assert sorted(named - labels()) == []


@functools.cache
def labels() -> frozenset[str]:
    """Strings of the window's code that can be a label, and titles of nodes, parameters and templates."""
    parameters = {parameter.name.replace("_", " ") for kind in catalogue() for parameter in kind.params}
    titles = {kind.title for kind in (*catalogue(), *PORT_TYPES.values())} | set(TITLES.values())
    titles |= {template.title for template in templates()}
    titles |= {text for figure in FIGURES.values() for text in (figure.title, f"Color by {figure.phrase}")}
    trees = [parse_source(path.read_text(encoding="utf-8")) for path in (ROOT / "studio" / "ui").rglob("*.py")]
    constants = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    texts = {shown for text in constants if isinstance(text, str) for shown in (text.removesuffix("…"), text.title())}
    return frozenset(parameters | titles | texts)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_names_exist(document: Path) -> None:
    """`kernels/cpu_source.py` may be written without the folders above it; `engine.nn.Linear` is imported."""
    spans = SPAN.findall(BLOCK.sub("", document.read_text(encoding="utf-8")))
    if document.name == "CHANGELOG.md":
        spans = []  # its entries are about the past
    paths = [span.rstrip("/*") for span in spans if span.partition("/")[0] in FOLDERS and " " not in span]
    if document.parent.name in ("explanation", "decisions"):
        paths += [span for span in spans if span.endswith(".py") and " " not in span]
    assert [path for path in paths if path not in tails()] == []
    names = [match[1] for match in map(NAME.fullmatch, spans) if match and not match[1].endswith(LEFT_OUT)]
    assert [name for name in names if not resolves(name)] == []


LEFT_OUT = ("fft.rfft",)
"""Names that a page gives as an example of missing ones."""


@functools.cache
def tails() -> frozenset[str]:
    """Paths of files and folders; those of the engine, the studio and the tests also without leading folders."""
    known = [path.relative_to(ROOT) for folder in FOLDERS for path in ((ROOT / folder), *(ROOT / folder).rglob("*"))]
    inner = [path.parts for path in known if path.parts[0] in ("engine", "studio", "tests")]
    return frozenset(
        {path.as_posix() for path in known} | {"/".join(parts[i:]) for parts in inner for i in range(1, len(parts))}
    )


def resolves(name: str) -> bool:
    parts = name.split(".")
    found: object = importlib.import_module(parts[0])
    for count, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:count]))
            except ImportError:
                return False
    return True


def programs(document: Path) -> list[tuple[str, str, str]]:
    return PROGRAM.findall(document.read_text(encoding="utf-8"))


def commands(text: str) -> None:
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["gradwire"]:
            only_parsed = ["--help"] if words[1] in SLOW else []
            assert main([*words[1:], *only_parsed]) == 0, line
