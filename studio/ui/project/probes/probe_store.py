"""The probes of an open project: a setting of the user, kept for each project file beside its other view settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from studio.document.blocks.block_locations import Renaming, locate
from studio.document.model import Document
from studio.training.probing.probe_list import MAX_PROBES, Probe, dump_probes, load_probes, renamed
from studio.ui.project.project_store import ProjectStore
from studio.ui.settings import Settings

ProbeKey = tuple[str, str, str, bool]


class ProbeStore(QObject):
    """Probes in the order in which they were added. Those of removed nodes wait until an undo brings them back."""

    changed = Signal()
    """Probes were added, removed or changed."""
    added = Signal(object)
    """A Probe was added, or asked for again."""

    def __init__(self, store: ProjectStore, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._settings = store, settings
        self._probes = load_probes(settings.probes_of(store.path))
        store.document_changed.connect(self._on_document_changed)
        store.path_changed.connect(self._save)

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The probes whose nodes exist."""
        return tuple(probe for probe in self._probes if self._exists(probe))

    def probe(self, key: ProbeKey) -> Probe | None:
        return next((probe for probe in self._probes if probe.key == key), None)

    def add(self, probes: Iterable[Probe]) -> None:
        """Add probes. One that exists is pinned again if the new one is."""
        for probe in probes:
            known = self.probe(probe.key)
            if known is None and len(self._probes) < MAX_PROBES:
                self._probes = (*self._probes, probe)
            elif known is not None and probe.is_pinned and not known.is_pinned:
                self._replace(replace(known, is_pinned=True))
            self.added.emit(self.probe(probe.key) or probe)
        self._finish()

    def change(self, key: ProbeKey, **fields: Any) -> None:
        """Change fields of a probe, which are those of `Probe`."""
        known = self.probe(key)
        if known is not None and (new := replace(known, **fields)) != known:
            self._replace(new)
            self._finish()

    def remove(self, keys: Iterable[ProbeKey]) -> None:
        removed = set(keys)
        self._probes = tuple(probe for probe in self._probes if probe.key not in removed)
        self._finish()

    def _replace(self, new: Probe) -> None:
        self._probes = tuple(new if probe.key == new.key else probe for probe in self._probes)

    def _exists(self, probe: Probe) -> bool:
        try:
            locate(self._store.document, probe.node)
        except KeyError:
            return False
        return True

    def _on_document_changed(self, old: Document, new: Document) -> None:
        if not self._probes:
            return
        self._probes = renamed(self._probes, Renaming(old, new).path)
        self._finish()

    def _finish(self) -> None:
        self._save()
        self.changed.emit()

    def _save(self, *_: object) -> None:
        """Keep the probes. Those of a project without a file are kept once it is saved."""
        self._settings.set_probes(self._store.path, dump_probes(self._probes))


__all__ = ["ProbeKey", "ProbeStore"]
