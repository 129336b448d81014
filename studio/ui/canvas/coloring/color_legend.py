"""Legend of the colors of nodes and wires."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from studio.training.statistics.color_scale import BROKEN, NO_FIGURE, Shade
from studio.ui.canvas.coloring.color_chooser import ColorChooser
from studio.ui.canvas.coloring.color_scale_bar import ColorScaleBar
from studio.ui.theme import fonts
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import ElidedLabel, label

_CLASSES = 4
"""Maximum number of classes with a name."""
_SPACING = 8


class ColorLegend(QFrame):
    """The list of figures; of the shown figure the colors with what they stand for, and where the figures come from.

    Args:
        describe: what a color stands for, for its tooltip
        highlight: called with the color under the pointer, or None
    """

    def __init__(
        self,
        chooser: ColorChooser,
        *,
        hide: Callable[[], object],
        describe: Callable[[Shade], str],
        highlight: Callable[[Shade | None], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAccessibleName("Legend of the colors")
        self.chooser = chooser
        column = self._column = QVBoxLayout(self)
        column.setContentsMargins(4, 3, 4, 3)
        column.setSpacing(0)
        row, source_row = self._row, self._source_row = QHBoxLayout(), QHBoxLayout()
        row.setSpacing(_SPACING)
        source_row.setContentsMargins(_SPACING, 0, 0, 0)
        source_row.setSpacing(_SPACING)
        column.addLayout(row)
        column.addLayout(source_row)
        self._has_two_rows = False
        row.addWidget(chooser)
        self.low, self.high = label(""), label("")
        self.bar = ColorScaleBar(describe)
        self.class_bars = [ColorScaleBar(describe) for _ in range(_CLASSES)]
        self.class_names = [label("") for _ in range(_CLASSES)]
        self.none = ColorScaleBar(describe)
        self.none.show_shades([NO_FIGURE])
        self._none_name = label("No value", "dim")
        self.broken = ColorScaleBar(describe)
        self.broken.show_shades([BROKEN])
        self._broken_name = label("NaN", "dim")
        self.source = ElidedLabel()
        self.source.setProperty("role", "dim")
        pairs = [widget for pair in zip(self.class_bars, self.class_names, strict=True) for widget in pair]
        missing = (self.broken, self._broken_name, self.none, self._none_name)
        for widget in (self.low, self.bar, self.high, *pairs, *missing, self.source):
            widget.setFont(fonts.interface(12))
            row.addWidget(widget)
        for bar in (self.bar, *self.class_bars, self.none, self.broken):
            bar.hovered.connect(highlight)
        self.action = buttons.text_button("Measure", self._act, kind="link")
        row.addWidget(self.action)
        row.addStretch()
        self._run: Callable[[], object] = lambda: None
        self.close_button = buttons.icon_button("close", "Remove the colors", hide, token="text-dim", size=12)
        self.close_button.setProperty("kind", "small")
        row.addWidget(self.close_button)
        self.show_nothing()

    def show_nothing(self) -> None:
        """Show only the list of figures."""
        self.chooser.show_figure("")
        self._show_colors((), "", "")
        self._show_missing(has_none=False, has_broken=False)
        self.show_source("")
        self.close_button.hide()
        self.setAccessibleDescription("")
        self.setToolTip("")

    def show_scale(
        self, title: str, help: str, colors: Sequence[Shade], low: str, high: str, *, has_none: bool, has_broken: bool
    ) -> None:
        """Show a figure with the colors between two ends."""
        self._show_title(title, help, f"Colors from {low} to {high}")
        self._show_colors(colors, low, high)
        self._show_missing(has_none=has_none, has_broken=has_broken)

    def show_classes(self, title: str, help: str, classes: Sequence[tuple[Shade, str]], *, has_none: bool) -> None:
        """Show a figure whose colors stand for classes."""
        self._show_title(title, help, ", ".join(name for _, name in classes))
        self._show_colors((), "", "", classes)
        self._show_missing(has_none=has_none, has_broken=False)

    def show_message(self, title: str, help: str, text: str) -> None:
        """Show why a figure has no values, or the progress."""
        self._show_title(title, help, text)
        self._show_colors((), "", "")
        self._show_missing(has_none=False, has_broken=False)
        self.show_source(text)

    def show_source(self, text: str, action: str = "", run: Callable[[], object] | None = None) -> None:
        """Show where the figures come from, and a button. An action without `run` is disabled."""
        self.source.setText(text)
        self.source.setVisible(bool(text))
        self.action.setText(action or self.action.text())
        self.action.setVisible(bool(action))
        self.action.setEnabled(run is not None)
        self._run = run or (lambda: None)
        self._fit()

    def size_within(self, width: int) -> QSize:
        """The size for this width: where the figures come from is in a second row if one row is too wide."""
        margins = self._column.contentsMargins()
        needed = self._row.sizeHint().width() + margins.left() + margins.right()
        if not self._source_row.isEmpty():
            needed += self._source_row.sizeHint().width()  # its margin is as wide as the space in one row
        self._set_two_rows(needed > width)
        size = self.sizeHint()
        return QSize(min(size.width(), width), size.height())

    def _set_two_rows(self, has_two_rows: bool) -> None:
        if has_two_rows == self._has_two_rows:
            return
        self._has_two_rows = has_two_rows
        for widget in (self.source, self.action):
            if has_two_rows:
                self._source_row.addWidget(widget)
            else:
                self._row.insertWidget(self._row.indexOf(self.close_button) - 1, widget)
        self._fit()

    def _act(self) -> None:
        self._run()

    def _show_title(self, title: str, help: str, text: str) -> None:
        self.chooser.show_figure(title)
        self.close_button.show()
        self.setToolTip(help)
        self.setAccessibleDescription(f"{title}: {help}. {text}")

    def _show_colors(
        self, colors: Sequence[Shade], low: str, high: str, classes: Sequence[tuple[Shade, str]] = ()
    ) -> None:
        self.low.setText(low)
        self.high.setText(high)
        self.bar.show_shades(colors)
        for widget in (self.low, self.bar, self.high):
            widget.setVisible(bool(colors))
        for index, (bar, name) in enumerate(zip(self.class_bars, self.class_names, strict=True)):
            bar.setVisible(index < len(classes))
            name.setVisible(index < len(classes))
            if index < len(classes):
                bar.show_shades([classes[index][0]])
                name.setText(classes[index][1])

    def _show_missing(self, *, has_none: bool, has_broken: bool) -> None:
        for widget in (self.none, self._none_name):
            widget.setVisible(has_none)
        for widget in (self.broken, self._broken_name):
            widget.setVisible(has_broken)

    def _fit(self) -> None:
        self._column.activate()
        self.adjustSize()


__all__ = ["ColorLegend"]
