"""Details pane of the Compile panel: text on the left, code on the right."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QGridLayout, QLabel, QScrollArea, QSplitter, QVBoxLayout, QWidget

from studio.ui.panels.code.code_editor import CodeEditor
from studio.ui.panels.compile.row_detail import RowDetail
from studio.ui.theme import fonts, theme
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label
from studio.ui.widgets.row_layout import row_of
from studio.ui.window import help_page

_LABEL_WIDTH = 64
_MAX_NODES = 24
_NARROW = 400
"""Width in pixels below which either text or code is shown."""


class DetailsPane(QWidget):
    node_requested = Signal(str)
    """Name of a node that should be scrolled into view."""
    mend_requested = Signal()
    """The shown graph break should be mended."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._detail = RowDetail("")
        self._page: help_page.HelpPage | None = None
        self._title = label("", "heading", wrap=True)
        self._summary = label("", "dim", wrap=True)
        self._nodes = QLabel()
        self._nodes.setTextFormat(Qt.TextFormat.RichText)
        self._nodes.setWordWrap(True)
        self._nodes.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self._nodes.setFont(fonts.monospace())
        self._nodes.linkActivated.connect(self.node_requested)
        self._facts = QGridLayout()
        self._rows: list[tuple[QLabel, QLabel]] = []
        self._facts.setHorizontalSpacing(8)
        self._facts.setVerticalSpacing(5)
        self._facts.setColumnMinimumWidth(0, _LABEL_WIDTH)
        self._facts.setColumnStretch(1, 1)
        self.mend = buttons.text_button("Mend on the canvas…", self.mend_requested.emit, kind="link", icon="bridge")
        self.help = buttons.text_button("More about this reason", self.open_help, kind="link", icon="book")
        self.editor = CodeEditor()
        self.editor.setAccessibleName("Code")
        self._code_title = label("", "section")
        self.flip = buttons.icon_button("code", "Show the code")
        self.flip.setCheckable(True)
        self.flip.toggled.connect(self._fit)
        panes = QSplitter(Qt.Orientation.Horizontal)
        panes.addWidget(self._text_page())
        panes.addWidget(self._code_page())
        panes.setStretchFactor(0, 1)
        panes.setStretchFactor(1, 1)
        panes.setSizes([300, 300])
        panes.setChildrenCollapsible(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(panes)
        self.flip.setParent(self)
        theme.manager().changed.connect(self._repaint)

    @property
    def detail(self) -> RowDetail:
        return self._detail

    @property
    def page(self) -> help_page.HelpPage | None:
        """The help window that was opened last."""
        return self._page

    def show_detail(self, detail: RowDetail) -> None:
        if detail == self._detail:
            return
        self._detail = detail
        self._title.setText(detail.title)
        self._summary.setText(detail.summary)
        self._summary.setVisible(bool(detail.summary))
        self._nodes.setText(_links(detail.nodes))
        self._nodes.setVisible(bool(detail.nodes))
        self._show_facts(detail)
        self.help.setVisible(bool(detail.help))
        self.mend.setVisible(bool(detail.help) and bool(detail.nodes))
        self._fit()
        if self.editor.toPlainText() != detail.code:
            self.editor.setPlainText(detail.code)
        self._code_title.setText(detail.code_title)
        self.editor.mark([] if detail.mark is None else [detail.mark])

    def open_help(self) -> None:
        """Open the reference page about the shown graph break."""
        if not self._detail.help:
            return
        self._page = help_page.HelpPage(
            self._detail.title, help_page.section("reference/graph-breaks.md", self._detail.help), self.window()
        )
        self._page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._page.finished.connect(self._forget_page)
        self._page.show()

    def copy(self) -> None:
        """Copy the code to the clipboard."""
        QApplication.clipboard().setText(self._detail.code)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self, *_: object) -> None:
        """Show text and code side by side, or one of them if the pane is narrow."""
        is_narrow, has_code = self.width() < _NARROW, bool(self._detail.code)
        self.flip.setVisible(is_narrow and has_code)
        flipped = is_narrow and has_code and self.flip.isChecked()
        self._text_pane.setVisible(not flipped)
        self._code_pane.setVisible(has_code and (flipped or not is_narrow))
        self.flip.adjustSize()
        self.flip.move(self.width() - self.flip.width() - 16, 4)
        self.flip.raise_()

    def _text_page(self) -> QWidget:
        page = QWidget()
        page.setObjectName("page")
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 8, 12, 12)
        column.setSpacing(4)
        column.addWidget(self._title)
        column.addWidget(self._summary)
        column.addWidget(self._nodes)
        column.addSpacing(4)
        column.addLayout(self._facts)
        column.addWidget(self.mend, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self.help, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setAccessibleName("Details of the compiled step")
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        scroll.setMinimumWidth(200)
        self._text_pane = scroll
        return scroll

    def _code_page(self) -> QWidget:
        self._code_pane = QWidget()
        column = QVBoxLayout(self._code_pane)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        copy = buttons.icon_button("copy", "Copy the code", self.copy)
        head = row_of(self._code_title, copy, wide=self._code_title)
        head.setContentsMargins(12, 4, 8, 2)
        column.addLayout(head)
        column.addWidget(self.editor, 1)
        self._code_pane.setMinimumWidth(160)
        return self._code_pane

    def _show_facts(self, detail: RowDetail) -> None:
        """Fill the rows; existing widgets are reused, to avoid flicker during a run."""
        while len(self._rows) < len(detail.facts):
            row = label("", "dim"), label("", wrap=True, selectable=True)
            self._facts.addWidget(row[0], len(self._rows), 0, Qt.AlignmentFlag.AlignTop)
            self._facts.addWidget(row[1], len(self._rows), 1)
            self._rows.append(row)
        for index, row in enumerate(self._rows):
            texts = detail.facts[index] if index < len(detail.facts) else ("", "")
            for widget, text in zip(row, texts, strict=True):
                widget.setText(text)
                widget.setVisible(index < len(detail.facts))

    def _forget_page(self, *_: object) -> None:
        self._page = None

    def _repaint(self, *_: object) -> None:
        self._nodes.setText(_links(self._detail.nodes))
        self.editor.mark(self.editor.marked, scroll=False)


def _links(names: tuple[str, ...]) -> str:
    color = theme.current().color("accent").name()
    links = [
        f'<a href="{html.escape(name)}" style="color:{color};text-decoration:none">{html.escape(name)}</a>'
        for name in names[:_MAX_NODES]
    ]
    if len(names) > _MAX_NODES:
        links.append(f"and {len(names) - _MAX_NODES} more")
    return ", ".join(links)


__all__ = ["DetailsPane"]
