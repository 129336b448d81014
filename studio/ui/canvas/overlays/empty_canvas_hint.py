"""The hint on an empty canvas."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.ui.widgets import buttons
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label

_GAP = 16
_EMPTY, _REFUSED = "The canvas is empty", "Nothing to run yet"
_MISSING = "A run needs data, layers, a loss and an optimizer, wired from left to right."


class EmptyCanvasHint(QObject):
    """Centered text that is transparent to the mouse, and a button below it."""

    template_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.content = QWidget(parent)
        self.content.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column = QVBoxLayout(self.content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(IconWidget("layer", "border-strong", 40), 0, Qt.AlignmentFlag.AlignHCenter)
        self.heading, self.missing = label(_EMPTY, "heading"), label(_MISSING, "dim")
        for text in (
            self.heading,
            self.missing,
            label("Press Tab or double-click to add the first node,", "dim"),
            label("or drag one here from the palette on the left.", "dim"),
            label("Drop a data file or a folder of images to train on it.", "dim"),
        ):
            column.addWidget(text, 0, Qt.AlignmentFlag.AlignHCenter)
        self._area = QRect()
        self._explain(False)
        self.button = buttons.text_button(
            "Start from a template", self.template_requested.emit, icon="template", parent=parent
        )

    def show_run_requirements(self) -> None:
        """Explain why an empty graph cannot run, until a node is added."""
        self._explain(True)
        self.center_in(self._area)

    def _explain(self, refused: bool) -> None:
        self.heading.setText(_REFUSED if refused else _EMPTY)
        self.missing.setVisible(refused)

    def show_hint(self, visible: bool) -> None:
        if not visible:
            self._explain(False)
        self.content.setVisible(visible)
        self.button.setVisible(visible)

    def center_in(self, area: QRect) -> None:
        """Center the hint in `area`."""
        self._area = area
        content, button = self.content.sizeHint(), self.button.sizeHint()
        top = area.center().y() - (content.height() + _GAP + button.height()) // 2
        self.content.setGeometry(area.center().x() - content.width() // 2, top, content.width(), content.height())
        left = area.center().x() - button.width() // 2
        self.button.setGeometry(left, top + content.height() + _GAP, button.width(), button.height())
