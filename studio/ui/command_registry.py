"""Commands, from which menus, toolbars, the command palette and shortcuts are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from engine.errors import RegistryError
from studio.ui.theme import icons

_SHORTCUT_OVERRIDE = QEvent.Type.ShortcutOverride
_MODIFIERS = frozenset({Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr})
NEEDS_PROJECT = "Open a project first"


@dataclass(frozen=True, slots=True)
class Command:
    """A user action. `id` is stable, for example "file.save"."""

    id: str
    title: str
    run: Callable[[], object]
    shortcuts: tuple[str, ...] = ()
    """Default shortcuts in Qt's portable notation. The first is shown."""
    menu: str = ""
    """Title of its menu, "" for none; "View/Panels" for a submenu."""
    icon: str = ""
    token: str = "text"
    """Theme color of the icon."""
    help: str = ""
    words: str = ""
    """Further words that find it in the command palette."""
    enabled: Callable[[], bool] | None = None
    reason: str = NEEDS_PROJECT
    """Why it is disabled while a project is open; without one, that is the reason."""
    checked: Callable[[], bool] | None = None
    """For a toggle: whether it is on."""
    separated: bool = False
    """Whether a separator precedes it in the menu."""
    scope: QWidget | None = None
    """The shortcuts work only while this widget or a child has the focus; None means the whole window."""


