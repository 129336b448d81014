"""Undo history: earlier documents and the titles of the edits that led to them."""

from __future__ import annotations

import time
from typing import NamedTuple

from studio.document.model import Document

_MIN_STATES = 1000
_MAX_REFERENCES = 6_000_000
"""Number of nodes in all states together, if there are more than the minimum of states."""


class HistoryEntry(NamedTuple):
    """A document and the title of the edit that produced it."""

    title: str
    document: Document
    merge_key: str | None = None
    selection: frozenset[str] = frozenset()
    """The nodes that were selected when this state was last current."""
    time: float = 0.0
    """When the edit was made, in seconds since the epoch."""
    replaced: int = 0
    """How many undone edits this edit replaced, which can no longer be restored."""


class History:
    """A list of frozen documents and a position in it.

    Consecutive pushes with equal merge keys form a gesture, such as a drag or typing, and become one entry.
    `end_gesture`, undo, redo and saving end a gesture.

    Args:
        limit: number of states that are kept; None for as many as fit in about 300 MB, at least 1,000
    """

    def __init__(self, document: Document, title: str = "Open", *, limit: int | None = None) -> None:
        if limit is not None and limit < 2:
            raise ValueError(f"a history keeps at least 2 states, not {limit}")
        self._entries = [HistoryEntry(title, document, time=time.time())]
        self._position = 0
        self._saved: Document | None = document
        self._gesture_ended = True
        self._limit = limit

    # -- reading

    @property
    def document(self) -> Document:
        return self._entries[self._position].document

    @property
    def entries(self) -> tuple[HistoryEntry, ...]:
        """All states, oldest first, including those that redo restores."""
        return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, position: int) -> HistoryEntry:
        """The state at an index of `entries`."""
        return self._entries[position]

    @property
    def position(self) -> int:
        """Index of the current state in `entries`."""
        return self._position

    @property
    def saved(self) -> Document | None:
        """The document in the project file; None if no file contains the current project."""
        return self._saved

    @property
    def can_undo(self) -> bool:
        return self._position > 0

    @property
    def can_redo(self) -> bool:
        return self._position < len(self._entries) - 1

    @property
    def undo_title(self) -> str:
        """Title of the edit that undo reverts; empty if there is none."""
        return self._entries[self._position].title if self.can_undo else ""

    @property
    def redo_title(self) -> str:
        """Title of the edit that redo applies; empty if there is none."""
        return self._entries[self._position + 1].title if self.can_redo else ""

    @property
    def is_saved(self) -> bool:
        """Whether the current document is the one last saved or opened."""
        return self.document is self._saved

    @property
    def saved_position(self) -> int | None:
        """Index of the state last saved or opened; None if it is no longer kept."""
        return next((index for index, entry in enumerate(self._entries) if entry.document is self._saved), None)

    @property
    def _most(self) -> int:
        """How many states are kept: each has a reference to every node."""
        return self._limit or max(_MIN_STATES, _MAX_REFERENCES // (len(self.document.nodes) + 1))

    @property
    def selection(self) -> frozenset[str]:
        """The nodes that were selected when the current state was last current."""
        return self._entries[self._position].selection

    # -- changing

    def set_selection(self, names: frozenset[str]) -> None:
        """Store the selection of the current state."""
        self._entries[self._position] = self._entries[self._position]._replace(selection=names)

    def push(self, title: str, document: Document, merge_key: str | None = None) -> None:
        """Make `document` the current state and drop the redo states. No effect for the current document."""
        if document is self.document:
            return
        replaced = len(self._entries) - self._position - 1
        del self._entries[self._position + 1 :]
        entry = HistoryEntry(title, document, merge_key, self.selection, time.time(), replaced)
        if merge_key is not None and not self._gesture_ended and merge_key == self._entries[-1].merge_key:
            self._entries[-1] = entry._replace(replaced=self._entries[-1].replaced)
        else:
            self._entries.append(entry)
            del self._entries[: -self._most]
        self._position = len(self._entries) - 1
        self._gesture_ended = False

    def replace_current(self, document: Document) -> None:
        """Replace the current document, so that undo reverts this change together with the last edit."""
        self._entries[self._position] = self._entries[self._position]._replace(document=document)

    def end_gesture(self) -> None:
        """End the current gesture: the next push creates a new entry."""
        self._gesture_ended = True

    def revert_gesture(self, merge_key: str) -> bool:
        """Revert the current gesture. False if the current state was not produced by it."""
        entry = self._entries[-1]
        if self._gesture_ended or self._position != len(self._entries) - 1 or entry.merge_key != merge_key:
            return False
        self._entries.pop()
        self._position -= 1
        self._gesture_ended = True
        return True

    def undo(self) -> Document:
        """Go to the previous state, if there is one. Returns the current document."""
        return self.go_to(max(self._position - 1, 0))

    def redo(self) -> Document:
        """Go to the next state, if there is one. Returns the current document."""
        return self.go_to(min(self._position + 1, len(self._entries) - 1))

    def go_to(self, position: int) -> Document:
        """Go to the state at an index of `entries`. Returns its document."""
        if not 0 <= position < len(self._entries):
            raise IndexError(f"the history has states 0 to {len(self._entries) - 1}, not {position}")
        self._position = position
        self._gesture_ended = True
        return self.document

    def mark_saved(self, document: Document | None = None) -> None:
        """Mark a document as saved; default: the current one. It may differ from the current one after a slow save."""
        self._saved = self.document if document is None else document
        self._gesture_ended = True

    def mark_unsaved(self) -> None:
        """Mark all states as unsaved, for a recovered document or a template."""
        self._saved = None
