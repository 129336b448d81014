"""The table of commands and keyboard shortcuts in the settings dialog."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QKeySequenceEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.ui.command_registry import Command, CommandRegistry
from studio.ui.widgets import buttons
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label

_ID = Qt.ItemDataRole.UserRole
_HINT = "Double-click a command or press Enter, then press its new shortcut."


class ShortcutTable(QWidget):
    """Double-click a command and press its new shortcut. Taking a shortcut from another command needs confirmation."""

    def __init__(self, commands: CommandRegistry) -> None:
        super().__init__()
        self._commands = commands
        self.search = LineEdit()
        self.search.setAccessibleName("Search commands and shortcuts")
        self.search.setPlaceholderText("Search commands")
        self.search.textChanged.connect(self._fill)
        self.tree = QTreeWidget()
        self.tree.setHeaderLabels(["Command", "Shortcut"])
        self.tree.setRootIsDecorated(False)
        self.tree.setAccessibleName("Keyboard shortcuts")
        self.tree.header().setStretchLastSection(False)
        self.tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.tree.currentItemChanged.connect(self._choose)
        self.tree.itemActivated.connect(self._edit_shortcut)
        self.keys = QKeySequenceEdit()
        self.keys.setAccessibleName("Shortcut of the selected command")
        self.keys.setMaximumSequenceLength(1)
        self.keys.setClearButtonEnabled(True)
        self.keys.editingFinished.connect(self._bind)
        self._reset_button = buttons.text_button("Reset", self._reset)
        self._reset_all_button = buttons.text_button("Reset all", self._reset_all)
        self._message = label(_HINT, "dim", wrap=True)
        self._pending: tuple[str, tuple[str, ...] | None] | None = None
        """Command and shortcuts that wait for confirmation; shortcuts None are the defaults."""
        self.reassign = buttons.text_button("Reassign", self._reassign, kind="primary")
        self.keep = buttons.text_button("Cancel", self._cancel_reassign)
        row = QHBoxLayout()
        row.addWidget(self.keys, 1)
        row.addWidget(self._reset_button)
        row.addWidget(self._reset_all_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.search)
        column.addWidget(self.tree, 1)
        column.addLayout(row)
        answer = QHBoxLayout()
        answer.addWidget(self._message, 1)
        answer.addWidget(self.reassign)
        answer.addWidget(self.keep)
        column.addLayout(answer)
        self._set_pending(None)
        self._fill("")

    def choose(self, id: str) -> None:
        """Select the command whose shortcut is being edited."""
        for item in self._items():
            if item.data(0, _ID) == id:
                self.tree.setCurrentItem(item)

    def count_matches(self, text: str) -> int:
        """Number of commands that the search would list."""
        return sum(self._matches(command, text) for command in self._commands)

    def _matches(self, command: Command, text: str) -> bool:
        """Whether all typed words are in the title, or the text is a shortcut."""
        keys = " ".join((*self._commands.shortcuts(command.id), self._shortcut_text(command.id))).lower()
        texts = f"{_title(command)} {keys} {command.words}".lower()
        return all(word in texts for word in text.lower().split())

    def _fill(self, text: str) -> None:
        self.tree.clear()
        for command in self._commands:
            if self._matches(command, text):
                item = QTreeWidgetItem([_title(command), self._shortcut_text(command.id)])
                item.setData(0, _ID, command.id)
                self.tree.addTopLevelItem(item)
        if (first := self.tree.topLevelItem(0)) is not None:
            self.tree.setCurrentItem(first)

    def _shortcut_text(self, id: str) -> str:
        return _native(self._commands.shortcuts(id))

    def _items(self) -> list[QTreeWidgetItem]:
        items = map(self.tree.topLevelItem, range(self.tree.topLevelItemCount()))
        return [item for item in items if item is not None]

    @property
    def _chosen(self) -> str | None:
        item = self.tree.currentItem()
        return None if item is None else item.data(0, _ID)

    def _choose(self, *_: object) -> None:
        id = self._chosen
        self.keys.setEnabled(id is not None)
        if self._pending is not None:
            self._set_pending(None)
            self._message.setText("")
        if id is not None:
            shortcuts = self._commands.shortcuts(id)
            self.keys.setKeySequence(QKeySequence(shortcuts[0] if shortcuts else ""))

    def _edit_shortcut(self, *_: object) -> None:
        self.keys.setFocus()
        self._message.setText("Press the new shortcut.")

    def _bind(self) -> None:
        id = self._chosen
        if id is None:
            return
        keys = self.keys.keySequence().toString(QKeySequence.SequenceFormat.PortableText)
        old = self._commands.shortcuts(id)
        if keys != (old[0] if old else ""):
            others = tuple(other for other in old[1:] if QKeySequence(other) != QKeySequence(keys))
            self._request(id, ((keys,) if keys else ()) + others)

    def _reset(self) -> None:
        if (id := self._chosen) is not None:
            self._request(id, None)

    def _request(self, id: str, shortcuts: tuple[str, ...] | None) -> None:
        """Assign a shortcut; ask for confirmation if another command uses it."""
        requested = self._commands[id].shortcuts if shortcuts is None else shortcuts
        losing = self._commands.commands_losing_shortcuts(id, requested)
        self._set_pending((id, shortcuts))
        if not losing:
            self._reassign()
            return
        conflicting = [keys for keys in requested if self._commands.conflicts(id, keys)]
        owners = " and ".join(command.title for command in losing)
        verb = "is" if len(conflicting) == 1 else "are"
        self._message.setText(f"{_native(conflicting)} {verb} assigned to {owners}. Reassign?")
        self.reassign.setFocus()

    def _set_pending(self, pending: tuple[str, tuple[str, ...] | None] | None) -> None:
        """Show the confirmation buttons while a reassignment is pending."""
        self._pending = pending
        for button in (self.reassign, self.keep):
            button.setVisible(pending is not None)

    def _reassign(self) -> None:
        assert self._pending is not None
        id, shortcuts = self._pending
        requested = self._commands[id].shortcuts if shortcuts is None else shortcuts
        lost = " and ".join(command.title for command in self._commands.commands_losing_shortcuts(id, requested))
        restored = " and ".join(command.title for command in self._commands.reassign(id, shortcuts))
        messages = [f"Shortcut reassigned from {lost}."] if lost else []
        messages += [f"{restored} was reset to its default shortcut."] if restored else []
        if self.reassign.hasFocus():
            self.tree.setFocus()
        self._set_pending(None)
        self._message.setText(" ".join(messages))
        self._refresh()
        self._choose()

    def _cancel_reassign(self) -> None:
        if self.keep.hasFocus():
            self.tree.setFocus()
        self._set_pending(None)
        self._message.setText("No shortcut was changed.")
        self._choose()

    def _reset_all(self) -> None:
        for id in self._commands.bindings:
            if id in self._commands:
                self._commands.bind(id, None)
        self._set_pending(None)
        self._message.setText("All commands were reset to their default shortcuts.")
        self._refresh()
        self._choose()

    def _refresh(self) -> None:
        for item in self._items():
            item.setText(1, self._shortcut_text(item.data(0, _ID)))


def _native(shortcuts: Iterable[str]) -> str:
    native = QKeySequence.SequenceFormat.NativeText
    return ", ".join(QKeySequence(keys).toString(native) for keys in shortcuts)


def _title(command: Command) -> str:
    return f"{command.menu.partition('/')[0]}: {command.title}" if command.menu else command.title
