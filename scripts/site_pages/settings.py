"""The reference of the settings, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator

from studio.reference.markdown import code, escaped, fence, joined, table
from studio.ui.preferences.declarations import PREFERENCES, AnyPreference

PATH = "reference/settings.md"

EXAMPLE = """
[General]
theme=dark
interface_scale=125

[canvas]
wheel=scroll
grid_size=16
"""


def pages() -> Iterator[tuple[str, str]]:
    parts = [
        "# Settings",
        (
            "Look up what each setting does, its values, and its name in the settings file. **File › Settings** "
            "(Ctrl+,) changes them, finds them by words, and resets one or all."
        ),
        "This settings file sets four of them; settings that it does not name have their defaults:",
        fence("ini", EXAMPLE),
    ]
    for section in dict.fromkeys(preference.section for preference in PREFERENCES):
        parts += [f"## {section}", _table([each for each in PREFERENCES if each.section == section])]
    parts += [
        "## The file",
        (
            "The settings are in `Gradwire/Gradwire.ini`, below `~/.config` (Linux and macOS) or `%APPDATA%` "
            "(Windows). Numbers outside of their bounds are clamped. A value that cannot be read counts as the "
            "default, and a damaged file as an empty one. The file also holds changed keyboard shortcuts and the "
            "layout of the window. Delete it to start from the defaults."
        ),
    ]
    yield PATH, joined(parts)


def _table(preferences: list[AnyPreference]) -> str:
    rows = [
        (
            f"**{each.title}**",
            escaped(each.help),
            escaped(each.range),
            escaped(each.text(each.default)),
            each.effect,
            code(each.key),
        )
        for each in preferences
    ]
    return table(("Setting", "What it does", "Values", "Default", "Takes effect", "Name"), rows)
