"""Packages of hostile projects contain no code from them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from engine.errors import EngineError
from studio.document.document_errors import DocumentError
from studio.document.files.project_format import loads
from studio.export.export_error import ExportError
from studio.export.package import TARGETS, ExportRequest, Target, export_package
from studio.export.shipped_source import shipped_text
from studio.lowering import LoweringError, check
from studio.nodes import catalogue
from tests.studio.hostile.documents import Hostile, hostile, named

DOCUMENTS = 100
REFUSED = (DocumentError, LoweringError, ExportError, EngineError)
FORBIDDEN = {
    *("__import__", "open", "exec", "eval", "compile", "globals", "getattr", "os", "subprocess", "socket", "builtins"),
    *("__class__", "__base__", "__subclasses__", "__globals__", "__mro__", "system", "Popen", "create_connection"),
}
"""Names in the payloads."""
SHIPPED = ("engine/trainer.py", "pytorch/layers.py", "pytorch/metrics.py", "pytorch/samples.py", "pytorch/trainer.py")
"""Texts of Gradwire, which may use some of them, such as `model.eval`."""


def names_in(text: str) -> set[str]:
    """Names that a source reads and does not assign, imported modules, and attributes behind other names than self.

    A node may be called `exec`, which makes it an attribute of the model and a local variable.
    """
    nodes = list(ast.walk(ast.parse(text)))
    named = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in named if isinstance(node.ctx, ast.Store)} | {"self"}
    found = {node.id for node in named} - own
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    found |= {node.attr for node in attributes if not (isinstance(node.value, ast.Name) and node.value.id in own)}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return found | {alias.name for node in imports for alias in node.names}


def exported(case: Hostile, target: Target, folder: Path) -> dict[str, bytes]:
    """The files of a package; none if the project is refused."""
    try:
        document = loads(case.text)
        report = check(document, catalogue(), folder)
        export_package(ExportRequest(document, report, case.stem, target, folder), folder / "package", force=True)
        paths = [path for path in (folder / "package").rglob("*") if path.is_file()]
        return {path.relative_to(folder / "package").as_posix(): path.read_bytes() for path in paths}
    except REFUSED:
        return {}


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_projects_put_no_code_into_packages(target: Target, tmp_path: Path) -> None:
    count, own = 0, set[str]().union(*(names_in(shipped_text(path)) for path in SHIPPED))
    for case in [*(hostile(46, number) for number in range(DOCUMENTS)), *named()]:
        files = exported(case, target, tmp_path)
        count += bool(files)
        for name, content in files.items():
            assert not {"..", ""} & set(name.split("/"))
            if not name.endswith(".py"):
                continue
            assert sorted(names_in(content.decode()) & (FORBIDDEN - own)) == [], (name, case.text[:200])
    assert count >= 5, "few of the projects were exported, so the test says little"
    assert [path.name for path in tmp_path.iterdir()] == ["package"]
