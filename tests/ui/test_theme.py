"""Both themes define every token, and their colors have enough contrast."""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from engine.system.assets import asset
from studio.nodes.types import CATEGORIES, PortType
from studio.training.statistics.color_scale import CHANGES, LEVELS, NO_FIGURE, Shade
from studio.ui.canvas.canvas_style import CanvasStyle, all_shades, flow_color, shade_color, shade_pen
from studio.ui.canvas.wires.wire_role import WireRole
from studio.ui.theme import stylesheet, theme
from studio.ui.theme.theme import Theme, ThemeManager, contrast

NAMES = ("light", "dark")
BACKGROUNDS = ("background", "surface", "raised", "hover", "selection")
TEXT_TOKENS = ("text", "text-dim", "accent", "error", "warning", "ok")
CODE_TOKENS = ("code-keyword", "code-string", "code-number", "code-name", "code-comment")


@pytest.fixture(params=NAMES)
def tested_theme(request: pytest.FixtureRequest) -> Theme:
    return theme.load(request.param)


def test_both_themes_have_the_same_tokens() -> None:
    light, dark = map(theme.load, NAMES)
    assert set(light.colors) == set(dark.colors)
    assert len(light.series) == len(dark.series)


def test_every_category_and_port_type_has_a_color(tested_theme: Theme) -> None:
    assert set(tested_theme.categories) == set(CATEGORIES)
    assert set(tested_theme.ports) == {kind.value for kind in PortType}


@pytest.mark.parametrize("token", TEXT_TOKENS)
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_text_has_contrast(tested_theme: Theme, token: str, background: str) -> None:
    assert contrast(tested_theme.color(token), tested_theme.color(background)) >= 4.5


@pytest.mark.parametrize("token", CODE_TOKENS)
@pytest.mark.parametrize("background", ["surface", "selection"])
def test_code_has_contrast(tested_theme: Theme, token: str, background: str) -> None:
    assert contrast(tested_theme.color(token), tested_theme.color(background)) >= 4.5


def test_text_on_the_accent_color_has_contrast(tested_theme: Theme) -> None:
    for background in ("accent", "accent-hover"):
        assert contrast(tested_theme.color("on-accent"), tested_theme.color(background)) >= 4.5


def test_graphics_have_contrast(tested_theme: Theme) -> None:
    colors = [tested_theme.category(name) for name in CATEGORIES]
    colors += [tested_theme.port(kind) for kind in PortType]
    colors += [QColor(value) for value in tested_theme.series]
    colors += [tested_theme.color("border-strong"), tested_theme.color("target")]
    for color in colors:
        for background in ("background", "surface", "raised"):
            assert contrast(color, tested_theme.color(background)) >= 3, color.name()


def test_text_on_category_colors_has_contrast(tested_theme: Theme) -> None:
    for name in CATEGORIES:
        color = tested_theme.category(name)
        assert contrast(tested_theme.on(color), color) >= 4.5


def test_colors_of_figures_have_readable_text_and_distinct_levels(tested_theme: Theme) -> None:
    for shade in all_shades(tested_theme):
        assert contrast(tested_theme.color("text"), shade_color(tested_theme, shade)) >= 4.5, shade
        for background in ("background", "surface"):
            assert contrast(shade_pen(tested_theme, shade).color(), tested_theme.color(background)) >= 3, shade
    for kind, last in (
        ("amount", range(LEVELS + 1)),
        ("change", range(CHANGES + 1)),
        ("change", range(0, -CHANGES - 1, -1)),
    ):
        colors = [shade_color(tested_theme, Shade(kind, level)) for level in last]
        assert colors[0] == tested_theme.color("raised")
        brightness = [contrast(color, QColor("black")) for color in colors]
        assert brightness == sorted(brightness, reverse=not tested_theme.is_dark)  # distinct without color vision
        assert all(contrast(a, b) > 1.03 for a, b in pairwise(colors))
    none = shade_color(tested_theme, NO_FIGURE)
    assert none.hsvSaturationF() < 0.3 and none != tested_theme.color("raised")


@pytest.mark.parametrize("name", NAMES)
def test_the_style_sheet_fills_every_token(qtbot: QtBot, name: str) -> None:
    assert not re.search(r"@\w", stylesheet.text(theme.load(name)))


def test_the_style_sheet_has_only_theme_colors() -> None:
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", asset("themes/studio.qss").read_text())


def test_changing_the_mode_emits_the_new_theme(qtbot: QtBot) -> None:
    manager = ThemeManager("light")
    with qtbot.waitSignal(manager.changed) as signal:
        manager.set_mode("dark")
    assert signal.args == [theme.load("dark")]
    assert manager.is_dark


def test_unknown_token_raises() -> None:
    with pytest.raises(KeyError):
        theme.load("light").color("nonsense")


DEFICIENCIES: dict[str, tuple[tuple[float, ...], ...]] = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color vision deficiency", 2009."""


def lab(color: QColor, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """CIELAB coordinates of a color after simulating a color vision deficiency."""
    linear = [
        v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
        for v in (color.redF(), color.greenF(), color.blueF())
    ]
    r, g, b = (min(max(sum(m * v for m, v in zip(row, linear, strict=True)), 0.0), 1.0) for row in matrix)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (math.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_wire_colors_are_distinct_with_color_vision_deficiencies(tested_theme: Theme, deficiency: str) -> None:
    flows = (WireRole.INPUT, WireRole.TARGET, WireRole.LOSS)
    colors = [lab(flow_color(tested_theme, flow), DEFICIENCIES[deficiency]) for flow in flows]
    for a, b in combinations(colors, 2):
        assert math.dist(a, b) > 8
    pens = [CanvasStyle(tested_theme).wire[flow].dashPattern() for flow in flows]
    assert all(a != b for a, b in combinations(pens, 2))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_increases_and_decreases_are_distinct_with_color_vision_deficiencies(
    tested_theme: Theme, deficiency: str
) -> None:
    for color in (shade_color(tested_theme, Shade("change", level)) for level in range(1, CHANGES + 1)):
        for level in range(1, CHANGES + 1):
            other = shade_color(tested_theme, Shade("change", -level))
            assert math.dist(lab(color, DEFICIENCIES[deficiency]), lab(other, DEFICIENCIES[deficiency])) > 8
