"""Explanations that are made once, and handed out instead of new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.compiler import Explanation
from studio.document.files.project_templates import template
from studio.document.model import Document
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.training.staged_explanation import Stage, explain_in_stages
from studio.ui.canvas.coloring.compile_overlay import CompileOverlay
from studio.ui.panels.compile.compile_panel import CompilePanel
from studio.ui.project import compile_explainer as explainer_module
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from tests.studio.training.looking import break_relu


def last_of(document: Document) -> Explanation:
    return [item for item in explain_in_stages(lambda: check(document, catalogue())) if isinstance(item, Explanation)][
        -1
    ]


@pytest.fixture(scope="session")
def whole() -> Explanation:
    """The digits network, which compiles in one piece."""
    return last_of(template("digits-mlp").document)


@pytest.fixture(scope="session")
def broken() -> Explanation:
    """The digits network with a ReLU that looks at its numbers."""
    with pytest.MonkeyPatch.context() as patch:
        break_relu(patch)
        return last_of(template("digits-mlp").document)


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch) -> Callable[[Explanation | Exception], None]:
    """Has the next explanations be this one."""

    def choose(found: Explanation | Exception) -> None:
        def explain(*_: object, **__: object) -> Iterator[object]:
            yield Stage("preparing")
            if isinstance(found, Exception):
                raise found
            yield Stage("recording")
            yield found

        monkeypatch.setattr(explainer_module, "explain_in_stages", explain)

    return choose


@pytest.fixture
def panel(window: MainWindow, project: Project) -> CompilePanel:
    window.docks["compile"].reveal()
    return window.project_views[project].compile


@pytest.fixture
def overlay(window: MainWindow, project: Project) -> CompileOverlay:
    return window.project_views[project].overlay
