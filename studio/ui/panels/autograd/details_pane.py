"""Details of the selected node of an autograd graph."""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal
from PySide6.QtWidgets import QTextBrowser, QWidget

from studio.training.autograd.graph_outline import Key
from studio.ui.panels.autograd.graph_layouter import ShownGraph
from studio.ui.panels.autograd.node_details import details
from studio.ui.theme import fonts, theme


class DetailsPane(QTextBrowser):
    node_requested = Signal(int)
    """Id of a graph node."""
    canvas_requested = Signal(str)
    """Path of a canvas node."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Details of the node")
        self.setOpenLinks(False)
        self.setFont(fonts.interface(12))
        self.setMinimumWidth(160)
        self.anchorClicked.connect(self._open)
        self._shown: tuple[ShownGraph, Key | None] | None = None
        theme.manager().changed.connect(self._apply_theme)
        self._apply_theme()

    def show_details(self, shown: ShownGraph, key: Key | None) -> None:
        position = self.verticalScrollBar().value() if self._shown is not None and self._shown[1] == key else 0
        self._shown = (shown, key)
        self.setHtml(details(shown, key))
        self.verticalScrollBar().setValue(position)

    def _open(self, url: QUrl) -> None:
        kind, _, target = url.toString().partition(":")
        if kind == "node":
            self.node_requested.emit(int(target))
        else:
            self.canvas_requested.emit(target)

    def _apply_theme(self, *_: object) -> None:
        colors = theme.current()
        self.document().setDefaultStyleSheet(
            f"a {{ color: {colors.color('accent').name()}; text-decoration: none; }}"
            f"h3 {{ font-size: 13px; margin: 4px 0; }} h4 {{ font-size: 12px; margin: 8px 0 2px 0; }}"
            f"p {{ margin: 6px 0; }} td {{ padding-right: 8px; }}"
        )
        if self._shown is not None:
            self.show_details(*self._shown)
