"""Code of Python nodes that is not trusted is never executed, whatever is done with its project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from studio.document import edits, node_clipboard
from studio.document.blocks.block_edits import make_unique, promote
from studio.document.blocks.block_expansion import Expansion
from studio.document.blocks.block_grouping import group, unpack
from studio.document.blocks.block_library import UserLibrary, read_block
from studio.document.blocks.library_copies import insert
from studio.document.document_difference import difference
from studio.document.files import project_files
from studio.document.graph_comparison import compare
from studio.document.model import Document, Node, ParamRef
from studio.lowering import LoweringError, check, lower
from studio.lowering.program import shown_program
from studio.lowering.source_import.edits.checked_edits import apply_checked
from studio.lowering.source_import.module_import import import_module
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.user_code.document_code import untrusted_code
from studio.nodes import catalogue
from studio.nodes.python_node import PYTHON
from studio.training import TrainingSession
from tests.studio.code import SCALE, SENTINEL, code, no_trust, trusting, with_code

__all__ = ["no_trust"]

pytestmark = pytest.mark.usefixtures("no_trust")


@pytest.fixture
def sentinel(tmp_path: Path) -> Path:
    """The file that the code writes when any of it is executed."""
    return tmp_path / "executed"


@pytest.fixture
def hostile(sentinel: Path) -> Document:
    return with_code({"own": code(SENTINEL.format(path=str(sentinel)))})


def saved_and_opened(document: Document, folder: Path) -> Document:
    project_files.save(document, folder / "net.gradwire")
    return project_files.load(folder / "net.gradwire")


def pasted(document: Document, folder: Path) -> Document:
    text = node_clipboard.copy(document, ["own", "scores"])
    return node_clipboard.paste(with_code({"safe": code(SCALE)}), text, (0.0, 0.0))[0]


def grouped(document: Document, folder: Path) -> Document:
    return group(document, ["own"], "Inner")[0]


def repeated(document: Document, folder: Path) -> Document:
    document = group(document, ["own"], "Inner")[0]
    [instance] = [name for name, node in document.nodes.items() if node.type == "block.Inner"]
    return edits.set_param(document, instance, "repeat", 3)


def promoted(document: Document, folder: Path) -> Document:
    """The source is a value of an instance."""
    source = document.nodes["own"].params["source"]
    document = group(edits.clear_param(document, "own", "source"), ["own"], "Inner")[0]
    document = promote(document, "Inner", ParamRef("own", "source"), "source")
    [instance] = [name for name, node in document.nodes.items() if node.type == "block.Inner"]
    return edits.set_param(document, instance, "source", source)


def ungrouped(document: Document, folder: Path) -> Document:
    document = group(document, ["own"], "Inner")[0]
    [instance] = [name for name, node in document.nodes.items() if node.type == "block.Inner"]
    return unpack(make_unique(document, instance), instance)[0]


def from_library(document: Document, folder: Path) -> Document:
    """A block that was saved to the library of the user is added to another project, and from a file to the library."""
    library = UserLibrary(folder / "library")
    library.save(group(document, ["own"], "Inner")[0], "Inner")
    [file] = (folder / "library").glob("*.gradwire")
    library.import_file(file)
    return insert(with_code({"safe": code(SCALE)}), read_block(file, "user"))[0]


def typed(document: Document, folder: Path) -> Document:
    """An edit in the Code panel, of the hostile source too."""
    report = check(document, catalogue())
    program = shown_program(report, "net")
    text = program.source.replace("width: int = 4", "width: int = 5").replace("(std=16.0)", "(std=8.0)")
    return apply_checked(document, report, program, text, catalogue())


def undone(document: Document, folder: Path) -> Document:
    changed = edits.remove(document, ["own"])
    check(changed, catalogue())
    difference(changed, document)
    compare(changed, document)
    return document


ROUTES = (saved_and_opened, pasted, grouped, repeated, promoted, ungrouped, from_library, typed, undone)


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: each.__name__)
def test_no_route_into_a_project_executes_or_trusts_code(
    route: Callable[[Document, Path], Document], hostile: Document, sentinel: Path, tmp_path: Path
) -> None:
    with trusting(SCALE):
        document = route(hostile, tmp_path)
        report = check(document, catalogue())
        assert "untrusted-code" in {each.code for each in report.problems}
        assert len(untrusted_code(Expansion(document).flat)) == 1
        with pytest.raises(LoweringError):
            lower(report, "net").build()
        if not report.errors:
            program = shown_program(report, "net")
            if any(section.source != SCALE for section in program.code):  # else the run does not need the node
                with pytest.raises(LoweringError, match="not trusted"):
                    program.build()
        session = TrainingSession(document, catalogue(), steps=1)
        session.start()
        session.join()
        assert session.state == "failed"
    assert not sentinel.exists()


def test_an_import_does_not_execute_and_finds_no_trust(sentinel: Path) -> None:
    for text in (SENTINEL.format(path=str(sentinel)), "import nothing_like_it\n" + SENTINEL.format(path=str(sentinel))):
        with pytest.raises(SourceError):
            import_module(text, catalogue())
    assert not sentinel.exists()


def test_trust_does_not_follow_the_name_of_a_node(hostile: Document, sentinel: Path) -> None:
    """A node of the same name, type and parameters but other code is not trusted, nor is the same code plus a space."""
    own = hostile.nodes["own"]
    source = str(own.params["source"])
    with trusting(SCALE, source.replace("width", "size")):
        for other in (source, f"{source} ", f"\n{source}", source.replace("width", "Width")):
            document = replace(hostile, nodes={**hostile.nodes, "own": Node(PYTHON, {"source": other})})
            check(document, catalogue())
            assert untrusted_code(document) == {other: ["own"]}
    assert not sentinel.exists()
