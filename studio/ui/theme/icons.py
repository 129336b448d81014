"""SVG icons on a 24-pixel grid with one stroke width, colored by theme and sharp at every scale."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QByteArray, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QImage, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from engine.system.assets import asset
from studio.ui.theme import theme

FALLBACK = "unknown"


@functools.cache
def names() -> tuple[str, ...]:
    """Names of all icons."""
    return tuple(sorted(path.stem for path in asset("icons").glob("*.svg")))


def icon(name: str, color: QColor) -> QIcon:
    """An icon in a fixed color."""
    return QIcon(_SvgIconEngine(name, lambda: color))


def themed(name: str, token: str = "text") -> QIcon:
    """An icon in the theme color `token`; it follows theme changes."""
    return QIcon(_SvgIconEngine(name, lambda: theme.current().color(token)))


def paint(painter: QPainter, name: str, rect: QRectF | QRect, color: QColor) -> None:
    """Paint an icon into `rect`, square and centered."""
    area = QRectF(rect)
    side = min(area.width(), area.height())
    square = QRectF(0, 0, side, side)
    square.moveCenter(area.center())
    before = painter.opacity()
    painter.setOpacity(before * color.alphaF())
    _renderer(name, color.name()).render(painter, square)
    painter.setOpacity(before)


def pixmap(name: str, color: QColor, size: int, ratio: float = 1.0) -> QPixmap:
    """An icon as a pixmap of `size` logical pixels at device pixel ratio `ratio`."""
    picture = QPixmap(round(size * ratio), round(size * ratio))
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    paint(painter, name, QRectF(picture.rect()), color)
    painter.end()
    picture.setDevicePixelRatio(ratio)
    return picture


def cached_pixmap(key: str, size: QSize, draw: Callable[[QPainter], object]) -> QPixmap:
    """A pixmap painted by `draw` on a transparent background, cached under `key`."""
    key = f"{key} {size.width()} {size.height()}"
    found = QPixmap()
    if size.isEmpty():
        return found  # of a button that has no room
    if not QPixmapCache.find(key, found):
        image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        draw(painter)
        painter.end()
        found = QPixmap.fromImage(image)
        QPixmapCache.insert(key, found)
    return found


def file(name: str, color: QColor) -> Path:
    """Path of a colored copy, because Qt style sheets load images only from files."""
    target = Path(_folder().name) / f"{name}-{color.name()[1:]}.svg"
    if not target.exists():
        target.write_text(_colored(name, color.name()), encoding="utf-8")
    return target


class _SvgIconEngine(QIconEngine):
    def __init__(self, name: str, color: Callable[[], QColor]) -> None:
        super().__init__()
        self._name, self._color = name, color

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        paint(painter, self._name, rect, self._color_in(mode))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        color = self._color_in(mode)
        area = QRectF(QPointF(0, 0), size.toSizeF())
        return cached_pixmap(
            f"icon {self._name} {color.rgba()}", size, lambda painter: paint(painter, self._name, area, color)
        )

    def clone(self) -> QIconEngine:
        return _SvgIconEngine(self._name, self._color)

    def _color_in(self, mode: QIcon.Mode) -> QColor:
        color = QColor(self._color())
        if mode == QIcon.Mode.Disabled:
            color.setAlphaF(0.4)
        return color


@functools.lru_cache(maxsize=1024)
def _renderer(name: str, color: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_colored(name, color).encode()))


def _colored(name: str, color: str) -> str:
    return _source(name).replace("currentColor", color)


@functools.cache
def _source(name: str) -> str:
    existing = name if name in names() else FALLBACK
    return asset(f"icons/{existing}.svg").read_text(encoding="utf-8")


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gradwire-icons-")
