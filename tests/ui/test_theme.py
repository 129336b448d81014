"""Both themes have every token, and all of it can be read."""

from __future__ import annotations

import re

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from engine.resources import asset
from studio.nodes.types import CATEGORIES, PortType
from studio.ui import stylesheet, theme
from studio.ui.theme import Theme, ThemeManager, contrast

NAMES = ("light", "dark")
GROUNDS = ("background", "surface", "raised", "hover", "selection")
WORDS = ("text", "text-dim", "accent", "error", "warning", "ok")
CODE = ("code-keyword", "code-string", "code-number", "code-name", "code-comment")


@pytest.fixture(params=NAMES)
def each(request: pytest.FixtureRequest) -> Theme:
    return theme.load(request.param)


def test_both_themes_have_the_same_tokens() -> None:
    light, dark = map(theme.load, NAMES)
    assert set(light.colors) == set(dark.colors)
    assert len(light.series) == len(dark.series)


def test_every_category_and_port_type_has_a_colour(each: Theme) -> None:
    assert set(each.categories) == set(CATEGORIES)
    assert set(each.ports) == {kind.value for kind in PortType}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_has_contrast(each: Theme, word: str, ground: str) -> None:
    assert contrast(each.color(word), each.color(ground)) >= 4.5


@pytest.mark.parametrize("word", CODE)
@pytest.mark.parametrize("ground", ["surface", "selection"])
def test_code_has_contrast(each: Theme, word: str, ground: str) -> None:
    assert contrast(each.color(word), each.color(ground)) >= 4.5


def test_text_on_the_accent_has_contrast(each: Theme) -> None:
    for ground in ("accent", "accent-hover"):
        assert contrast(each.color("on-accent"), each.color(ground)) >= 4.5


def test_graphics_have_contrast(each: Theme) -> None:
    colors = [each.category(name) for name in CATEGORIES]
    colors += [each.port(kind) for kind in PortType]
    colors += [QColor(value) for value in each.series]
    colors.append(each.color("border-strong"))
    for color in colors:
        for ground in ("background", "surface", "raised"):
            assert contrast(color, each.color(ground)) >= 3, color.name()


def test_names_on_category_colours_can_be_read(each: Theme) -> None:
    for name in CATEGORIES:
        color = each.category(name)
        assert contrast(each.on(color), color) >= 4.5


@pytest.mark.parametrize("name", NAMES)
def test_the_style_sheet_fills_every_token(qtbot: QtBot, name: str) -> None:
    assert not re.search(r"@\w", stylesheet.text(theme.load(name)))


def test_the_style_sheet_has_no_colour_of_its_own() -> None:
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", asset("themes/studio.qss").read_text())


def test_changing_the_mode_tells_the_new_theme(qtbot: QtBot) -> None:
    manager = ThemeManager("light")
    with qtbot.waitSignal(manager.changed) as told:
        manager.set_mode("dark")
    assert told.args == [theme.load("dark")]
    assert manager.is_dark


def test_an_unknown_token_is_refused() -> None:
    with pytest.raises(KeyError):
        theme.load("light").color("nonsense")
