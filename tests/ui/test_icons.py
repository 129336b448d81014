"""The icon set is uniform (one grid, one stroke width, theme colors only) and complete."""

from __future__ import annotations

import re

import pytest
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from engine.system.assets import asset
from studio.nodes.catalogue import catalogue
from studio.nodes.types import CATEGORIES
from studio.ui.theme import icons, theme


@pytest.mark.parametrize("name", icons.names())
def test_icons_share_grid_and_stroke(name: str) -> None:
    text = asset(f"icons/{name}.svg").read_text()
    assert 'viewBox="0 0 24 24"' in text
    assert set(re.findall(r'stroke-width="([^"]*)"', text)) == {"1.75"}
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb", text), "a color that no theme can change"


@pytest.mark.parametrize("name", icons.names())
def test_icons_are_painted_in_the_given_color(qtbot: QtBot, name: str) -> None:
    image = QImage(48, 48, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    icons.paint(painter, name, QRectF(0, 0, 48, 48), QColor("#ff0000"))
    painter.end()
    inked = [image.pixelColor(x, y) for x in range(48) for y in range(48)]
    assert any(color.red() > 240 and color.green() < 60 and color.blue() < 60 for color in inked)


def test_every_node_type_and_category_has_an_icon() -> None:
    required = {kind.icon for kind in catalogue()} | set(CATEGORIES)
    assert required <= set(icons.names())


def test_unknown_icon_name_shows_the_fallback(qtbot: QtBot) -> None:
    picture = icons.pixmap("no-such-icon", QColor("#000000"), 24)
    assert picture.toImage() == icons.pixmap(icons.FALLBACK, QColor("#000000"), 24).toImage()


def test_themed_icons_follow_the_theme(qtbot: QtBot) -> None:
    icon = icons.themed("stop", "text")
    theme.manager().set_mode("light")
    light = icon.pixmap(QSize(16, 16)).toImage()
    theme.manager().set_mode("dark")
    assert icon.pixmap(QSize(16, 16)).toImage() != light


def test_icons_use_the_device_pixel_ratio(qtbot: QtBot) -> None:
    icon = icons.themed("stop", "text")
    assert icon.pixmap(QSize(16, 16), 2.0).size() == QSize(32, 32)