class CommandRegistry(QObject):
    """The commands of a window. Menus and buttons share one QAction per command."""

    changed = Signal()
    """Commands were added or removed, or shortcuts changed."""

    def __init__(self, window: QWidget, bindings: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(window)
        self._window = window
        self._commands: dict[str, Command] = {}
        self._actions: dict[str, QAction] = {}
        self._bindings = dict(bindings or {})
        window.installEventFilter(self)

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def __getitem__(self, id: str) -> Command:
        return self._commands[id]

    def __contains__(self, id: object) -> bool:
        return id in self._commands

    def add(self, *commands: Command) -> None:
        """Register commands. Raises RegistryError if an id is already registered."""
        for command in commands:
            if command.id in self._commands:
                raise RegistryError(f"the command {command.id!r} is declared twice. Rename one of the two.")
            self._commands[command.id] = command
            if self._bindings:
                self._settle_shortcuts(command)
            self._actions[command.id] = self._action(command)
        self.changed.emit()

    def remove(self, *ids: str) -> None:
        """Remove commands, for example those of a closed view."""
        for id in ids:
            del self._commands[id]
            action = self._actions.pop(id)
            for widget in (self._window, action.property("scope")):
                if isinstance(widget, QWidget):
                    widget.removeAction(action)
            action.deleteLater()
        self.changed.emit()

    def action(self, id: str) -> QAction:
        return self._actions[id]

    def current_action(self, id: str) -> QAction:
        """An action with its present enabled and checked state, for a menu that opens now."""
        self._refresh(self._commands[id])
        return self._actions[id]

    def run(self, id: str) -> None:
        """Run a command if it is enabled."""
        self._refresh(self._commands[id])
        self._actions[id].trigger()

    def refresh(self) -> None:
        """Update the enabled and checked state of every action.

        Menus, the command palette and shortcuts do so when they are used. Widgets that are always visible, such as the
        buttons of the top bar, need a call after each change.
        """
        for command in self:
            self._refresh(command)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Refresh before Qt looks up a shortcut, because Qt skips disabled actions."""
        if isinstance(event, QKeyEvent) and event.type() == _SHORTCUT_OVERRIDE and event.key() not in _MODIFIERS:
            self.refresh()
        return False

    # -- shortcuts

    def shortcuts(self, id: str) -> tuple[str, ...]:
        """Shortcuts of a command: the user's, or the default ones."""
        return self._bindings.get(id, self._commands[id].shortcuts)

    @property
    def bindings(self) -> Mapping[str, tuple[str, ...]]:
        """Shortcuts that differ from the defaults, by command id."""
        return dict(self._bindings)

    def bind(self, id: str, shortcuts: tuple[str, ...] | None) -> None:
        """Set the shortcuts of a command; None restores the defaults."""
        if shortcuts is None or shortcuts == self._commands[id].shortcuts:
            self._bindings.pop(id, None)
        else:
            self._bindings[id] = shortcuts
        self._actions[id].setShortcuts([QKeySequence(keys) for keys in self.shortcuts(id)])
        self.changed.emit()

    def commands_losing_shortcuts(self, id: str, shortcuts: Iterable[str]) -> tuple[Command, ...]:
        """Other commands that would lose a shortcut if this command got these."""
        return tuple(dict.fromkeys(other for keys in shortcuts for other in self.conflicts(id, keys)))

    def reassign(self, id: str, shortcuts: tuple[str, ...] | None) -> tuple[Command, ...]:
        """Set or reset the shortcuts of a command and remove them from other commands.

        A freed shortcut returns to the command whose default it is. A command that is left without a shortcut gets its
        free defaults. Returns the commands that got a shortcut back.
        """
        before = self.shortcuts(id)
        requested = self._commands[id].shortcuts if shortcuts is None else shortcuts
        losing_commands = self.commands_losing_shortcuts(id, requested)
        for other in losing_commands:
            remaining = tuple(keys for keys in self.shortcuts(other.id) if not _contains_shortcut(requested, keys))
            self.bind(other.id, remaining)
        self.bind(id, shortcuts)
        freed = [keys for keys in before if not _contains_shortcut(self.shortcuts(id), keys)]
        freed += [keys for other in losing_commands if not self.shortcuts(other.id) for keys in other.shortcuts]
        return tuple(command for command in self if command.id != id and self._restore_defaults(command, freed))

    def _restore_defaults(self, command: Command, freed: list[str]) -> bool:
        """Give a command its free default shortcuts. Returns whether there were any."""
        current = self.shortcuts(command.id)
        freed_defaults = [
            keys
            for keys in command.shortcuts
            if _contains_shortcut(freed, keys)
            and not _contains_shortcut(current, keys)
            and not self.conflicts(command.id, keys)
        ]
        if freed_defaults:
            defaults = tuple(
                keys for keys in command.shortcuts if keys in freed_defaults or _contains_shortcut(current, keys)
            )
            others = tuple(keys for keys in current if not _contains_shortcut(defaults, keys))
            self.bind(command.id, defaults + others)
        return bool(freed_defaults)

    def conflicts(self, id: str, keys: str) -> tuple[Command, ...]:
        """Other commands that use these shortcuts in the same scope."""
        requested, scope = _sequence(keys), self._commands[id].scope
        return tuple(
            command
            for command in self
            if command.id != id
            and (command.scope is scope or None in (command.scope, scope))
            and any(_sequence(other) == requested for other in self.shortcuts(command.id))
        )

    def _settle_shortcuts(self, command: Command) -> None:
        """Remove shortcuts that two commands claim from one of them, because Qt then runs neither.

        The user's shortcuts are kept, before a default of this version that they used for another command.
        """
        for keys in self.shortcuts(command.id):
            for other in self.conflicts(command.id, keys):
                is_kept = command.id in self._bindings and other.id not in self._bindings
                self._drop_shortcut(other.id if is_kept else command.id, keys)

    def _drop_shortcut(self, id: str, keys: str) -> None:
        self._bindings[id] = tuple(each for each in self.shortcuts(id) if not _contains_shortcut([keys], each))
        if id in self._actions:
            self._actions[id].setShortcuts([QKeySequence(each) for each in self._bindings[id]])

    def _refresh(self, command: Command) -> None:
        action = self._actions[command.id]
        if command.enabled is not None:
            action.setEnabled(command.enabled())
        if command.checked is not None:
            action.setChecked(command.checked())

    def _action(self, command: Command) -> QAction:
        action = QAction(command.title, self)
        action.setObjectName(command.id)
        action.setShortcuts([QKeySequence(keys) for keys in self.shortcuts(command.id)])
        if command.icon:
            action.setIcon(icons.themed(command.icon, command.token))
        action.setToolTip(command.help or command.title)
        action.setStatusTip(command.help)
        if command.checked is not None:
            action.setCheckable(True)
            action.setChecked(command.checked())
        if command.enabled is not None:
            action.setEnabled(command.enabled())
        context = Qt.ShortcutContext.WindowShortcut
        if command.scope is not None:
            context = Qt.ShortcutContext.WidgetWithChildrenShortcut
            action.setProperty("scope", command.scope)
        action.setShortcutContext(context)
        action.triggered.connect(partial(_run, command))
        (command.scope or self._window).addAction(action)
        return action


@cache
def _sequence(keys: str) -> QKeySequence:
    return QKeySequence(keys)


def _contains_shortcut(shortcuts: Iterable[str], keys: str) -> bool:
    """Whether a shortcut is among others, in any notation such as \"Ctrl+Del\" and \"Ctrl+Delete\"."""
    return any(_sequence(keys) == _sequence(other) for other in shortcuts)


def _run(command: Command, *_: object) -> None:
    """Drop the "checked" argument that Qt passes."""
    command.run()
