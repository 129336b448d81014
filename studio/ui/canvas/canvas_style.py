"""The pens, brushes and fonts of a theme, created once so that painting allocates none."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPen, QPixmap

from studio.document.model import FrameColor
from studio.nodes.types import CATEGORIES, PortType
from studio.training.statistics.color_scale import BROKEN, CHANGES, LEVELS, NO_FIGURE, Shade
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

_STRONGEST_WIRE = 4.5
"""Width of a wire with the largest figure, in pixels."""

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
        shades = all_shades(theme)
        self.shade = {shade: QBrush(shade_color(theme, shade)) for shade in shades}
        """Fill of a node by its color, while nodes are colored by a figure."""
        self.wire_shade = {shade: shade_pen(theme, shade) for shade in shades}
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
        self.wire_shade_far = {shade: wire_pen(pen.color(), 1.0) for shade, pen in self.wire_shade.items()}
        for pen in (*self.wire_far.values(), *self.wire_shade_far.values()):
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


def all_shades(theme: Theme) -> list[Shade]:
    """All colors of figures: of amounts, changes and classes, and those without or with a broken figure."""
    return [
        *(Shade("amount", level) for level in range(LEVELS + 1)),
        *(Shade("change", level) for level in range(-CHANGES, CHANGES + 1)),
        *(Shade("class", level) for level in range(len(theme.series))),
        NO_FIGURE,
        BROKEN,
    ]


def shade_color(theme: Theme, shade: Shade) -> QColor:
    """The fill of a node, in which text stays readable. Amounts start at the color of nodes, and so do changes."""
    strongest = 0.55 if theme.is_dark else 0.75
    raised = theme.color("raised")
    match shade.kind:
        case "amount":
            return mix(raised, theme.category("loss"), strongest * shade.level / LEVELS)
        case "change":
            return mix(raised, _change_color(theme, shade), strongest * abs(shade.level) / CHANGES)
        case "class":
            return mix(raised, QColor(theme.series[shade.level]), 0.36 if theme.is_dark else 0.42)
        case "none":
            return mix(raised, theme.color("border-strong"), 0.3)
        case "broken":
            return mix(raised, theme.color("error"), 0.5)


def shade_pen(theme: Theme, shade: Shade) -> QPen:
    """The pen of a wire: thicker for larger figures, so that color is not the only difference."""
    plain, share = theme.color("border-strong"), 0.0
    color = plain
    match shade.kind:
        case "amount":
            share = shade.level / LEVELS
            color = mix(plain, theme.category("loss"), share)
        case "change":
            share = abs(shade.level) / CHANGES
            color = mix(plain, _change_color(theme, shade), share)
        case "class":
            color, share = QColor(theme.series[shade.level]), 0.3
        case "broken":
            color, share = theme.color("error"), 1.0
        case "none":
            return wire_pen(plain, 1.0)
    return wire_pen(color, 2.0 + share * (_STRONGEST_WIRE - 2.0))


def _change_color(theme: Theme, shade: Shade) -> QColor:
    """Blue for decreases and orange for increases."""
    return theme.category("layer" if shade.level < 0 else "loss")


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
