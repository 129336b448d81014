"""The pens, brushes and fonts of a theme, created once so that painting allocates none."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPen, QPixmap

from studio.document.model import FrameColor
from studio.nodes.types import CATEGORIES, PortType
from studio.ui.canvas.nodes.node_layout import MeasureText, TextRole
from studio.ui.canvas.wires.wire_role import WireRole
from studio.ui.theme import fonts, icons
from studio.ui.theme.theme import Theme, mix

DASHES: dict[WireRole, tuple[float, ...]] = {
    WireRole.SAMPLES: (),
    WireRole.INPUT: (),
    WireRole.TARGET: (4, 2.5),
    WireRole.LOSS: (8, 2, 1.5, 2),
    WireRole.OPTIMIZER: (1.5, 2),
}
"""Dash patterns of wires in units of the pen width, to distinguish wires without color vision."""

FRAME_TOKENS: dict[FrameColor, str] = {
    "gray": "border-strong",
    "blue": "series-1",
    "orange": "series-2",
    "green": "series-3",
    "rose": "series-4",
    "amber": "series-5",
}
"""Theme color of each color of frames."""

NAME_PX, TEXT_PX, MONO_PX = 13, 11, 11

HEAT_LEVELS = 5
"""Number of colors of a heat map."""

_NO_PEN, _NO_BRUSH = QPen(Qt.PenStyle.NoPen), QBrush(Qt.BrushStyle.NoBrush)
"""Converting the enumeration on each use would take longer than to set them."""


class CanvasStyle:
    """Pens, brushes, fonts and icons of a theme."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.background = theme.color("background")
        self.grid = mix(theme.color("grid"), theme.color("border-strong"), 0.25)
        self.body = QBrush(theme.color("raised"))
        self.text = theme.color("text")
        self.dim = theme.color("text-dim")
        self.error = theme.color("error")
        self.warning = theme.color("warning")
        self.accent = theme.color("accent")
        self.no_pen = _NO_PEN
        self.no_brush = _NO_BRUSH

        self.border = hairline(theme.color("border-strong", 0.7))
        self.border_muted = hairline(theme.color("border-strong"))
        self.border_muted.setStyle(Qt.PenStyle.DashLine)
        self.selected = QPen(self.accent, 2.0)
        self.selection_frame = hairline(theme.color("accent", 0.7))
        self.selection_frame.setDashPattern([4, 4])
        self.failed = QPen(self.error, 1.5)
        self.rim = QPen(theme.color("raised"), 1.5)
        self.band_fill = QBrush(theme.color("accent", 0.09))
        self.band_line = hairline(self.accent)
        self.guide = hairline(theme.color("accent"))
        self.knife = QPen(self.error, 1.5, Qt.PenStyle.DashLine)
        self.pill = QBrush(theme.color("surface", 0.92))
        self.pill_line = hairline(theme.color("border"))

        share = 0.24 if theme.is_dark else 0.17
        self.category = {name: theme.category(name) for name in CATEGORIES}
        self.header = {name: QBrush(mix(theme.color("raised"), self.category[name], share)) for name in CATEGORIES}
        self.quiet = {name: mix(self.text, brush.color(), 0.22) for name, brush in self.header.items()}
        """Color of secondary text on node headers."""
        self.category_brush = {name: QBrush(color) for name, color in self.category.items()}
        self.category_line = {name: hairline(color) for name, color in self.category.items()}
        self.patch = {
            name: QBrush(mix(theme.color("raised"), color, share + 0.12)) for name, color in self.category.items()
        }

        frame_colors = {name: theme.color(token) for name, token in FRAME_TOKENS.items()}
        self.frame_line = {name: hairline(color) for name, color in frame_colors.items()}
        self.frame_header = {name: QBrush(mix(self.background, color, 0.3)) for name, color in frame_colors.items()}
        self.frame_fill = {name: QBrush(mix(self.background, color, 0.08)) for name, color in frame_colors.items()}

        self.role_colors = {role: flow_color(theme, role) for role in WireRole}
        self.heat = [QBrush(heat_color(theme, level)) for level in range(HEAT_LEVELS + 1)]
        """Fill of a node by the level of its figure; 0 is none."""
        self.port_brush = {role: QBrush(color) for role, color in self.role_colors.items()}
        self.port_glow = {role: QBrush(flow_color(theme, role, 0.35)) for role in WireRole}
        self.port_ring = {role: QPen(color, 1.5) for role, color in self.role_colors.items()}
        self.wire = {role: wire_pen(color, 2.0, DASHES[role]) for role, color in self.role_colors.items()}
        self.wire_highlighted = {
            role: wire_pen(mix(color, self.text, 0.35), 3.0, DASHES[role]) for role, color in self.role_colors.items()
        }
        self.wire_far = {role: wire_pen(flow_color(theme, role, 0.8), 1.0) for role in WireRole}
        self.wire_error = wire_pen(self.error, 2.0)
        self.wire_error_highlighted = wire_pen(self.error, 3.0)
        self.wire_selected = wire_pen(self.accent, 3.0)
        for pen in self.wire_far.values():
            pen.setCosmetic(True)

        self.fonts: dict[TextRole, QFont] = {
            "name": fonts.interface(NAME_PX, bold=True),
            "text": fonts.interface(TEXT_PX),
            "mono": fonts.monospace(MONO_PX),
        }
        self._metrics = {role: QFontMetricsF(font) for role, font in self.fonts.items()}
        self.measure: MeasureText = functools.lru_cache(maxsize=8192)(self._measured)
        """The width of a text."""

    def _measured(self, text: str, role: TextRole) -> float:
        return self._metrics[role].horizontalAdvance(text)

    def elided(self, text: str, role: TextRole, width: float) -> str:
        return self._metrics[role].elidedText(text, Qt.TextElideMode.ElideRight, width)

    def baseline(self, middle: float, role: TextRole) -> float:
        """Baseline that centers capital letters at `middle`, rounded to whole pixels for sharp text."""
        return round(middle + self._metrics[role].capHeight() / 2)

    def icon(self, name: str, color: QColor, size: float, device_scale: float) -> QPixmap:
        """An icon as a pixmap in screen resolution."""
        return _icon(name, color.rgba(), max(round(size * device_scale), 1))


