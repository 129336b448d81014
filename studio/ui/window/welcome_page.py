"""The welcome page: templates, recent files, and one click to train a first network."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import groupby
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLayout, QScrollArea, QToolButton, QVBoxLayout, QWidget

from studio.document.files.project_templates import Template
from studio.nodes.catalogue import Catalogue
from studio.ui.widgets import buttons
from studio.ui.widgets.focus_ring import BY_KEY, RINGED
from studio.ui.widgets.graph_thumbnail import GraphThumbnail
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import ElidedLabel, label, tip
from studio.ui.widgets.pressable import Pressable
from studio.ui.window.lessons.lesson_list import LessonList

TUTORIALS = Path(__file__).resolve().parents[3] / "docs" / "tutorials"
_WIDTH, _COLUMNS, _CARD_WIDTH, _START_WIDTH = 1160, 3, 200, 220
FIRST = "digits-mlp"
"""Template that the one-click button opens and trains."""


class WelcomePage(QScrollArea):
    new_project_requested = Signal()
    open_dialog_requested = Signal()
    file_requested = Signal(object)
    """A Path."""
    template_requested = Signal(object, bool)
    """A Template, and whether to train it at once."""
    lesson_requested = Signal(object)
    """A Lesson."""
    first_lesson_requested = Signal()
    first_lesson_declined = Signal()
    left = Signal()
    """The user returns to the project that the page covers."""

    def __init__(
        self,
        templates: Iterable[Template],
        catalogue: Catalogue,
        lessons: LessonList,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._catalogue, self.lesson_list = catalogue, lessons
        lessons.lesson_requested.connect(self.lesson_requested)
        self.templates = tuple(templates)
        self.setAccessibleName("Start page")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        page = QWidget(self.viewport())
        page.setObjectName("page")
        self.setWidget(page)  # before it is filled, because Qt applies the style sheet again to widgets that move
        outer = QHBoxLayout(page)
        outer.setContentsMargins(32, 40, 32, 32)
        body = QWidget()
        body.setMaximumWidth(_WIDTH)
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        outer.addStretch(1)
        outer.addWidget(body, 100)
        outer.addStretch(1)
        self._column.addLayout(self._head())
        self._column.addSpacing(16)
        self._column.addWidget(self._first_lesson_offer())
        self._column.addSpacing(16)
        columns = QHBoxLayout()
        columns.setSpacing(40)
        self._column.addLayout(columns)
        columns.addWidget(self._start(), 0)
        offers = QVBoxLayout()
        columns.addLayout(offers, 1)
        self._fill_offers(offers)
        self._column.addStretch(1)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.setProperty(RINGED, event.reason() in BY_KEY)
        super().focusInEvent(event)

    def show_recent(self, paths: Iterable[Path]) -> None:
        """List recent files, most recently opened first."""
        _clear(self._recent)
        found = list(paths)[:6]
        for path in found:
            self._recent.addWidget(_RecentFile(path, partial(self.file_requested.emit, path)))
        if not found:
            self._recent.addWidget(label("Files that you open appear here.", "dim", wrap=True))

    def show_lessons(self) -> None:
        """Show the lessons in place of the templates, and focus the first."""
        self._choose(self.lessons_tab)
        self.verticalScrollBar().setValue(0)
        if self.lesson_list.cards:
            self.lesson_list.cards[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def offer_first_lesson(self, is_offered: bool) -> None:
        """Show or hide the offer of the first lesson. The entry in the list stays."""
        self._offer.setVisible(is_offered)

    def offer_return(self, project_name: str) -> None:
        """Show the top of the page, with a link to the project that it covers. Empty if there is none."""
        self.verticalScrollBar().setValue(0)
        self._back.setVisible(bool(project_name))
        self._back.setToolTip(tip(f"Return to {project_name} (Escape)"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._back.isVisible():
            self.left.emit()
        else:
            super().keyPressEvent(event)

    # -- widgets

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(IconWidget("app", "accent", 44))
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label("Gradwire", "title"))
        texts.addWidget(label("Build a neural network on a canvas, train it, and inspect every step.", "dim"))
        row.addLayout(texts, 1)
        first = next((template for template in self.templates if template.key == FIRST), None)
        if first is not None:
            self.first = buttons.text_button(
                "Train your first network",
                partial(self.template_requested.emit, first, True),
                icon="run",
                kind="primary",
            )
            self.first.setMinimumHeight(36)
            row.addWidget(self.first, 0, Qt.AlignmentFlag.AlignVCenter)
        return row

    def _first_lesson_offer(self) -> QWidget:
        """The offer of the first lesson at the first start."""
        self._offer = QFrame()
        self._offer.setProperty("role", "offer")
        row = QHBoxLayout(self._offer)
        row.setContentsMargins(12, 8, 8, 8)
        row.setSpacing(8)
        row.addWidget(IconWidget("info", "accent"))
        text = "New to Gradwire? The first lesson builds and trains a network for handwritten digits."
        row.addWidget(label(text, wrap=True), 1)
        self.start_lesson = buttons.text_button("Start the lesson", self.first_lesson_requested.emit)
        self.decline_lesson = buttons.text_button("Not now", self.first_lesson_declined.emit, kind="link")
        row.addWidget(self.start_lesson)
        row.addWidget(self.decline_lesson)
        return self._offer

    def _start(self) -> QWidget:
        start = QWidget()
        column = QVBoxLayout(start)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(label("Start", "section"))
        column.addSpacing(6)
        self._back = buttons.text_button("Back to project", self.left.emit, icon="undo", kind="link")
        self._back.hide()
        column.addWidget(self._back)
        for title, icon, run in (
            ("New project", "new", self.new_project_requested.emit),
            ("Open project…", "open", self.open_dialog_requested.emit),
            ("Lessons", "lesson", self.show_lessons),
        ):
            column.addWidget(buttons.text_button(title, run, icon=icon, kind="link"))
        if TUTORIALS.is_dir():
            column.addWidget(buttons.text_button("Tutorials", _open_tutorials, icon="book", kind="link"))
        column.addSpacing(24)
        column.addWidget(label("Recent", "section"))
        column.addSpacing(6)
        self._recent = QVBoxLayout()
        self._recent.setSpacing(2)
        column.addLayout(self._recent)
        column.addStretch(1)
        start.setFixedWidth(_START_WIDTH)
        return start

    def _fill_offers(self, column: QVBoxLayout) -> None:
        """The templates or the lessons, below a switch between them."""
        column.setSpacing(12)
        row = QHBoxLayout()
        row.setSpacing(4)
        column.addLayout(row)
        self.templates_tab = buttons.toggle_button("Templates", icon="template", tip="Show the templates")
        self.lessons_tab = buttons.toggle_button("Lessons", icon="lesson", tip="Show the lessons")
        for tab in (self.templates_tab, self.lessons_tab):
            tab.clicked.connect(partial(self._choose, tab))
            row.addWidget(tab)
        row.addStretch(1)
        self._templates = QWidget()
        column.addWidget(self._templates)
        self._add_cards(QVBoxLayout(self._templates))
        column.addWidget(self.lesson_list)
        column.addStretch(1)
        self._choose(self.templates_tab)

    def _choose(self, tab: QToolButton, *_: object) -> None:
        shows_lessons = tab is self.lessons_tab
        self.templates_tab.setChecked(not shows_lessons)
        self.lessons_tab.setChecked(shows_lessons)
        self._templates.setVisible(not shows_lessons)
        self.lesson_list.setVisible(shows_lessons)

    def _add_cards(self, column: QVBoxLayout) -> None:
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.cards = [
            TemplateCard(
                template, self._catalogue, partial(self.template_requested.emit, template, False), self._templates
            )
            for template in self.templates
        ]
        for section, cards in groupby(self.cards, key=lambda card: card.template.section):
            column.addWidget(label(section, "section"))
            column.addSpacing(12)
            column.addLayout(_grid(cards))
            column.addSpacing(24)
        column.addStretch(1)


class TemplateCard(Pressable):
    """A template: thumbnail, title, description."""

    def __init__(self, template: Template, catalogue: Catalogue, run: object, parent: QWidget) -> None:
        super().__init__("card", template.title, parent)
        self.template = template
        self.pressed.connect(run)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 12)
        column.setSpacing(4)
        column.addWidget(GraphThumbnail(template.document, catalogue))
        column.addSpacing(4)
        texts = QVBoxLayout()
        texts.setContentsMargins(4, 0, 4, 0)
        texts.setSpacing(2)
        texts.addWidget(label(template.title, "heading", wrap=True))
        texts.addWidget(label(template.summary, "small", wrap=True))
        texts.addStretch(1)
        column.addLayout(texts, 1)

    def sizeHint(self) -> QSize:
        return QSize(220, super().sizeHint().height())


class _RecentFile(Pressable):
    def __init__(self, path: Path, run: object) -> None:
        super().__init__("row", f"Open {path.name}")
        self.pressed.connect(run)
        self.setToolTip(tip(str(path)))
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 4, 6, 4)
        row.setSpacing(8)
        row.addWidget(IconWidget("file", "text-dim"))
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(ElidedLabel(path.stem))
        folder = ElidedLabel(str(path.parent))
        folder.setProperty("role", "small")
        texts.addWidget(folder)
        row.addLayout(texts, 1)


def _grid(cards: Iterable[TemplateCard]) -> QGridLayout:
    grid = QGridLayout()
    grid.setSpacing(16)
    for index, card in enumerate(cards):
        grid.addWidget(card, index // _COLUMNS, index % _COLUMNS)
    for index in range(_COLUMNS):
        grid.setColumnStretch(index, 1)
        grid.setColumnMinimumWidth(index, _CARD_WIDTH)
        if index >= grid.count():
            grid.addWidget(QWidget(), 0, index)  # spacing counts only beside a widget: keep the columns of other rows
    return grid


def _open_tutorials() -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(TUTORIALS)))


def _clear(layout: QLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
