"""Pictures of a graph: SVG, PNG and PDF, of all nodes or of the selected ones."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMarginsF, QRectF, QSize, QSizeF
from PySide6.QtGui import QImage, QPageLayout, QPageSize, QPainter, QPdfWriter
from PySide6.QtSvg import QSvgGenerator

from studio.document.frames import frames_of
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.geometry import Box, bounds
from studio.ui.canvas.level_of_detail import Zoom
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import Theme

SUFFIXES = (".svg", ".png", ".pdf")
_MARGIN = 32.0
_RATIO = 2.0
"""Pixels of a PNG per pixel of the canvas at 100%, and sharpness of icons."""
_MAX_PIXELS = 16_000
"""Maximum width and height of a PNG. A larger graph is scaled down."""
_POINTS = 72 / 96
"""Points of a PDF page per pixel of the canvas."""


def save_picture(store: ScopeStore, theme: Theme, path: Path, *, selected: bool = False) -> None:
    """Save a picture of the shown graph. The suffix of `path` chooses the format.

    Raises OSError if the file cannot be written, and ValueError without nodes or for another suffix.
    """
    save = _FORMATS.get(path.suffix.lower())
    if save is None:
        raise ValueError(f"{path.name} has no suffix of a picture. Use .svg, .png or .pdf.")
    scene = CanvasScene(store, theme)
    try:
        area = _prepare(scene, store, selected=selected)
        save(scene, area, path)
    finally:
        scene.deleteLater()


def _prepare(scene: CanvasScene, store: ScopeStore, *, selected: bool) -> QRectF:
    """Show what belongs to the picture, without selection. Returns its area."""
    names = store.selection if selected else store.document.nodes.keys()
    frames = frames_of(store.document, names) if selected else store.document.frames
    scene.set_zoom(Zoom(1.0, _RATIO))
    for name, item in scene.nodes.items():
        item.set_selected(False)
        item.setVisible(name in names)
    for wire, item in scene.wires.items():
        item.setVisible(wire.source.node in names and wire.target.node in names)
    for item in scene.frames.items:
        item.setVisible(item.name in frames)
    scene.wire_router.finish()
    boxes = [*scene.boxes(names).values(), *scene.frames.boxes(frames).values()]
    boxes += [item.curve.box for item in scene.wires.values() if item.isVisible()]
    box = bounds(boxes)
    if box is None:
        raise ValueError("There is nothing to draw. Add a node first.")
    return _rect(box).adjusted(-_MARGIN, -_MARGIN, _MARGIN, _MARGIN)


def _save_svg(scene: CanvasScene, area: QRectF, path: Path) -> None:
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(area.size().toSize())
    generator.setViewBox(QRectF(0, 0, area.width(), area.height()))
    generator.setTitle(path.stem)
    _paint(scene, area, QPainter(generator), QRectF(0, 0, area.width(), area.height()), path)


def _save_png(scene: CanvasScene, area: QRectF, path: Path) -> None:
    ratio = min(_RATIO, _MAX_PIXELS / max(area.width(), area.height()))
    image = QImage(
        QSize(max(round(area.width() * ratio), 1), max(round(area.height() * ratio), 1)), QImage.Format.Format_RGB32
    )
    _paint(scene, area, QPainter(image), QRectF(image.rect()), path)
    if not image.save(str(path)):
        raise _unwritable(path)


def _save_pdf(scene: CanvasScene, area: QRectF, path: Path) -> None:
    writer = QPdfWriter(str(path))
    writer.setTitle(path.stem)
    size = QPageSize(QSizeF(area.width() * _POINTS, area.height() * _POINTS), QPageSize.Unit.Point)
    writer.setPageLayout(QPageLayout(size, QPageLayout.Orientation.Portrait, QMarginsF()))
    page = QRectF(0, 0, writer.width(), writer.height())
    _paint(scene, area, QPainter(writer), page, path)


def _paint(scene: CanvasScene, area: QRectF, painter: QPainter, target: QRectF, path: Path) -> None:
    if not painter.isActive():
        raise _unwritable(path)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
    painter.fillRect(target, scene.paint_context.style.background)
    scene.render(painter, target, area)
    painter.end()


def _unwritable(path: Path) -> OSError:
    return OSError(f"{path} cannot be written. Choose another folder.")


def _rect(box: Box) -> QRectF:
    return QRectF(box.left, box.top, box.width, box.height)


_FORMATS = {".svg": _save_svg, ".png": _save_png, ".pdf": _save_pdf}

__all__ = ["SUFFIXES", "save_picture"]