def heat_color(theme: Theme, level: int) -> QColor:
    """The color of a level of a heat map: from the color of nodes to one in which text stays readable."""
    strongest = 0.55 if theme.is_dark else 0.75
    return mix(theme.color("raised"), theme.category("loss"), strongest * level / HEAT_LEVELS)


def hairline(color: QColor) -> QPen:
    """A cosmetic pen, one device pixel wide at every zoom."""
    pen = QPen(color, 1.0)
    pen.setCosmetic(True)
    return pen


def flow_color(theme: Theme, role: WireRole, alpha: float = 1.0) -> QColor:
    """The color of a wire role; inputs have the color of tensors."""
    if role is WireRole.TARGET:
        return theme.color("target", alpha)
    return theme.port(PortType.TENSOR if role is WireRole.INPUT else PortType(role.value), alpha)


def wire_pen(color: QColor, width: float, dashes: Sequence[float] = ()) -> QPen:
    pen = QPen(color, width, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    if dashes:
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        pen.setDashPattern([length * 2 / width for length in dashes])
    return pen


@functools.lru_cache(maxsize=1024)
def _icon(name: str, rgba: int, pixels: int) -> QPixmap:
    return icons.pixmap(name, QColor.fromRgba(rgba), pixels)


@functools.lru_cache(maxsize=64)
def interface_font(pixels: int, bold: bool = True) -> QFont:
    """A font for text whose screen size does not change with the zoom."""
    return fonts.interface(pixels, bold=bold)


@functools.lru_cache(maxsize=64)
def monospace_font(pixels: int) -> QFont:
    return fonts.monospace(pixels)
