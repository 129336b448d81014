"""Context help (F1): documentation for the focused problem, the selected node or the current panel."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from studio.document.blocks import block_nodes
from studio.document.model import Document
from studio.lowering.analysis.block_types import known_type
from studio.lowering.problems.diagnoses import DIAGNOSES
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from studio.reference.block_examples import block_example
from studio.reference.block_pages import block_section
from studio.reference.markdown import joined, prose
from studio.reference.node_pages import section
from studio.reference.problem_pages import example_of, problem_section
from studio.reference.template_pages import template_section
from studio.ui.canvas.overlays.canvas_tooltips import shape_at
from studio.ui.panels.problem_row import ProblemRow
from studio.ui.widgets.graph_thumbnail import GraphThumbnail
from studio.ui.window.command_window import CommandWindow
from studio.ui.window.dock import Dock
from studio.ui.window.help_page import HelpPage
from studio.ui.window.help_page import section as page_section
from studio.ui.window.welcome_page import TemplateCard

W = TypeVar("W", bound=QWidget)

PAGE = "reference/window.md"
CANVAS = "Canvas"
_NODE_DOCKS = ("inspector", "code")
"""Docks whose context help describes the selected node."""


class Topic(NamedTuple):
    title: str
    text: str
    """Markdown."""
    graph: Document | None = None
    """The graph of a block or template, or of the example of a problem. The page shows a picture of it."""


def show_context_help(window: CommandWindow) -> None:
    show_topic(window, topic_of(window, QApplication.focusWidget()))


def show_topic(window: CommandWindow, topic: Topic) -> None:
    """Show a topic in a help page."""
    picture = GraphThumbnail(topic.graph, catalogue()) if topic.graph else None
    page = HelpPage(topic.title, topic.text, window, picture)
    page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    page.show()


def topic_of(window: CommandWindow, focused: QWidget | None) -> Topic:
    """Help for the focused problem or template, else for the selected node, else for the current panel."""
    row = _ancestor(focused, ProblemRow)
    if row is not None:
        return _problem_topic(row.problem)
    card = _ancestor(focused, TemplateCard)
    if card is not None:
        return Topic(card.template.title, template_section(card.template), card.template.document)
    dock = _ancestor(focused, Dock)
    if dock is None and (port := _hovered_port(window)) is not None:
        return port
    if dock is None or dock.objectName() in _NODE_DOCKS:
        node = _selected(window)
        if node is not None:
            return node
    title = CANVAS if dock is None else dock.title
    return Topic(title, page_section(PAGE, title))


def _problem_topic(problem: Problem) -> Topic:
    diagnosis = DIAGNOSES.get(problem.code)
    if diagnosis is None:
        return Topic(problem.code, prose(problem.message))
    example = example_of(problem.code)
    text = joined([prose(problem.message), problem_section(diagnosis), f"Code: `{problem.code}`"])
    drawn = None if example is None or not example.document.nodes else example.document
    return Topic(diagnosis.title, text, drawn)


def _hovered_port(window: CommandWindow) -> Topic | None:
    """The port of a node under the pointer."""
    if window.canvas is None:
        return None
    scene = window.canvas.canvas_scene
    hit = scene.marks.hovered
    item = scene.nodes.get(hit.node or "")
    port = item.content.port(hit.port, is_input=hit.side == "input") if item and hit.port else None
    if item is None or port is None:
        return None
    shape = shape_at(window.canvas.store.report, scene, hit)
    about = f"{port.type} {hit.side}" + (", optional" if port.optional else "")
    parts = (prose(f"{about[:1].upper()}{about[1:]} of {item.name}."), prose(port.help), f"`{shape}`" if shape else "")
    return Topic(f"{item.name}.{port.name}", "\n\n".join(part for part in parts if part))


def _selected(window: CommandWindow) -> Topic | None:
    """The first selected node whose type is in the catalogue."""
    if window.project is None:
        return None
    store = window.project.scope
    for name, node in store.document.nodes.items():
        if name in store.selection and (kind := known_type(store.document, store.catalogue, name)) is not None:
            block = store.document.blocks.get(block_nodes.name_of(node) or "")
            graph = block and Document(block.nodes, block.wires, blocks=store.document.blocks)
            text = section(kind)
            if kind.role in (Role.BLOCK, Role.PORT):
                text = joined([block_section(kind, block), block_example(store.document, store.report, name)])
            return Topic(kind.title, text, graph)
    return None


def _ancestor(widget: QWidget | None, kind: type[W]) -> W | None:
    while widget is not None and not isinstance(widget, kind):
        widget = widget.parentWidget()
    return widget
