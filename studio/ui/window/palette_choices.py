"""What the command palette lists: commands, settings, templates, recent files and the nodes of the project."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from studio.document.blocks.block_locations import all_nodes
from studio.lowering.analysis.block_types import BlockTypes
from studio.nodes.types import NodeType
from studio.ui.command_registry import NEEDS_PROJECT, Command
from studio.ui.preferences.declarations import PREFERENCES, AnyPreference
from studio.ui.widgets.choice_palette import Choice
from studio.ui.window.command_window import CommandWindow

_MAX_NODES = 5000
"""Nodes that the command palette lists, those of the canvas first."""
_NODE, _OTHER = -2.0, -4.0
"""Ranks of nodes, and of settings, templates and files, after commands."""


def palette_choices(window: CommandWindow) -> Iterator[Choice]:
    """All entries in their order without a search; disabled commands are last."""
    commands = [_command(window, each) for each in window.commands if each.id != "help.commands"]
    yield from (choice for choice in commands if not choice.refusal)
    yield from _nodes(window)
    yield from (_setting(window, preference) for preference in PREFERENCES)
    for template in window.templates:
        words = template.key.replace("-", " ")
        run = partial(window.open_template, template)
        yield Choice(template.title, run, "Template", icon="template", synonyms=f"example {words}", rank=_OTHER)
    for path in window.open_projects.recent:
        run, folder = partial(window.files.open, path), path.parent.name
        yield Choice(f"Open {path.name}", run, f"Recent files · {folder}", icon="file", synonyms="recent", rank=_OTHER)
    yield from (choice for choice in commands if choice.refusal)


def _command(window: CommandWindow, command: Command) -> Choice:
    keys = window.commands.shortcuts(command.id)
    is_enabled = window.commands.action(command.id).isEnabled()
    reason = command.reason if window.project is not None else NEEDS_PROJECT
    return Choice(
        command.title,
        partial(window.commands.run, command.id),
        command.menu.replace("/", " › ") if is_enabled else "",
        keys[0] if keys and is_enabled else "",
        command.icon,
        "" if is_enabled else reason,
        command.words,
    )


def _setting(window: CommandWindow, preference: AnyPreference) -> Choice:
    """A setting: on/off switches are toggled, the others are shown in the dialog."""
    preferences = window.settings.preferences
    value = preferences.get(preference)
    is_switch = isinstance(preference.default, bool)
    title = preference.title
    if preference.section == "New projects":
        title = f"{title} of new projects"
    return Choice(
        title,
        partial(_toggle, window, preference) if is_switch else partial(window.open_settings, preference.key),
        f"Settings · {preference.text(value)}",
        icon="settings",
        synonyms=f"setting {preference.words}",
        rank=_OTHER,
    )


def _toggle(window: CommandWindow, preference: AnyPreference) -> None:
    preferences = window.settings.preferences
    value = not preferences.get(preference)
    preferences.set(preference, value)
    window.show_status(f"{preference.title}: {preference.text(value)}")


def _nodes(window: CommandWindow) -> Iterator[Choice]:
    if window.project is None or window.canvas is None:
        return
    store = window.project.store
    types, words = BlockTypes(store.document.blocks, store.catalogue), dict[str, str]()
    for path, node in islice(all_nodes(store.document), _MAX_NODES):
        kind = types.type_of(node)
        if kind is not None and kind.key not in words:
            words[kind.key] = _words(kind)
        yield Choice(
            path,
            partial(window.canvas.reveal, path),
            kind.title if kind else node.type,
            icon=kind.icon if kind else "unknown",
            synonyms=words[kind.key] if kind else "",
            rank=_NODE,
        )


def _words(kind: NodeType) -> str:
    """The title of a type and its parameters."""
    return " ".join((kind.title, *(param.name for param in kind.params)))
